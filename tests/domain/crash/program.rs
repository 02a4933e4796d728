//! The program, started as its users start it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

/// Users of one address sign up and write as fast as the server can.
const NO_RATE_LIMITS: [&str; 3] =
    ["--write-limits-percent=0", "--sign-ups-per-address=0", "--caller-ru-per-second=0"];
/// Longer than any test: a stop comes to its end, however busy the machine is.
const LONG_STOP: [&str; 2] = ["--stop-seconds=3600", "--drain-seconds=0"];

/// A running server. It is killed when it is dropped, also by a test that fails.
pub struct Server {
    child: Child,
    pub address: String,
}

impl Server {
    /// Starts a server on a free port, and waits until it says where it listens.
    pub fn start(data: &Path) -> Self {
        let mut command = onehop(data, "serve");
        command.args(NO_RATE_LIMITS).args(LONG_STOP);
        let mut child =
            command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().expect("a process");
        let output = BufReader::new(child.stdout.as_mut().expect("its standard output"));
        let ready = |line: String| line.strip_prefix("onehop listening on ").map(ToOwned::to_owned);
        let address = output.lines().map_while(Result::ok).find_map(ready);
        let Some(address) = address else {
            panic!("the server did not start: {}", child.wait().expect("its end"));
        };
        Self { child, address }
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process by SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("the end of the process");
    }

    /// Asks the process to stop by SIGTERM. A status of 0 says that it came to its end within its deadline.
    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        self.child.wait().expect("the end of the process")
    }

    /// Sends a signal, to this process alone.
    pub fn signal(&self, name: &str) {
        let kill = Command::new("kill").arg(format!("-{name}")).arg(self.process_id().to_string()).status();
        assert!(kill.expect("the kill command").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asserts that `onehop verify` finds nothing, with any holder of the directory.
pub fn assert_clean(data: &Path) {
    let Output { status, stdout, .. } = onehop(data, "verify").output().expect("a process");
    assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&stdout));
}

/// The program, without the settings of the tests' environment. Its log goes where the test's goes.
pub fn onehop(data: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onehop"));
    command.args(["--log", "warn", subcommand, "--data"]).arg(data);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ONEHOP_") {
            command.env_remove(name);
        }
    }
    command
}
