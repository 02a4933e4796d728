//! An account whose replicas lag on demand: other processes read former versions from then on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onehop_runtime::clock::Clock;
use onehop_store::{ContainerSpec, Store};

use crate::account_model::{AccountFaults, AccountModel, FaultPoint, ModelConsistency, Outcome};

/// Longer than any test.
const LAG: Duration = Duration::from_secs(3600);

#[derive(Default)]
struct Lag(AtomicBool);

impl AccountFaults for Lag {
    fn next(&self, _point: &FaultPoint<'_>) -> Outcome {
        match self.0.load(Ordering::SeqCst) {
            true => Outcome { lag: LAG, is_lagging: true, ..Outcome::default() },
            false => Outcome::default(),
        }
    }
}

pub struct LaggingAccount {
    account: Arc<AccountModel>,
    lag: Arc<Lag>,
}

impl LaggingAccount {
    /// An account with these containers, whose replicas have every write at once.
    pub fn new(specs: &[ContainerSpec], clock: Arc<dyn Clock>) -> Self {
        let lag = Arc::<Lag>::default();
        let specs: &'static [ContainerSpec] = Box::leak(specs.into());
        Self { account: AccountModel::new(specs, 1, clock, Arc::clone(&lag) as _), lag }
    }

    /// The store of a new process with session consistency, and the same with reads of the latest commit.
    pub fn connect(&self) -> (Arc<dyn Store>, Arc<dyn Store>) {
        let store = self.account.connect(ModelConsistency::Session);
        let latest = store.with_consistency(ModelConsistency::Latest);
        (Arc::new(store), Arc::new(latest))
    }

    /// From now on, replicas lack new writes, and answer the reads of processes that have not seen them.
    pub fn lag(&self) {
        self.lag.0.store(true, Ordering::SeqCst);
    }
}
