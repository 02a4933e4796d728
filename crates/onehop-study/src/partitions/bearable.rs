//! How often one logical partition bears each request alone.

use serde::Serialize;

use super::LOGICAL_PARTITION_THROUGHPUT_MAX;
use super::footprint::{Footprint, PartitionRole};
use crate::measurement::StudyRequest;
use onehop_store::ContainerName;

/// How often one logical partition bears a request, if it serves nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SustainableRate {
    pub request: String,
    /// What the logical partition is to the request.
    #[serde(rename = "place")]
    pub role: PartitionRole,
    /// RU in this logical partition, projections included.
    pub request_charge: f64,
    /// Requests a second within 10,000 RU/s.
    pub per_second_max: f64,
}

/// For each request the logical partition of this container in which it is charged most; new ones are left out, as
/// they are written once.
pub(super) fn bears(
    container: ContainerName,
    requests: &[StudyRequest],
    footprints: &[Footprint],
) -> Vec<SustainableRate> {
    let bearable = |request: &StudyRequest| {
        let footprints = footprints.iter().filter(|footprint| footprint.request == request.name);
        let parts = footprints.flat_map(|footprint| &footprint.parts).filter(|part| {
            let is_one = matches!(part.role, PartitionRole::Entity(_) | PartitionRole::Only);
            part.container == container && is_one && part.request_charge > 0.0
        });
        let part = parts.max_by(|one, other| one.request_charge.total_cmp(&other.request_charge))?;
        Some(SustainableRate {
            request: request.name.clone(),
            role: part.role.clone(),
            request_charge: part.request_charge,
            per_second_max: (LOGICAL_PARTITION_THROUGHPUT_MAX / part.request_charge).floor(),
        })
    };
    requests.iter().filter_map(bearable).collect()
}
