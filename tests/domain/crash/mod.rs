//! The program as a process that ends: by SIGKILL in the middle of writes, by SIGTERM under load.
//!
//! Writers send commands over HTTP and write down what became of each: acknowledged, refused, or lost with the
//! process. After the next start what was acknowledged has to be there, what was lost may be there or not, and
//! nothing else. What a crash between two steps of one command leaves behind is tested in `tests/domain/commands`, where
//! each step can be hit; what the store's own files go through, in `crates/onehop-store/tests/store/embedded`.

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
