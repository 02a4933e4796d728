//! Transactional batches. The service answers a refused one with the status 207, and a status for each of its
//! operations.

use azure_core::http::Etag;
use azure_data_cosmos::models::TransactionalBatchOperationResult;
use azure_data_cosmos::options::{BatchDeleteOptions, BatchOptions, BatchReplaceOptions, Precondition};
use azure_data_cosmos::{CosmosError, TransactionalBatch};

use super::CosmosStore;
use super::container::{CosmosContainer, key};
use super::error_mapping::{
    CONCURRENT_WRITE, PARTITION_FULL, ambiguous, fault_in_batch, partition_full, rejection_of, write_error_of,
};
use super::items::tree;
use super::log_sequence::Commit;
use super::retries::{Cause, Retries};
use super::service_response::{charge_of, charge_of_error};
use crate::{Batch, ETag, Fault, FaultKind, Ledger, OperationKind, Rejection, WriteError, WriteOp};

/// An operation that was not tried because another one of its batch was refused.
const FAILED_DEPENDENCY: u16 = 424;
const FORBIDDEN: u16 = 403;

impl CosmosStore {
    pub(super) async fn run_batch(
        &self,
        container: &CosmosContainer,
        batch: &Batch,
        ledger: &Ledger,
    ) -> Result<Vec<Option<ETag>>, WriteError> {
        let types = check(container, batch)
            .map_err(|(operation, reason)| WriteError::Rejected { operation, reason })?;
        if batch.operations.is_empty() {
            return Ok(Vec::new());
        }
        let under_way = container.begin_write(&batch.partition_key, types);
        let mut retries = Retries::new(self.retry_policy);
        let mut end = None;
        let (charge, outcome) = loop {
            let sent = transactional(batch).map_err(unwritable)?;
            let options = BatchOptions::default().with_operation_options(self.write_options(ledger));
            match container.client.execute_transactional_batch(sent, Some(options)).await {
                Err(error) if retries.go_on_after(&error).await => {}
                Err(error) => {
                    let charge = charge_of_error(&error);
                    let place = (batch.container, &batch.partition_key);
                    break (charge, Err(write_error_of(error, retries.may_have_happened, place)));
                }
                Ok(response) => {
                    let charge = charge_of(&response.diagnostics());
                    let headers = response.headers();
                    let commit = Commit::of(headers.lsn(), headers.session_token());
                    end = container.write_end(&batch.partition_key, commit);
                    let answer = match response.into_model() {
                        Ok(answer) => answer,
                        Err(error) => break (charge, Err(ambiguous(error).into())),
                    };
                    let cause = answer.results().iter().find_map(cause_of);
                    let goes_on = match cause {
                        Some(cause) => retries.wait(cause).await,
                        None => false,
                    };
                    if !goes_on {
                        break (charge, outcome_of(batch, answer.results()));
                    }
                    retries.charge = retries.charge + charge;
                }
            }
        };
        let items = if outcome.is_ok() { batch.operations.len() } else { 0 };
        ledger.record(container.record(OperationKind::Batch, items, retries.charge + charge, 1));
        ledger.wrote(batch.container, &batch.partition_key, end);
        under_way.end(has_written_nothing(&outcome) && !retries.may_have_happened);
        outcome
    }
}

/// Checks the operations, and returns the types of the items that are written.
fn check(container: &CosmosContainer, batch: &Batch) -> Result<Vec<String>, (usize, Rejection)> {
    batch.check_limits()?;
    let mut types = Vec::new();
    for (index, operation) in batch.operations.iter().enumerate() {
        let item_type = container.check(&batch.partition_key, operation).map_err(|reason| (index, reason))?;
        types.extend(item_type.filter(|item_type| !types.contains(item_type)));
    }
    Ok(types)
}

/// Whether an outcome says that nothing was written.
fn has_written_nothing<T>(outcome: &Result<T, WriteError>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(WriteError::Rejected { .. }) => true,
        Err(WriteError::Fault(fault)) => fault.kind != FaultKind::Ambiguous,
    }
}

fn transactional(batch: &Batch) -> Result<TransactionalBatch, CosmosError> {
    let mut built = TransactionalBatch::new(key(&batch.partition_key));
    let condition = |etag: &ETag| Precondition::IfMatch(Etag::from(etag.to_string()));
    for operation in &batch.operations {
        built = match operation {
            WriteOp::Create(item) => built.create_item(tree(&item.body)?)?,
            WriteOp::Upsert(item) => built.upsert_item(tree(&item.body)?, None)?,
            WriteOp::Replace { item, if_match } => {
                let options = if_match.as_ref().map(condition);
                let options = options.map(|etag| BatchReplaceOptions::default().with_precondition(etag));
                built.replace_item(item.id.clone(), tree(&item.body)?, options)?
            }
            WriteOp::Delete { id, if_match } => {
                let options = if_match.as_ref().map(condition);
                let options = options.map(|etag| BatchDeleteOptions::default().with_precondition(etag));
                built.delete_item(id.clone(), options)
            }
        };
    }
    Ok(built)
}

fn outcome_of(
    batch: &Batch,
    results: &[TransactionalBatchOperationResult],
) -> Result<Vec<Option<ETag>>, WriteError> {
    if let Some((operation, refused)) = results.iter().enumerate().find(|(_, result)| is_cause(result)) {
        return Err(match rejection_of(refused.status_code()) {
            Some(reason) => WriteError::Rejected { operation, reason },
            None if is_partition_full(refused) => {
                partition_full(batch.container, &batch.partition_key).into()
            }
            None => fault_in_batch(refused.status_code(), refused.retry_after()).into(),
        });
    }
    if results.len() != batch.operations.len() || !results.iter().all(|result| result.is_success()) {
        let message = "a batch was answered without a status for each of its operations";
        return Err(Fault::new(FaultKind::Ambiguous, message).into());
    }
    let etags = results.iter().zip(&batch.operations).map(|(result, operation)| match operation {
        WriteOp::Delete { .. } => Ok(None),
        _ => match result.etag() {
            Some(etag) => Ok(Some(ETag::from_text(etag))),
            None => Err(Fault::new(FaultKind::Ambiguous, "a write was answered without an ETag").into()),
        },
    });
    etags.collect()
}

fn is_partition_full(result: &TransactionalBatchOperationResult) -> bool {
    result.status_code() == FORBIDDEN && result.substatus_code() == Some(PARTITION_FULL.into())
}

/// Whether this operation is why its batch was refused.
fn is_cause(result: &TransactionalBatchOperationResult) -> bool {
    !result.is_success() && result.status_code() != FAILED_DEPENDENCY
}

/// Why the batch is to be sent again: one operation could not be tried, so none of them was.
fn cause_of(result: &TransactionalBatchOperationResult) -> Option<Cause> {
    match result.status_code() {
        410 => Some(Cause::Moved),
        CONCURRENT_WRITE => Some(Cause::Contended),
        429 => Some(Cause::Throttled { retry_after: result.retry_after() }),
        _ => None,
    }
}

fn unwritable(error: CosmosError) -> Fault {
    Fault::new(FaultKind::Internal, "a batch cannot be written as JSON").with_source(error)
}
