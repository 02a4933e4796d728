//! A container of the account, as the adapter knows it: its definition, its client, and the keys that it can address.

use std::sync::atomic::AtomicU32;

use azure_data_cosmos::ContainerClient;
use azure_data_cosmos::options::ReadContainerOptions;
use tokio::sync::watch;

use super::client::default_options;
use super::error_mapping::{OperationContext, fault_of};
use super::settings::RetryPolicy;
use crate::document::{can_exist, check_text, check_write};
use crate::{
    ChargeSource, ContainerSpec, Fault, FaultKind, OperationKind, OperationRecord, PartitionKey, Rejection,
    RequestCharge, WriteOp, limits,
};

/// A container of the database.
pub(super) struct CosmosContainer {
    pub(super) spec: ContainerSpec,
    pub(super) client: ContainerClient,
    /// As of the last look at the feed ranges.
    pub(super) physical_partitions: AtomicU32,
    /// Counts the writes of this process.
    pub(super) signal: watch::Sender<u64>,
}

impl CosmosContainer {
    pub(super) async fn check_partition_key(&self, retry_policy: &RetryPolicy) -> Result<(), Fault> {
        let options = ReadContainerOptions::default().with_operation_options(default_options(*retry_policy));
        let response = self
            .client
            .read(Some(options))
            .await
            .map_err(|error| fault_of(error, OperationContext::Reading))?;
        let properties = response.into_model().map_err(|error| fault_of(error, OperationContext::Reading))?;
        let wanted = format!("/{}", self.spec.partition_key);
        let paths = properties.partition_key.paths();
        if paths.iter().any(|path| *path == wanted) && paths.len() == 1 {
            return Ok(());
        }
        let message = format!(
            "the container {} has another partition key than {wanted}: a partition key cannot be changed",
            self.spec.name
        );
        Err(Fault::new(FaultKind::Internal, message))
    }

    pub(super) fn record(
        &self,
        kind: OperationKind,
        items: usize,
        charge: RequestCharge,
        physical_partitions: u32,
    ) -> OperationRecord {
        OperationRecord {
            container: self.spec.name,
            kind,
            items: u32::try_from(items).unwrap_or(u32::MAX),
            physical_partitions,
            charge,
            source: ChargeSource::Measured,
        }
    }

    pub(super) fn check(&self, partition_key: &PartitionKey, operation: &WriteOp) -> Result<(), Rejection> {
        check_text(partition_key.as_str(), limits::PARTITION_KEY_BYTES_MAX)?;
        check_write(&self.spec, partition_key.as_str(), operation)?;
        if is_addressable(partition_key, operation.id()) { Ok(()) } else { Err(Rejection::InvalidId) }
    }

    /// Wakes the readers that wait for a write of this process.
    pub(super) fn announce(&self) {
        self.signal.send_modify(|writes| *writes += 1);
    }
}

/// A partition key as the client wants it.
pub(super) fn key(partition_key: &PartitionKey) -> azure_data_cosmos::PartitionKey {
    azure_data_cosmos::PartitionKey::from(partition_key.as_str().to_owned())
}

/// Whether an item can be asked for. The client makes the id a part of a URL's path, where control characters are
/// left out and dots go elsewhere: such an id would name another item.
pub(super) fn is_addressable(partition_key: &PartitionKey, id: &str) -> bool {
    let is_path = !id.contains(['/', '\\', '?', '#']) && !id.chars().any(char::is_control);
    can_exist(partition_key.as_str(), id) && is_path && !matches!(id, "" | "." | "..")
}
