//! Recovery: the state in which a data directory was opened.

/// The state in which the last process left a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedAfter {
    /// There was no process before: the directory is new.
    Nothing,
    /// The last process closed it.
    Close,
    /// The last process did not close it, so the journal was replayed.
    Crash,
}
