//! Streams of pseudo-random numbers for data sets: each user, order or list of comments has a generator of
//! its own, derived from a seed, the kind of stream and an index. There is no global sequence, so any part of
//! a data set can be made alone, in any order, and again.
//!
//! The generator is xoshiro256++ 1.0, seeded by splitmix64, both by David Blackman and Sebastiano Vigna
//! (<https://prng.di.unimi.it/>). The tests pin its published sequence, because a data set has to stay the
//! same. It is not for secrets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Splitmix64's step: 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of a kind of stream, chosen by the data set. Two kinds never share a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub u64);

/// The generator of one stream.
#[derive(Debug, Clone)]
pub struct StreamRng(Xoshiro256PlusPlus);

impl StreamRng {
    /// At the beginning of the stream.
    #[must_use]
    pub fn new(seed: u64, stream: Stream, index: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(stream_key(seed, stream, index)))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `bound`, which is above 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        scale(self.next_u64(), bound)
    }

    /// An entry of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u32) as usize]
    }

    /// Below `bound`, which is above 0.
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// At least 0 and below 1, in steps of 2^-53.
    pub fn fraction(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }
}

/// The single 64-bit value of a stream that needs no more than one.
#[must_use]
pub fn stream_key(seed: u64, stream: Stream, index: u64) -> u64 {
    let kind = stream.0.wrapping_mul(GOLDEN_GAMMA);
    mix(mix(seed.wrapping_add(kind)) ^ index)
}

/// The upper half of `bits`, brought below `bound`. Its bias is less than `bound` in 2^32, which no reader
/// and no test of a data set can see.
#[must_use]
pub fn scale(bits: u64, bound: u32) -> u32 {
    (((bits >> 32) * u64::from(bound)) >> 32) as u32
}

/// Splitmix64's output function: a bijection in which each bit of the input moves half of the output.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream = Stream(5);

    #[test]
    fn splitmix64_gives_its_published_sequence() {
        let sequence: Vec<u64> =
            (1..=3).map(|step| mix(1_234_567_u64.wrapping_add(GOLDEN_GAMMA.wrapping_mul(step)))).collect();
        assert_eq!(
            sequence,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn xoshiro256_plus_plus_gives_its_published_sequence() {
        let mut state = [0; 32];
        for (bytes, word) in state.chunks_exact_mut(8).zip([1_u64, 2, 3, 4]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut rng = StreamRng(Xoshiro256PlusPlus::from_seed(state));
        let sequence: [u64; 5] = std::array::from_fn(|_| rng.next_u64());
        assert_eq!(
            sequence,
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386, 9_228_616_714_210_784_205]
        );
    }

    #[test]
    fn a_stream_is_seeded_by_splitmix64_of_its_key() {
        let key = stream_key(1, STREAM, 7);
        let mut state = [0; 32];
        for (bytes, step) in state.chunks_exact_mut(8).zip(1..) {
            let word = mix(key.wrapping_add(GOLDEN_GAMMA.wrapping_mul(step)));
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut seeded = StreamRng(Xoshiro256PlusPlus::from_seed(state));
        assert_eq!(StreamRng::new(1, STREAM, 7).next_u64(), seeded.next_u64());
    }

    #[test]
    fn streams_differ_by_seed_kind_and_index() {
        let base = StreamRng::new(1, STREAM, 7).next_u64();
        assert_ne!(base, StreamRng::new(2, STREAM, 7).next_u64());
        assert_ne!(base, StreamRng::new(1, Stream(2), 7).next_u64());
        assert_ne!(base, StreamRng::new(1, STREAM, 8).next_u64());
        assert_eq!(base, StreamRng::new(1, STREAM, 7).next_u64());
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_all_of_it() {
        let mut rng = StreamRng::new(1, STREAM, 0);
        let mut seen = [false; 26];
        for _ in 0..1_000 {
            seen[rng.below(26) as usize] = true;
            assert!(rng.below_u64(3) < 3);
            assert!((0.0..1.0).contains(&rng.fraction()));
        }
        assert_eq!(seen, [true; 26]);
    }
}
