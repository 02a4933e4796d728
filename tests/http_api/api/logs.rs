//! Everything that this process logs, at the finest level. All tests of the process share it.

use std::io;
use std::sync::{Mutex, Once};

use tracing_subscriber::fmt::MakeWriter;

static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Starts to keep log lines; once is enough.
pub fn capture() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
        tracing::subscriber::set_global_default(subscriber.with_writer(Kept).finish()).unwrap();
    });
}

/// The log so far.
pub fn written() -> String {
    String::from_utf8_lossy(&WRITTEN.lock().unwrap()).into_owned()
}

struct Kept;

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        WRITTEN.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Kept {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
