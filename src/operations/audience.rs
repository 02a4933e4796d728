//! The audience of the operations API: the readers of an answer decide its omissions.

/// The readers of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// A person who may read the data directory.
    Operator,
    /// A client of the public listener with the operator key. It reads stored items beside the public
    /// answers.
    KeyHolder,
    /// Every client of the public listener. Errors and stored bodies are left out.
    Public,
}
