//! Process metrics, as Linux reports them; empty elsewhere.

use std::fs;

/// The bytes of a page of memory where the system's own measure is pages.
const PAGE_BYTES: u64 = 4096;

/// The resources of this process.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessCollector {
    pub resident_memory_bytes: u64,
    pub open_files: u64,
}

impl ProcessCollector {
    pub(super) fn look() -> Self {
        let pages = fs::read_to_string("/proc/self/statm")
            .ok()
            .and_then(|statm| statm.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
        let open_files = fs::read_dir("/proc/self/fd").map(|entries| entries.count() as u64);
        Self { resident_memory_bytes: pages.unwrap_or(0) * PAGE_BYTES, open_files: open_files.unwrap_or(0) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_open_files() {
        let process = ProcessCollector::look();
        assert!(process.resident_memory_bytes > 1024 * 1024 && process.open_files > 2, "{process:?}");
    }
}
