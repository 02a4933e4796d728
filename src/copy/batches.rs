//! Copy batches (pure): from a page of changes to transactional batches.

use std::collections::HashMap;

use onehop_store::{Batch, Change, ContainerName, NewItem, PartitionKey, WriteOp, limits};

/// Bytes of a batch's items: half of the service's limit, since each operation travels in an envelope and
/// texts may grow when they are escaped. A larger item travels alone.
pub const BATCH_BYTES_MAX: usize = limits::BATCH_BYTES_MAX / 2;

/// The batches of one logical partition, to be written one after the other.
pub type WriteLane = Vec<Batch>;

/// Groups a page by logical partition, and each logical partition into batches within the limits. Of an item
/// that occurs twice, the later version is taken.
#[must_use]
pub fn lanes_of(container: ContainerName, changes: Vec<Change>) -> Vec<WriteLane> {
    let mut order: Vec<PartitionKey> = Vec::new();
    let mut partitions: HashMap<PartitionKey, Vec<NewItem>> = HashMap::new();
    for Change { partition_key, id, item } in changes {
        let items = partitions.entry(partition_key.clone()).or_insert_with(|| {
            order.push(partition_key);
            Vec::new()
        });
        let written = NewItem { id, body: item.body };
        match items.iter_mut().find(|earlier| earlier.id == written.id) {
            Some(earlier) => *earlier = written,
            None => items.push(written),
        }
    }
    let lane = |partition_key: PartitionKey| {
        let items = partitions.remove(&partition_key).unwrap_or_default();
        batches_of(container, &partition_key, items)
    };
    order.into_iter().map(lane).collect()
}

fn batches_of(container: ContainerName, partition_key: &PartitionKey, items: Vec<NewItem>) -> WriteLane {
    let mut lane: WriteLane = Vec::new();
    let mut bytes = 0;
    for item in items {
        let item_bytes = item.body.len();
        let fits = lane.last().is_some_and(|batch: &Batch| {
            batch.operations.len() < limits::BATCH_OPERATIONS_MAX && bytes + item_bytes <= BATCH_BYTES_MAX
        });
        if !fits {
            lane.push(Batch::new(container, partition_key.clone()));
            bytes = 0;
        }
        bytes += item_bytes;
        if let Some(batch) = lane.last_mut() {
            batch.operations.push(WriteOp::Upsert(item));
        }
    }
    lane
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use onehop_store::{ETag, Item};

    const POSTS: ContainerName = ContainerName("posts");

    fn change(partition_key: &str, id: &str, bytes: usize) -> Change {
        let item = Item { body: Bytes::from(vec![b'x'; bytes]), etag: ETag::from_number(1), timestamp_ms: 0 };
        Change { partition_key: partition_key.into(), id: id.to_owned(), item }
    }

    /// Partition key, and for each batch its ids.
    fn ids(lanes: &[WriteLane]) -> Vec<(String, Vec<Vec<String>>)> {
        let of_batch =
            |batch: &Batch| batch.operations.iter().map(|operation| operation.id().to_owned()).collect();
        lanes
            .iter()
            .map(|lane| (lane[0].partition_key.as_str().to_owned(), lane.iter().map(of_batch).collect()))
            .collect()
    }

    #[test]
    fn a_page_becomes_an_ordered_lane_per_logical_partition() {
        let page = vec![change("b", "1", 1), change("a", "2", 1), change("b", "3", 1)];
        let expected = [("b", vec!["1", "3"]), ("a", vec!["2"])]
            .map(|(key, ids)| (key.to_owned(), vec![ids.into_iter().map(str::to_owned).collect()]));
        assert_eq!(ids(&lanes_of(POSTS, page)), expected);
        assert!(lanes_of(POSTS, Vec::new()).is_empty());
    }

    #[test]
    fn a_batch_ends_at_the_limit_of_operations() {
        let page: Vec<Change> = (0..250).map(|number| change("a", &number.to_string(), 1)).collect();
        let lanes = lanes_of(POSTS, page);
        let sizes: Vec<usize> = lanes[0].iter().map(|batch| batch.operations.len()).collect();
        assert_eq!(sizes, [100, 100, 50]);
    }

    #[test]
    fn batches_end_at_the_byte_limit() {
        let large = limits::ITEM_BYTES_MAX;
        let page = vec![
            change("a", "1", BATCH_BYTES_MAX - 1),
            change("a", "2", 1),
            change("a", "3", 1),
            change("a", "4", large),
            change("a", "5", 1),
        ];
        let lanes = lanes_of(POSTS, page);
        let sizes: Vec<usize> = lanes[0].iter().map(|batch| batch.operations.len()).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
        assert!(lanes[0].iter().all(|batch| batch.check_limits().is_ok()));
    }

    #[test]
    fn of_an_item_that_occurs_twice_the_later_version_is_taken() {
        let lanes = lanes_of(POSTS, vec![change("a", "1", 10), change("a", "2", 1), change("a", "1", 20)]);
        let bytes: Vec<usize> = lanes[0][0].operations.iter().map(WriteOp::body_bytes).collect();
        assert_eq!(bytes, [20, 1]);
    }
}
