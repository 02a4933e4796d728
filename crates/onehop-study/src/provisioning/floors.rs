//! Floors of provisioned throughput: a container gets the need of its traffic, but not less than a minimum,
//! its storage and its history demand. Pure.

use serde::Serialize;

use crate::azure_limits::{PHYSICAL_PARTITION_THROUGHPUT_MAX, SHARED_CONTAINERS, ThroughputRules};

/// RU/s that rounding errors may add before a further step is provisioned.
const TOLERANCE: f64 = 1e-6;

/// Why a container needs the throughput that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DecidingFactor {
    /// The most loaded physical partition, times their number.
    HottestPartition,
    /// No container or shared database has less than a minimum.
    Minimum,
    /// Each stored GB.
    Storage,
    /// A share of the highest throughput ever.
    HighestEver,
    /// A share of the throughput that the known number of physical partitions implies.
    PhysicalPartitions,
}

/// The input of the floors of a container.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FloorInput {
    /// RU/s that the traffic needs.
    pub needed: f64,
    pub storage_gb: f64,
    /// The highest throughput ever, RU/s; 0 where it is not known.
    pub highest_ever: f64,
    /// Known physical partitions of a container beyond the number explained by its storage.
    pub unexplained_partitions: Option<u32>,
    /// Containers that share the throughput.
    pub containers: usize,
}

impl FloorInput {
    /// RU/s to provision by these rules, and why.
    pub fn provisioned(&self, rules: &ThroughputRules) -> (f64, DecidingFactor) {
        let further = self.containers.saturating_sub(SHARED_CONTAINERS) as f64;
        let floors = [
            (rules.minimum + further * rules.per_further_container, DecidingFactor::Minimum),
            (self.storage_gb * rules.per_gb, DecidingFactor::Storage),
            (self.highest_ever / rules.highest_ever_divisor, DecidingFactor::HighestEver),
            (self.implied() / rules.highest_ever_divisor, DecidingFactor::PhysicalPartitions),
        ];
        let needed = (self.needed, DecidingFactor::HottestPartition);
        let (wanted, decided_by) =
            floors.into_iter().fold(needed, |most, floor| if floor.0 > most.0 { floor } else { most });
        let steps = ((wanted - TOLERANCE) / rules.step).ceil();
        (steps * rules.step, decided_by)
    }

    /// The throughput that the container had at some time, as far as its physical partitions show it: with
    /// one less it would not have been enough for this number.
    fn implied(&self) -> f64 {
        let one_less = self.unexplained_partitions.unwrap_or(1).saturating_sub(1);
        f64::from(one_less) * PHYSICAL_PARTITION_THROUGHPUT_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azure_limits::{AUTOSCALE, MANUAL};

    fn input(needed: f64) -> FloorInput {
        FloorInput { needed, storage_gb: 1.0, containers: 1, ..FloorInput::default() }
    }

    #[test]
    fn throughput_has_a_minimum_and_steps() {
        assert_eq!(input(1.0).provisioned(&MANUAL), (400.0, DecidingFactor::Minimum));
        assert_eq!(input(400.1).provisioned(&MANUAL), (500.0, DecidingFactor::HottestPartition));
        assert_eq!(input(400.000_000_1).provisioned(&MANUAL).0, 400.0, "a rounding error is no step");
        assert_eq!(input(1.0).provisioned(&AUTOSCALE), (1_000.0, DecidingFactor::Minimum));
        assert_eq!(input(1_001.0).provisioned(&AUTOSCALE).0, 2_000.0);
    }

    #[test]
    fn each_stored_gb_has_its_throughput() {
        let stored = FloorInput { storage_gb: 950.0, ..input(1.0) };
        assert_eq!(stored.provisioned(&MANUAL), (1_000.0, DecidingFactor::Storage));
        assert_eq!(stored.provisioned(&AUTOSCALE), (10_000.0, DecidingFactor::Storage));
    }

    #[test]
    fn throughput_is_not_lowered_below_a_share_of_the_highest() {
        let once_high = FloorInput { highest_ever: 80_000.0, ..input(1.0) };
        assert_eq!(once_high.provisioned(&MANUAL), (800.0, DecidingFactor::HighestEver));
        assert_eq!(once_high.provisioned(&AUTOSCALE), (8_000.0, DecidingFactor::HighestEver));
    }

    #[test]
    fn a_known_number_of_partitions_implies_a_floor() {
        let of_account = FloorInput { unexplained_partitions: Some(70), ..input(1.0) };
        assert_eq!(of_account.provisioned(&MANUAL), (6_900.0, DecidingFactor::PhysicalPartitions));
        assert_eq!(of_account.provisioned(&AUTOSCALE), (69_000.0, DecidingFactor::PhysicalPartitions));
        let single = FloorInput { unexplained_partitions: Some(1), ..input(1.0) };
        assert_eq!(single.provisioned(&MANUAL).0, 400.0);
    }

    #[test]
    fn a_shared_database_pays_for_containers_beyond_twenty_five() {
        let many = FloorInput { containers: 27, ..input(1.0) };
        assert_eq!((many.provisioned(&MANUAL).0, many.provisioned(&AUTOSCALE).0), (600.0, 3_000.0));
    }
}
