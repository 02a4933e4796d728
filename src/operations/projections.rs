//! Projections as clients of the operations API see them: pending changes, lag, dead letters, and the leases
//! of feed ranges.

use std::collections::BTreeSet;

use async_graphql::{ComplexObject, Result, SimpleObject};
use onehop_change_feed::{LeaseStatus, ProcessorStatus};

use super::errors::{FIRST_MAX, items_of};

/// The status of a change feed projection.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
#[graphql(complex)]
pub struct ProjectionStatus {
    /// The projection's name.
    pub name: String,
    /// The container whose change feed it follows.
    pub source: String,
    /// Changes written and not yet projected.
    pub pending_changes: u32,
    /// The age of the oldest of these changes, in milliseconds; 0 without any.
    pub lag_ms: f64,
    /// Parked changes that could not be projected, together with the changes behind them.
    pub dead_letters: u32,
    /// The number of leases: one for each feed range of the container, shared by all projections that
    /// follow it.
    pub lease_count: u32,
    /// In the order of their ranges.
    #[graphql(skip)]
    pub leases: Vec<Lease>,
}

/// The right to read one feed range of a container for all projections that follow it.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
pub struct Lease {
    /// The feed range, as the store names it.
    pub range: String,
    /// The number of the process that holds it. Processes with leases are numbered from 1, by every process
    /// alike. Null for a free lease. It is as old as the last look at the leases.
    pub owner: Option<u32>,
    /// Whether the process that answers holds it.
    pub held_here: bool,
    /// The number of its acquisitions.
    pub epoch: f64,
    /// Changes projected since this process acquired it; 0 where it does not hold it.
    pub changes: f64,
    /// Pages of the change feed that failed since this process acquired it, also where a retry mended that.
    /// The log says why.
    pub errors: f64,
    /// Changes of the range written and not yet projected; another process's after its last checkpoint.
    pub pending_changes: u32,
    /// The age of the oldest of these changes, in milliseconds; 0 without any.
    pub lag_ms: f64,
}

#[ComplexObject]
impl ProjectionStatus {
    /// The leases of the projection, in the order of their ranges.
    #[graphql(complexity = "first.clamp(1, 100) as usize * child_complexity")]
    async fn leases(
        &self,
        #[graphql(desc = "The number of leases, 1 to 100.", default = 20)] first: i32,
    ) -> Result<&[Lease]> {
        let items = items_of(first)?;
        Ok(&self.leases[..items.min(self.leases.len())])
    }
}

impl ProjectionStatus {
    /// The statuses of all projections. The name of an instance may be a machine's, so clients get a number
    /// in its place; errors are for the log.
    pub(super) fn all_of(ProcessorStatus { projections, leases }: ProcessorStatus) -> Vec<Self> {
        let owners: BTreeSet<&str> = leases.iter().filter_map(|lease| lease.owner.as_deref()).collect();
        let number = |lease: &LeaseStatus| {
            let owner = lease.owner.as_deref()?;
            owners.iter().position(|known| *known == owner).map(|before| count(before as u64 + 1))
        };
        let of = |container: &str| {
            let mut own: Vec<&LeaseStatus> =
                leases.iter().filter(|lease| lease.container == container).collect();
            // Ranges with numbers in them stand in the order of these.
            own.sort_by_key(|lease| (lease.range.len(), &lease.range));
            own
        };
        let status = |status: &onehop_change_feed::ProjectionStatus| {
            let own = of(status.source);
            Self {
                name: status.projection.to_owned(),
                source: status.source.to_owned(),
                pending_changes: count(status.pending_changes),
                lag_ms: status.lag_ms as f64,
                dead_letters: count(status.dead_letters),
                lease_count: count(own.len() as u64),
                leases: own.iter().take(FIRST_MAX).map(|lease| Lease::of(lease, number(lease))).collect(),
            }
        };
        projections.iter().map(status).collect()
    }
}

impl Lease {
    fn of(lease: &LeaseStatus, owner: Option<u32>) -> Self {
        Self {
            range: lease.range.clone(),
            owner,
            held_here: lease.mine,
            epoch: lease.epoch as f64,
            changes: lease.changes as f64,
            errors: lease.errors as f64,
            pending_changes: count(lease.pending_changes),
            lag_ms: lease.lag_ms as f64,
        }
    }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::RequestCharge;

    fn lease(container: &'static str, range: &str, owner: Option<&str>) -> LeaseStatus {
        LeaseStatus {
            container,
            range: range.to_owned(),
            owner: owner.map(str::to_owned),
            mine: owner == Some("db7.internal"),
            epoch: 2,
            changes: 5,
            errors: 1,
            pending_changes: 3,
            lag_ms: 40,
            last_error: Some("db7.internal:8081 refuses connections".to_owned()),
        }
    }

    fn standing(leases: Vec<LeaseStatus>) -> ProcessorStatus {
        let status = |projection, source| onehop_change_feed::ProjectionStatus {
            projection,
            source,
            running: true,
            pending_changes: 3,
            lag_ms: 40,
            dead_letters: 0,
            changes: 5,
            request_charge: RequestCharge(1.0),
            last_error: None,
            stalled_ms: 0,
            stall_cause: None,
        };
        let projections = [("feed", "posts"), ("usernames", "users"), ("deletions", "posts")];
        let projections = projections.map(|(name, source)| status(name, source)).into();
        ProcessorStatus { projections, leases }
    }

    #[test]
    fn owners_are_numbers_over_all_projections_and_what_failed_is_not_told() {
        let statuses = ProjectionStatus::all_of(standing(vec![
            lease("posts", "physical:10", Some("db7.internal")),
            lease("posts", "physical:2", None),
            lease("users", "physical:0", Some("10.0.0.4")),
            lease("users", "physical:1", Some("db7.internal")),
        ]));
        let told = |status: &ProjectionStatus| -> Vec<(String, Option<u32>, bool)> {
            status.leases.iter().map(|lease| (lease.range.clone(), lease.owner, lease.held_here)).collect()
        };
        let expected = [("physical:2".to_owned(), None, false), ("physical:10".to_owned(), Some(2), true)];
        assert_eq!(told(&statuses[0]), expected);
        let expected = [("physical:0".to_owned(), Some(1), false), ("physical:1".to_owned(), Some(2), true)];
        assert_eq!(told(&statuses[1]), expected);
        assert_eq!(told(&statuses[2]), told(&statuses[0]), "projections of one container share its leases");
        let text = format!("{statuses:?}");
        assert!(!text.contains("internal") && !text.contains("10.0.0.4"), "{text}");
    }

    #[test]
    fn of_many_leases_the_first_are_kept_and_all_are_counted() {
        let leases: Vec<LeaseStatus> =
            (0..FIRST_MAX + 5).map(|range| lease("posts", &format!("physical:{range}"), None)).collect();
        let statuses = ProjectionStatus::all_of(standing(leases));
        assert_eq!((statuses[0].leases.len(), statuses[0].lease_count), (FIRST_MAX, 105));
        assert_eq!((statuses[1].leases.len(), statuses[1].lease_count), (0, 0));
    }
}
