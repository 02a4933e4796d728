//! Blocking work: long computations and waits for a disk, off the threads of the executor.

use std::cell::Cell;

use tokio::task::{JoinError, spawn_blocking};

thread_local! {
    static IS_INLINE: Cell<bool> = const { Cell::new(false) };
}

/// Runs blocking work in a thread of its own, and waits for its result. Dropped while it waits, it leaves the
/// work to end by itself.
///
/// # Errors
/// The work panicked, or the runtime stops.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    if IS_INLINE.get() { Ok(work()) } else { spawn_blocking(work).await }
}

/// Has the blocking work of this thread done in this thread from now on, so that a simulation has no second
/// thread.
pub fn run_inline() {
    IS_INLINE.set(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_has_a_thread_of_its_own_unless_it_is_inline() {
        let here = std::thread::current().id();
        let thread = || std::thread::current().id();
        assert_ne!(run(thread).await.unwrap(), here);
        run_inline();
        assert_eq!(run(thread).await.unwrap(), here);
    }
}
