//! A provider's published signing keys: which of them may verify a token. A key serves the algorithms of its
//! own kind only, so that a public key is never taken for a shared secret. Pure: bytes in, keys out.

use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey};

/// The most keys of one provider that are kept.
pub const PROVIDER_KEYS_MAX: usize = 100;

/// The keys of one answer of the provider.
#[derive(Debug)]
pub struct ProviderKeys(Vec<ProviderKey>);

#[derive(Debug)]
struct ProviderKey {
    id: Option<String>,
    kind: KeyKind,
    /// The only algorithm the provider uses the key for, when it says so.
    only: Option<KeyAlgorithm>,
    key: DecodingKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    P256,
    Ed25519,
}

/// The keys' result for a token.
pub enum Selection<'a> {
    Found(&'a DecodingKey),
    /// No key has the id; the provider may have a newer set.
    Unknown,
    /// A newer set would not help.
    Refused,
}

/// Whether tokens of the algorithm may be accepted from a provider at all.
pub fn is_supported(algorithm: Algorithm) -> bool {
    KeyKind::of_algorithm(algorithm).is_some()
}

impl ProviderKeys {
    /// Takes the usable keys of a JWK set and passes over the others.
    ///
    /// # Errors
    /// The document is not a JWK set.
    pub fn parse(document: &[u8]) -> Result<Self, serde_json::Error> {
        let set: JwkSet = serde_json::from_slice(document)?;
        Ok(Self(set.keys.iter().filter_map(ProviderKey::from_jwk).take(PROVIDER_KEYS_MAX).collect()))
    }

    /// The key for a token with this header. Without a key id there must be exactly one key that fits.
    pub fn select(&self, id: Option<&str>, algorithm: Algorithm) -> Selection<'_> {
        if let Some(id) = id
            && !self.0.iter().any(|key| key.id.as_deref() == Some(id))
        {
            return Selection::Unknown;
        }
        let mut fitting =
            self.0.iter().filter(|key| (id.is_none() || key.id.as_deref() == id) && key.serves(algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Selection::Found(&only.key),
            _ => Selection::Refused,
        }
    }
}

impl ProviderKey {
    fn from_jwk(jwk: &Jwk) -> Option<Self> {
        let signs = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
        let verifies =
            jwk.common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        let kind = KeyKind::of_key(&jwk.algorithm)?;
        let key = DecodingKey::from_jwk(jwk).ok()?;
        let (id, only) = (jwk.common.key_id.clone(), jwk.common.key_algorithm);
        (signs && verifies).then_some(Self { id, kind, only, key })
    }

    fn serves(&self, algorithm: Algorithm) -> bool {
        KeyKind::of_algorithm(algorithm) == Some(self.kind)
            && self.only.is_none_or(|only| only == KeyAlgorithm::from(algorithm))
    }
}

impl KeyKind {
    fn of_algorithm(algorithm: Algorithm) -> Option<Self> {
        match algorithm {
            Algorithm::RS256 | Algorithm::PS256 => Some(Self::Rsa),
            Algorithm::ES256 => Some(Self::P256),
            Algorithm::EdDSA => Some(Self::Ed25519),
            _ => None,
        }
    }

    fn of_key(parameters: &AlgorithmParameters) -> Option<Self> {
        match parameters {
            AlgorithmParameters::RSA(_) => Some(Self::Rsa),
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Some(Self::P256),
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                Some(Self::Ed25519)
            }
            _ => None,
        }
    }
}
