//! The program as a process that ends: by SIGKILL in the middle of writes, by SIGTERM under load.
//!
//! Writers send commands over HTTP and write down the outcome of each: acknowledged, refused, or lost with
//! the process. After the next start acknowledged writes have to be there, lost writes may be there or not,
//! and nothing else. The state after a crash between two steps of one command is tested in
//! `tests/domain/commands`, where each step can be hit; crashes of the store's own files, in
//! `crates/onehop-store/tests/store/embedded`.

mod api;
mod check;
#[cfg(target_os = "linux")]
mod copied;
mod killed;
mod program;
mod record;
mod resolve;
mod seeded;
mod stopped;
mod writer;
