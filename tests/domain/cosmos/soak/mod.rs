//! Random commands of both domains, faults, splits and deaths of processes, as a seed decides; then
//! everything is verified. A seed plays the same episode again, except for the decisions of the scheduler
//! within one step.
//!
//! `make soak` plays episode after episode: `SOAK_MINUTES` says how long, `SOAK_SEED` which is the first.

mod blog;
mod shop;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use azure_data_cosmos::fault_injection::{
    FaultInjectionErrorType, FaultInjectionResultBuilder, FaultInjectionRule, FaultInjectionRuleBuilder,
};
use onehop::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
use onehop::blog::ids::IdSource;
use onehop::domain::error::{CommandError, RefusalCode};
use onehop::webstore::containers::{CUSTOMER, PRODUCT, PRODUCT_BY_TAG, PRODUCT_META, RANKING};
use onehop_runtime::clock::ManualClock;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use uuid::Uuid;

use crate::cosmos::world::{Process, SHORT_PATIENCE, account};
use blog::BlogAnswers;
use onehop_testing::emulator::Emulator;
use shop::ShopAnswers;

const START_MS: i64 = 1_750_000_000_000;
/// More than a lease lives, ms.
const EXPIRY_MS: i64 = 61_000;
const PROCESSES_MAX: usize = 4;
/// The emulator copies a physical partition for each batch: an episode stays small.
const STEPS: usize = 250;
const PARTITIONS_MAX: usize = 12;
/// Tries of a client before it is taken for a defect that it gets no answer.
const TRIES_MAX: usize = 60;

const FAULTS: [FaultInjectionErrorType; 8] = [
    FaultInjectionErrorType::TooManyRequests,
    FaultInjectionErrorType::ServiceUnavailable,
    FaultInjectionErrorType::InternalServerError,
    FaultInjectionErrorType::Timeout,
    FaultInjectionErrorType::PartitionIsGone,
    FaultInjectionErrorType::ConnectionError,
    FaultInjectionErrorType::ResponseTimeout,
    FaultInjectionErrorType::ResponseTimeoutAfterService,
];

/// Random numbers, and ids made of them.
#[derive(Clone)]
struct Dice(Arc<Mutex<ChaCha8Rng>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    /// A number below `below`, which is not 0.
    fn roll(&self, below: usize) -> usize {
        self.0.lock().unwrap().next_u32() as usize % below
    }

    fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

impl IdSource for Dice {
    fn next_id(&self, now_ms: i64) -> Uuid {
        let mut bytes = [0; 10];
        self.0.lock().unwrap().fill_bytes(&mut bytes);
        uuid::Builder::from_unix_timestamp_millis(u64::try_from(now_ms).unwrap(), &bytes).into_uuid()
    }
}

/// A process whose requests may fail.
struct Member {
    process: Process,
    faults: Vec<Arc<FaultInjectionRule>>,
}

struct Episode {
    dice: Dice,
    account: Emulator,
    clock: Arc<ManualClock>,
    members: Vec<Member>,
    started: usize,
    blog: BlogAnswers,
    shop: ShopAnswers,
    keys: usize,
}

impl Member {
    fn fail(&self, fault: usize) {
        self.faults[fault].enable();
    }

    fn mend(&self) {
        self.faults.iter().for_each(|fault| fault.disable());
    }
}

fn rule(fault: FaultInjectionErrorType) -> Arc<FaultInjectionRule> {
    let result = FaultInjectionResultBuilder::new().with_error(fault).with_probability(0.5).build();
    let rule = FaultInjectionRuleBuilder::new(format!("{fault:?}"), result).build();
    rule.disable();
    Arc::new(rule)
}

impl Episode {
    async fn begin(seed: u64) -> Self {
        let mut episode = Self {
            dice: Dice::new(seed),
            account: account(),
            clock: Arc::new(ManualClock::new(START_MS)),
            members: Vec::new(),
            started: 0,
            blog: BlogAnswers::default(),
            shop: ShopAnswers::default(),
            keys: 0,
        };
        episode.start().await;
        episode.begin_blog().await;
        episode.begin_shop().await;
        episode
    }

    async fn play(&mut self) {
        for _ in 0..STEPS {
            match self.dice.roll(100) {
                0..33 => self.act_in_blog().await,
                33..66 => self.act_in_shop().await,
                66..72 => self.fail(),
                72..78 => self.mend(),
                78..93 => self.work().await,
                93..95 => self.split().await,
                95..97 => self.start().await,
                97..98 => self.kill(),
                _ => self.clock.advance_ms(i64::try_from(self.dice.roll(30_000)).unwrap()),
            }
        }
    }

    /// All writes answered to clients are there, once, with every copy.
    async fn end(mut self) {
        self.members.clear();
        self.start().await;
        let last = &self.members[0].process;
        // It sees the heartbeats of the others, and that they do not move.
        last.processor.balance_leases().await.expect("a tick");
        self.clock.advance_ms(EXPIRY_MS);
        last.processor.balance_leases().await.expect("a tick");
        last.processor.drain().await.expect("drained");
        last.processor.replay(None).await.expect("replayed");
        last.assert_clean().await;
        self.assert_blog(last).await;
        self.assert_shop(last).await;
    }

    async fn start(&mut self) {
        if self.members.len() == PROCESSES_MAX {
            return;
        }
        self.started += 1;
        let faults: Vec<_> = FAULTS.map(rule).to_vec();
        let store = self.account.open_with(faults.clone(), SHORT_PATIENCE).await;
        let ids = Arc::new(self.dice.clone());
        let name = format!("process {}", self.started);
        let process = Process::of_both_domains(store, &name, Arc::clone(&self.clock), ids).await;
        self.members.push(Member { process, faults });
    }

    fn kill(&mut self) {
        if self.members.len() > 1 {
            let index = self.dice.roll(self.members.len());
            drop(self.members.swap_remove(index));
        }
    }

    fn fail(&self) {
        self.member().fail(self.dice.roll(FAULTS.len()));
    }

    fn mend(&self) {
        self.member().mend();
    }

    async fn work(&self) {
        let processor = &self.member().process.processor;
        processor.renew().await;
        // A failed round goes on later.
        let _ = processor.balance_leases().await;
        let _ = processor.run_once().await;
    }

    async fn split(&self) {
        let containers =
            [USERS, POSTS, FEED, ACCOUNTS, CUSTOMER, PRODUCT, PRODUCT_META, PRODUCT_BY_TAG, RANKING];
        let container = self.dice.pick(&containers);
        let partitions = self.account.physical_partitions(container);
        if partitions.len() < PARTITIONS_MAX {
            self.account.split(container, self.dice.pick(&partitions)).await;
        }
    }

    fn member(&self) -> &Member {
        &self.members[self.dice.roll(self.members.len())]
    }

    fn key(&mut self) -> String {
        self.keys += 1;
        format!("key {}", self.keys)
    }

    /// Sends a command until it is answered, each time to any of the processes. A refusal that says that it
    /// was done counts as an answer from the second time on; `None` then.
    async fn send<T>(
        &self,
        command: impl AsyncFn(&Process) -> Result<T, CommandError>,
        done: Option<RefusalCode>,
    ) -> Option<T> {
        for tried in 0..TRIES_MAX {
            if tried > 4 {
                self.members.iter().for_each(Member::mend);
            }
            match command(&self.member().process).await {
                Ok(answer) => return Some(answer),
                Err(CommandError::Fault(fault)) => assert!(fault.kind.is_transient(), "{fault:?}"),
                Err(CommandError::Rejected(refusal)) => {
                    assert!(tried > 0 && done == Some(refusal.code), "{refusal:?}");
                    return None;
                }
            }
        }
        panic!("no answer after {TRIES_MAX} tries");
    }
}

async fn play(seed: u64) {
    println!("episode {seed}");
    let mut episode = Episode::begin(seed).await;
    episode.play().await;
    episode.end().await;
}

#[tokio::test]
async fn a_short_episode_ends_well() {
    play(1).await;
}

#[tokio::test]
#[ignore = "it takes as long as it is told: make soak"]
async fn every_episode_ends_well() {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
    };
    let (minutes, first) = (number("SOAK_MINUTES", 5), number("SOAK_SEED", 1));
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let mut episodes = 0;
    while episodes == 0 || Instant::now() < end {
        play(first + episodes).await;
        episodes += 1;
    }
    println!("{episodes} episodes, all is well");
}
