//! Accounts: permitted names, proofs of identity, and the tokens that carry the identity afterwards. It knows
//! no store, no GraphQL and no HTTP server: accounts are kept by the commands of the domain.
//!
//! In reading order: [`username`] and [`password`] check typed input; [`brute_force_protection`] limits
//! attempts, by [`network_prefixes`] and [`known_networks`], and [`hashing_queue`] in which order passwords
//! are hashed; [`signing_secrets`], [`secret_file`], [`key_directory`], [`key_reload`] and [`token`] make and
//! verify Onehop's own access tokens, for an [`account_id`], an [`audience`] and a [`session`]; [`oidc`]
//! verifies tokens of an OpenID Connect provider; [`Authenticator`] takes any token of a request.

pub mod account_id;
pub mod audience;
pub mod brute_force_protection;
pub mod claim_times;
mod common_passwords;
mod confusable_usernames;
pub mod email_address;
pub mod hashing_queue;
pub mod key_directory;
pub mod key_reload;
pub mod known_networks;
pub mod network_prefixes;
pub mod oidc;
pub mod password;
pub mod secret_file;
pub mod session;
pub mod signing_secrets;
pub mod staff;
pub mod token;
pub mod username;
mod username_rules;
pub mod write_limits;

use std::sync::Arc;

use serde::Deserialize;

pub use self::oidc::ExternalIdentity;
use self::oidc::{OidcError, OidcFault, OidcVerifier};
pub use self::password::{Password, PasswordHash, PasswordHasher};
pub use self::token::{Bearer, Verified};
use self::token::{TokenError, Tokens};
pub use self::username::{NormalizedUsername, Username};

/// The most bytes of a token that is looked at.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// An account that signed in here. Whether the session still exists is not known here.
    Local(Bearer),
    /// A person whom an OpenID Connect provider vouches for.
    External(ExternalIdentity),
}

/// Why a bearer is not known. Never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    #[error("the access token has expired")]
    Expired,
    #[error("the access token is not valid")]
    Invalid,
    /// A fault, and not the bearer's: the token may be good.
    #[error("access tokens of this issuer cannot be verified at the moment")]
    Unavailable(#[source] OidcFault),
}

impl From<TokenError> for AuthenticationError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Expired => Self::Expired,
            TokenError::Invalid => Self::Invalid,
        }
    }
}

impl From<OidcError> for AuthenticationError {
    fn from(error: OidcError) -> Self {
        match error {
            OidcError::Token(error) => error.into(),
            OidcError::Fault(fault) => Self::Unavailable(fault),
        }
    }
}

/// Verifies bearer tokens: Onehop's own, and tokens of one OpenID Connect provider when there is one.
#[derive(Debug, Clone)]
pub struct Authenticator {
    tokens: Tokens,
    provider: Option<Arc<OidcVerifier>>,
}

impl Authenticator {
    pub fn new(tokens: Tokens, provider: Option<Arc<OidcVerifier>>) -> Self {
        Self { tokens, provider }
    }

    /// The bearer of the token. The issuer it claims, unverified, only decides which verifier judges it.
    ///
    /// # Errors
    /// The token has expired, is not valid, or cannot be verified now.
    pub async fn authenticate(
        &self,
        bearer_token: &str,
        now_ms: i64,
    ) -> Result<Verified<Identity>, AuthenticationError> {
        if bearer_token.len() > TOKEN_BYTES_MAX {
            return Err(AuthenticationError::Invalid);
        }
        let claimed = claimed_issuer(bearer_token).ok_or(AuthenticationError::Invalid)?;
        if claimed == token::ISSUER {
            return Ok(self.tokens.verify(bearer_token, now_ms)?.map(Identity::Local));
        }
        match &self.provider {
            Some(provider) if provider.issuer() == claimed => {
                Ok(provider.verify(bearer_token, now_ms).await?.map(Identity::External))
            }
            _ => Err(AuthenticationError::Invalid),
        }
    }
}

fn claimed_issuer(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claimed {
        iss: String,
    }
    Some(jsonwebtoken::dangerous::insecure_decode_claims::<Claimed>(token).ok()?.iss)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use reqwest::{StatusCode, Url};
    use serde_json::json;

    use super::claim_times::CLOCK_LEEWAY_MS;
    use super::oidc::{DocumentFault, ProviderDocuments};
    use super::session::SessionId;
    use super::signing_secrets::SigningSecret;
    use super::token::ACCESS_TOKEN_LIFETIME_DEFAULT;
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;
    const PROVIDER: &str = "https://id.example";

    struct Down;

    #[async_trait]
    impl ProviderDocuments for Down {
        async fn document(&self, _address: &Url) -> Result<Vec<u8>, DocumentFault> {
            Err(DocumentFault::Status(StatusCode::SERVICE_UNAVAILABLE))
        }
    }

    fn tokens() -> Tokens {
        let secret = SigningSecret::from_bytes(vec![7; 32]).unwrap();
        Tokens::new(&secret, ACCESS_TOKEN_LIFETIME_DEFAULT)
    }

    fn with_provider() -> Authenticator {
        let provider = OidcVerifier::new(PROVIDER, None, Arc::new(Down)).unwrap();
        Authenticator::new(tokens(), Some(Arc::new(provider)))
    }

    fn unsigned(issuer: &str) -> String {
        let header = URL_SAFE_NO_PAD.encode(json!({ "alg": "EdDSA", "kid": "k" }).to_string());
        let claims = json!({ "iss": issuer, "sub": "s1", "iat": 0, "exp": i64::MAX });
        format!("{header}.{}.", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[tokio::test]
    async fn a_token_of_ours_is_verified_by_us() {
        let session_id = SessionId::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        let token = tokens().issue("u1", session_id, NOW_MS).unwrap();
        let verified = with_provider().authenticate(token.as_str(), NOW_MS).await.unwrap();
        let bearer = Bearer { subject: "u1".to_owned(), session_id, issued_at_ms: NOW_MS };
        assert_eq!(verified.bearer, Identity::Local(bearer));
        let later_ms = NOW_MS + 3_600_000 + CLOCK_LEEWAY_MS;
        let expired = with_provider().authenticate(token.as_str(), later_ms).await;
        assert!(matches!(expired, Err(AuthenticationError::Expired)));
        let forged = with_provider().authenticate(&unsigned(token::ISSUER), NOW_MS).await;
        assert!(matches!(forged, Err(AuthenticationError::Invalid)));
    }

    #[tokio::test]
    async fn a_token_of_the_provider_is_verified_by_its_keys_alone() {
        let judged = with_provider().authenticate(&unsigned(PROVIDER), NOW_MS).await;
        assert!(matches!(judged, Err(AuthenticationError::Unavailable(_))), "{judged:?}");
        let without = Authenticator::new(tokens(), None).authenticate(&unsigned(PROVIDER), NOW_MS).await;
        assert!(matches!(without, Err(AuthenticationError::Invalid)));
    }

    #[tokio::test]
    async fn a_token_of_nobody_known_is_refused() {
        let huge = "a".repeat(TOKEN_BYTES_MAX + 1);
        for token in ["", "word", "a.b.c", &huge, &unsigned("https://other.example"), &unsigned("")] {
            let judged = with_provider().authenticate(token, NOW_MS).await;
            assert!(matches!(judged, Err(AuthenticationError::Invalid)), "{judged:?}");
        }
    }
}
