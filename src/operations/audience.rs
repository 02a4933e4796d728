//! The audience of the operations API: who reads an answer decides what is left out of it.

/// Who reads the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// A person who may read the data directory.
    Operator,
    /// Every client of the public listener. Errors and stored bodies are left out.
    Public,
}
