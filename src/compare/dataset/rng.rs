//! Randomness that can be entered anywhere: every user, post, set of comments and set of likes has a stream
//! of its own, derived from the seed, the kind of stream and an index. There is no global sequence, so any
//! part of a data set can be made alone, in any order, and again.
//!
//! The generator is xoshiro256++ 1.0 with its state filled by splitmix64, both by David Blackman and
//! Sebastiano Vigna and in the public domain (<https://prng.di.unimi.it/>). Written out here because a data
//! set has to stay the same for good, whatever a dependency changes. Not for secrets.

/// Splitmix64's step: 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a stream is drawn for; two kinds never share a stream.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    Names = 1,
    User = 2,
    PostCount = 3,
    PostShape = 4,
    Post = 5,
    Comments = 6,
    Likes = 7,
}

#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    pub fn of(rng_seed: u64, stream: Stream, index: u64) -> Self {
        let mut key = key(rng_seed, stream, index);
        let state = std::array::from_fn(|_| {
            key = key.wrapping_add(GOLDEN_GAMMA);
            mix(key)
        });
        Self { state }
    }

    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Below `bound`, which is above 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        scale(self.next(), bound)
    }

    /// Below `bound`, which is above 0.
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// At least 0 and below 1, in steps of 2^-53.
    pub fn fraction(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next() >> 11) as f64 * STEP
    }
}

/// The single 64-bit value of a stream that needs no more than one.
pub fn key(rng_seed: u64, stream: Stream, index: u64) -> u64 {
    let kind = (stream as u64).wrapping_mul(GOLDEN_GAMMA);
    mix(mix(rng_seed.wrapping_add(kind)) ^ index)
}

/// The upper half of `bits`, brought below `bound`. Uneven by less than `bound` in 2^32, which no reader and
/// no test of a data set can see.
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
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let sequence: [u64; 5] = std::array::from_fn(|_| rng.next());
        assert_eq!(
            sequence,
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386, 9_228_616_714_210_784_205]
        );
    }

    #[test]
    fn streams_differ_by_seed_kind_and_index() {
        let base = Rng::of(1, Stream::Post, 7).next();
        assert_ne!(base, Rng::of(2, Stream::Post, 7).next());
        assert_ne!(base, Rng::of(1, Stream::User, 7).next());
        assert_ne!(base, Rng::of(1, Stream::Post, 8).next());
        assert_eq!(base, Rng::of(1, Stream::Post, 7).next());
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_all_of_it() {
        let mut rng = Rng::of(1, Stream::User, 0);
        let mut seen = [false; 26];
        for _ in 0..1_000 {
            seen[rng.below(26) as usize] = true;
            assert!(rng.below_u64(3) < 3);
            assert!((0.0..1.0).contains(&rng.fraction()));
        }
        assert_eq!(seen, [true; 26]);
    }
}
