//! Spread of a request over logical partitions: how many requests a second meet each partition of each part
//! of a footprint, by the popularity of the entities that they are about. Pure.

use super::footprint::{Footprint, FootprintPart, PartitionRole};
use super::population::{Population, Shares};

/// The logical partitions that some requests meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetPartition {
    /// By its position in the container.
    Known(usize),
    /// A partition that the request makes.
    New,
    /// Partitions of entities that the sample does not have, in even parts.
    Unknown,
    /// All partitions, in even parts.
    All,
}

/// A footprint at a rate.
pub(super) struct RatedFootprint<'a> {
    pub footprint: &'a Footprint,
    /// Requests a second, about any entity.
    pub per_second: f64,
    pub population: &'a Population,
    pub shares: &'a Shares<'a>,
}

impl RatedFootprint<'_> {
    /// Calls `serve` with each part, a partition that it meets, and the requests a second that meet it.
    pub fn for_each(&self, serve: &mut impl FnMut(&FootprintPart, MetPartition, f64)) {
        let about = self.footprint.about.as_ref();
        let share = about.map_or(1.0, |subset| self.shares.of_subset(subset));
        for part in &self.footprint.parts {
            match &part.role {
                PartitionRole::Entity(name) | PartitionRole::Group(name) => {
                    self.of_entities(part, name, share, serve);
                }
                PartitionRole::Only => serve(part, MetPartition::Known(0), self.per_second * share),
                PartitionRole::New => serve(part, MetPartition::New, self.per_second * share),
                PartitionRole::Elsewhere => serve(part, MetPartition::All, self.per_second * share),
            }
        }
    }

    /// Spreads requests over the entities of a role. If the footprint is about a subset of their kind, it
    /// spreads over those entities alone; if it is about a subset of another kind, all of them share that
    /// subset's part.
    fn of_entities(
        &self,
        part: &FootprintPart,
        role: &str,
        share: f64,
        serve: &mut impl FnMut(&FootprintPart, MetPartition, f64),
    ) {
        let Some(role) = self.population.roles.get(role) else {
            serve(part, MetPartition::All, self.per_second * share);
            return;
        };
        let of_kind = self.shares.of_kind(&role.kind);
        let same_kind = self.footprint.about.as_ref().filter(|subset| subset.kind == role.kind);
        let ranks = same_kind.map_or(0..of_kind.len(), |subset| subset.ranks.clone());
        let per_second = if same_kind.is_some() { self.per_second } else { self.per_second * share };
        for (rank, share) in of_kind.iter().enumerate().take(ranks.end).skip(ranks.start) {
            for (position, of_rank) in role.partitions.of_rank(rank) {
                let met = position.map_or(MetPartition::New, MetPartition::Known);
                serve(part, met, per_second * share * of_rank);
            }
        }
        let others = self.shares.of_others(&role.kind);
        if ranks.end >= of_kind.len() && others > 0.0 {
            serve(part, MetPartition::Unknown, per_second * others);
        }
    }
}
