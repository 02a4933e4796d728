//! Sustainable rates: the highest rate of each request alone in one logical partition.

use std::collections::BTreeMap;

use serde::Serialize;

use super::footprint::{Footprint, PartitionRole};
use crate::azure_limits::LOGICAL_PARTITION_THROUGHPUT_MAX;
use crate::measurement::StudyRequest;
use onehop_store::ContainerName;

/// The highest rate of a request in one logical partition that serves nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SustainableRate {
    pub request: String,
    /// The role of the logical partition in the request.
    #[serde(rename = "place")]
    pub role: PartitionRole,
    /// RU in this logical partition, projections included.
    pub request_charge: f64,
    /// Requests a second within 10,000 RU/s.
    pub per_second_max: f64,
}

/// For each request the logical partition of this container in which it is charged most; new ones are left
/// out, as they are written once.
pub(super) fn bears(
    container: ContainerName,
    requests: &[StudyRequest],
    footprints: &[Footprint],
) -> Vec<SustainableRate> {
    let bearable = |request: &StudyRequest| {
        let of_request = footprints.iter().filter(|footprint| footprint.request == request.name);
        let charges = of_request.flat_map(|footprint| charges_by_role(container, footprint));
        let (role, request_charge) = charges
            .filter(|(_, charge)| *charge > 0.0)
            .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some(SustainableRate {
            request: request.name.clone(),
            role: role.clone(),
            request_charge,
            per_second_max: (LOGICAL_PARTITION_THROUGHPUT_MAX / request_charge).floor(),
        })
    };
    requests.iter().filter_map(bearable).collect()
}

/// The charge of one request in each earlier logical partition of a container, all kinds of operations
/// together.
fn charges_by_role(container: ContainerName, footprint: &Footprint) -> BTreeMap<&PartitionRole, f64> {
    let mut charges = BTreeMap::new();
    for part in footprint.parts.iter().filter(|part| part.container == container) {
        if matches!(part.role, PartitionRole::Entity(_) | PartitionRole::Only) {
            *charges.entry(&part.role).or_insert(0.0) += part.request_charge;
        }
    }
    charges
}
