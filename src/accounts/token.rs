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
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::super::claim_times::CLOCK_LEEWAY_MS;
    use super::super::signing_secrets::{SigningKey, SigningKeys};
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_500;
    const NOW_S: i64 = 1_700_000_000;
    const LIFETIME_MS: i64 = 60 * 60 * 1000;
    const SESSION: &str = "AAAAAAAAAAAAAAAAAAAAAA";

    fn secret() -> SigningSecret {
        SigningSecret::from_bytes(vec![7; 32]).unwrap()
    }

    fn session() -> SessionId {
        SessionId::parse(SESSION).unwrap()
    }

    fn tokens() -> Tokens {
        Tokens::new(&secret(), ACCESS_TOKEN_LIFETIME_DEFAULT)
    }

    fn claims() -> Value {
        let exp = NOW_S + 60;
        json!({ "iss": "onehop", "aud": "onehop", "sub": "u1", "sid": SESSION, "iat": NOW_S, "exp": exp })
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Value {
        let mut changed = claims();
        change(&mut changed);
        changed
    }

    fn signed(header: &Header, claims: &Value) -> String {
        let key = EncodingKey::from_secret(secret().as_bytes());
        jsonwebtoken::encode(header, claims, &key).unwrap()
    }

    fn verify(token: &str, now_ms: i64) -> Result<String, TokenError> {
        tokens().verify(token, now_ms).map(|verified| verified.bearer.subject)
    }

    fn judged(claims: &Value) -> Result<String, TokenError> {
        verify(&signed(&Header::new(Algorithm::HS256), claims), NOW_MS)
    }

    #[test]
    fn a_token_names_its_user_until_it_expires() {
        let token = tokens().issue("u1", session(), NOW_MS).unwrap();
        assert_eq!(verify(token.as_str(), NOW_MS).as_deref(), Ok("u1"));
        assert_eq!(verify(token.as_str(), NOW_MS + LIFETIME_MS).as_deref(), Ok("u1"));
        assert_eq!(tokens().expires_at_ms(NOW_MS), NOW_S * 1000 + LIFETIME_MS);
        let expired = verify(token.as_str(), NOW_MS + LIFETIME_MS + CLOCK_LEEWAY_MS);
        assert_eq!(expired, Err(TokenError::Expired));
    }

    #[test]
    fn the_life_of_a_token_is_that_of_the_configuration() {
        let tokens = Tokens::new(&secret(), Duration::from_secs(1));
        let token = tokens.issue("u1", session(), NOW_MS).unwrap();
        let expired = tokens.verify(token.as_str(), NOW_MS + 1000 + CLOCK_LEEWAY_MS);
        assert_eq!(expired, Err(TokenError::Expired));
    }

    #[test]
    fn a_token_says_when_it_will_be_refused() {
        let token = tokens().issue("u1", session(), NOW_MS).unwrap();
        let end_ms = tokens().verify(token.as_str(), NOW_MS).unwrap().valid_until_ms;
        assert!(verify(token.as_str(), end_ms - 1).is_ok());
        assert_eq!(verify(token.as_str(), end_ms), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_from_a_clock_slightly_ahead_is_accepted_and_one_from_the_future_is_not() {
        let ahead = tokens().issue("u1", session(), NOW_MS + CLOCK_LEEWAY_MS).unwrap();
        assert!(verify(ahead.as_str(), NOW_MS).is_ok());
        let future = tokens().issue("u1", session(), NOW_MS + CLOCK_LEEWAY_MS + 1000).unwrap();
        assert_eq!(verify(future.as_str(), NOW_MS), Err(TokenError::Invalid));
    }

    #[test]
    fn the_claims_that_the_refusals_start_from_are_accepted() {
        assert_eq!(judged(&claims()).as_deref(), Ok("u1"));
    }

    #[test]
    fn another_issuer_is_refused() {
        assert_eq!(judged(&changed(|claims| claims["iss"] = json!("twohop"))), Err(TokenError::Invalid));
        assert_eq!(judged(&changed(|claims| claims["iss"] = json!(["onehop"]))), Err(TokenError::Invalid));
    }

    #[test]
    fn environments_with_one_secret_refuse_each_others_tokens() {
        let staging = tokens().for_audience(Audience::named("staging"));
        let token = staging.issue("u1", session(), NOW_MS).unwrap();
        assert_eq!(verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
        assert!(staging.verify(token.as_str(), NOW_MS).is_ok());
        assert_eq!(judged(&changed(|claims| claims["aud"] = json!(["onehop"]))), Err(TokenError::Invalid));
    }

    #[test]
    fn a_missing_claim_is_refused() {
        for claim in ["iss", "aud", "sub", "sid", "iat", "exp"] {
            let without = changed(|claims| _ = claims.as_object_mut().unwrap().remove(claim));
            assert_eq!(judged(&without), Err(TokenError::Invalid), "{claim}");
        }
        for claim in ["sub", "sid"] {
            assert_eq!(judged(&changed(|claims| claims[claim] = json!(""))), Err(TokenError::Invalid));
        }
    }

    #[test]
    fn times_at_the_end_of_the_numbers_do_not_overflow() {
        assert!(judged(&changed(|claims| claims["exp"] = json!(i64::MAX))).is_ok());
        let ancient = changed(|claims| {
            claims["iat"] = json!(i64::MIN);
            claims["exp"] = json!(i64::MIN);
        });
        assert_eq!(judged(&ancient), Err(TokenError::Expired));
    }

    #[test]
    fn another_secret_is_refused() {
        let other = SigningSecret::from_bytes(vec![8; 32]).unwrap();
        let token =
            Tokens::new(&other, ACCESS_TOKEN_LIFETIME_DEFAULT).issue("u1", session(), NOW_MS).unwrap();
        assert_eq!(verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
    }

    #[test]
    fn a_token_is_judged_by_the_secret_that_it_names_and_without_a_name_by_each() {
        let [first, second] = [7, 8].map(|byte| SigningSecret::from_bytes(vec![byte; 32]).unwrap());
        let [newer, older] = [(2, &first), (1, &second)]
            .map(|(signs_from_ms, secret)| SigningKey { secret: secret.clone(), signs_from_ms });
        let both = SigningKeys::of(vec![newer, older]).unwrap().secrets(NOW_MS);
        let tokens = Tokens::new(&both, ACCESS_TOKEN_LIFETIME_DEFAULT);
        let judged = |kid: Option<&str>, secret: &SigningSecret| {
            let header = Header { kid: kid.map(str::to_owned), ..Header::new(ALGORITHM) };
            let key = EncodingKey::from_secret(secret.as_bytes());
            let token = jsonwebtoken::encode(&header, &claims(), &key).unwrap();
            tokens.verify(&token, NOW_MS).map(|verified| verified.bearer.subject)
        };
        let [id_of_first, id_of_second] = [first.id(), second.id()];
        for (kid, secret) in [(None, &first), (None, &second), (Some(id_of_second.as_str()), &second)] {
            assert_eq!(judged(kid, secret).as_deref(), Ok("u1"), "{kid:?}");
        }
        for kid in [id_of_first.as_str(), "another", "", "../../etc/passwd"] {
            assert_eq!(judged(Some(kid), &second), Err(TokenError::Invalid), "{kid}");
        }
        let issued = tokens.issue("u1", session(), NOW_MS).unwrap();
        assert_eq!(jsonwebtoken::decode_header(issued.as_str()).unwrap().kid, Some(id_of_first.to_string()));
    }

    #[test]
    fn a_token_that_was_verified_is_still_judged_by_its_time_its_audience_and_the_secrets_of_today() {
        let tokens = tokens();
        let token = tokens.issue("u1", session(), NOW_MS).unwrap();
        let end_ms = tokens.verify(token.as_str(), NOW_MS).unwrap().valid_until_ms;
        assert_eq!(tokens.verify(token.as_str(), end_ms), Err(TokenError::Expired));
        let staging = tokens.clone().for_audience(Audience::named("staging"));
        assert_eq!(staging.verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
        assert!(tokens.replace(&Secrets::from(&SigningSecret::from_bytes(vec![8; 32]).unwrap())));
        assert_eq!(tokens.verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
    }

    #[test]
    fn every_other_algorithm_is_refused() {
        for algorithm in [Algorithm::HS384, Algorithm::HS512] {
            let token = signed(&Header::new(algorithm), &claims());
            assert_eq!(verify(&token, NOW_MS), Err(TokenError::Invalid), "{algorithm:?}");
        }
        let token = signed(&Header::new(Algorithm::HS256), &claims());
        let (_, rest) = token.split_once('.').unwrap();
        for algorithm in ["none", "None", "RS256", "ES256", "EdDSA", "HS384"] {
            let header = URL_SAFE_NO_PAD.encode(json!({ "typ": "JWT", "alg": algorithm }).to_string());
            let forged = format!("{header}.{rest}");
            assert_eq!(verify(&forged, NOW_MS), Err(TokenError::Invalid), "{algorithm}");
            let (unsigned, _) = forged.rsplit_once('.').unwrap();
            assert_eq!(verify(&format!("{unsigned}."), NOW_MS), Err(TokenError::Invalid));
        }
    }

    #[test]
    fn a_header_that_names_another_algorithm_but_is_signed_with_our_secret_is_refused() {
        let header = URL_SAFE_NO_PAD.encode(json!({ "typ": "JWT", "alg": "RS256" }).to_string());
        let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims().to_string()));
        let key = EncodingKey::from_secret(secret().as_bytes());
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
        assert_eq!(verify(&format!("{message}.{signature}"), NOW_MS), Err(TokenError::Invalid));
    }

    #[test]
    fn a_critical_extension_is_refused() {
        let header = Header { crit: Some(vec!["exp".to_owned()]), ..Header::new(Algorithm::HS256) };
        assert_eq!(verify(&signed(&header, &claims()), NOW_MS), Err(TokenError::Invalid));
    }

    #[test]
    fn a_changed_token_is_refused() {
        let token = tokens().issue("u1", session(), NOW_MS).unwrap().into_string();
        let parts: Vec<&str> = token.split('.').collect();
        let other = URL_SAFE_NO_PAD.encode(changed(|claims| claims["sub"] = json!("u2")).to_string());
        for forged in [format!("{}.{other}.{}", parts[0], parts[2]), format!("{token}.x"), String::new()] {
            assert_eq!(verify(&forged, NOW_MS), Err(TokenError::Invalid));
        }
    }

    #[test]
    fn neither_a_token_nor_the_secret_is_shown() {
        assert_eq!(format!("{:?}", tokens().issue("u1", session(), NOW_MS).unwrap()), "AccessToken(..)");
        assert_eq!(format!("{:?}", tokens()), "Tokens { lifetime: 3600s, .. }");
    }
}
