//! Process metrics, as Linux reports them; empty elsewhere. Names are the same as in Prometheus' client
//! libraries.

use std::fs;

/// The bytes of a page of memory where the system's own measure is pages.
const PAGE_BYTES: u64 = 4096;
/// Clock ticks of a second in files of `/proc`: `USER_HZ`, which is the same on all architectures of Linux
/// but Alpha and Itanium.
const TICKS_PER_SECOND: f64 = 100.0;
/// Places of fields in `/proc/self/stat` behind the name of the process, see `proc_pid_stat(5)`.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const START_TICKS: usize = 19;

/// The resources of this process.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessCollector {
    pub resident_memory_bytes: u64,
    pub open_files: u64,
    pub open_files_max: u64,
    pub cpu_seconds: f64,
    /// Unix seconds.
    pub start_time_seconds: f64,
}

impl ProcessCollector {
    pub(super) fn look() -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
        let open_files = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
        let (stat, limits, machine) = (read("self/stat"), read("self/limits"), read("stat"));
        let pages = read("self/statm").split_ascii_whitespace().nth(1).and_then(|pages| pages.parse().ok());
        Self {
            resident_memory_bytes: pages.unwrap_or(0) * PAGE_BYTES,
            open_files,
            open_files_max: open_files_max(&limits).unwrap_or(0),
            cpu_seconds: cpu_seconds(&stat).unwrap_or(0.0),
            start_time_seconds: start_time_seconds(&stat, &machine).unwrap_or(0.0),
        }
    }
}

/// A field of `/proc/self/stat`, in ticks. The name of a process may hold spaces and brackets.
fn ticks(stat: &str, place: usize) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_ascii_whitespace().nth(place)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((ticks(stat, USER_TICKS)? + ticks(stat, SYSTEM_TICKS)?) / TICKS_PER_SECOND)
}

fn start_time_seconds(stat: &str, machine: &str) -> Option<f64> {
    let booted: f64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    Some(booted + ticks(stat, START_TICKS)? / TICKS_PER_SECOND)
}

/// The soft limit of open files.
fn open_files_max(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_has_memory_files_and_a_beginning() {
        let process = ProcessCollector::look();
        assert!(process.resident_memory_bytes > 1024 * 1024 && process.open_files > 2, "{process:?}");
        assert!(process.open_files_max >= process.open_files, "{process:?}");
        assert!(process.start_time_seconds > 1e9 && process.cpu_seconds >= 0.0, "{process:?}");
    }

    #[test]
    fn a_name_with_brackets_moves_no_field() {
        let fields: Vec<String> = (3..=52).map(|field| (field * 100).to_string()).collect();
        let stat = format!("7 (one) hop (x) S {}", fields[1..].join(" "));
        assert_eq!(cpu_seconds(&stat), Some(14.0 + 15.0));
        assert_eq!(start_time_seconds(&stat, "cpu 1\nbtime 1000\n"), Some(1022.0));
    }

    #[test]
    fn a_system_that_does_not_say_has_no_figures() {
        assert_eq!((cpu_seconds(""), open_files_max("Max open files unlimited\n")), (None, None));
    }
}
