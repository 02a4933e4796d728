//! Parts of a request charge: the purpose of each part, so that a charge can be explained as its sum.

use std::ops::{Add, AddAssign};

use serde::Serialize;

use crate::RequestCharge;

/// One part of a request charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChargePart {
    /// The operation itself, without terms and size.
    Base,
    /// Index terms that are written or removed.
    IndexTerms,
    /// Entries in composite indexes.
    CompositeIndexes,
    /// Unique keys.
    UniqueKeys,
    /// The bytes of the item, of the items that a query returns, or of a page of the change feed.
    Size,
    /// The operations of a patch.
    PatchOperations,
    /// The physical partitions that a query asks.
    PhysicalPartitions,
    /// Items that are returned or counted.
    Items,
    /// Conditions, lists of values, functions, order and joins of a query.
    Query,
    /// Items that a query loads because no index serves its filter.
    Scan,
    /// The second replica that strong and bounded staleness consistency read.
    Quorum,
    /// A refusal.
    Refusal,
}

impl ChargePart {
    /// All parts, in the order in which they are shown.
    pub const ALL: [Self; 12] = [
        Self::Base,
        Self::IndexTerms,
        Self::CompositeIndexes,
        Self::UniqueKeys,
        Self::Size,
        Self::PatchOperations,
        Self::PhysicalPartitions,
        Self::Items,
        Self::Query,
        Self::Scan,
        Self::Quorum,
        Self::Refusal,
    ];

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::IndexTerms => "index terms",
            Self::CompositeIndexes => "composite indexes",
            Self::UniqueKeys => "unique keys",
            Self::Size => "size",
            Self::PatchOperations => "patch operations",
            Self::PhysicalPartitions => "physical partitions",
            Self::Items => "items",
            Self::Query => "conditions and order",
            Self::Scan => "items loaded without an index",
            Self::Quorum => "second replica",
            Self::Refusal => "refusal",
        }
    }
}

/// A request charge as the sum of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChargeParts([f64; ChargePart::ALL.len()]);

impl ChargeParts {
    /// A charge of one part, RU.
    #[must_use]
    pub fn of(part: ChargePart, charge: f64) -> Self {
        Self::default().and(part, charge)
    }

    /// The same charge with more of one part, RU.
    #[must_use]
    pub fn and(mut self, part: ChargePart, charge: f64) -> Self {
        self.0[part as usize] += charge;
        self
    }

    /// The charge of one part, RU.
    #[must_use]
    pub fn part(&self, part: ChargePart) -> f64 {
        self.0[part as usize]
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> RequestCharge {
        // Not `sum`, whose value of nothing is -0.
        RequestCharge(self.0.iter().fold(0.0, |total, part| total + part))
    }

    /// The parts that are charged, in the order in which they are shown.
    pub fn charged(&self) -> impl Iterator<Item = (ChargePart, f64)> + '_ {
        ChargePart::ALL.into_iter().map(|part| (part, self.part(part))).filter(|(_, charge)| *charge != 0.0)
    }
}

impl AddAssign for ChargeParts {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(part, more)| *part += more);
    }
}

impl Add for ChargeParts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
