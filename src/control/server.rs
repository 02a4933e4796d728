//! The server's end of the socket.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{CLIENTS_MAX, LINE_BYTES_MAX, Line, PROGRESS_WAITING_MAX, SOCKET_FILE, Work, Worker};
use onehop_runtime::tasks::Tasks;

/// A socket that waits for clients. Its file goes away with it.
pub struct ControlServer {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlServer {
    /// Listens in a data directory, which the caller holds locked: a socket that is there already was left behind.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn bind(data_directory: &Path) -> io::Result<Self> {
        let path = data_directory.join(SOCKET_FILE);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (directory, address) = super::client::short_address(data_directory)?;
        let listener = UnixListener::bind(address)?;
        drop(directory);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Serves clients until `stop` fires.
    ///
    /// # Errors
    /// When the socket fails.
    pub async fn serve(
        self,
        worker: Arc<dyn Worker>,
        tasks: Tasks,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let clients = Arc::new(Semaphore::new(CLIENTS_MAX));
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => accepted?.0,
            };
            let Ok(permit) = Arc::clone(&clients).try_acquire_owned() else { continue };
            let (worker, stop) = (Arc::clone(&worker), stop.clone());
            tasks.spawn("control client", async move {
                let _permit = permit;
                tokio::select! {
                    () = stop.cancelled() => {}
                    served = serve_client(stream, &*worker) => {
                        if let Err(error) = served {
                            tracing::debug!(%error, "a control client went away");
                        }
                    }
                }
                Ok::<(), io::Error>(())
            });
        }
        Ok(())
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // What cannot be removed is replaced at the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve_client(stream: UnixStream, worker: &dyn Worker) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    BufReader::new(reader.take(LINE_BYTES_MAX as u64)).read_line(&mut line).await?;
    let work: Work = match serde_json::from_str(&line) {
        Ok(work) => work,
        Err(error) => {
            return send(&mut writer, &Line::Error(format!("the request cannot be read: {error}"))).await;
        }
    };
    let (progress, mut steps) = mpsc::channel(PROGRESS_WAITING_MAX);
    let performing = worker.perform(work, progress);
    tokio::pin!(performing);
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut performing => break outcome,
            Some(step) = steps.recv() => send(&mut writer, &Line::Progress(step)).await?,
        }
    };
    let line = match outcome {
        Ok(outcome) => Line::Outcome(outcome),
        Err(reason) => Line::Error(reason),
    };
    send(&mut writer, &line).await
}

async fn send(writer: &mut (impl AsyncWriteExt + Unpin), line: &Line) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    writer.write_all(&bytes).await
}
