//! Memory: how much of it this process may take, by the machine and by its control group.

use std::fs;

/// Control groups of version 2, and the limit of the root group of a container.
const CGROUP_ROOT: &str = "/sys/fs/cgroup";
const CGROUP_LIMIT: &str = "memory.max";
/// Control groups of version 1, with a hierarchy for each controller.
const CGROUP_V1_ROOT: &str = "/sys/fs/cgroup/memory";
const CGROUP_V1_LIMIT: &str = "memory.limit_in_bytes";
const CGROUP_V1_CONTROLLER: &str = "memory";

/// The bytes of memory that this process may take: the memory of the machine, or less where its control group
/// has a limit. `None` where the operating system does not say.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let machine = machine_bytes()?;
    Some(cgroup_limits().fold(machine, u64::min))
}

#[cfg(target_os = "linux")]
fn machine_bytes() -> Option<u64> {
    let system = rustix::system::sysinfo();
    system.totalram.checked_mul(system.mem_unit.into())
}

#[cfg(not(target_os = "linux"))]
fn machine_bytes() -> Option<u64> {
    None
}

/// The limits of the process's control group and of all above it.
fn cgroup_limits() -> impl Iterator<Item = u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let unified = groups(unified_path(&own)).map(|group| format!("{CGROUP_ROOT}{group}/{CGROUP_LIMIT}"));
    let of_memory =
        groups(memory_path(&own)).map(|group| format!("{CGROUP_V1_ROOT}{group}/{CGROUP_V1_LIMIT}"));
    let files: Vec<String> = unified.chain(of_memory).collect();
    files.into_iter().filter_map(|file| limit(&fs::read_to_string(file).ok()?))
}

/// The path of a process's control group of version 2.
fn unified_path(own: &str) -> &str {
    own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default()
}

/// The path of a process's control group of version 1 that limits memory.
fn memory_path(own: &str) -> &str {
    let found = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|controller| controller == CGROUP_V1_CONTROLLER).then_some(path)
    });
    found.unwrap_or_default()
}

/// The path of a control group, and of each above it; the root is the empty path.
fn groups(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    std::iter::successors(Some(path), |path| path.rfind('/').map(|end| &path[..end]))
}

/// A limit in bytes. `None` without a limit, which is `max` or, in version 1, a number above the memory of
/// any machine.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_each_group_above_a_process_counts() {
        let own = "12:cpu,memory:/old/group\n3:cpuset:/\n0::/system.slice/onehop.service\n";
        let unified = groups(unified_path(own)).collect::<Vec<_>>();
        assert_eq!(unified, ["/system.slice/onehop.service", "/system.slice", ""]);
        assert_eq!(groups(memory_path(own)).collect::<Vec<_>>(), ["/old/group", "/old", ""]);
        for root in ["0::/\n", ""] {
            assert_eq!(groups(unified_path(root)).collect::<Vec<_>>(), [""]);
            assert_eq!(groups(memory_path(root)).collect::<Vec<_>>(), [""]);
        }
    }

    #[test]
    fn a_group_without_a_limit_has_none() {
        assert_eq!(limit("max\n"), None);
        assert_eq!(limit("536870912\n"), Some(512 << 20));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory() {
        assert!(memory_bytes().is_some_and(|bytes| bytes > 64 << 20));
    }
}
