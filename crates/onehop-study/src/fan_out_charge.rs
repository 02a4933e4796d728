//! Charge of queries across logical partitions by the number of physical partitions: each partition is
//! charged for being asked, and for the items that it returns. Pure.

use onehop_store::charges::{Calibration, QueryWork, ReadConsistency};
use onehop_store::{FoldedOperation, RequestCharge};

/// Queries across logical partitions as they were charged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FanOutQueries {
    /// RU of all of them.
    pub charge: f64,
    pub times: f64,
    /// Items that the client received, of all of them.
    pub items: f64,
    /// Items that the physical partitions returned, including items beyond the pages; 0 where an account
    /// measured the charge.
    pub returned: f64,
    /// Whether a query had more than its page, so that the number returned depends on the client's request.
    pub has_more: bool,
    /// Physical partitions that each of them asked.
    pub physical_partitions: u32,
}

impl FanOutQueries {
    /// The queries of an operation; `None` for another kind of operation.
    #[must_use]
    pub fn of(operation: &FoldedOperation) -> Option<Self> {
        let FoldedOperation { times, items, physical_partitions, request_charge, basis, .. } = operation;
        let RequestCharge(charge) = *request_charge;
        basis.is_across.then(|| Self {
            charge,
            times: f64::from(*times),
            items: f64::from(*items),
            returned: f64::from(basis.returned),
            has_more: basis.has_more,
            physical_partitions: *physical_partitions,
        })
    }

    /// Adds others of the same request.
    pub fn add(&mut self, other: &Self) {
        self.charge += other.charge;
        self.times += other.times;
        self.items += other.items;
        self.returned += other.returned;
        self.has_more |= other.has_more;
        self.physical_partitions = self.physical_partitions.max(other.physical_partitions);
    }

    /// RU with this number of physical partitions. A charge that an account measured is taken in proportion.
    #[must_use]
    pub fn charge_at(&self, calibration: &Calibration, physical_partitions: u32) -> f64 {
        if physical_partitions == self.physical_partitions {
            return self.charge;
        }
        if self.returned == 0.0 {
            return self.charge * f64::from(physical_partitions) / f64::from(self.physical_partitions.max(1));
        }
        let visits = |partitions| self.times * visit(calibration, partitions);
        let of_an_item = (self.charge - visits(self.physical_partitions)).max(0.0) / self.returned;
        visits(physical_partitions) + self.returned_by(calibration, physical_partitions) * of_an_item
    }

    /// Items that this number of physical partitions would return.
    fn returned_by(&self, calibration: &Calibration, physical_partitions: u32) -> f64 {
        if !self.has_more {
            return self.returned;
        }
        let asked = self.asked(calibration, physical_partitions);
        // Fewer items than requested are all items.
        let are_all = self.returned < self.asked(calibration, self.physical_partitions);
        if are_all { asked.min(self.returned) } else { asked }
    }

    fn asked(&self, calibration: &Calibration, physical_partitions: u32) -> f64 {
        let page_items = (self.items / self.times.max(1.0)).round() as usize;
        let from_each = calibration.ordered_pages().items_per_partition(physical_partitions, page_items);
        self.times * f64::from(physical_partitions) * from_each as f64
    }
}

/// The charge of one query that finds nothing.
fn visit(calibration: &Calibration, physical_partitions: u32) -> f64 {
    let work = QueryWork { physical_partitions, conditions: 1, ..QueryWork::default() };
    calibration.query(&work, ReadConsistency::OneReplica).total().0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 of more posts from 70 physical partitions, ten of each, at 0.5 RU an item.
    fn feed() -> FanOutQueries {
        FanOutQueries {
            charge: 70.0 * 2.7 + 700.0 * 0.5,
            times: 1.0,
            items: 100.0,
            returned: 700.0,
            has_more: true,
            physical_partitions: 70,
        }
    }

    fn rounded(charge: f64) -> f64 {
        (charge * 100.0).round() / 100.0
    }

    #[test]
    fn a_query_is_charged_for_its_partitions_and_items() {
        let calibration = Calibration::article_2019();
        let at = |partitions| rounded(feed().charge_at(&calibration, partitions));
        assert_eq!([at(70), at(1), at(10)], [539.0, 52.7, 27.0 + 500.0 * 0.5]);
    }

    #[test]
    fn this_client_asks_each_partition_for_the_whole_page_and_one_more() {
        let calibration = Calibration::current();
        let one = FanOutQueries {
            charge: 2.8 + 21.0 * 0.1,
            items: 20.0,
            returned: 21.0,
            physical_partitions: 1,
            ..feed()
        };
        assert_eq!(rounded(one.charge_at(&calibration, 4)), rounded(4.0 * (2.8 + 21.0 * 0.1)));
    }

    #[test]
    fn a_query_returns_no_more_items_than_there_are() {
        let calibration = Calibration::current();
        let charge = 2.0 * 2.8 + 12.0 * 0.1;
        let few = FanOutQueries { charge, items: 10.0, returned: 12.0, physical_partitions: 2, ..feed() };
        assert_eq!(rounded(few.charge_at(&calibration, 4)), rounded(4.0 * 2.8 + 12.0 * 0.1));
        let whole = FanOutQueries { has_more: false, ..few };
        assert!(whole.charge_at(&calibration, 8) > whole.charge_at(&calibration, 4));
    }

    #[test]
    fn a_measured_charge_is_taken_in_proportion() {
        let calibration = Calibration::current();
        let measured = FanOutQueries { returned: 0.0, has_more: false, ..feed() };
        assert_eq!(measured.charge_at(&calibration, 35), measured.charge / 2.0);
    }
}
