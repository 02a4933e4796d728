//! Member: the identity of a process among the processes that share the change feed of a store.

use std::time::Duration;

use onehop_change_feed::{Backoff, Settings, Sharing};

use crate::config::StoreChoice;

/// The identity of a process as an owner of leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name under which it holds leases.
    pub owner: String,
    pub sharing: Sharing,
}

impl Member {
    /// The member that this process is in a store.
    #[must_use]
    pub fn of(choice: &StoreChoice) -> Self {
        match choice {
            StoreChoice::Embedded(_) => Self::alone(),
            StoreChoice::Cosmos(_) => Self::with_others(),
        }
    }

    /// The only member.
    #[must_use]
    pub fn alone() -> Self {
        Self { owner: "embedded".to_owned(), sharing: Sharing::Alone }
    }

    /// One of several members, named after the host. The random suffix distinguishes processes of one host:
    /// two owners of one name would take each other's leases.
    #[must_use]
    pub fn with_others() -> Self {
        Self { owner: format!("{}~{}", host_name(), random_suffix()), sharing: Sharing::with_others() }
    }

    /// Settings of its change feed processor, with this poll interval.
    #[must_use]
    pub fn processor_settings(self, poll: Duration) -> Settings {
        let settings = Settings::new(self.owner);
        let poll = Backoff { longest: poll, ..settings.poll };
        Settings { sharing: self.sharing, poll, ..settings }
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "onehop".to_owned() } else { name.to_owned() }
}

/// Eight hexadecimal digits; the process id where there are no random bytes.
fn random_suffix() -> String {
    let mut bytes = [0; 4];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = std::process::id().to_be_bytes();
    }
    format!("{:08x}", u32::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_one_host_have_different_names() {
        let (one, other) = (Member::with_others(), Member::with_others());
        assert_ne!(one.owner, other.owner);
        assert_eq!(one.sharing, Sharing::with_others());
    }

    #[test]
    fn the_poll_interval_is_the_longest_delay() {
        let settings = Member::with_others().processor_settings(Duration::from_secs(20));
        assert_eq!(settings.poll.longest, Duration::from_secs(20));
        let defaults = Member::alone().processor_settings(crate::app::PROJECTION_POLL_DEFAULT);
        assert_eq!(defaults.poll, Settings::new("embedded").poll);
    }
}
