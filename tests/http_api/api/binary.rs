//! The program itself, as a process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use tokio::net::TcpSocket;

/// A graceful shutdown timeout longer than any test, so that a stop ends well however busy the machine is,
/// and no drain.
const STOP_TIMES: [(&str, &str); 2] = [("ONEHOP_STOP_SECONDS", "3600"), ("ONEHOP_DRAIN_SECONDS", "0")];

/// The program with these arguments, without the settings of the tests' environment.
pub fn onehop(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onehop"));
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ONEHOP_")) {
        command.env_remove(name);
    }
    command
}

/// The same command under another umask.
pub fn under_umask(umask: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask} && exec \"$0\" \"$@\"")]).arg(command.get_program());
    shell.args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// Runs the program to its end, beside the async threads.
pub async fn run(arguments: &[&str]) -> Output {
    let mut command = onehop(arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Runs a command on a data directory, and returns its exit status and its output.
pub async fn run_on(data: &Path, arguments: &[&str]) -> (i32, String) {
    let output = run(&[arguments, &["--data", data.to_str().unwrap()]].concat()).await;
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(printed).unwrap())
}

/// An address that refuses every connection for as long as the socket lives: the socket is bound and does not
/// listen.
pub fn refusing_address() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

/// A running `onehop serve`. It is killed when it is dropped.
pub struct Serving {
    child: Child,
    log: Log,
    pub address: String,
    /// Where it serves its metrics, if it has said so.
    pub metrics: Option<String>,
    /// The address with the operator key, if it has printed one.
    pub browse: Option<String>,
}

impl Serving {
    /// Starts it on a free port and waits for its ready line.
    pub fn start(data: &Path, arguments: &[&str]) -> Self {
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        Self::start_as(onehop(&[&fixed[..], arguments].concat()))
    }

    /// The same, with this soft limit of open files.
    pub fn start_with_open_files(data: &Path, open_files: u32) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -Sn $0; exec \"$@\"", &open_files.to_string()]);
        command.arg(env!("CARGO_BIN_EXE_onehop")).args(serve).stdin(Stdio::null());
        Self::start_as(command)
    }

    /// Starts it by this command, and waits for its ready line.
    pub fn start_as(mut command: Command) -> Self {
        command.envs(STOP_TIMES).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        let (mut metrics, mut browse) = (None, None);
        let address = lines.find_map(|line| {
            let line = message_of(line);
            if let Some(address) = line.strip_prefix("onehop metrics on ") {
                metrics = Some(address.to_owned());
            }
            if let Some(address) = line.strip_prefix("onehop browse at ") {
                browse = Some(address.to_owned());
            }
            Some(line.strip_prefix("onehop listening on ")?.to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("it did not start: {}", log.whole()));
        Self { child, log, address, metrics, browse }
    }

    /// Waits until so many lines of its log have all of these texts, and fails if the log ends before.
    pub async fn logged(&self, times: usize, texts: &[&str]) {
        let (log, texts) = (self.log.clone(), texts.iter().map(|text| (*text).to_owned()).collect());
        tokio::task::spawn_blocking(move || log.until_lines_with(times, texts)).await.unwrap();
    }

    /// Ends it at once, and returns its log.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.whole()
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and returns its exit status and its log.
    pub fn stop(mut self) -> (i32, String) {
        let terminated = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(terminated.unwrap().success());
        let status = self.child.wait().unwrap().code().unwrap();
        (status, self.log.whole())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After a stop there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of the program for its starter, which is an object with `--log-format json`.
fn message_of(line: String) -> String {
    match serde_json::from_str::<serde_json::Value>(&line) {
        Ok(line) => line["message"].as_str().unwrap_or_default().to_owned(),
        Err(_) => line,
    }
}

/// The log of a process. A thread reads it, so that the process never waits for a reader.
#[derive(Clone, Default)]
struct Log(Arc<(Mutex<LogLines>, Condvar)>);

#[derive(Default)]
struct LogLines {
    text: String,
    is_ended: bool,
}

impl Log {
    fn of(stderr: ChildStderr) -> Self {
        let log = Self::default();
        let writer = log.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                writer.change(|log| log.text += &(line.unwrap() + "\n"));
            }
            writer.change(|log| log.is_ended = true);
        });
        log
    }

    fn change(&self, change: impl FnOnce(&mut LogLines)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    /// Waits for so many lines that have all of these texts.
    fn until_lines_with(&self, times: usize, texts: Vec<String>) {
        let has_all = |line: &&str| texts.iter().all(|text| line.contains(text));
        let is_there = |log: &LogLines| log.text.lines().filter(has_all).count() >= times;
        let (lines, written) = &*self.0;
        let is_awaited = |log: &mut LogLines| !log.is_ended && !is_there(log);
        let log = written.wait_while(lines.lock().unwrap(), is_awaited).unwrap();
        assert!(is_there(&log), "fewer than {times} lines with {texts:?}: {}", log.text);
    }

    /// The log of a process that has ended.
    fn whole(&self) -> String {
        let (lines, written) = &*self.0;
        written.wait_while(lines.lock().unwrap(), |log| !log.is_ended).unwrap().text.clone()
    }
}
