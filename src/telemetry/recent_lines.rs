//! Recent log lines: a bounded ring of the last lines of this process, for `onehop diagnose`.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

/// Lines in the ring.
pub const RECENT_LINES_MAX: usize = 2_000;
/// Bytes of a line; the rest is left out.
pub const RECENT_LINE_BYTES_MAX: usize = 2_048;

/// The last lines of the log. Clones are handles to the same ring.
#[derive(Debug, Clone, Default)]
pub struct RecentLines(Arc<Mutex<VecDeque<String>>>);

impl RecentLines {
    /// The lines, oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }

    fn add(&self, line: &str) {
        let mut end = line.len().min(RECENT_LINE_BYTES_MAX);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let mut lines = self.0.lock();
        if lines.len() == RECENT_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line[..end].to_owned());
    }
}

impl io::Write for RecentLines {
    /// Takes whole lines: the log writes each in one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        text.lines().filter(|line| !line.is_empty()).for_each(|line| self.add(line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for RecentLines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_ring_keeps_the_last_lines_and_cuts_long_ones() {
        let ring = RecentLines::default();
        let mut writer = ring.make_writer();
        for number in 0..RECENT_LINES_MAX + 3 {
            writer.write_all(format!("line {number}\n").as_bytes()).unwrap();
        }
        let lines = ring.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (RECENT_LINES_MAX, "line 3"));
        writer.write_all("ä".repeat(RECENT_LINE_BYTES_MAX).as_bytes()).unwrap();
        assert_eq!(ring.lines().last().unwrap().len(), RECENT_LINE_BYTES_MAX);
        writer.write_all(format!("x{}", "ä".repeat(RECENT_LINE_BYTES_MAX)).as_bytes()).unwrap();
        assert_eq!(ring.lines().last().unwrap().len(), RECENT_LINE_BYTES_MAX - 1, "no half character");
    }
}
