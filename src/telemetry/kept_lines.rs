//! Log lines kept in memory, for tests of the log.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

/// The lines so far.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptLines(Arc<Mutex<Vec<u8>>>);

impl KeptLines {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    pub(super) fn count(&self) -> usize {
        self.text().lines().count()
    }
}

impl io::Write for KeptLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for KeptLines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
