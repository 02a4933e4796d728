//! Popularity: how often requests are about each entity (a user, a product), and which logical partition that
//! is. The entities of a kind are ranked, the most popular first; how they are ranked is the caller's
//! assumption.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;

/// The distribution of requests over entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Popularity {
    /// Each as often as any other.
    Even,
    /// Zipf's law: the k-th a k-th as often as the first.
    Zipf,
}

/// The entities of requests.
#[derive(Debug, Clone, Default)]
pub struct Population {
    /// The number of entities of each kind.
    pub kinds: BTreeMap<String, usize>,
    /// Kinds that do not grow with the data, such as a list that all readers share.
    pub fixed_kinds: BTreeSet<String>,
    /// The possible roles of a logical partition in a request, by name.
    pub roles: BTreeMap<String, EntityRole>,
    /// The ranking of the kinds, as a sentence.
    pub ranking: String,
    /// Subsets whose shares of the requests a report states.
    pub highlights: Vec<Highlight>,
}

/// The logical partitions of one role: the partitions of the entities of a kind, or of others that belong to
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRole {
    /// Whose popularity decides.
    pub kind: String,
    pub partitions: EntityPartitions,
}

/// Positions of logical partitions in their container, by the ranks of entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityPartitions {
    /// Each entity has its own, in the order of the ranks.
    ByRank,
    /// One for each rank.
    Listed(Vec<usize>),
    /// Several for each rank, in even parts.
    Groups(Vec<Vec<usize>>),
}

/// Some entities of a kind, by their ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subset {
    pub kind: String,
    pub ranks: Range<usize>,
}

/// A subset whose share of the requests a report states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlight {
    /// Name of the figure in JSON.
    pub key: String,
    /// For people, before the figure: `of the requests about posts, the most popular one gets up to`.
    pub text: String,
    pub subset: Subset,
}

impl Popularity {
    pub const ALL: [Self; 2] = [Self::Even, Self::Zipf];

    /// The share of each of this many, the most popular first.
    #[must_use]
    pub fn shares(self, number: usize) -> Vec<f64> {
        self.shares_of(number, number)
    }

    /// The shares of this many of all, the most popular first.
    fn shares_of(self, number: usize, all: usize) -> Vec<f64> {
        let weight = |rank: usize| match self {
            Self::Even => 1.0,
            Self::Zipf => 1.0 / (rank + 1) as f64,
        };
        let total = match self {
            Self::Even => all as f64,
            Self::Zipf => harmonic(all),
        };
        (0..number).map(|rank| weight(rank) / total).collect()
    }
}

/// The sum of 1, 1/2, 1/3 and so on, of this many terms.
fn harmonic(number: usize) -> f64 {
    /// From here on the first terms of its asymptotic series are exact to 15 digits.
    const SUMMED_MAX: usize = 1_000;
    /// The Euler-Mascheroni constant.
    const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
    if number <= SUMMED_MAX {
        return (1..=number).map(|rank| 1.0 / rank as f64).sum();
    }
    let number = number as f64;
    number.ln() + EULER_GAMMA + 1.0 / (2.0 * number) - 1.0 / (12.0 * number * number)
}

/// The shares of all known entities under one popularity, by their kind. Where the data is larger than the
/// sample, the known ones are the most popular of all, and the rest of 1 belongs to the others.
pub(super) struct Shares<'a>(BTreeMap<&'a str, Vec<f64>>);

impl<'a> Shares<'a> {
    /// `data_scale`: how many times as many entities there are as in the sample.
    pub fn of(population: &'a Population, popularity: Popularity, data_scale: f64) -> Self {
        let shares = |(kind, number): (&'a String, &usize)| {
            let scale = if population.fixed_kinds.contains(kind) { 1.0 } else { data_scale };
            let all = (*number as f64 * scale).round() as usize;
            (kind.as_str(), popularity.shares_of(*number, all.max(*number)))
        };
        Self(population.kinds.iter().map(shares).collect())
    }

    pub fn of_kind(&self, kind: &str) -> &[f64] {
        self.0.get(kind).map_or(&[], Vec::as_slice)
    }

    /// The share of the entities that the sample does not have.
    pub fn of_others(&self, kind: &str) -> f64 {
        let known = self.of_kind(kind);
        if known.is_empty() { 0.0 } else { (1.0 - known.iter().sum::<f64>()).max(0.0) }
    }

    /// The sum over a subset. A subset to the end of the sample includes the entities beyond it; ranks that
    /// do not exist count nothing.
    pub fn of_subset(&self, subset: &Subset) -> f64 {
        let known = self.of_kind(&subset.kind);
        let Range { start, end } = subset.ranks;
        // Not `sum`, whose value of nothing is -0.
        let of_known = known.iter().take(end).skip(start).fold(0.0, |sum, share| sum + share);
        if end >= known.len() { of_known + self.of_others(&subset.kind) } else { of_known }
    }
}

impl EntityPartitions {
    /// The positions of the logical partitions of a rank, each with its part of 1; `None` stands for an
    /// unknown partition.
    pub(super) fn of_rank(&self, rank: usize) -> impl Iterator<Item = (Option<usize>, f64)> {
        let (one, group): (_, &[usize]) = match self {
            Self::ByRank => (Some(Some(rank)), &[]),
            Self::Listed(positions) => (Some(positions.get(rank).copied()), &[]),
            Self::Groups(groups) => match groups.get(rank) {
                Some(group) if !group.is_empty() => (None, group),
                _ => (Some(None), &[]),
            },
        };
        let part = 1.0 / group.len().max(1) as f64;
        let one = one.map(|position| (position, 1.0));
        one.into_iter().chain(group.iter().map(move |position| (Some(*position), part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_most_popular_has_a_kth_of_the_first() {
        assert_eq!(Popularity::Even.shares(4), [0.25; 4]);
        let shares = Popularity::Zipf.shares(4);
        let expected = [12.0 / 25.0, 6.0 / 25.0, 4.0 / 25.0, 3.0 / 25.0];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-12));
        assert!(Popularity::Zipf.shares(0).is_empty());
    }

    #[test]
    fn a_larger_population_leaves_shares_to_unknown_entities() {
        let population = Population {
            kinds: [("post".to_owned(), 2), ("feed".to_owned(), 1)].into(),
            fixed_kinds: ["feed".to_owned()].into(),
            ..Population::default()
        };
        let shares = Shares::of(&population, Popularity::Zipf, 2.0);
        assert!((shares.of_kind("post")[0] - 12.0 / 25.0).abs() < 1e-12);
        assert!((shares.of_others("post") - 7.0 / 25.0).abs() < 1e-12);
        assert_eq!((shares.of_kind("feed"), shares.of_others("feed")), (&[1.0][..], 0.0));
        let subset = |ranks| Subset { kind: "post".to_owned(), ranks };
        assert!((shares.of_subset(&subset(1..2)) - 13.0 / 25.0).abs() < 1e-12, "to the end");
        assert!((shares.of_subset(&subset(0..1)) - 12.0 / 25.0).abs() < 1e-12);
    }
}
