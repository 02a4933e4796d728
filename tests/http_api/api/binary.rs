//! The program itself, as a process.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The program with these arguments, and none of the settings of whoever runs the tests.
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

/// Runs a command on a data directory, and returns its exit status and what it printed.
pub async fn run_on(data: &Path, arguments: &[&str]) -> (i32, String) {
    let output = run(&[arguments, &["--data", data.to_str().unwrap()]].concat()).await;
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(printed).unwrap())
}

/// A running `onehop serve`. It is killed when it is dropped.
pub struct Serving {
    child: Child,
    log: File,
    pub address: String,
    /// Where it serves its metrics, if it has said so.
    pub metrics: Option<String>,
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
        let mut log = tempfile::tempfile().unwrap();
        let stderr = log.try_clone().unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        let mut metrics = None;
        let address = lines.find_map(|line| {
            if let Some(address) = line.strip_prefix("onehop metrics on ") {
                metrics = Some(address.to_owned());
            }
            Some(line.strip_prefix("onehop listening on ")?.to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("it did not start: {}", read_whole(&mut log)));
        Self { child, log, address, metrics }
    }

    /// Ends it at once, and returns its log.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        read_whole(&mut self.log)
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
        (status, read_whole(&mut self.log))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After a stop there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_whole(file: &mut File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}
