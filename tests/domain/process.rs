//! A process of the program over a store of its own, with passwords that are cheap to hash.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::app::work::ProgressSink;
use onehop::app::{App, AppOptions, container_specs};
use onehop::blog::ids::RandomIds;
use onehop::webstore::commands::{WebstoreCommands, WebstoreParts};
use onehop_store::{ContainerSpec, FeedRequest, Ledger, Store};

use crate::support::store::{self, Keeper};

pub struct TestProcess {
    pub app: App,
    keeper: Keeper,
}

impl TestProcess {
    pub async fn new() -> Self {
        Self::open(store::keep(&container_specs())).await
    }

    async fn open(keeper: Keeper) -> Self {
        let app = keeper.app(AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() }).await;
        Self { app, keeper }
    }

    /// The web store's commands of another process over this process's store, seen through another one.
    pub fn other_webstore_commands(&self, store: Arc<dyn Store>) -> WebstoreCommands {
        let passwords = PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default());
        WebstoreCommands::new(WebstoreParts {
            sign_in_store: Arc::clone(&store),
            latest: Arc::clone(&store),
            store,
            clock: Arc::clone(&self.app.clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.expect("a hasher"),
        })
    }

    /// Has the readers of the change feed run in the background, as a server has them.
    pub fn start_readers(&self) {
        self.app.start_readers();
    }

    /// Ends the process in an orderly way and starts another on its data.
    pub async fn restart(self) -> Self {
        let Self { app, keeper } = self;
        app.close().await;
        drop(app);
        Self::open(keeper).await
    }

    /// Ends the process and its data with it.
    pub async fn end(self) {
        self.app.close().await;
    }

    /// Brings the read models up to date.
    pub async fn drain(&self) {
        self.app.processor.drain().await.expect("the change feed is drained");
    }

    /// Asserts that the verification of both domains finds nothing.
    pub async fn assert_clean(&self) {
        let report = self.app.verify(false, &ProgressSink::none()).await.expect("a verification");
        assert!(report.is_clean(), "{report:#?}");
        let statuses = self.app.processor.status().await.expect("statuses");
        assert!(statuses.iter().all(|status| status.dead_letters == 0), "{statuses:#?}");
    }

    /// Runs every projection again from the beginning of its change feed.
    pub async fn rebuild(&self) {
        for status in self.app.processor.status().await.expect("statuses") {
            self.app.processor.rebuild(status.projection, &|_| {}).await.expect("a rebuild");
        }
        self.drain().await;
    }

    /// Asserts that every item that is not deleted is there as it was, and no other.
    pub async fn assert_untouched(&self, before: &BTreeMap<String, String>) {
        let after = self.etags().await;
        let mut touched: Vec<_> =
            after.iter().filter(|(place, etag)| before.get(*place) != Some(etag)).collect();
        touched.extend(before.iter().filter(|(place, _)| !after.contains_key(*place)));
        assert!(touched.is_empty(), "written though nothing had changed: {touched:#?}");
    }

    /// Every item of a domain that is not deleted, with its ETag.
    pub async fn etags(&self) -> BTreeMap<String, String> {
        let mut etags = BTreeMap::new();
        let of_domain =
            |spec: &ContainerSpec| !onehop_change_feed::SPECS.iter().any(|own| own.name == spec.name);
        for container in container_specs().into_iter().filter(of_domain).map(|spec| spec.name) {
            for range in self.app.store.feed_ranges(container).await.expect("feed ranges") {
                let mut continuation = None;
                loop {
                    let request = FeedRequest {
                        container,
                        range: &range,
                        continuation: continuation.as_ref(),
                        types: None,
                        limit: 1000,
                    };
                    let page = self.app.store.read_change_feed(&request, &Ledger::new()).await;
                    let page = page.expect("a page of the change feed");
                    for change in page.changes {
                        let body: serde_json::Value = change.item.decode().expect("JSON");
                        if body["deleted"] != true {
                            let place = format!("{container}/{}/{}", change.partition_key, change.id);
                            etags.insert(place, change.item.etag.to_string());
                        }
                    }
                    if page.drained {
                        break;
                    }
                    continuation = Some(page.continuation);
                }
            }
        }
        etags
    }
}
