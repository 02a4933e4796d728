//! Load balancing strategy (pure): decides which leases this instance acquires, from a listing of all leases.
//!
//! Each instance decides for itself, from a listing that may be out of date when it acts; the ETags of the
//! leases settle which instance was first. A steal always goes from an instance with at least two leases
//! more. So no instance becomes the one with the most leases by stealing, and stealing comes to an end, also
//! when all instances steal at once.

use std::collections::BTreeMap;

use super::containers::digest;

/// A lease, reduced to the strategy's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseLoad<'a> {
    pub(super) id: &'a str,
    /// The instance that owns it; `None` when it was released or has expired.
    pub(super) owner: Option<&'a str>,
    /// It cannot be acquired yet: its range is a part of another lease's range, whose split is not finished.
    pub(super) waits: bool,
}

/// The leases to acquire in this round.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AcquisitionPlan<'a> {
    /// Free leases to take.
    pub(super) take: Vec<&'a str>,
    /// A lease to take from its owner.
    pub(super) steal: Option<&'a str>,
}

/// Takes free leases up to this instance's share of all; where nothing is free, steals one from the instance
/// with the most leases.
pub(super) fn plan<'a>(leases: &[LeaseLoad<'a>], me: &'a str) -> AcquisitionPlan<'a> {
    let mut holdings: BTreeMap<&str, Vec<&'a str>> = BTreeMap::from([(me, Vec::new())]);
    let mut free = Vec::new();
    for lease in leases {
        match lease.owner {
            Some(owner) => holdings.entry(owner).or_default().push(lease.id),
            None if lease.waits => {}
            None => free.push(lease.id),
        }
    }
    let mine = holdings[me].len();
    let share = leases.len().div_ceil(holdings.len());
    let missing = share.saturating_sub(mine);
    if missing == 0 {
        return AcquisitionPlan::default();
    }
    if !free.is_empty() {
        // In an order of this instance's own, so that instances that decide at the same time choose different
        // leases.
        free.sort_by_cached_key(|id| digest(&[me, id]));
        free.truncate(missing);
        return AcquisitionPlan { take: free, steal: None };
    }
    let richest = holdings.values().max_by_key(|owned| owned.len()).filter(|owned| owned.len() >= mine + 2);
    let steal = richest.and_then(|owned| owned.iter().copied().min_by_key(|id| digest(&[me, id])));
    AcquisitionPlan { take: Vec::new(), steal }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn weighed<'a>(owners: &[(&'a str, Option<&'a str>)]) -> Vec<LeaseLoad<'a>> {
        owners.iter().map(|(id, owner)| LeaseLoad { id, owner: *owner, waits: false }).collect()
    }

    #[test]
    fn an_instance_alone_takes_everything() {
        let leases = weighed(&[("1", None), ("2", None), ("3", None)]);
        assert_eq!(plan(&leases, "a").take.len(), 3);
    }

    #[test]
    fn free_leases_are_acquired_up_to_the_share_without_stealing() {
        let leases =
            weighed(&[("1", None), ("2", Some("b")), ("3", Some("b")), ("4", Some("b")), ("5", None)]);
        let plan = plan(&leases, "a");
        assert_eq!((plan.take.len(), plan.steal), (2, None));
    }

    #[test]
    fn a_newcomer_steals_one_from_the_largest_owner() {
        let leases = weighed(&[("1", Some("b")), ("2", Some("c")), ("3", Some("c")), ("4", Some("c"))]);
        let plan = plan(&leases, "a");
        assert!(plan.take.is_empty());
        assert!(["2", "3", "4"].contains(&plan.steal.expect("a steal")));
    }

    #[test]
    fn a_lease_that_would_be_stolen_back_is_not_stolen() {
        let leases = weighed(&[("1", Some("a")), ("2", Some("b")), ("3", Some("b"))]);
        assert_eq!(plan(&leases, "a"), AcquisitionPlan::default());
    }

    #[test]
    fn a_part_whose_split_is_not_finished_is_left_alone() {
        let leases = [LeaseLoad { id: "1", owner: None, waits: true }];
        assert_eq!(plan(&leases, "a"), AcquisitionPlan::default());
    }

    const INSTANCES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

    /// The owners after these instances have decided at the same time and acted one after the other.
    fn act(owners: &mut [Option<usize>], together: &[usize]) -> usize {
        let ids: Vec<String> = (0..owners.len()).map(|place| place.to_string()).collect();
        let before = owners.to_vec();
        let seen: Vec<_> = ids
            .iter()
            .zip(&before)
            .map(|(id, owner)| LeaseLoad { id, owner: owner.map(|owner| INSTANCES[owner]), waits: false })
            .collect();
        let mut moves = 0;
        for instance in together {
            let AcquisitionPlan { take, steal } = plan(&seen, INSTANCES[*instance]);
            for id in take.into_iter().chain(steal) {
                let place: usize = id.parse().expect("a number");
                if owners[place] == before[place] {
                    owners[place] = Some(*instance);
                    moves += 1;
                }
            }
        }
        moves
    }

    fn counts(owners: &[Option<usize>], instances: usize) -> Vec<usize> {
        (0..instances)
            .map(|instance| owners.iter().filter(|owner| **owner == Some(instance)).count())
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn rounds_of_all_instances_reach_a_stable_balance(
            instances in 1..=INSTANCES.len(),
            owners in prop::collection::vec(prop::option::of(0..INSTANCES.len()), 0..40),
            at_once in any::<bool>(),
        ) {
            let mut owners: Vec<_> = owners.into_iter().map(|owner| owner.filter(|owner| *owner < instances)).collect();
            let leases = owners.len();
            let all: Vec<_> = (0..instances).collect();
            let mut moves = 0;
            for _ in 0..=2 * leases {
                moves += if at_once {
                    act(&mut owners, &all)
                } else {
                    all.iter().map(|instance| act(&mut owners, &[*instance])).sum()
                };
            }
            let counts = counts(&owners, instances);
            prop_assert!(owners.iter().all(Option::is_some));
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
            prop_assert_eq!(act(&mut owners, &all), 0, "it stays");
            prop_assert!(moves <= 4 * leases, "{moves} moves of {leases} leases");
        }
    }
}
