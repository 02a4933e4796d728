//! Sessions of signed-in users: ids and refresh tokens. A refresh token (RFC 6749, section 1.5) is the secret of one session; the
//! session's id is a hash of it, so stored sessions and access tokens do not suffice to renew one. Values in, values out.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use uuid::Uuid;

const ID_BYTES: usize = 16;
const SECRET_BYTES: usize = 32;
const TOKEN_BYTES: usize = 16 + SECRET_BYTES;

/// The id of a session: the first 128 bits of the SHA-256 hash of its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId([u8; ID_BYTES]);

impl SessionId {
    /// Reads an id as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// A refresh token: the user of a session, and its secret. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken {
    user_id: Uuid,
    secret: [u8; SECRET_BYTES],
}

impl RefreshToken {
    /// The token of a new session.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random(user_id: Uuid) -> Result<Self, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self { user_id, secret })
    }

    /// Reads a token as [`encode`](Self::encode) writes it; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == TOKEN_BYTES)?;
        let (user_id, secret) = bytes.split_at(16);
        Some(Self { user_id: Uuid::from_slice(user_id).ok()?, secret: secret.try_into().ok()? })
    }

    /// The token as clients keep it: 64 characters that URLs, headers and cookies take as they are.
    #[must_use]
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode([self.user_id.as_bytes().as_slice(), &self.secret].concat())
    }

    /// The user whose session it is.
    #[must_use]
    pub fn user_id(&self) -> Uuid {
        self.user_id
    }

    /// The session that it renews.
    #[must_use]
    pub fn session_id(&self) -> SessionId {
        let mut digest = Sha256::new();
        digest.update(b"onehop session\0");
        digest.update(self.secret);
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&digest.finalize()[..ID_BYTES]);
        SessionId(id)
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RefreshToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_is_read_as_it_was_written_and_not_shown() {
        let token = RefreshToken::random(Uuid::from_u128(7)).unwrap();
        let text = token.encode();
        assert_eq!((text.len(), RefreshToken::parse(&text)), (64, Some(token.clone())));
        assert_eq!(token.user_id(), Uuid::from_u128(7));
        assert_eq!(format!("{token:?}"), "RefreshToken(..)");
        for other in ["", "x", &text[1..], &format!("{text}A"), &text.replace(|_| true, "!")] {
            assert_eq!(RefreshToken::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_session_id_is_that_of_its_secret_alone() {
        let [one, other] = [1, 2].map(|secret| RefreshToken { user_id: Uuid::nil(), secret: [secret; 32] });
        assert_ne!(one.session_id(), other.session_id());
        let id = one.session_id();
        assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        assert!(!one.encode().contains(&id.to_string()));
        assert_eq!(SessionId::parse("short"), None);
    }
}
