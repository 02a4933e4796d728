//! Rankings under random interleavings: readers rise, fall and are deleted between any two operations of a
//! projection that may die at any of them, beside a rebuild. A seed plays the same acts again, save for the
//! order of concurrent operations.
//!
//! `RANKING_SEEDS` says how many seeds are played.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use onehop_change_feed::Processor;
use onehop_store::{Ledger, Store, StoreCall, StoreDecorator};
use parking_lot::Mutex;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tokio::sync::Notify;

use crate::library::{LISTED_MAX, Library, MOST_LOANS, RANKING, READERS, deletion, genre};

const SEEDS: u64 = 8;
/// Readers of an episode; three of them are listed.
const READERS_MAX: u32 = 7;
/// Loans of a reader: so few that many are equal.
const LOANS_MAX: u32 = 6;
/// Acts of a round beside the projection. Few, since a later act may hide the effect of an earlier one.
const ACTS_MAX: u32 = 3;
/// Rounds of an episode. Each begins with an act, and ends with a comparison.
const ROUNDS: u32 = 20;

struct Dice(Mutex<ChaCha8Rng>);

impl Dice {
    fn roll(&self, below: u32) -> u32 {
        self.0.lock().next_u32() % below
    }
}

/// A store decorator that lets readers change before operations of the projection, and the process die at
/// them.
struct Meddler {
    library: Library,
    dice: Dice,
    acts_left: AtomicU32,
    deaths_left: AtomicU32,
    died: Notify,
    /// Commands on one reader do not overlap.
    commands: tokio::sync::Mutex<()>,
}

impl Meddler {
    async fn new(seed: u64) -> Self {
        let dice = Dice(Mutex::new(ChaCha8Rng::seed_from_u64(seed)));
        let loans: Vec<_> = (0..READERS_MAX).map(|_| u64::from(dice.roll(LOANS_MAX))).collect();
        Self {
            library: Library::with_readers(&loans).await,
            dice,
            acts_left: AtomicU32::new(0),
            deaths_left: AtomicU32::new(0),
            died: Notify::new(),
            commands: tokio::sync::Mutex::new(()),
        }
    }

    /// A command: a reader gets another number of loans, or is deleted.
    async fn act(&self) {
        let _alone = self.commands.lock().await;
        let id = format!("r{}", self.dice.roll(READERS_MAX));
        if self.library.item(READERS, &id, &id).await.get("deleted").is_some() {
            return;
        }
        match self.dice.roll(30) {
            0 => self.library.edit(READERS, &id, &id, deletion()).await,
            _ => self.library.set_loans(&id, u64::from(self.dice.roll(LOANS_MAX))).await,
        }
    }

    fn takes_one(&self, left: &AtomicU32, of: u32) -> bool {
        let take = |left: u32| left.checked_sub(1);
        self.dice.roll(of) == 0 && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }
}

impl StoreDecorator for Meddler {
    fn inner(&self) -> &dyn Store {
        &*self.library.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        if [READERS, RANKING].contains(&call.container()) {
            if self.takes_one(&self.acts_left, 3) {
                self.act().await;
            }
            if self.takes_one(&self.deaths_left, 6) {
                self.died.notify_one();
                return std::future::pending().await;
            }
        }
        call.run(self.inner(), ledger).await
    }
}

/// Plays the acts of a seed. After each round the ranking has to be right.
async fn play(seed: u64) {
    let meddler = Arc::new(Meddler::new(seed).await);
    for round in 0..ROUNDS {
        meddler.act().await;
        meddler.acts_left.store(ACTS_MAX, Ordering::SeqCst);
        meddler.deaths_left.store(u32::from(meddler.dice.roll(3) == 0), Ordering::SeqCst);
        let processor = meddler.library.processor_over(Arc::clone(&meddler) as _).await;
        tokio::select! {
            () = work(&processor, meddler.dice.roll(4) == 0) => {}
            () = meddler.died.notified() => {}
        }
        drop(processor);
        let library = &meddler.library;
        // The store's writer takes one write after the other: earlier writes of the process come before this
        // one.
        library.put(&genre("novel", "Novel")).await;
        let next = library.processor_over(library.store.clone()).await;
        next.drain().await.expect("the change feed is drained");
        assert_eq!(library.ranking().await, expected(library).await, "seed {seed}, round {round}");
        let statuses = next.status().await.expect("statuses");
        assert!(statuses.iter().all(|status| status.dead_letters == 0), "seed {seed}: {statuses:#?}");
    }
    let drifts = meddler.library.ranking_drifts().await;
    assert!(drifts.is_empty(), "seed {seed}: {drifts:#?}");
}

/// Follows the change feed to its end, and rebuilds the ranking meanwhile.
async fn work(processor: &Processor, rebuilds: bool) {
    let rebuild = async {
        match rebuilds {
            true => processor.rebuild(MOST_LOANS, &|_| {}).await.map(drop),
            false => Ok(()),
        }
    };
    let (drained, rebuilt) = tokio::join!(processor.drain(), rebuild);
    drained.expect("the change feed is drained");
    rebuilt.expect("the ranking is rebuilt");
}

/// The readers with most loans, as their items say.
async fn expected(library: &Library) -> Vec<String> {
    let mut readers = Vec::new();
    for number in 0..READERS_MAX {
        let id = format!("r{number}");
        let item = library.item(READERS, &id, &id).await;
        if item.get("deleted").is_none() {
            readers.push((item["loanCount"].as_u64(), id));
        }
    }
    readers.sort_by(|one, other| other.cmp(one));
    readers.into_iter().take(LISTED_MAX).map(|(_, id)| id).collect()
}

#[tokio::test]
async fn random_rankings_are_right_once_they_are_drained() {
    let seeds = std::env::var("RANKING_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    for seed in 0..seeds {
        play(seed).await;
    }
}
