//! Replace cost: what replacing an item is charged. The three sources contradict each other, and ADR 98 compares them.

use serde::Serialize;

use crate::{ChargeBasis, RequestCharge};

/// Which source the request charge of a replace follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplaceCost {
    /// The article's figures for C3 and C4: a write that is charged only for the indexed properties that change.
    #[default]
    Article,
    /// The in-memory emulator of Microsoft's client: 1.5 times the insertion of the item.
    Emulator,
    /// "Optimize request cost in Azure Cosmos DB", learn.microsoft.com: twice the insertion of the item.
    Documentation,
}

impl ReplaceCost {
    pub const ALL: [Self; 3] = [Self::Article, Self::Emulator, Self::Documentation];

    /// The charge of the replaces behind a basis.
    #[must_use]
    pub fn charge(self, basis: &ChargeBasis) -> RequestCharge {
        RequestCharge(match self {
            Self::Article => basis.changes,
            Self::Emulator => 1.5 * basis.insertions,
            Self::Documentation => 2.0 * basis.insertions,
        })
    }

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Article => "article",
            Self::Emulator => "emulator",
            Self::Documentation => "documentation",
        }
    }
}
