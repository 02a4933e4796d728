use futures::executor::block_on;
use tokio::sync::oneshot;

use super::*;
use crate::document::KeyProperties;
use crate::embedded::database::EngineSizes;
use crate::embedded::durability::Durability;
use crate::embedded::high_water_mark::HighWaterMark;
use crate::embedded::read_caches::CacheShares;
use crate::embedded::store_files::StoreFiles;
use crate::embedded::write_requests::{Precondition, WriteOperation};
use onehop_runtime::clock::ManualClock;

fn writer(directory: &tempfile::TempDir) -> GroupCommitWriter {
    let sizes = EngineSizes { cache_bytes: 8 << 20, memtable_bytes: 16 << 20 };
    let engine = Engine::open(directory.path(), sizes, Durability::Sync).expect("the engine opens");
    let files = StoreFiles::Directory(directory.path().to_owned());
    let high_water = HighWaterTracker::new(files.clone(), Durability::Sync, HighWaterMark::default(), None);
    GroupCommitWriter {
        engine: Arc::new(engine),
        room: DiskSpace::new(files, 0),
        reopenings: Reopenings::default(),
        containers: Arc::new(vec![WriterContainer { newest_types: &[], signals: Arc::default() }]),
        clock: Arc::new(ManualClock::new(0)),
        sequence: 0,
        commit_number: 0,
        high_water: Arc::new(high_water),
        counters: Arc::default(),
        marks: Arc::default(),
        caches: Arc::new(ReadCaches::new(CacheShares::of(1 << 20), Arc::default())),
        commits: 0,
    }
}

type PendingReply = oneshot::Receiver<Result<Vec<Option<ETag>>, WriteError>>;

fn put(id: &str, precondition: Precondition, bytes: usize) -> (WriteRequest, PendingReply) {
    let (reply, answer) = oneshot::channel();
    let change = ItemChange::Put {
        precondition,
        properties: KeyProperties::default(),
        body: vec![b' '; bytes].into(),
        edit: None,
    };
    let operations = vec![WriteOperation { id: id.to_owned(), change }];
    let partition_key = "p".to_owned();
    let queued_at = Instant::now();
    (WriteRequest { container: 0, partition_key, physical: 0, operations, queued_at, reply }, answer)
}

/// Lets a writer find all requests waiting, and returns its commits and the answers.
fn run(writer: GroupCommitWriter, requests: Vec<(WriteRequest, PendingReply)>) -> (u64, Vec<bool>) {
    let (sender, receiver) = mpsc::channel(QUEUE_REQUESTS_MAX);
    let mut answers = Vec::new();
    for (request, answer) in requests {
        sender.try_send(request).expect("room in the queue");
        answers.push(answer);
    }
    drop(sender);
    let counters = Arc::clone(&writer.counters);
    block_on(writer.run(receiver));
    let succeeded = |mut answer: PendingReply| answer.try_recv().expect("an answer").is_ok();
    (counters.statistics().commits, answers.into_iter().map(succeeded).collect())
}

#[test]
fn requests_that_wait_together_are_committed_together() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let requests =
        (0..GROUP_REQUESTS_MAX).map(|number| put(&number.to_string(), Precondition::Any, 1)).collect();
    let (commits, answers) = run(writer(&directory), requests);
    assert_eq!(commits, 1);
    assert!(answers.iter().all(|succeeded| *succeeded));
}

#[test]
fn a_group_ends_at_its_limits() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let requests =
        (0..=GROUP_REQUESTS_MAX).map(|number| put(&number.to_string(), Precondition::Any, 1)).collect();
    assert_eq!(run(writer(&directory), requests).0, 2);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let half = GROUP_BYTES_MAX / 2;
    let requests = (0..4).map(|number| put(&number.to_string(), Precondition::Any, half)).collect();
    assert_eq!(run(writer(&directory), requests).0, 2);
}

#[test]
fn a_request_sees_what_earlier_ones_of_its_group_did() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let requests = vec![
        put("a", Precondition::MustNotExist, 1),
        put("a", Precondition::MustNotExist, 1),
        put("a", Precondition::Any, 1),
    ];
    assert_eq!(run(writer(&directory), requests), (1, vec![true, false, true]));
}

#[test]
fn a_group_of_refusals_commits_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let absent = || put("a", Precondition::MustExist { if_match: None }, 1);
    assert_eq!(run(writer(&directory), vec![absent(), absent()]), (0, vec![false, false]));
}
