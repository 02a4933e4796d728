//! Limits of the operations API on its socket.

/// Clients of the socket at once.
pub const CLIENTS_MAX: usize = 8;
/// Bytes of one request on the socket.
pub const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one answer that the client reads.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Progress events that wait for a slow subscriber; further ones are dropped.
pub const PROGRESS_WAITING_MAX: usize = 64;
