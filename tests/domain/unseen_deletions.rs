//! Deletions on an account, which no change feed of latest versions shows. A wait for writes ends at once
//! after a deletion by the same process, and after an interval otherwise.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use onehop::app::{App, AppOptions, Member, OpenStore, container_specs};
use onehop::blog::containers::{POSTS, POSTS_BY_TAG};
use onehop_change_feed::{Sharing, Watch};
use onehop_runtime::clock::SystemClock;
use onehop_store::{ContainerName, Ledger, NewItem, PartitionKey, WriteMark, WriteOp};
use onehop_testing::lagging_account::LaggingAccount;
use serde_json::json;
use tokio::time::timeout;

const ID: &str = "an-item";
const TAG: &str = "rust";

async fn app(account: &LaggingAccount, owner: &str) -> App {
    let (store, recent) = account.connect();
    let member = Member { owner: owner.to_owned(), sharing: Sharing::with_others() };
    let open = OpenStore::Shared { store, recent };
    App::over(&open, member, AppOptions::default()).await.expect("the app opens")
}

/// The marks of a read, and the last write before it.
async fn read(app: &App, watch: &Watch, container: ContainerName) -> (Vec<WriteMark>, u64) {
    let (ledger, write) = (Ledger::remembering(), watch.last_write());
    app.recent.read(container, &PartitionKey::from(TAG), ID, &ledger).await.expect("no fault");
    (ledger.touched().expect("marks"), write)
}

async fn write(app: &App, container: ContainerName, operation: WriteOp) {
    let written = app.recent.write(container, &PartitionKey::from(TAG), operation, &Ledger::new()).await;
    written.expect("it is written");
}

fn item() -> WriteOp {
    let body = json!({ "id": ID, "type": "post", "tag": TAG, "postId": TAG, "version": 1 });
    WriteOp::Create(NewItem::encode(ID, &body))
}

fn deletion() -> WriteOp {
    WriteOp::Delete { id: ID.to_owned(), if_match: None }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_wakes_its_own_process_at_once_and_others_at_an_interval() {
    let account = LaggingAccount::new(&container_specs(), Arc::new(SystemClock));
    let (own, other) = (app(&account, "own").await, app(&account, "other").await);
    write(&own, POSTS_BY_TAG, item()).await;
    let (watch, watch_of_other) = (
        own.watches.watch(&Ledger::new()).await.unwrap(),
        other.watches.watch(&Ledger::new()).await.unwrap(),
    );
    let (marks, last) = read(&own, &watch, POSTS_BY_TAG).await;
    let (marks_of_other, last_of_other) = read(&other, &watch_of_other, POSTS_BY_TAG).await;
    assert!(watch.written(marks.clone(), last).now_or_never().is_none(), "nothing is written yet");
    write(&own, POSTS_BY_TAG, deletion()).await;
    assert!(watch.written(marks, last).now_or_never().is_some());
    let mut written = watch_of_other.written(marks_of_other, last_of_other).boxed();
    assert!(timeout(Duration::from_secs(20), &mut written).await.is_err(), "no change feed shows it");
    assert!(timeout(Duration::from_secs(20), written).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn reads_of_containers_without_deletions_wait_for_writes_alone() {
    let account = LaggingAccount::new(&container_specs(), Arc::new(SystemClock));
    let (own, other) = (app(&account, "own").await, app(&account, "other").await);
    let watch = own.watches.watch(&Ledger::new()).await.unwrap();
    let (marks, last) = read(&own, &watch, POSTS).await;
    let mut written = watch.written(marks, last).boxed();
    assert!(timeout(Duration::from_secs(600), &mut written).await.is_err());
    write(&other, POSTS, item()).await;
    assert!(timeout(Duration::from_secs(5), written).await.is_ok());
}
