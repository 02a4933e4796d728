//! Batches: writes of one logical partition, divided by the limits of a transactional batch.

use onehop_change_feed::IntendedWrite;
use onehop_runtime::planted;
use onehop_store::{ContainerName, PartitionKey, WriteOp, limits};

/// Bytes of the items of one batch.
const BATCH_ITEMS_BYTES_MAX: usize = limits::BATCH_BYTES_MAX - limits::BATCH_ENVELOPE_BYTES;

/// Writes of one logical partition as batches that keep the store's limits.
pub(crate) fn in_batches(
    container: ContainerName,
    partition_key: &PartitionKey,
    operations: impl IntoIterator<Item = WriteOp>,
) -> Vec<IntendedWrite> {
    let mut batches: Vec<IntendedWrite> = Vec::new();
    let mut bytes = 0;
    for operation in operations {
        let size = operation.body_bytes();
        match batches.last_mut() {
            Some(batch)
                if batch.operations.len() < planted::size(limits::BATCH_OPERATIONS_MAX, 4)
                    && bytes + size <= BATCH_ITEMS_BYTES_MAX =>
            {
                batch.operations.push(operation);
                bytes += size;
            }
            _ => {
                batches.push(IntendedWrite::one(container, partition_key.clone(), operation));
                bytes = size;
            }
        }
    }
    batches
}

/// The first of these operations, as many as one batch holds. The first two are always among them: a guard
/// and the write that it guards.
pub(crate) fn in_one_batch(
    container: ContainerName,
    partition_key: &PartitionKey,
    operations: impl IntoIterator<Item = WriteOp>,
) -> Vec<IntendedWrite> {
    let mut fitting: Vec<WriteOp> = Vec::new();
    let mut bytes = 0;
    for operation in operations {
        bytes += operation.body_bytes();
        let is_full =
            fitting.len() >= planted::size(limits::BATCH_OPERATIONS_MAX, 4) || bytes > BATCH_ITEMS_BYTES_MAX;
        if is_full && fitting.len() >= 2 {
            break;
        }
        fitting.push(operation);
    }
    if fitting.is_empty() {
        return Vec::new();
    }
    vec![IntendedWrite { container, partition_key: partition_key.clone(), operations: fitting }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{ETag, NewItem};

    /// The bytes of a batch as it is sent to the service: a JSON array with an object for each operation.
    fn encoded_bytes(operations: &[WriteOp]) -> usize {
        let envelope = |operation: &WriteOp| {
            let if_match = match operation {
                WriteOp::Replace { if_match, .. } | WriteOp::Delete { if_match, .. } => if_match.as_ref(),
                WriteOp::Create(_) | WriteOp::Upsert(_) => None,
            };
            let envelope = serde_json::json!({
                "operationType": "Replace",
                "id": operation.id(),
                "ifMatch": if_match.map(ToString::to_string),
                "resourceBody": "",
            });
            envelope.to_string().len() + ",".len() + operation.body_bytes()
        };
        operations.iter().map(envelope).sum::<usize>() + "[]".len()
    }

    #[test]
    fn a_batch_fits_into_a_request_with_its_envelopes() {
        let body = serde_json::json!({ "content": "語".repeat(10_000) });
        let etag = || Some(ETag::from_text("\"0000d826-0000-0700-0000-60e4a8a80000\""));
        let replace = |number: u32| WriteOp::Replace {
            item: NewItem::encode(format!("0189c7f4-7a00-7000-8000-{number:012}"), &body),
            if_match: etag(),
        };
        let batches = in_batches(ContainerName("posts"), &PartitionKey::from("post"), (0..200).map(replace));
        assert!(batches.len() > 2);
        for batch in &batches {
            let bytes = encoded_bytes(&batch.operations);
            assert!(bytes <= limits::BATCH_BYTES_MAX, "{bytes}");
        }
        let sent: usize = batches.iter().map(|batch| batch.operations.len()).sum();
        assert_eq!(sent, 200);
    }

    #[test]
    fn the_envelopes_of_the_largest_batch_have_room() {
        let delete = |number: usize| WriteOp::Delete { id: format!("{number:036}"), if_match: None };
        let operations: Vec<_> = (0..limits::BATCH_OPERATIONS_MAX).map(delete).collect();
        assert!(2 * encoded_bytes(&operations) < limits::BATCH_ENVELOPE_BYTES);
    }

    #[test]
    fn one_batch_has_the_first_operations_that_fit() {
        let creates = |bytes: usize| {
            let body = serde_json::json!({ "content": "x".repeat(bytes) });
            (0..250).map(move |number: u32| WriteOp::Create(NewItem::encode(number.to_string(), &body)))
        };
        for (bytes, expected) in [(10, limits::BATCH_OPERATIONS_MAX), (600_000, 3), (2_000_000, 2)] {
            let batches = in_one_batch(ContainerName("feed"), &PartitionKey::from("post"), creates(bytes));
            let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
            let ids: Vec<_> = batch.operations.iter().map(WriteOp::id).collect();
            let first: Vec<_> = (0..expected).map(|number| number.to_string()).collect();
            assert_eq!(ids, first);
        }
        assert!(in_one_batch(ContainerName("feed"), &PartitionKey::from("post"), []).is_empty());
    }

    #[test]
    fn batches_keep_the_limit_of_operations() {
        let deletes = (0..250).map(|number| WriteOp::Delete { id: number.to_string(), if_match: None });
        let batches = in_batches(ContainerName("posts"), &PartitionKey::from("post"), deletes);
        let sizes: Vec<_> = batches.iter().map(|batch| batch.operations.len()).collect();
        assert_eq!(sizes, [100, 100, 50]);
    }
}
