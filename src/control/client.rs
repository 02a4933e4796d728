//! The command line's end of the socket.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::{LINE_BYTES_MAX, Line, Progress, SOCKET_FILE, Work};

/// Bytes that the system allows for a socket's address, with some left over.
const ADDRESS_BYTES_MAX: usize = 100;

/// Why a server did not do the work.
#[derive(Debug, Error)]
pub enum ControlError {
    #[error("the connection to the server failed: {0}")]
    Io(#[from] io::Error),
    #[error("the server's answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    #[error("the server stopped before the work was done")]
    Stopped,
    #[error("{0}")]
    Refused(String),
}

/// Has the server that holds a data directory do the work. `None` when no server holds it.
///
/// # Errors
/// See [`ControlError`].
pub async fn ask(
    data_directory: &Path,
    work: &Work,
    mut progress: impl FnMut(Progress),
) -> Result<Option<Value>, ControlError> {
    let Some(stream) = connect(data_directory).await? else { return Ok(None) };
    let (reader, mut writer) = stream.into_split();
    let mut request = serde_json::to_vec(work)?;
    request.push(b'\n');
    writer.write_all(&request).await?;
    let mut lines = BufReader::new(reader);
    loop {
        let mut line = String::new();
        (&mut lines).take(LINE_BYTES_MAX as u64).read_line(&mut line).await?;
        if line.is_empty() {
            return Err(ControlError::Stopped);
        }
        match serde_json::from_str(&line)? {
            Line::Progress(step) => progress(step),
            Line::Outcome(outcome) => return Ok(Some(outcome)),
            Line::Error(reason) => return Err(ControlError::Refused(reason)),
        }
    }
}

async fn connect(data_directory: &Path) -> io::Result<Option<UnixStream>> {
    let (_directory, address) = match short_address(data_directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        address => address?,
    };
    match UnixStream::connect(address).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The address of the socket. One that is too long for the system is reached through an open directory, which has
/// to stay open as long as the address is used.
pub(super) fn short_address(data_directory: &Path) -> io::Result<(Option<File>, PathBuf)> {
    let path = data_directory.join(SOCKET_FILE);
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((None, path));
    }
    let directory = File::open(data_directory)?;
    let address = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(SOCKET_FILE);
    Ok((Some(directory), address))
}
