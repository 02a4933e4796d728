//! The limit of open files (`RLIMIT_NOFILE`): raised at the start to the system's maximum, since each
//! connection takes a descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are kept for other things than connections: the store's files, the log, the listeners,
/// the reserve for health checks.
pub const OPEN_FILES_RESERVED: usize = 320;

/// Raises the soft limit to the hard one, and returns how many connections fit beside the other open files.
#[must_use]
pub fn raise_open_files() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let open_files_max = match raised {
        Ok(()) => maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files cannot be raised");
            current
        }
    };
    // No limit is no number.
    let open_files_max = open_files_max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    open_files_max.saturating_sub(OPEN_FILES_RESERVED).max(open_files_max / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_the_hard_one_afterwards() {
        let connections_max = raise_open_files();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
        assert!(maximum.is_none_or(|maximum| (connections_max as u64) < maximum));
    }
}
