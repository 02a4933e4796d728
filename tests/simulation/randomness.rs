//! Randomness of the operating system, replaced by the seed's in the threads of a simulation.
//!
//! Everything random in the program comes from `getrandom`: secrets, ids, and the seeds of hash maps in all
//! libraries. The linker takes the function of this file before the C library's.

#![expect(unsafe_code, reason = "a function of the C library is replaced")]

use std::cell::RefCell;
use std::fs::File;
use std::io::Read as _;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

thread_local! {
    static SOURCE: RefCell<Option<ChaCha8Rng>> = const { RefCell::new(None) };
}

/// Has all randomness of this thread come from the seed from now on. To be called before the thread makes a
/// hash map.
pub fn seed_thread(seed: u64) {
    SOURCE.set(Some(ChaCha8Rng::seed_from_u64(seed)));
}

/// Replaces `getrandom(2)` of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: callers of `getrandom` pass a buffer of at least `length` bytes that they own.
    let bytes = unsafe {
        buffer.write_bytes(0, length);
        std::slice::from_raw_parts_mut(buffer, length)
    };
    let is_seeded = SOURCE.try_with(|source| match &mut *source.borrow_mut() {
        Some(source) => {
            source.fill_bytes(bytes);
            true
        }
        None => false,
    });
    if !is_seeded.unwrap_or(false)
        && File::open("/dev/urandom").and_then(|mut file| file.read_exact(bytes)).is_err()
    {
        return -1;
    }
    isize::try_from(length).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use super::*;

    fn random() -> (u64, [u8; 16]) {
        let mut bytes = [0; 16];
        getrandom_of_crate(&mut bytes);
        (RandomState::new().hash_one("a key"), bytes)
    }

    fn getrandom_of_crate(bytes: &mut [u8]) {
        ::getrandom::fill(bytes).unwrap();
    }

    fn random_of(seed: u64) -> (u64, [u8; 16]) {
        let seeded = move || {
            seed_thread(seed);
            random()
        };
        std::thread::spawn(seeded).join().unwrap()
    }

    #[test]
    fn hash_maps_and_secrets_come_from_the_seed() {
        assert_eq!(random_of(1), random_of(1));
        let (one, other) = (random_of(1), random_of(2));
        assert!(one.0 != other.0 && one.1 != other.1);
    }

    #[test]
    fn other_threads_have_randomness_of_the_system() {
        let unseeded = || std::thread::spawn(random).join().unwrap();
        let (one, other) = (unseeded(), unseeded());
        assert!(one.0 != other.0 && one.1 != other.1);
    }
}
