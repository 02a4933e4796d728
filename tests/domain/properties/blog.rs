//! The parts of a process over a temporary data directory, with passwords that are cheap to hash.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::app::{App, AppOptions, DrainedChangeFeed, container_specs};
use onehop::blog::commands::{CommandLimits, CommandParts, Commands};
use onehop::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
use onehop::blog::ids::RandomIds;
use onehop::blog::verify::verifier;
use onehop_store::{FeedRequest, Ledger};

use crate::support::store::{self, Keeper};

pub struct Blog {
    pub app: App,
    pub commands: Commands,
    keeper: Keeper,
}

impl Blog {
    pub async fn new() -> Self {
        Self::open(store::keep(&container_specs())).await
    }

    async fn open(keeper: Keeper) -> Self {
        let app = keeper.app(AppOptions::default()).await;
        let passwords = PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default());
        let commands = Commands::new(CommandParts {
            store: Arc::clone(&app.store),
            clock: Arc::clone(&app.clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.expect("a hasher"),
            tasks: app.tasks.clone(),
            limits: CommandLimits::default(),
        });
        Self { app, commands, keeper }
    }

    /// Has the readers of the change feed run in the background, as a server has them.
    pub fn start_readers(&self) {
        self.app.start_readers();
    }

    /// Ends the process in an orderly way and starts another on its data.
    pub async fn restart(self) -> Self {
        let Self { app, commands, keeper } = self;
        app.close().await;
        drop((app, commands));
        Self::open(keeper).await
    }

    /// Ends the process and the blog with it.
    pub async fn end(self) {
        self.app.close().await;
    }

    /// Brings the read models up to date.
    pub async fn drain(&self) {
        self.app.processor.drain().await.expect("the change feed is drained");
    }

    /// Asserts that the project's own verification, finds nothing.
    pub async fn assert_clean(&self) {
        let settle = Arc::new(DrainedChangeFeed(Arc::clone(&self.app.processor)));
        let verifier = verifier(Arc::clone(&self.app.store), settle);
        let report = verifier.verify(|_| {}).await.expect("a verification");
        assert!(report.is_clean(), "{:#?}", report.drifts);
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

    /// Every item of the blog that is not deleted, with its ETag.
    pub async fn etags(&self) -> BTreeMap<String, String> {
        let mut etags = BTreeMap::new();
        for container in [USERS, POSTS, FEED, ACCOUNTS] {
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
