//! Sealed texts: authenticated encryption (AES-256-GCM-SIV, RFC 8452) of values that clients return unchanged
//! and unread, such as positions and entity tags. Knows the keys, and nothing of the sealed values.
//!
//! Sealing is deterministic, as entity tags require: the same bytes for the same purpose have the same text.
//! A nonce that is always the same costs this cipher no more than that: equal texts show that equal bytes
//! were sealed.

use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Length of the authentication tag.
const TAG_BYTES: usize = 16;
/// Separates this use of a secret from any other.
const KEY_PURPOSE: &[u8] = b"onehop sealed texts\0";

/// Seals and opens texts under secrets. Clones share the secrets, also when these change.
#[derive(Clone)]
pub struct Sealer {
    /// The first seals, all open. There is at least one.
    keys: Arc<RwLock<Arc<[LessSafeKey]>>>,
}

impl Sealer {
    /// A sealer under keys derived from these secrets. The first one seals.
    ///
    /// # Panics
    /// There is no secret.
    #[must_use]
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let keys = keys_of(secrets);
        assert!(!keys.is_empty(), "a sealer has a secret");
        Self { keys: Arc::new(RwLock::new(keys)) }
    }

    /// A sealer whose texts no other process opens.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self::of([&secret[..]]))
    }

    /// Seals and opens with these secrets from now on; without any nothing changes.
    pub fn replace<'a>(&self, secrets: impl IntoIterator<Item = &'a [u8]>) {
        let keys = keys_of(secrets);
        if !keys.is_empty() {
            *self.keys.write() = keys;
        }
    }

    /// Seals bytes for a purpose, and for nothing else. The text is safe in a URL, a header and JSON.
    ///
    /// # Panics
    /// The bytes are longer than the cipher takes, which is 64 GiB.
    #[must_use]
    pub fn seal(&self, purpose: &[u8], bytes: &[u8]) -> String {
        let mut sealed = Vec::with_capacity(bytes.len() + TAG_BYTES);
        sealed.extend_from_slice(bytes);
        let keys = self.keys();
        let done = keys[0].seal_in_place_append_tag(nonce(), Aad::from(purpose), &mut sealed);
        done.expect("the bytes are within what the cipher takes");
        BASE64_URL_SAFE_NO_PAD.encode(sealed)
    }

    /// The bytes behind a text that was sealed for this purpose; `None` for any other text.
    #[must_use]
    pub fn open(&self, purpose: &[u8], text: &str) -> Option<Vec<u8>> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        self.keys().iter().find_map(|key| {
            let mut bytes = sealed.clone();
            let length = key.open_in_place(nonce(), Aad::from(purpose), &mut bytes).ok()?.len();
            bytes.truncate(length);
            Some(bytes)
        })
    }

    fn keys(&self) -> Arc<[LessSafeKey]> {
        Arc::clone(&self.keys.read())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sealer(..)")
    }
}

fn keys_of<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Arc<[LessSafeKey]> {
    secrets.into_iter().map(key_of).collect()
}

fn key_of(secret: &[u8]) -> LessSafeKey {
    let key: [u8; 32] = Sha256::new().chain_update(KEY_PURPOSE).chain_update(secret).finalize().into();
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM_SIV, &key).expect("the key is as long as the cipher's"))
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(secrets: &[u8]) -> Sealer {
        let secrets: Vec<[u8; 1]> = secrets.iter().map(|secret| [*secret]).collect();
        Sealer::of(secrets.iter().map(|secret| &secret[..]))
    }

    #[test]
    fn what_is_sealed_is_opened_for_its_purpose_alone() {
        let sealer = sealer(&[1]);
        for bytes in [&b""[..], b"sequence:7"] {
            let text = sealer.seal(b"position", bytes);
            assert_eq!(sealer.open(b"position", &text).as_deref(), Some(bytes));
            assert_eq!(sealer.open(b"tag", &text), None);
            assert_eq!(sealer.seal(b"position", bytes), text);
        }
    }

    #[test]
    fn a_forged_or_changed_sealed_text_is_not_opened() {
        let text = sealer(&[1]).seal(b"position", b"sequence:7");
        let mut changed = text.clone().into_bytes();
        changed[0] ^= 1;
        let changed = String::from_utf8(changed).unwrap();
        for foreign in [&*changed, "", "AAAA", "?", &text[..text.len() - 2], &"A".repeat(64)] {
            assert_eq!(sealer(&[1]).open(b"position", foreign), None, "{foreign}");
        }
        assert_eq!(sealer(&[2]).open(b"position", &text), None);
        assert_eq!(Sealer::random().unwrap().open(b"position", &text), None);
    }

    #[test]
    fn texts_of_a_former_secret_are_opened_until_it_is_dropped() {
        let sealer = sealer(&[1]);
        let former = sealer.seal(b"position", b"7");
        sealer.clone().replace([&[2][..], &[1][..]]);
        assert_eq!(sealer.open(b"position", &former).as_deref(), Some(&b"7"[..]));
        assert_ne!(sealer.seal(b"position", b"7"), former);
        sealer.replace([&[2][..]]);
        assert_eq!(sealer.open(b"position", &former), None);
        sealer.replace([]);
        assert!(sealer.open(b"position", &sealer.seal(b"position", b"7")).is_some());
    }

    #[test]
    fn a_sealed_text_shows_nothing_of_its_bytes() {
        let text = sealer(&[1]).seal(b"position", b"sequence:7");
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("sequence"));
    }
}
