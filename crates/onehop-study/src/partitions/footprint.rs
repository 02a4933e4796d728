//! Footprints: the charge of one request in each logical partition, in the mean of several runs. A partition
//! is named by its role in the request; the caller decides the role of each touch.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::population::Subset;
use crate::fan_out_charge::FanOutQueries;
use crate::metered::PartitionAccess;
use onehop_store::{ChargeSource, ContainerName, OperationKind};

/// The charges of a request by place, in the mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    /// The request's name.
    pub request: String,
    /// The entities of the request, where they change its charge; `None`: any.
    pub about: Option<Subset>,
    pub parts: Vec<FootprintPart>,
}

/// A charge of one kind of operation, and where it arose.
#[derive(Debug, Clone, PartialEq)]
pub struct FootprintPart {
    pub container: ContainerName,
    pub role: PartitionRole,
    pub kind: OperationKind,
    pub source: ChargeSource,
    /// RU.
    pub request_charge: f64,
    /// The queries across logical partitions that it is the charge of.
    pub across: Option<FanOutQueries>,
}

/// The role of a logical partition in a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartitionRole {
    /// The partition of an entity: a name out of [`Population::roles`](super::Population::roles).
    Entity(String),
    /// Each of a group of partitions, in even parts: the name of a role with
    /// [`EntityPartitions::Groups`](super::EntityPartitions).
    Group(String),
    /// The only one of its container.
    Only,
    /// A partition that the request makes.
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
    sums: BTreeMap<TallyKey, TallySum>,
    runs: usize,
}

/// The charges that are summed up together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TallyKey {
    container: ContainerName,
    role: PartitionRole,
    kind: OperationKind,
    is_measured: bool,
    is_across: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct TallySum {
    charge: f64,
    across: FanOutQueries,
}

impl FootprintTally {
    /// Adds one run. `role`: of the logical partition that was touched.
    pub fn add(&mut self, touches: &[PartitionAccess], role: impl Fn(&PartitionAccess) -> PartitionRole) {
        self.runs += 1;
        for touch in touches {
            let key = TallyKey {
                container: touch.container,
                role: role(touch),
                kind: touch.kind,
                is_measured: touch.source == ChargeSource::Measured,
                is_across: touch.across.is_some(),
            };
            let sum = self.sums.entry(key).or_default();
            sum.charge += touch.charge.0;
            if let Some(across) = &touch.across {
                sum.across.add(across);
            }
        }
    }

    /// The mean of the runs; `None` before the first.
    #[must_use]
    pub fn footprint(self, request: &str, about: Option<Subset>) -> Option<Footprint> {
        let runs = self.runs as f64;
        let part = |(key, sum): (TallyKey, TallySum)| FootprintPart {
            container: key.container,
            role: key.role,
            kind: key.kind,
            source: if key.is_measured { ChargeSource::Measured } else { ChargeSource::Estimated },
            request_charge: sum.charge / runs,
            across: key.is_across.then(|| sum.across.divided_by(runs)),
        };
        let parts = self.sums.into_iter().map(part).collect();
        (self.runs > 0).then(|| Footprint { request: request.to_owned(), about, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{PartitionKey, RequestCharge};

    const ORDERS: ContainerName = ContainerName("orders");

    fn touch(key: &str, charge: f64) -> PartitionAccess {
        PartitionAccess {
            container: ORDERS,
            partition_key: Some(PartitionKey::from(key)),
            kind: OperationKind::Query,
            source: ChargeSource::Estimated,
            charge: RequestCharge(charge),
            across: None,
        }
    }

    #[test]
    fn charges_are_the_mean_of_the_runs() {
        let mut tally = FootprintTally::default();
        for (order, charges) in [("o1", [2.0, 3.0]), ("o2", [4.0, 0.0])] {
            let touches = charges.map(|charge| touch(order, charge));
            tally.add(&touches, |_| PartitionRole::entity("order"));
        }
        let parts = tally.footprint("Q4", None).unwrap().parts;
        let [part] = parts.as_slice() else { panic!("{parts:?}") };
        assert_eq!((part.request_charge, part.role.to_string()), (4.5, "order".to_owned()));
        assert_eq!(FootprintTally::default().footprint("Q4", None), None);
    }

    #[test]
    fn queries_across_partitions_are_a_part_of_their_own() {
        let across = FanOutQueries { charge: 6.0, times: 1.0, items: 20.0, ..FanOutQueries::default() };
        let mut tally = FootprintTally::default();
        let fan_out = PartitionAccess { across: Some(across), ..touch("o1", 6.0) };
        for _ in 0..2 {
            tally.add(&[touch("o1", 1.0), fan_out.clone()], |_| PartitionRole::Elsewhere);
        }
        let parts = tally.footprint("Q4", None).unwrap().parts;
        let found: Vec<_> = parts.iter().map(|part| (part.request_charge, part.across)).collect();
        assert_eq!(found, [(1.0, None), (6.0, Some(across))]);
    }
}
