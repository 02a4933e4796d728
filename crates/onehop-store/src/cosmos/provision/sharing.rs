//! Throughput sharing: whether a container has request units of its own, or takes them from its database.

use azure_data_cosmos::models::ThroughputProperties;
use azure_data_cosmos::{ContainerClient, CosmosError, DatabaseClient};

use super::throughput::Throughput;

/// Where the request units of a container come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThroughputSharing {
    /// From itself.
    Dedicated(Throughput),
    /// From the database, as its other containers.
    Shared(Throughput),
    /// From neither: the account is serverless.
    Unprovisioned,
}

impl ThroughputSharing {
    /// Reads the offer of a container, or the offer of its database if the container has no offer.
    pub(in crate::cosmos) async fn of(
        database: &DatabaseClient,
        container: &ContainerClient,
    ) -> Result<Self, CosmosError> {
        if let Some(own) = throughput_in(container.read_throughput(None).await)? {
            return Ok(Self::Dedicated(own));
        }
        let shared = throughput_in(database.read_throughput(None).await)?;
        Ok(shared.map_or(Self::Unprovisioned, Self::Shared))
    }
}

/// The throughput that an offer says. Serverless accounts have no throughput, and may refuse the question
/// (400).
pub(super) fn throughput_in(
    offer: Result<Option<ThroughputProperties>, CosmosError>,
) -> Result<Option<Throughput>, CosmosError> {
    match offer {
        Ok(offer) => Ok(offer.as_ref().and_then(Throughput::of)),
        Err(error) if u16::from(error.status().status_code()) == 400 => Ok(None),
        Err(error) => Err(error),
    }
}
