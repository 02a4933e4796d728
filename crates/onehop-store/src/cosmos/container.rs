//! A container of the account, as the adapter knows it: its definition, its client, and the keys that it can
//! address.

use std::sync::atomic::AtomicU32;

use azure_data_cosmos::ContainerClient;
use azure_data_cosmos::models::{PartitionKeyDefinition, PartitionKeyValue};
use azure_data_cosmos::options::ReadContainerOptions;
use serde_json::Value;

use super::client::default_options;
use super::error_mapping::{OperationContext, fault_of};
use super::log_sequence::{Commit, write_end};
use super::settings::RetryPolicy;
use super::signals::ChangeSignals;
use crate::document::{can_exist, check_text, check_write};
use crate::{
    ChargeBasis, ChargeSource, ContainerSpec, Continuation, Fault, FaultKind, KEY_SEPARATOR, OperationKind,
    OperationRecord, PartitionKey, Rejection, RequestCharge, WriteOp, key_value, limits,
};

/// A container of the database.
pub(super) struct CosmosContainer {
    pub(super) spec: ContainerSpec,
    pub(super) client: ContainerClient,
    /// As of the last look at the feed ranges.
    pub(super) physical_partitions: AtomicU32,
    /// Writes of this process.
    pub(super) signals: ChangeSignals,
}

impl CosmosContainer {
    /// Checks the container's partition key, and looks up its feed ranges.
    pub(super) async fn open(
        spec: ContainerSpec,
        client: ContainerClient,
        retry_policy: &RetryPolicy,
    ) -> Result<Self, Fault> {
        let partition_key = partition_key_of(&spec, &client, retry_policy).await?;
        let signals = ChangeSignals::new(partition_key);
        let container = Self { spec, client, physical_partitions: AtomicU32::new(1), signals };
        container.look_up_ranges(false).await?;
        Ok(container)
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
            basis: ChargeBasis::default(),
        }
    }

    /// Checks a write, and returns the type of the item; `None` for a delete, which is in no change feed.
    pub(super) fn check(
        &self,
        partition_key: &PartitionKey,
        operation: &WriteOp,
    ) -> Result<Option<String>, Rejection> {
        check_text(partition_key.as_str(), limits::PARTITION_KEY_BYTES_MAX)?;
        let properties = check_write(&self.spec, partition_key.as_str(), operation, None)?;
        if !is_addressable(partition_key, operation.id()) {
            return Err(Rejection::InvalidId);
        }
        Ok(properties.map(|properties| properties.item_type))
    }

    /// The end of a write to a logical partition in the change feed, if its answer says it.
    pub(super) fn write_end(
        &self,
        partition_key: &PartitionKey,
        commit: Option<Commit>,
    ) -> Option<Continuation> {
        Some(write_end(&self.signals.point_of(key(partition_key)), &commit?))
    }

    /// Begins a write of items of these types to a logical partition.
    pub(super) fn begin_write<'a>(
        &'a self,
        partition_key: &'a PartitionKey,
        types: Vec<String>,
    ) -> WriteUnderWay<'a> {
        WriteUnderWay { container: self, partition_key, types, is_refused: false }
    }
}

/// A write under way. When it ends it wakes the readers that wait for writes of this process to the logical
/// partition, unless it is known that nothing was written: also where the answer was lost, and where the
/// caller waits for it no more.
pub(super) struct WriteUnderWay<'a> {
    container: &'a CosmosContainer,
    partition_key: &'a PartitionKey,
    types: Vec<String>,
    is_refused: bool,
}

impl WriteUnderWay<'_> {
    /// Ends the write, of which it is known whether nothing was written.
    pub(super) fn end(mut self, is_refused: bool) {
        self.is_refused = is_refused;
    }
}

impl Drop for WriteUnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_refused {
            self.container.signals.announce(key(self.partition_key), &self.types);
        }
    }
}

/// The definition of the partition key, if it equals the specification.
async fn partition_key_of(
    spec: &ContainerSpec,
    client: &ContainerClient,
    retry_policy: &RetryPolicy,
) -> Result<PartitionKeyDefinition, Fault> {
    let options = ReadContainerOptions::default().with_operation_options(default_options(*retry_policy));
    let reading = |error| fault_of(error, OperationContext::Reading);
    let response = client.read(Some(options)).await.map_err(reading)?;
    let properties = response.into_model().map_err(reading)?;
    let wanted: Vec<String> = spec.key_properties().map(|property| format!("/{property}")).collect();
    let paths = properties.partition_key.paths();
    if paths.iter().eq(wanted.iter()) {
        return Ok(properties.partition_key);
    }
    let message = format!(
        "the container {} has another partition key than {}: a partition key cannot be changed",
        spec.name,
        wanted.join(", ")
    );
    Err(Fault::new(FaultKind::Internal, message))
}

/// A partition key as the client wants it.
pub(super) fn key(partition_key: &PartitionKey) -> azure_data_cosmos::PartitionKey {
    match partition_key.as_str().split(KEY_SEPARATOR).map(value_of_key).collect::<Vec<_>>().as_slice() {
        [first, second] => azure_data_cosmos::PartitionKey::from((first.clone(), second.clone())),
        [first, second, third] => {
            azure_data_cosmos::PartitionKey::from((first.clone(), second.clone(), third.clone()))
        }
        _ => azure_data_cosmos::PartitionKey::from(value_of_key(partition_key.as_str())),
    }
}

/// One value of a partition key as the client wants it.
fn value_of_key(text: &str) -> PartitionKeyValue {
    match key_value(text) {
        Value::Bool(is_true) => PartitionKeyValue::from(is_true),
        Value::Number(number) => {
            let number = number.as_f64().and_then(|number| PartitionKeyValue::try_from(number).ok());
            number.unwrap_or_else(|| PartitionKeyValue::from(text.to_owned()))
        }
        _ => PartitionKeyValue::from(text.to_owned()),
    }
}

/// Whether an item can be asked for. The client makes the id a part of a URL's path, where control characters
/// are left out and dots go elsewhere: such an id would name another item.
pub(super) fn is_addressable(partition_key: &PartitionKey, id: &str) -> bool {
    let is_path = !id.contains(['/', '\\', '?', '#']) && !id.chars().any(char::is_control);
    can_exist(partition_key.as_str(), id) && is_path && !matches!(id, "" | "." | "..")
}
