//! Blogs to copy, in directories and on the emulator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onehop::accounts::password::HashingCost;
use onehop::app::work::ProgressSink;
use onehop::app::{App, AppOptions, Member, OpenStore, container_specs, write_side};
use onehop::blog::commands::DeletePost;
use onehop::blog::containers::{POSTS, USERS};
use onehop::blog::ids::{PostId, UserId};
use onehop::blog::study::dataset::{DEFAULT_END_MS, Dataset};
use onehop::config::{DataSettings, DurabilitySetting, StoreChoice};
use onehop_change_feed::Sharing;
use onehop_store::{ContainerName, FeedRequest, Ledger, Store};
use serde_json::Value;
use tempfile::TempDir;

use onehop_testing::emulator::Emulator;

/// Container, partition key and id, with the body.
pub type Items = BTreeMap<(ContainerName, String, String), Value>;

pub struct Blog {
    pub app: Arc<App>,
    pub store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

fn options() -> AppOptions {
    AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() }
}

impl Blog {
    /// A directory without data.
    pub async fn empty(physical_partitions: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = DataSettings {
            data: directory.path().to_owned(),
            durability: DurabilitySetting::Relaxed,
            physical_partitions: Some(physical_partitions),
            cache_mib: Some(8),
            disk_reserve_mib: 0,
            log_archive: None,
            log_archive_hours: 24,
        };
        let app = App::open_with(&StoreChoice::Embedded(data.embedded()), options()).await.unwrap();
        Self { store: Arc::clone(&app.recent), app: Arc::new(app), _directory: Some(directory) }
    }

    /// A directory with the data set of so many users.
    pub async fn seeded(users: u32) -> Self {
        let blog = Self::empty(3).await;
        let dataset = Dataset::new(users, 1, DEFAULT_END_MS);
        blog.app.seed(dataset, &ProgressSink::none()).await.unwrap();
        blog
    }

    /// An account without data.
    pub async fn on_emulator(physical_partitions: u32) -> Self {
        let store = Emulator::new(&container_specs(), physical_partitions).open().await;
        let open = OpenStore::Cosmos(Arc::new(store));
        let sharing = Sharing::WithOthers {
            acquire: Duration::from_millis(50),
            expire: Duration::from_secs(60),
            renew: Duration::from_secs(20),
        };
        let member = Member { owner: "copy".to_owned(), sharing };
        let app = App::over(&open, member, options()).await.unwrap();
        assert_eq!(app.data_directory(), None);
        Self { store: Arc::clone(&app.recent), app: Arc::new(app), _directory: None }
    }

    /// Deletes some post by its author, with its comments and likes.
    pub async fn delete_a_post(&self) {
        let items = items_of(&*self.store).await;
        let post =
            items.values().find(|body| body["type"] == "post" && body.get("deleted").is_none()).unwrap();
        let id = |name: &str| post[name].as_str().unwrap().parse().unwrap();
        let input = DeletePost { user_id: UserId(id("userId")), post_id: PostId(id("postId")) };
        self.app.commands.delete_post(input, &Ledger::new()).await.unwrap();
        self.app.processor.drain().await.unwrap();
        assert!(items_of(&*self.store).await != items);
    }

    /// Has the read models made, and everything looked at.
    pub async fn assert_verified(&self) {
        let report = self.app.verify(false, &ProgressSink::none()).await.unwrap();
        assert_eq!(report.drifts, [], "{report:?}");
        assert!(report.items_of(POSTS, "post") > 0 && report.items_of(USERS, "post") > 0, "{report:?}");
    }
}

/// The write side of a store.
pub async fn items_of(store: &dyn Store) -> Items {
    let mut items = Items::new();
    for (container, types) in write_side() {
        items.extend(feed_of(store, container, types).await);
    }
    assert!(items.keys().filter(|(container, ..)| *container == POSTS).count() > 0 || items.is_empty());
    items
}

/// All of a store.
pub async fn everything_in(store: &dyn Store) -> Items {
    let mut items = Items::new();
    for spec in container_specs() {
        items.extend(feed_of(store, spec.name, None).await);
    }
    items
}

async fn feed_of(store: &dyn Store, container: ContainerName, types: Option<&[&str]>) -> Items {
    let mut items = Items::new();
    for range in store.feed_ranges(container).await.unwrap() {
        let mut continuation = None;
        loop {
            let request = FeedRequest {
                container,
                range: &range,
                continuation: continuation.as_ref(),
                types,
                limit: 500,
            };
            let page = store.read_change_feed(&request, &Ledger::new()).await.unwrap();
            let ended = page.drained && page.changes.is_empty();
            for change in page.changes {
                let key = (container, change.partition_key.as_str().to_owned(), change.id);
                items.insert(key, serde_json::from_slice(&change.item.body).unwrap());
            }
            if ended {
                break;
            }
            continuation = Some(page.continuation);
        }
    }
    items
}
