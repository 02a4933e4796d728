//! Footprints: what one request is charged in which logical partition, in the mean of several runs. A partition is named
//! by its role, which is what it is to the request; the caller decides the role of each touch.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::population::Subset;
use crate::metered::PartitionAccess;
use onehop_store::ContainerName;

/// What a request is charged where, in the mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    /// The request's name.
    pub request: String,
    /// The entities that it was about, where that changes what it is charged; `None`: any.
    pub about: Option<Subset>,
    pub parts: Vec<FootprintPart>,
}

/// A charge and where it arose.
#[derive(Debug, Clone, PartialEq)]
pub struct FootprintPart {
    pub container: ContainerName,
    pub role: PartitionRole,
    /// RU.
    pub request_charge: f64,
}

/// What a logical partition is to a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartitionRole {
    /// The partition of an entity: a name out of [`Population::roles`](super::Population::roles).
    Entity(String),
    /// Each of a group of partitions, in even parts: the name of a role with [`EntityPartitions::Groups`](super::EntityPartitions).
    Group(String),
    /// The only one of its container.
    Only,
    /// One that the request makes.
    New,
    /// Any other, or all.
    Elsewhere,
}

impl PartitionRole {
    /// Of an entity.
    #[must_use]
    pub fn entity(name: &str) -> Self {
        Self::Entity(name.to_owned())
    }
}

impl fmt::Display for PartitionRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Entity(name) | Self::Group(name) => name,
            Self::Only => "only",
            Self::New => "new",
            Self::Elsewhere => "elsewhere",
        })
    }
}

impl Serialize for PartitionRole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Sums up the touches of several runs of one request.
#[derive(Debug, Default)]
pub struct FootprintTally {
    charges: BTreeMap<(ContainerName, PartitionRole), f64>,
    runs: usize,
}

impl FootprintTally {
    /// Adds one run. `role`: of the logical partition that was touched.
    pub fn add(&mut self, touches: &[PartitionAccess], role: impl Fn(&PartitionAccess) -> PartitionRole) {
        self.runs += 1;
        for touch in touches {
            *self.charges.entry((touch.container, role(touch))).or_default() += touch.charge.0;
        }
    }

    /// The mean of the runs; `None` before the first.
    #[must_use]
    pub fn footprint(self, request: &str, about: Option<Subset>) -> Option<Footprint> {
        let runs = self.runs as f64;
        let part = |((container, role), sum)| FootprintPart { container, role, request_charge: sum / runs };
        let parts = self.charges.into_iter().map(part).collect();
        (self.runs > 0).then(|| Footprint { request: request.to_owned(), about, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{PartitionKey, RequestCharge};

    #[test]
    fn charges_are_the_mean_of_the_runs() {
        const ORDERS: ContainerName = ContainerName("orders");
        let mut tally = FootprintTally::default();
        for (order, charges) in [("o1", [2.0, 3.0]), ("o2", [4.0, 0.0])] {
            let touches = charges.map(|charge| PartitionAccess {
                container: ORDERS,
                partition_key: Some(PartitionKey::from(order)),
                charge: RequestCharge(charge),
            });
            tally.add(&touches, |_| PartitionRole::entity("order"));
        }
        let part =
            FootprintPart { container: ORDERS, role: PartitionRole::entity("order"), request_charge: 4.5 };
        assert_eq!(tally.footprint("Q4", None).map(|footprint| footprint.parts), Some(vec![part]));
        assert_eq!(FootprintTally::default().footprint("Q4", None), None);
    }
}
