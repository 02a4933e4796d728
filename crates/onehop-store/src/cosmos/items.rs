//! Point reads and single writes.

use azure_core::http::Etag;
use azure_data_cosmos::CosmosError;
use azure_data_cosmos::models::ItemResponse;
use azure_data_cosmos::options::{ItemReadOptions, ItemWriteOptions, Precondition};

use super::CosmosStore;
use super::container::{CosmosContainer, key};
use super::document::item_of;
use super::error_mapping::{OperationContext, fault_of, write_error_of};
use super::log_sequence::Commit;
use super::retries::Retries;
use super::service_response::{ServiceResponse, charge_of, charge_of_error};
use crate::{ETag, Fault, FaultKind, Item, Ledger, OperationKind, PartitionKey, WriteError, WriteOp};

impl CosmosStore {
    pub(super) async fn read_item(
        &self,
        container: &CosmosContainer,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> ServiceResponse<Option<Item>> {
        let mut retries = Retries::new(self.retry_policy);
        let outcome = loop {
            let options = ItemReadOptions::default().with_operation_options(self.read_options(ledger));
            let outcome = container.client.read_item(key(partition_key), id, Some(options)).await;
            match outcome {
                Err(error) if retries.go_on_after(&error).await => {}
                outcome => break outcome,
            }
        };
        match outcome {
            Ok(response) => {
                let charge = retries.charge + charge_of(&response.diagnostics());
                ServiceResponse { charge, outcome: item_in(response).map(Some) }
            }
            Err(error) => {
                let charge = retries.charge + charge_of_error(&error);
                let absent = error.status().is_not_found();
                let outcome = if absent { Ok(None) } else { Err(fault_of(error, OperationContext::Reading)) };
                ServiceResponse { charge, outcome }
            }
        }
    }

    pub(super) async fn run_write(
        &self,
        container: &CosmosContainer,
        partition_key: &PartitionKey,
        operation: &WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let item_type = container
            .check(partition_key, operation)
            .map_err(|reason| WriteError::Rejected { operation: 0, reason })?;
        let under_way = container.begin_write(partition_key, item_type.into_iter().collect());
        let mut retries = Retries::new(self.retry_policy);
        let outcome = loop {
            match self.write_item(container, partition_key, operation, ledger).await {
                Err(error) if retries.go_on_after(&error).await => {}
                outcome => break outcome,
            }
        };
        let charge = match &outcome {
            Ok(response) => retries.charge + charge_of(&response.diagnostics()),
            Err(error) => retries.charge + charge_of_error(error),
        };
        let written = usize::from(outcome.is_ok());
        ledger.record(container.record(kind_of(operation), written, charge, 1));
        // A refusal names the commit that it was judged by.
        let commit = match &outcome {
            Ok(response) => Commit::of(response.headers().lsn(), response.headers().session_token()),
            Err(error) => error.response().and_then(|response| {
                Commit::of(response.headers().lsn, response.headers().session_token.as_ref())
            }),
        };
        ledger.wrote(container.spec.name, partition_key, container.write_end(partition_key, commit));
        under_way.end(outcome.is_err() && !retries.may_have_happened);
        let place = (container.spec.name, partition_key);
        let response = outcome.map_err(|error| write_error_of(error, retries.may_have_happened, place))?;
        if matches!(operation, WriteOp::Delete { .. }) {
            return Ok(None);
        }
        let etag = response.headers().etag().map(|etag| ETag::from_text(etag.to_string()));
        Ok(Some(
            etag.ok_or_else(|| Fault::new(FaultKind::Ambiguous, "a write was answered without an ETag"))?,
        ))
    }

    async fn write_item(
        &self,
        container: &CosmosContainer,
        partition_key: &PartitionKey,
        operation: &WriteOp,
        ledger: &Ledger,
    ) -> Result<ItemResponse, CosmosError> {
        let (client, key) = (&container.client, key(partition_key));
        let unconditional = || ItemWriteOptions::default().with_operation_options(self.write_options(ledger));
        let conditional = |if_match: Option<&ETag>| match if_match {
            Some(etag) => {
                unconditional().with_precondition(Precondition::IfMatch(Etag::from(etag.to_string())))
            }
            None => unconditional(),
        };
        match operation {
            WriteOp::Create(item) => {
                client.create_item(key, &item.id, tree(&item.body)?, Some(unconditional())).await
            }
            WriteOp::Upsert(item) => {
                client.upsert_item(key, &item.id, tree(&item.body)?, Some(unconditional())).await
            }
            WriteOp::Replace { item, if_match } => {
                let options = conditional(if_match.as_ref());
                client.replace_item(key, &item.id, tree(&item.body)?, Some(options)).await
            }
            WriteOp::Delete { id, if_match } => {
                client.delete_item(key, id, Some(conditional(if_match.as_ref()))).await
            }
        }
    }
}

/// The body as the client's encoder takes it: its binary form knows no JSON that is written down already.
pub(super) fn tree(body: &[u8]) -> Result<serde_json::Value, CosmosError> {
    serde_json::from_slice(body).map_err(CosmosError::from)
}

fn item_in(response: ItemResponse) -> Result<Item, Fault> {
    let bytes = response.into_body().single().map_err(|error| fault_of(error, OperationContext::Reading))?;
    item_of(&bytes)
}

/// The kind of an operation in the ledger.
fn kind_of(operation: &WriteOp) -> OperationKind {
    match operation {
        WriteOp::Create(_) => OperationKind::Create,
        WriteOp::Upsert(_) => OperationKind::Upsert,
        WriteOp::Replace { .. } => OperationKind::Replace,
        WriteOp::Delete { .. } => OperationKind::Delete,
    }
}
