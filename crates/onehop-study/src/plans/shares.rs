//! Shares of the busiest logical partition: how much of a request meets the partition that serves most.

use onehop_model::{ItemType, Name};

use super::operation::BusiestShare;
use super::planner::Planner;
use crate::designs::KeyShare;

impl Planner<'_> {
    /// The number of subjects of a type.
    fn subjects_of(&self, ty: &str) -> f64 {
        (self.data.items(ty) as f64 * self.growth_of(ty)).max(1.0)
    }

    /// Of requests about single items of a type, each in the partition of its own.
    pub(super) fn subject_share(&self, ty: &str) -> BusiestShare {
        let subjects = self.subjects_of(ty);
        BusiestShare { even: 1.0 / subjects, zipf: zipf_first(subjects) }
    }

    /// Of requests about existing items of a type, in the partitions of their key.
    pub(super) fn item_share(&self, item: &ItemType) -> BusiestShare {
        let (largest, zipf) =
            (self.scaled(&item.name, &self.data.key_share(item)), zipf_first(self.subjects_of(&item.name)));
        BusiestShare { even: largest, zipf: zipf + (1.0 - zipf) * largest }
    }

    /// Of new items: as the data is spread, or all in the newest value of a time.
    pub(super) fn new_item_share(&self, item: &ItemType) -> BusiestShare {
        let found = self.data.key_share(item);
        // New ids make logical partitions of their own.
        let is_new = found.values >= self.data.items(&item.name) && found.values > 1;
        BusiestShare::certain(match (found.is_time, is_new) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => self.scaled(&item.name, &found),
        })
    }

    /// Of entries of a list.
    pub(super) fn entry_share(&self, item: &ItemType, by: &[Name]) -> BusiestShare {
        if by.is_empty() {
            return BusiestShare::certain(1.0);
        }
        BusiestShare::certain(self.scaled(&item.name, &self.data.share_of(&item.name, by)))
    }

    /// Of look-ups of a reference's targets: as often as the data refers to them.
    pub(super) fn target_share(&self, owner: &ItemType, reference: &str, target: &ItemType) -> BusiestShare {
        let is_grouped =
            self.data.survey.of(&owner.name).is_some_and(|found| found.grouped(&[reference]).is_some());
        let referred = if is_grouped {
            self.scaled(&owner.name, &self.data.share_of(&owner.name, &[reference]))
        } else {
            0.0
        };
        let own = self.item_share(target);
        BusiestShare { even: own.even.max(referred), zipf: own.zipf.max(referred) }
    }

    /// The share of the largest group of a type's items at the multiple of the data.
    fn scaled(&self, ty: &str, share: &KeyShare) -> f64 {
        if share.grows { share.share } else { (share.share / self.growth_of(ty)).min(1.0) }
    }
}

/// The share of the most popular of so many, by Zipf's law.
pub(crate) fn zipf_first(number: f64) -> f64 {
    /// Beyond so many the sum follows the logarithm, with Euler's constant.
    const SUMMED: f64 = 1_000.0;
    const EULER: f64 = 0.577_215_664_9;
    let harmonic = if number <= SUMMED {
        (1..=number.max(1.0) as u32).map(|rank| 1.0 / f64::from(rank)).sum::<f64>()
    } else {
        number.ln() + EULER
    };
    1.0 / harmonic
}
