//! The log of this process at the finest level, while a test reads it. Tests that run meanwhile log, too.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once};

use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Registry, fmt};

static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static READERS: AtomicUsize = AtomicUsize::new(0);

/// Lines are kept until this is dropped.
#[must_use]
pub struct KeptLog;

impl KeptLog {
    pub fn start() -> Self {
        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            let is_read = dynamic_filter_fn(|_, _| READERS.load(Ordering::Relaxed) > 0);
            let lines = fmt::layer().with_ansi(false).with_writer(Kept);
            tracing::subscriber::set_global_default(Registry::default().with(is_read).with(lines)).unwrap();
        });
        let _written = WRITTEN.lock().unwrap();
        READERS.fetch_add(1, Ordering::Relaxed);
        Self
    }

    /// The log since the first of the present readers has started.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&WRITTEN.lock().unwrap()).into_owned()
    }
}

impl Drop for KeptLog {
    fn drop(&mut self) {
        // Under the lock, as the start is: no other reader starts in between.
        let mut written = WRITTEN.lock().unwrap();
        if READERS.fetch_sub(1, Ordering::Relaxed) == 1 {
            *written = Vec::new();
        }
    }
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
