//! Tokens of an OpenID Connect provider: who the provider says the bearer is. The provider's keys are read
//! from its discovery document, kept, and read again when they grow old or a token names a key that is not
//! among them. Whether the stranger has an account here is unknown here.

mod documents;
mod keys;

#[cfg(test)]
mod tests;

use parking_lot::RwLock;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use jsonwebtoken::decode_header;
use reqwest::Url;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

pub use self::documents::{
    CONNECT_TIMEOUT, DOCUMENT_BYTES_MAX, DOCUMENT_TIMEOUT, DocumentFault, HttpProviderDocuments,
    ProviderDocuments,
};
use self::keys::{ProviderKeys, Selection};
use super::claim_times::{end_of, is_after, is_past};
use super::token::{TokenError, Verified, verify_signature};

/// The least time between two attempts to read the provider's keys.
pub const REFRESH_INTERVAL_MIN_MS: i64 = 10_000;
/// The age at which keys are read again, so that a key the provider withdrew is not trusted for long.
pub const KEYS_FRESH_MS: i64 = 60 * 60 * 1000;
/// The age up to which keys serve while the provider cannot be reached.
pub const KEYS_USABLE_MS: i64 = 24 * 60 * 60 * 1000;
/// The most characters of a subject (OpenID Connect Core 1.0, section 2).
pub const SUBJECT_CHARS_MAX: usize = 255;

/// A person whom a provider vouches for. Issuer and subject together identify a person; the rest may change
/// or be shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalIdentity {
    pub issuer: String,
    pub subject: String,
    pub preferred_username: Option<String>,
    pub email: Option<String>,
    pub email_verified: bool,
    /// All other claims of the token.
    pub other_claims: Map<String, Value>,
}

#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Fault(#[from] OidcFault),
}

/// The provider could not be asked, or gave no sense. Says nothing about the token.
#[derive(Debug, thiserror::Error)]
pub enum OidcFault {
    #[error("cannot read {address}")]
    Document { address: Url, source: DocumentFault },
    #[error("cannot understand {address}")]
    Malformed { address: Url, source: serde_json::Error },
    #[error("{address} is of the issuer {found}")]
    OtherIssuer { address: Url, found: String },
    #[error("the provider's jwks_uri is not an address that keys may be read from")]
    KeysAddress,
    #[error("the provider could not be asked a moment ago")]
    AskedRecently { retry_after_ms: i64 },
}

impl OidcFault {
    /// After how long it is of use to try again.
    pub fn retry_after_ms(&self) -> i64 {
        match self {
            Self::AskedRecently { retry_after_ms } => *retry_after_ms,
            _ => REFRESH_INTERVAL_MIN_MS,
        }
    }
}

/// Why an issuer cannot be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IssuerError {
    #[error("is not a URL")]
    NotUrl,
    #[error("must begin with https:// (http:// is for loopback addresses only)")]
    NotHttps,
    #[error("must have neither a query, a fragment nor a user")]
    NotPlain,
}

/// Verifies the tokens of one provider.
pub struct OidcVerifier {
    issuer: String,
    discovery: Url,
    audience: Option<String>,
    documents: Arc<dyn ProviderDocuments>,
    cache: RwLock<Cache>,
    /// Held while the provider is asked, so that it is asked by one at a time.
    asking: Mutex<()>,
}

#[derive(Default)]
struct Cache {
    read: Option<Arc<Read>>,
    attempted_at_ms: Option<i64>,
    /// Stays false when an attempt is abandoned half way.
    attempt_succeeded: bool,
}

struct Read {
    keys: ProviderKeys,
    at_ms: i64,
}

impl OidcVerifier {
    /// A verifier for the issuer exactly as its tokens write it. Without an audience, tokens that the
    /// provider made for other applications are accepted too.
    ///
    /// # Errors
    /// The issuer is no address that keys may be read from.
    pub fn new(
        issuer: &str,
        audience: Option<String>,
        documents: Arc<dyn ProviderDocuments>,
    ) -> Result<Self, IssuerError> {
        Ok(Self {
            issuer: issuer.to_owned(),
            discovery: discovery_address(issuer)?,
            audience,
            documents,
            cache: RwLock::default(),
            asking: Mutex::default(),
        })
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The token's bearer.
    ///
    /// # Errors
    /// The token is refused, or the provider cannot be asked for the key.
    pub async fn verify(&self, token: &str, now_ms: i64) -> Result<Verified<ExternalIdentity>, OidcError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        if !keys::is_supported(header.alg) || !is_bearer_type(header.typ.as_deref()) {
            return Err(TokenError::Invalid.into());
        }
        let mut read = self.current(now_ms).await?;
        if let Selection::Unknown = read.keys.select(header.kid.as_deref(), header.alg) {
            read = self.ask(Some(&read), now_ms).await?;
        }
        let Selection::Found(key) = read.keys.select(header.kid.as_deref(), header.alg) else {
            return Err(TokenError::Invalid.into());
        };
        let claims: Claims = verify_signature(token, key, header.alg)?;
        claims.check(&self.issuer, self.audience.as_deref(), now_ms)?;
        let valid_until_ms = end_of(claims.exp.0);
        Ok(Verified { bearer: claims.into_identity(), valid_until_ms })
    }

    /// Reads the provider's keys when they have grown old. To be called at the start and then from time to
    /// time, so that no request waits for the provider.
    ///
    /// # Errors
    /// The provider cannot be asked.
    pub async fn refresh(&self, now_ms: i64) -> Result<(), OidcFault> {
        let seen = self.seen();
        if !seen.as_ref().is_some_and(|read| read.is_fresh(now_ms)) {
            self.ask(seen.as_ref(), now_ms).await?;
        }
        Ok(())
    }

    /// Keys that may be used now, preferably without waiting.
    async fn current(&self, now_ms: i64) -> Result<Arc<Read>, OidcFault> {
        let Some(seen) = self.seen() else { return self.ask(None, now_ms).await };
        if seen.is_fresh(now_ms) || (seen.is_usable(now_ms) && self.asking.try_lock().is_err()) {
            return Ok(seen);
        }
        match self.ask(Some(&seen), now_ms).await {
            Err(OidcFault::AskedRecently { .. }) if seen.is_usable(now_ms) => Ok(seen),
            Err(fault) if seen.is_usable(now_ms) => {
                tracing::warn!(issuer = self.issuer, error = ?fault, "using old keys of the OpenID provider");
                Ok(seen)
            }
            answer => answer,
        }
    }

    /// Keys newer than those seen, or those seen when the provider was asked successfully a moment ago.
    async fn ask(&self, seen: Option<&Arc<Read>>, now_ms: i64) -> Result<Arc<Read>, OidcFault> {
        let _asking = self.asking.lock().await;
        if let Some(answer) = self.recent_answer(seen, now_ms) {
            return answer;
        }
        self.update(|cache| {
            cache.attempted_at_ms = Some(now_ms);
            cache.attempt_succeeded = false;
        });
        let read = Arc::new(Read { keys: self.read_keys().await?, at_ms: now_ms });
        self.update(|cache| {
            cache.read = Some(Arc::clone(&read));
            cache.attempt_succeeded = true;
        });
        Ok(read)
    }

    fn recent_answer(&self, seen: Option<&Arc<Read>>, now_ms: i64) -> Option<Result<Arc<Read>, OidcFault>> {
        let cache = self.cache.read();
        let is_newer = |read: &&Arc<Read>| !seen.is_some_and(|seen| Arc::ptr_eq(seen, read));
        if let Some(newer) = cache.read.as_ref().filter(is_newer) {
            return Some(Ok(Arc::clone(newer)));
        }
        let elapsed_ms = now_ms.abs_diff(cache.attempted_at_ms?);
        let remaining_ms =
            REFRESH_INTERVAL_MIN_MS.checked_sub_unsigned(elapsed_ms).filter(|left| *left > 0)?;
        match &cache.read {
            Some(read) if cache.attempt_succeeded => Some(Ok(Arc::clone(read))),
            _ => Some(Err(OidcFault::AskedRecently { retry_after_ms: remaining_ms })),
        }
    }

    async fn read_keys(&self) -> Result<ProviderKeys, OidcFault> {
        let discovered: Discovery = self.read_json(&self.discovery).await?;
        if discovered.issuer != self.issuer {
            return Err(OidcFault::OtherIssuer { address: self.discovery.clone(), found: discovered.issuer });
        }
        let address = Url::parse(&discovered.jwks_uri).map_err(|_| OidcFault::KeysAddress)?;
        // A provider elsewhere cannot direct reads to this machine's loopback.
        if !(address.scheme() == "https" || is_loopback_http(&address) && is_loopback_http(&self.discovery)) {
            return Err(OidcFault::KeysAddress);
        }
        let document = self.read_document(&address).await?;
        ProviderKeys::parse(&document).map_err(|source| OidcFault::Malformed { address, source })
    }

    async fn read_json<T: DeserializeOwned>(&self, address: &Url) -> Result<T, OidcFault> {
        let document = self.read_document(address).await?;
        serde_json::from_slice(&document)
            .map_err(|source| OidcFault::Malformed { address: address.clone(), source })
    }

    async fn read_document(&self, address: &Url) -> Result<Vec<u8>, OidcFault> {
        let document = self.documents.document(address).await;
        document.map_err(|source| OidcFault::Document { address: address.clone(), source })
    }

    fn seen(&self) -> Option<Arc<Read>> {
        self.cache.read().read.clone()
    }

    fn update(&self, change: impl FnOnce(&mut Cache)) {
        change(&mut self.cache.write());
    }
}

impl fmt::Debug for OidcVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OidcVerifier")
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

impl Read {
    /// Keys from the future were read before the clock was set back: how old they are is not known.
    fn is_fresh(&self, now_ms: i64) -> bool {
        (0..KEYS_FRESH_MS).contains(&now_ms.saturating_sub(self.at_ms))
    }

    fn is_usable(&self, now_ms: i64) -> bool {
        now_ms.abs_diff(self.at_ms) < KEYS_USABLE_MS.unsigned_abs()
    }
}

/// The media types (`typ`) of tokens that say who their bearer is: access tokens (RFC 9068), and tokens of no
/// particular type. Every other type has a purpose of its own: logout tokens, security events, proofs of
/// possession, requests.
fn is_bearer_type(typ: Option<&str>) -> bool {
    let Some(typ) = typ else { return true };
    let typ = typ.to_ascii_lowercase();
    // RFC 7515, section 4.1.9: the prefix may be left out.
    matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
}

/// OpenID Connect Discovery 1.0, section 4: the well-known path follows the issuer's own path.
fn discovery_address(issuer: &str) -> Result<Url, IssuerError> {
    let url = Url::parse(issuer).map_err(|_| IssuerError::NotUrl)?;
    if url.scheme() != "https" && !is_loopback_http(&url) {
        return Err(IssuerError::NotHttps);
    }
    if url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(IssuerError::NotPlain);
    }
    let discovery = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    Url::parse(&discovery).map_err(|_| IssuerError::NotUrl)
}

fn is_loopback_http(url: &Url) -> bool {
    let is_loopback = url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    });
    url.scheme() == "http" && is_loopback
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    exp: NumericDate,
    nbf: Option<NumericDate>,
    iat: Option<NumericDate>,
    aud: Option<Audience>,
    preferred_username: Option<String>,
    email: Option<String>,
    #[serde(default)]
    email_verified: serde_json::Value,
    /// The events of a security event token (RFC 8417), such as a logout token.
    events: Option<IgnoredAny>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Seconds since the epoch; RFC 7519 allows a fraction.
#[derive(Deserialize, Clone, Copy)]
#[serde(from = "f64")]
struct NumericDate(i64);

impl From<f64> for NumericDate {
    fn from(seconds: f64) -> Self {
        // The cast saturates; no token lives that long.
        Self(seconds as i64)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn contains(&self, expected: &str) -> bool {
        match self {
            Self::One(one) => one == expected,
            Self::Many(many) => many.iter().any(|one| one == expected),
        }
    }
}

impl Claims {
    fn check(&self, issuer: &str, audience: Option<&str>, now_ms: i64) -> Result<(), TokenError> {
        let is_early = [self.nbf, self.iat].into_iter().flatten().any(|date| is_after(date.0, now_ms));
        let is_for_us = audience
            .is_none_or(|expected| self.aud.as_ref().is_some_and(|audience| audience.contains(expected)));
        let has_subject = (1..=SUBJECT_CHARS_MAX).contains(&self.sub.chars().count());
        if self.iss != issuer || is_early || !is_for_us || !has_subject || self.events.is_some() {
            return Err(TokenError::Invalid);
        }
        if is_past(self.exp.0, now_ms) { Err(TokenError::Expired) } else { Ok(()) }
    }

    fn into_identity(self) -> ExternalIdentity {
        ExternalIdentity {
            issuer: self.iss,
            subject: self.sub,
            preferred_username: self.preferred_username,
            email: self.email,
            // Some providers write the boolean as text.
            email_verified: self.email_verified == true || self.email_verified == "true",
            other_claims: self.other,
        }
    }
}
