//! Need of a container, or of a database that containers share: physical partitions and throughput at the
//! peak, from the most loaded physical partition, because throughput is divided evenly among them. Pure.

use super::assumed::PartitionLayout;
use super::fixed_point::fixed_point;
use super::floors::{DecidingFactor, FloorInput};
use crate::azure_limits::{
    AUTOSCALE, LOGICAL_PARTITION_THROUGHPUT_MAX, MANUAL, NEW_PARTITION_THROUGHPUT, PHYSICAL_PARTITION_GB_MAX,
    PHYSICAL_PARTITION_THROUGHPUT_MAX, SERVERLESS_GB_MAX, SERVERLESS_PARTITION_THROUGHPUT,
    SPLIT_PARTITION_GB,
};
use crate::feasibility::LimitKind;
use crate::partitions::VariedLoad;
use onehop_store::charges::Calibration;

/// The input of the need.
pub(crate) struct NeedInput<'a> {
    pub load: &'a VariedLoad,
    /// Of each group of charges, at the peak.
    pub factors: &'a [f64],
    /// The same in the mean.
    pub mean_factors: &'a [f64],
    /// RU/s of background work at the peak with a number of physical partitions.
    pub background: &'a dyn Fn(u32) -> f64,
    pub storage_gb: f64,
    /// Whether the container has a single logical partition, which then bears the background work.
    pub is_single: bool,
    /// The number of physical partitions, where an account has told it.
    pub known_partitions: Option<u32>,
    pub highest_ever: f64,
    pub layout: PartitionLayout,
    /// Containers that share the throughput.
    pub containers: usize,
    pub calibration: &'a Calibration,
}

/// The throughput to provision. Throughputs are in RU/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ThroughputNeed {
    pub physical_partitions: u32,
    /// Of the traffic at the peak.
    pub peak: f64,
    pub background: f64,
    /// Of the traffic in the mean, and background work.
    pub mean: f64,
    /// Of the most loaded logical partition at the peak.
    pub hottest_logical: f64,
    /// Of the physical partition that holds it, background work included.
    pub hottest_physical: f64,
    pub manual: f64,
    pub decided_by: DecidingFactor,
    /// The maximum of autoscale.
    pub autoscale_max: f64,
    pub storage_gb: f64,
}

impl NeedInput<'_> {
    /// The need, or the limit that it exceeds.
    pub fn need(&self) -> Result<ThroughputNeed, LimitKind> {
        let hottest_logical = self.hottest_logical();
        if hottest_logical > LOGICAL_PARTITION_THROUGHPUT_MAX {
            return Err(LimitKind::LogicalThroughput);
        }
        let physical_partitions = self.partitions(hottest_logical).ok_or_else(|| self.without_end())?;
        let (peak, background) = (self.peak(physical_partitions), (self.background)(physical_partitions));
        let needed = self.needed(physical_partitions, hottest_logical);
        let floors = self.floors(needed);
        let (manual, decided_by) = floors.provisioned(&MANUAL);
        Ok(ThroughputNeed {
            physical_partitions,
            peak,
            background,
            mean: self.mean(physical_partitions) + background,
            hottest_logical,
            hottest_physical: needed / f64::from(physical_partitions),
            manual,
            decided_by,
            autoscale_max: floors.provisioned(&AUTOSCALE).0,
            storage_gb: self.storage_gb,
        })
    }

    fn hottest_logical(&self) -> f64 {
        let background = if self.is_single { (self.background)(1) } else { 0.0 };
        self.load.hottest(self.factors) + background
    }

    /// The limit of a number of physical partitions that grows without end: without queries across them, the
    /// most loaded logical partition leaves no room for the rest.
    fn without_end(&self) -> LimitKind {
        if self.load.fan_outs.is_empty() {
            LimitKind::LogicalThroughput
        } else {
            LimitKind::PhysicalPartitions
        }
    }

    fn peak(&self, physical_partitions: u32) -> f64 {
        self.load.total(self.factors)
            + self.load.fan_outs(self.factors, self.calibration, physical_partitions)
    }

    fn mean(&self, physical_partitions: u32) -> f64 {
        self.load.total(self.mean_factors)
            + self.load.fan_outs(self.mean_factors, self.calibration, physical_partitions)
    }

    /// The most loaded physical partition times their number: the most loaded logical partition, and an even
    /// part of the rest.
    fn needed(&self, physical_partitions: u32, hottest_logical: f64) -> f64 {
        let all = self.peak(physical_partitions) + (self.background)(physical_partitions);
        hottest_logical * f64::from(physical_partitions) + (all - hottest_logical).max(0.0)
    }

    fn storage_partitions(&self) -> u32 {
        whole(self.storage_gb / PHYSICAL_PARTITION_GB_MAX)
    }

    /// Physical partitions that storage and throughput take, or that are known.
    fn partitions(&self, hottest_logical: f64) -> Option<u32> {
        let required =
            |partitions| self.needed(partitions, hottest_logical) / PHYSICAL_PARTITION_THROUGHPUT_MAX;
        let fewest =
            fixed_point(self.storage_partitions().max(self.known_partitions.unwrap_or(1)), required)?;
        if self.layout == PartitionLayout::Fewest || self.known_partitions.is_some() {
            return Some(fewest);
        }
        let of_new = whole(self.needed(fewest, hottest_logical) / NEW_PARTITION_THROUGHPUT);
        let is_split = self.storage_gb > PHYSICAL_PARTITION_GB_MAX;
        let of_splits = if is_split { whole(self.storage_gb / SPLIT_PARTITION_GB) } else { 1 };
        fixed_point(fewest.max(of_new).max(of_splits), required)
    }

    fn floors(&self, needed: f64) -> FloorInput {
        let unexplained = self.known_partitions.filter(|known| *known > self.storage_partitions());
        FloorInput {
            needed,
            storage_gb: self.storage_gb,
            highest_ever: self.highest_ever,
            unexplained_partitions: unexplained,
            containers: self.containers,
        }
    }

    /// Whether a serverless container serves it: its limits of storage and of throughput. Storage alone
    /// decides its physical partitions.
    pub fn fits_serverless(&self) -> bool {
        let partitions = self.storage_partitions().max(1);
        let needed = self.needed(partitions, self.hottest_logical());
        self.storage_gb <= SERVERLESS_GB_MAX
            && needed <= f64::from(partitions) * SERVERLESS_PARTITION_THROUGHPUT
    }
}

/// The next whole number, at least 1.
fn whole(value: f64) -> u32 {
    // A float to an integer saturates.
    (value.ceil() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fan_out_charge::FanOutQueries;
    use crate::partitions::FanOutLoad;

    struct Container {
        load: VariedLoad,
        storage_gb: f64,
        known_partitions: Option<u32>,
        layout: PartitionLayout,
    }

    /// So many RU/s, of which one logical partition serves a part.
    fn container(total: f64, hottest: f64) -> Container {
        let load = VariedLoad { total: vec![total], hottest: vec![vec![hottest]], ..VariedLoad::default() };
        Container { load, storage_gb: 1.0, known_partitions: None, layout: PartitionLayout::Fewest }
    }

    impl Container {
        fn input<'a>(&'a self, calibration: &'a Calibration) -> NeedInput<'a> {
            NeedInput {
                load: &self.load,
                factors: &[1.0],
                mean_factors: &[1.0],
                background: &|_| 0.0,
                storage_gb: self.storage_gb,
                is_single: false,
                known_partitions: self.known_partitions,
                highest_ever: 0.0,
                layout: self.layout,
                containers: 1,
                calibration,
            }
        }

        fn need(&self) -> Result<ThroughputNeed, LimitKind> {
            self.input(&Calibration::current()).need()
        }
    }

    /// Queries of 5 RU for each physical partition, so many a second.
    fn fan_out(per_second: f64) -> FanOutLoad {
        let queries = FanOutQueries {
            charge: 5.0,
            times: 1.0,
            items: 9.0,
            returned: 10.0,
            has_more: true,
            physical_partitions: 1,
        };
        FanOutLoad { group: 0, per_second, queries }
    }

    #[test]
    fn the_hottest_physical_partition_decides() {
        let found = Container { known_partitions: Some(6), ..container(2_700.0, 2_095.0) }.need().unwrap();
        assert!((found.hottest_physical - (2_095.0 + 605.0 / 6.0)).abs() < 1e-9);
        assert_eq!((found.manual, found.physical_partitions), (13_200.0, 6));
    }

    #[test]
    fn storage_takes_a_physical_partition_for_each_fifty_gb() {
        let partitions = |storage_gb, layout| {
            let found = Container { storage_gb, layout, ..container(100.0, 1.0) };
            found.need().unwrap().physical_partitions
        };
        let fewest = |storage_gb| partitions(storage_gb, PartitionLayout::Fewest);
        assert_eq!([50.0, 50.1, 95.0, 3_451.0].map(fewest), [1, 2, 2, 70]);
        let most = |storage_gb| partitions(storage_gb, PartitionLayout::Most);
        assert_eq!([50.0, 95.0, 101.0].map(most), [1, 4, 5]);
    }

    #[test]
    fn throughput_takes_a_physical_partition_for_each_ten_thousand() {
        let partitions =
            |total, layout| Container { layout, ..container(total, 1.0) }.need().unwrap().physical_partitions;
        let fewest = |total| partitions(total, PartitionLayout::Fewest);
        assert_eq!([9_999.0, 10_001.0, 78_600.0].map(fewest), [1, 2, 8]);
        assert_eq!(partitions(9_999.0, PartitionLayout::Most), 2);
    }

    #[test]
    fn a_logical_partition_above_its_limit_is_infeasible() {
        assert_eq!(container(20_000.0, 10_001.0).need(), Err(LimitKind::LogicalThroughput));
        assert!(container(20_000.0, 9_000.0).need().is_ok());
    }

    #[test]
    fn a_full_logical_partition_leaves_no_room_for_the_rest() {
        assert_eq!(container(20_000_000.0, 9_999.0).need(), Err(LimitKind::LogicalThroughput));
    }

    #[test]
    fn a_single_logical_partition_bears_the_background_work() {
        let (found, calibration) = (container(9_000.0, 9_000.0), Calibration::current());
        let need = |background: &dyn Fn(u32) -> f64, is_single| {
            NeedInput { background, is_single, ..found.input(&calibration) }.need()
        };
        assert_eq!(need(&|_| 900.0, true).unwrap().hottest_logical, 9_900.0);
        assert_eq!(need(&|_| 1_100.0, true), Err(LimitKind::LogicalThroughput));
        assert_eq!(need(&|_| 1_100.0, false).unwrap().physical_partitions, 2);
    }

    #[test]
    fn queries_across_partitions_raise_their_own_number() {
        let with = |per_second| {
            let mut found = container(9_000.0, 0.0);
            found.load.fan_outs.push(fan_out(per_second));
            found.need().map(|need| (need.physical_partitions, need.manual))
        };
        // 1,000 queries a second take 5,000 RU/s of each partition: 9,000 / n + 5,000 <= 10,000.
        assert_eq!(with(1_000.0), Ok((2, 19_000.0)));
        assert_eq!(with(1_900.0), Ok((18, 180_000.0)));
        assert_eq!(with(2_001.0), Err(LimitKind::PhysicalPartitions), "each partition has them all");
    }

    #[test]
    fn a_known_number_of_partitions_implies_its_floor() {
        let small = Container { known_partitions: Some(70), ..container(100.0, 1.0) };
        assert_eq!(small.need().unwrap().decided_by, DecidingFactor::PhysicalPartitions);
        let stored = Container { storage_gb: 3_451.0, ..small };
        assert_eq!(stored.need().unwrap().decided_by, DecidingFactor::Storage);
    }

    #[test]
    fn serverless_has_limits_of_throughput_and_storage() {
        let calibration = Calibration::current();
        let fits = |total, storage_gb| {
            Container { storage_gb, ..container(total, 0.0) }.input(&calibration).fits_serverless()
        };
        assert!(fits(5_000.0, 1.0) && !fits(5_001.0, 1.0));
        assert!(fits(10_000.0, 95.0) && !fits(10_001.0, 95.0), "two physical partitions");
        assert!(fits(1.0, 1_024.0) && !fits(1.0, 1_024.1));
    }
}
