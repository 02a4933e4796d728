//! Standard output of commands. A reader that closes the pipe early, such as `head`, ends the output and is
//! no error.

use std::io::{ErrorKind, Write};

/// Writes a text to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn write(text: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
