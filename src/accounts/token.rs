//! Access tokens of Onehop itself: signed JSON Web Tokens that name a user, a session, an audience and a
//! time. One algorithm, one issuer, no state: whether the session still exists is asked elsewhere. Every time
//! comes from the caller.

use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};

use super::audience::Audience;
use super::claim_times::{end_of, is_after, is_past};
use super::session::SessionId;
use super::signing_secrets::{KeyId, Secrets, SigningSecret};
use onehop_runtime::sealed::Sealer;

/// The `iss` claim of Onehop's own tokens.
pub const ISSUER: &str = "onehop";
/// Default lifetime of an access token.
pub const ACCESS_TOKEN_LIFETIME_DEFAULT: Duration = Duration::from_secs(60 * 60);
/// The longest lifetime of an access token, in minutes.
pub const ACCESS_TOKEN_MINUTES_MAX: u32 = 24 * 60;

const ALGORITHM: Algorithm = Algorithm::HS256;
/// Tokens whose claims are kept with the keys that verified them.
const VERIFIED_TOKENS_MAX: usize = 4096;

/// A token as its bearer presents it. Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken(..)")
    }
}

/// The content of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<T> {
    pub bearer: T,
    /// When the token is not accepted any more (Unix ms).
    pub valid_until_ms: i64,
}

impl<T> Verified<T> {
    pub(super) fn map<U>(self, bearer: impl FnOnce(T) -> U) -> Verified<U> {
        Verified { bearer: bearer(self.bearer), valid_until_ms: self.valid_until_ms }
    }
}

/// The account that an access token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The account, as [`AccountId`](super::account_id::AccountId) writes it.
    pub subject: String,
    pub session_id: SessionId,
    /// When the token was issued (Unix ms).
    pub issued_at_ms: i64,
}

/// Why a token is not accepted. Says nothing of the token, and of the reason no more than its bearer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the access token has expired")]
    Expired,
    #[error("the access token is not valid")]
    Invalid,
}

#[derive(Debug, thiserror::Error)]
#[error("the access token could not be signed")]
pub struct IssueFault(#[source] jsonwebtoken::errors::Error);

/// Issues access tokens and verifies them. Clones share the secrets, also when these change.
#[derive(Clone)]
pub struct Tokens {
    keys: Arc<RwLock<Arc<Keys>>>,
    sealer: Sealer,
    lifetime: Duration,
    audience: Audience,
}

/// All keys verify.
struct Keys {
    signing: Key,
    verifying: Vec<(KeyId, DecodingKey)>,
    /// The claims of tokens with a good signature, which depends on nothing but the token and these keys.
    verified: Cache<Box<str>, Arc<Claims>>,
}

struct Key {
    id: KeyId,
    key: EncodingKey,
}

impl Keys {
    fn of(secrets: &Secrets, signing: &SigningSecret) -> Self {
        let verifying =
            secrets.iter().map(|secret| (secret.id(), DecodingKey::from_secret(secret.as_bytes())));
        Self {
            signing: Key { id: signing.id(), key: EncodingKey::from_secret(signing.as_bytes()) },
            verifying: verifying.collect(),
            verified: Cache::new(VERIFIED_TOKENS_MAX),
        }
    }

    fn ids(&self) -> impl Iterator<Item = &KeyId> {
        self.verifying.iter().map(|(id, _)| id)
    }
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    /// The session, by the name that OpenID Connect has for it.
    sid: String,
    /// Seconds since the epoch, as `exp` is.
    iat: i64,
    exp: i64,
}

impl Tokens {
    pub fn new(secrets: impl Into<Secrets>, lifetime: Duration) -> Self {
        let secrets = secrets.into();
        let keys = Keys::of(&secrets, secrets.signing());
        let sealer = Sealer::of(secrets.iter().map(SigningSecret::as_bytes));
        let keys = Arc::new(RwLock::new(Arc::new(keys)));
        Self { keys, sealer, lifetime, audience: Audience::default() }
    }

    /// Seals values that clients hold for the server, under the same secrets: every process that verifies
    /// these tokens opens it.
    #[must_use]
    pub fn sealer(&self) -> Sealer {
        self.sealer.clone()
    }

    /// The same for another environment.
    #[must_use]
    pub fn for_audience(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// The environment whose tokens these are.
    #[must_use]
    pub fn audience(&self) -> &Audience {
        &self.audience
    }

    /// The lifetime of a token.
    #[must_use]
    pub fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// When a token that is issued now is no longer accepted, save for the leeway of clocks (Unix ms).
    #[must_use]
    pub fn expires_at_ms(&self, now_ms: i64) -> i64 {
        self.expiry_s(now_ms).saturating_mul(1000)
    }

    /// The claim `exp` of a token that is issued now.
    fn expiry_s(&self, now_ms: i64) -> i64 {
        let lifetime_s = i64::try_from(self.lifetime.as_secs()).unwrap_or(i64::MAX);
        now_ms.div_euclid(1000).saturating_add(lifetime_s)
    }

    /// Verifies with these secrets from now on, and says whether anything changed. A new secret does not sign
    /// yet, unless the signing one is gone: other processes may learn of it later, and have to verify its
    /// signatures.
    pub fn replace(&self, secrets: &Secrets) -> bool {
        let mut keys = self.keys.write();
        let wanted = secrets.signing();
        let is_known = keys.ids().any(|id| *id == wanted.id());
        let signing = match secrets.iter().find(|secret| secret.id() == keys.signing.id) {
            Some(signing) if !is_known => signing,
            _ => wanted,
        };
        let is_same = signing.id() == keys.signing.id
            && keys.ids().eq(secrets.iter().map(SigningSecret::id).collect::<Vec<_>>().iter());
        if !is_same {
            *keys = Arc::new(Keys::of(secrets, signing));
            let others = secrets.iter().filter(|secret| secret.id() != signing.id());
            self.sealer.replace(std::iter::once(signing).chain(others).map(SigningSecret::as_bytes));
        }
        !is_same
    }

    /// The secret that signs.
    #[must_use]
    pub fn signing(&self) -> KeyId {
        self.keys().signing.id.clone()
    }

    fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read())
    }

    /// A token for the session of an account, good from now on.
    ///
    /// # Errors
    /// The signing fails, for any input.
    pub fn issue(
        &self,
        subject: &str,
        session_id: SessionId,
        now_ms: i64,
    ) -> Result<AccessToken, IssueFault> {
        let (iat, exp) = (now_ms.div_euclid(1000), self.expiry_s(now_ms));
        let (iss, aud, sub) = (ISSUER.to_owned(), self.audience.to_string(), subject.to_owned());
        let claims = Claims { iss, aud, sub, sid: session_id.to_string(), iat, exp };
        let keys = self.keys();
        let Key { id, key } = &keys.signing;
        let header = Header { kid: Some(id.to_string()), ..Header::new(ALGORITHM) };
        jsonwebtoken::encode(&header, &claims, key).map(AccessToken).map_err(IssueFault)
    }

    /// The account that the token names.
    ///
    /// # Errors
    /// [`TokenError::Expired`] for a token that was good once, [`TokenError::Invalid`] for any other.
    pub fn verify(&self, token: &str, now_ms: i64) -> Result<Verified<Bearer>, TokenError> {
        let claims = self.signed_claims(token)?;
        let is_ours = claims.iss == ISSUER && claims.aud == self.audience.as_str();
        if !is_ours || claims.sub.is_empty() || is_after(claims.iat, now_ms) {
            return Err(TokenError::Invalid);
        }
        let session_id = SessionId::parse(&claims.sid).ok_or(TokenError::Invalid)?;
        if is_past(claims.exp, now_ms) {
            return Err(TokenError::Expired);
        }
        let issued_at_ms = claims.iat.saturating_mul(1000);
        let bearer = Bearer { subject: claims.sub.clone(), session_id, issued_at_ms };
        Ok(Verified { bearer, valid_until_ms: end_of(claims.exp) })
    }
}

impl Tokens {
    /// The claims of a token that was signed with its named secret, or that names no secret: older tokens did
    /// not.
    fn signed_claims(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        let keys = self.keys();
        if let Some(claims) = keys.verified.get(token) {
            return Ok(claims);
        }
        let named = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Invalid)?.kid;
        let fitting =
            keys.verifying.iter().filter(|(id, _)| named.as_deref().is_none_or(|named| named == id.as_str()));
        let mut verified = fitting.filter_map(|(_, key)| verify_signature(token, key, ALGORITHM).ok());
        let claims = Arc::new(verified.next().ok_or(TokenError::Invalid)?);
        keys.verified.insert(token.into(), Arc::clone(&claims));
        Ok(claims)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

/// The claims of a token that was signed with the key and by the algorithm. Nothing else is checked: the
/// crate would check times against the wall clock.
pub(super) fn verify_signature<C: for<'de> Deserialize<'de>>(
    token: &str,
    key: &DecodingKey,
    algorithm: Algorithm,
) -> Result<C, TokenError> {
    let mut signature_only = Validation::new(algorithm);
    signature_only.required_spec_claims.clear();
    signature_only.validate_exp = false;
    signature_only.validate_nbf = false;
    signature_only.validate_aud = false;
    let token = jsonwebtoken::decode::<C>(token, key, &signature_only).map_err(|_| TokenError::Invalid)?;
    // RFC 7515, section 4.1.11: an extension that is critical and not understood makes a token invalid.
    if token.header.crit.is_some() { Err(TokenError::Invalid) } else { Ok(token.claims) }
}

#[cfg(test)]
mod tests;
