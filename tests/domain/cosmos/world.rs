//! Both domains in an account, as several processes see them.

use std::sync::Arc;
use std::time::Duration;

use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::app::{container_specs, projections};
use onehop::blog::commands::{CommandLimits, CommandParts, Commands};
use onehop::blog::containers::POSTS;
use onehop::blog::ids::{IdSource, PostId, RandomIds};
use onehop::blog::items::PostItem;
use onehop::blog::read_models;
use onehop::blog::verify::verifier;
use onehop::webstore;
use onehop::webstore::commands::{WebstoreCommands, WebstoreParts};
use onehop_change_feed::{Processor, Projection, Settings, Sharing};
use onehop_runtime::clock::{Clock, ManualClock, SystemClock};
use onehop_runtime::tasks::Tasks;
use onehop_store::cosmos::{Consistency, CosmosStore, RetryPolicy};
use onehop_store::{Ledger, Store};
use tokio_util::sync::CancellationToken;

use crate::webstore::shop::Shop;
use onehop_testing::emulator::Emulator;

/// So short that a test can wait for the end of it.
pub const SHORT_PATIENCE: RetryPolicy = RetryPolicy {
    throttled_wait_max: Duration::from_millis(4),
    throttled_retries_max: 4,
    operation_max: Duration::from_secs(1),
    moved_retries_max: 4,
    contended_retries_max: 1,
    wait_first: Duration::from_millis(1),
};

/// One process: commands and a processor over the same store.
pub struct Process {
    pub commands: Commands,
    pub shop: Shop,
    pub store: Arc<dyn Store>,
    pub processor: Processor,
}

impl Process {
    /// The only process.
    pub async fn over(store: CosmosStore) -> Self {
        let ids = Arc::new(RandomIds);
        Self::with(store, Settings::new("test"), Arc::new(SystemClock), ids, read_models::projections()).await
    }

    /// One of several processes. Leases run out by this clock.
    pub async fn sharing(store: CosmosStore, name: &str, clock: Arc<ManualClock>) -> Self {
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new(name) };
        Self::with(store, settings, clock, Arc::new(RandomIds), read_models::projections()).await
    }

    /// The same, with the read models of both domains and ids from elsewhere.
    pub async fn of_both_domains(
        store: CosmosStore,
        name: &str,
        clock: Arc<ManualClock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new(name) };
        Self::with(store, settings, clock, ids, projections()).await
    }

    async fn with(
        store: CosmosStore,
        settings: Settings,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        projections: Vec<Arc<dyn Projection>>,
    ) -> Self {
        let recent: Arc<dyn Store> = Arc::new(store.with_consistency(Consistency::LatestCommitted));
        let store: Arc<dyn Store> = Arc::new(store);
        let passwords = PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).unwrap();
        let webstore_commands = WebstoreCommands::new(WebstoreParts {
            store: Arc::clone(&store),
            latest: Arc::clone(&recent),
            sign_in_store: Arc::clone(&store),
            clock: Arc::new(SystemClock),
            ids: Arc::clone(&ids),
            passwords: passwords.clone(),
        });
        let commands = Commands::new(CommandParts {
            store: Arc::clone(&store),
            latest: Arc::clone(&recent),
            clock: Arc::new(SystemClock),
            ids,
            passwords,
            tasks: Tasks::new(),
            limits: CommandLimits::default(),
        });
        let processor =
            Processor::open(recent, clock, projections, settings.without_delays(), CancellationToken::new());
        let processor = processor.await.expect("a processor");
        Self { commands, shop: Shop::new(&webstore_commands), processor, store }
    }

    pub async fn post(&self, id: PostId) -> PostItem {
        let item = self.store.read(POSTS, &id.partition_key(), &id.to_string(), &Ledger::new()).await;
        item.expect("a read").expect("the post is there").decode().expect("a post")
    }

    /// Brings the read models up to date and verifies everything.
    pub async fn assert_clean(&self) {
        for verifier in [verifier, webstore::verify::verifier] {
            let settle = Arc::new(self.processor.clone());
            let report = verifier(Arc::clone(&self.store), settle).verify(|_| {}).await.expect("a report");
            assert!(report.is_clean(), "{:#?}", report.drifts);
        }
        let parked: u64 =
            self.processor.status().await.expect("a status").iter().map(|status| status.dead_letters).sum();
        assert_eq!(parked, 0, "a change was parked");
    }
}

/// An account with all containers.
pub fn account() -> Emulator {
    Emulator::new(&container_specs(), 3)
}
