//! Dice: random choices of a simulation, from its seed.

use std::sync::Arc;

use parking_lot::Mutex;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

/// The percentage of acts that are chosen without weights.
const UNWEIGHTED_PERCENT: u64 = 12;

/// A source of random choices. A clone goes on in the same sequence.
#[derive(Clone)]
pub struct Dice(Arc<Mutex<ChaCha8Rng>>);

impl Dice {
    /// The sequence of a seed for one purpose. Sequences of different purposes do not depend on each other.
    pub fn of(seed: u64, purpose: u64) -> Self {
        let mut source = ChaCha8Rng::seed_from_u64(seed);
        source.set_stream(purpose);
        Self(Arc::new(Mutex::new(source)))
    }

    /// A number below `below`, which is not 0.
    pub fn below(&self, below: u64) -> u64 {
        self.0.lock().next_u64() % below
    }

    /// The same for places in a list.
    pub fn place(&self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("a place in memory")
    }

    /// The name of an act, by weights. Few acts are chosen without the weights, so that a run has all of
    /// them.
    pub fn weighted(&self, acts: &[(&'static str, u64)]) -> &'static str {
        if self.percent(UNWEIGHTED_PERCENT) {
            return self.pick(acts).0;
        }
        let mut left = self.below(acts.iter().map(|(_, weight)| weight).sum::<u64>().max(1));
        for (name, weight) in acts {
            if left < *weight {
                return name;
            }
            left -= weight;
        }
        acts[0].0
    }

    /// Whether an event of this probability, in percent, occurs.
    pub fn percent(&self, probability: u64) -> bool {
        self.below(100) < probability
    }

    /// A number from `from` up to `to`, both included.
    pub fn between(&self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    pub fn pick<'a, T>(&self, from: &'a [T]) -> &'a T {
        &from[self.place(from.len())]
    }
}
