//! The servers as processes: started, found by the address they print, measured from outside, and ended by
//! their own id when they are dropped; and a peer, which was started elsewhere.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// Timeout of a server's print of its address.
const READY_MAX: Duration = Duration::from_secs(60);
/// Timeout of seeding.
const SEED_MAX: Duration = Duration::from_secs(600);
const SEED_POLL: Duration = Duration::from_millis(50);
/// Ticks a second of the times in `/proc/<pid>/stat`: `USER_HZ`, which is 100 on every architecture of Linux
/// that this project is built for.
const TICKS_PER_SECOND: u64 = 100;
/// The fields of `/proc/<pid>/stat` by their numbers in `proc(5)`: `state`, which follows the name; `ppid`;
/// `utime` and `stime`; `cutime` and `cstime`.
const FIRST_FIELD_AFTER_NAME: usize = 3;
const PARENT_FIELD: usize = 4;
const USER_TIME_FIELD: usize = 14;
const TIME_OF_ENDED_CHILDREN_FIELD: usize = 16;

/// A server, measured from outside.
pub trait Server {
    /// `host:port`.
    fn address(&self) -> &str;

    /// CPU time of all threads so far, in user and kernel mode.
    fn cpu_time(&self) -> Result<Duration>;

    /// Bytes that it has had written to the disk so far.
    fn written_bytes(&self) -> Result<u64>;

    /// Whether its metrics have commits, and its read models follow its writes.
    fn has_read_models(&self) -> bool;
}

/// A server that runs until this is dropped.
pub struct ServerProcess {
    child: KilledOnDrop,
    // Held so that the server can go on printing.
    _stdout: BufReader<ChildStdout>,
    address: String,
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // Both fail only for a process that has ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl ServerProcess {
    /// A release server on a data directory.
    pub async fn start_real(program: &Path, data: &Path, scratch: &Path) -> Result<Self> {
        Self::start_on(program, None, data, scratch).await
    }

    /// A release server of a model on a data directory.
    pub async fn start_served(model: &Path, data: &Path, scratch: &Path) -> Result<Self> {
        Self::start_on(this_program(), Some(model), data, scratch).await
    }

    async fn start_on(program: &Path, model: Option<&Path>, data: &Path, scratch: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("serve");
        if let Some(model) = model {
            command.arg("--model").arg(model);
        }
        // One address sends everything.
        command.args(["--write-limits-percent=0", "--caller-ru-per-second=0", "--connections-per-network=0"]);
        command.arg("--sign-ups-per-address=0");
        // By a variable, which an earlier release leaves unread.
        command.env("ONEHOP_DRAIN_SECONDS", "0");
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(data);
        let name = data.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::start(command, &scratch.join(format!("server-{name}.log"))).await
    }

    /// This program again, as the bare schema.
    pub async fn start_bare(catalogue: &Path, scratch: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--serve-bare").arg(catalogue);
        Self::start(command, &scratch.join("bare.log")).await
    }

    async fn start(mut command: Command, log: &Path) -> Result<Self> {
        let workers = std::thread::available_parallelism()?.to_string();
        command
            .env("TOKIO_WORKER_THREADS", workers)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?);
        let mut child = KilledOnDrop(command.spawn().context("a server does not start")?);
        let stdout = BufReader::new(child.0.stdout.take().expect("the output is piped"));
        let ready = timeout(READY_MAX, spawn_blocking(|| ready_address(stdout))).await;
        let Ok(ready) = ready else { bail!("a server was not ready within {READY_MAX:?}: {}", tail(log)) };
        let (address, stdout) = ready?.with_context(|| tail(log))?;
        Ok(Self { child, _stdout: stdout, address })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// The most memory that was ever resident.
    pub fn peak_rss_kib(&self) -> Result<u64> {
        let status = proc_file(self.id(), "status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        Ok(peak.context("no peak of the memory")?.parse()?)
    }
}

impl Server for ServerProcess {
    fn address(&self) -> &str {
        &self.address
    }

    /// In steps of 10 ms.
    fn cpu_time(&self) -> Result<Duration> {
        ticks(self.id(), USER_TIME_FIELD, 2)
    }

    fn written_bytes(&self) -> Result<u64> {
        written_bytes(self.id())
    }

    fn has_read_models(&self) -> bool {
        true
    }
}

/// A server of another make, of one or more processes, which was started elsewhere.
pub struct Peer {
    address: String,
    processes: Vec<u32>,
}

impl Peer {
    /// A peer that consists of these processes and all their descendants.
    pub fn new(address: String, processes: Vec<u32>) -> Self {
        Self { address, processes }
    }

    /// The processes, with their living descendants.
    fn living(&self) -> Result<Vec<u32>> {
        let mut living = self.processes.clone();
        let parents = parents()?;
        let mut place = 0;
        while let Some(parent) = living.get(place).copied() {
            living.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
            place += 1;
        }
        Ok(living)
    }
}

impl Server for Peer {
    fn address(&self) -> &str {
        &self.address
    }

    /// In nanoseconds for living processes, and in steps of 10 ms for descendants that have ended.
    fn cpu_time(&self) -> Result<Duration> {
        // A descendant that ends meanwhile counts with its parent.
        let of_living = self.living()?.into_iter().filter_map(|id| scheduled_time(id).ok()).sum::<Duration>();
        let ended = self.processes.iter().map(|id| ticks(*id, TIME_OF_ENDED_CHILDREN_FIELD, 2));
        Ok(of_living + ended.sum::<Result<Duration>>()?)
    }

    fn written_bytes(&self) -> Result<u64> {
        // The same.
        Ok(self.living()?.into_iter().filter_map(|id| written_bytes(id).ok()).sum())
    }

    fn has_read_models(&self) -> bool {
        false
    }
}

/// A number of times of a process, added, from this field of `/proc/<pid>/stat` on.
fn ticks(process: u32, first_field: usize, count: usize) -> Result<Duration> {
    let stat = proc_file(process, "stat")?;
    let ticks = fields_after_name(&stat)?
        .skip(first_field - FIRST_FIELD_AFTER_NAME)
        .take(count)
        .map(str::parse::<u64>)
        .sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

/// The name is in parentheses and may itself hold spaces and parentheses.
fn fields_after_name(stat: &str) -> Result<impl Iterator<Item = &str>> {
    let (_, fields) = stat.rsplit_once(')').context("a process without a name")?;
    Ok(fields.split_ascii_whitespace())
}

/// The time that all threads of a process have run.
fn scheduled_time(process: u32) -> Result<Duration> {
    let mut sum = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end meanwhile.
        let Ok(schedule) = std::fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let nanoseconds = schedule.split_ascii_whitespace().next().context("no time of a thread")?;
        sum += Duration::from_nanos(nanoseconds.parse()?);
    }
    Ok(sum)
}

/// Every process of this machine with its parent.
fn parents() -> Result<Vec<(u32, u32)>> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(process) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may end meanwhile.
        let Ok(stat) = proc_file(process, "stat") else { continue };
        let parent = fields_after_name(&stat)?.nth(PARENT_FIELD - FIRST_FIELD_AFTER_NAME);
        parents.push((process, parent.context("a process without a parent")?.parse()?));
    }
    Ok(parents)
}

fn written_bytes(process: u32) -> Result<u64> {
    let io = proc_file(process, "io")?;
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(written.context("no bytes written")?.trim().parse()?)
}

fn proc_file(process: u32, name: &str) -> Result<String> {
    let path = PathBuf::from(format!("/proc/{process}/{name}"));
    std::fs::read_to_string(&path).with_context(|| format!("a server is gone: {}", path.display()))
}

/// The release binary of this build.
pub fn this_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_onehop"))
}

/// The model of the blog, for a server that knows nothing else of it.
pub fn blog_model() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/blog/model.graphql"))
}

/// Copies a directory with its content.
pub fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Runs a release binary until it ends by itself.
pub async fn run_to_end(program: &Path, arguments: &[&str], data: &Path, scratch: &Path) -> Result<()> {
    let log = scratch.join("run.log");
    let mut command = Command::new(program);
    command.args(arguments).arg(data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let mut child = KilledOnDrop(command.spawn().context("the release binary does not start")?);
    let start = Instant::now();
    while start.elapsed() < SEED_MAX {
        if let Some(status) = child.0.try_wait()? {
            ensure!(status.success(), "`onehop {}` failed: {}", arguments.join(" "), tail(&log));
            return Ok(());
        }
        sleep(SEED_POLL).await;
    }
    bail!("`onehop {}` took longer than {SEED_MAX:?}", arguments.join(" "))
}

fn ready_address(mut stdout: BufReader<ChildStdout>) -> Result<(String, BufReader<ChildStdout>)> {
    let mut line = String::new();
    loop {
        line.clear();
        ensure!(stdout.read_line(&mut line)? > 0, "a server ended before it was ready");
        if let Some((_, rest)) = line.split_once("http://") {
            let end = rest.find(|character: char| !(character.is_ascii_digit() || ".:".contains(character)));
            return Ok((rest[..end.unwrap_or(rest.len())].to_owned(), stdout));
        }
    }
}

/// The end of a log, for an error.
fn tail(log: &Path) -> String {
    const LINES: usize = 10;
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
