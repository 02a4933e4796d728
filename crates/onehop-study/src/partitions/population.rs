//! Popularity: how often requests are about each entity (a user, a product), and which logical partition that is. The
//! entities of a kind are ranked, the most popular first; how they are ranked is the caller's assumption.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

/// How often each entity is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Popularity {
    /// Each as often as any other.
    Even,
    /// Zipf's law: the k-th a k-th as often as the first.
    Zipf,
}

/// What requests are about.
#[derive(Debug, Clone, Default)]
pub struct Population {
    /// How many entities there are of each kind.
    pub kinds: BTreeMap<String, usize>,
    /// What a logical partition can be to a request, by name.
    pub roles: BTreeMap<String, EntityRole>,
    /// How the kinds are ranked, as a sentence.
    pub ranking: String,
    /// Subsets whose shares of the requests a report states.
    pub highlights: Vec<Highlight>,
}

/// The logical partitions that one role stands for: those of the entities of a kind, or of others that belong to them.
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
        let weight = |rank: usize| match self {
            Self::Even => 1.0,
            Self::Zipf => 1.0 / (rank + 1) as f64,
        };
        let total: f64 = (0..number).map(weight).sum();
        (0..number).map(|rank| weight(rank) / total).collect()
    }
}

/// The shares of all entities under one popularity, by their kind. Each kind's sum is 1.
pub(super) struct Shares<'a>(BTreeMap<&'a str, Vec<f64>>);

impl<'a> Shares<'a> {
    pub fn of(population: &'a Population, popularity: Popularity) -> Self {
        let kinds = population.kinds.iter();
        Self(kinds.map(|(kind, number)| (kind.as_str(), popularity.shares(*number))).collect())
    }

    pub fn of_kind(&self, kind: &str) -> &[f64] {
        self.0.get(kind).map_or(&[], Vec::as_slice)
    }

    /// The sum over a subset. Ranks that do not exist count nothing.
    pub fn of_subset(&self, subset: &Subset) -> f64 {
        let Range { start, end } = subset.ranks;
        let ranks = self.of_kind(&subset.kind).iter().take(end).skip(start);
        // Not `sum`, whose value of nothing is -0.
        ranks.fold(0.0, |sum, share| sum + share)
    }
}

impl EntityPartitions {
    /// The positions of the logical partitions of a rank, each with its part of 1; `None` stands for one that is not known.
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
}
