//! Parses the command line and hands over.

use std::process::ExitCode;

use onehop::cli::{Cli, Exit};
use onehop_runtime::error_chain::one_line;
use onehop_runtime::private_files::set_umask;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything makes a file or a thread.
    set_umask();
    let cli = Cli::of_process();
    let log = match cli.log.start() {
        Ok(log) => log,
        Err(reason) => {
            eprintln!("error: {reason}");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the runtime cannot be started: {error}");
            return ExitCode::from(2);
        }
    };
    match runtime.block_on(cli.run(log)) {
        Ok(Exit::Success) => ExitCode::SUCCESS,
        Ok(Exit::Drifted) => ExitCode::from(1),
        Ok(Exit::Lost) => ExitCode::from(3),
        Err(error) => {
            eprintln!("error: {}", one_line(&*error));
            ExitCode::from(2)
        }
    }
}
