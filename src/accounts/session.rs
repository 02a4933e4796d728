//! Sessions of signed-in accounts: ids, and refresh tokens with rotation (RFC 6749, section 1.5; RFC 9700,
//! section 4.14.2). Values in, values out.
//!
//! A refresh token has two secret parts. The first is the same for all tokens of a session, which are a
//! family; the session's id is a hash of it. The second changes with each renewal: it is a hash of the first
//! part and of a salt that only the store has. So neither an old token nor a stolen store gives the current
//! token, and an old token proves that its sender had a token of the family.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::account_id::{AccountId, AccountKind};

const ID_BYTES: usize = 16;
const FAMILY_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
const ROTATING_BYTES: usize = 16;
/// A token of a session that was never renewed since the days before rotation.
const TOKEN_BYTES_WITHOUT_ROTATION: usize = 16 + FAMILY_BYTES;
const TOKEN_BYTES: usize = TOKEN_BYTES_WITHOUT_ROTATION + ROTATING_BYTES;
/// Between the kind of the account and the rest; no base64 has it.
const KIND_SEPARATOR: char = '.';

/// The id of a session: the first 128 bits of the SHA-256 hash of its family secret.
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

/// The salt of one rotation. Only the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationSalt([u8; SALT_BYTES]);

impl RotationSalt {
    /// A new salt.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)?;
        Ok(Self(salt))
    }

    /// Reads a salt as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for RotationSalt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// A refresh token: the account of a session, and its secrets. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken {
    account: AccountId,
    family: [u8; FAMILY_BYTES],
    /// `None` in a token from before rotation.
    rotating: Option<[u8; ROTATING_BYTES]>,
}

impl RefreshToken {
    /// The first token of a new session, whose salt this is.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random(account: AccountId, salt: RotationSalt) -> Result<Self, getrandom::Error> {
        let mut family = [0; FAMILY_BYTES];
        getrandom::fill(&mut family)?;
        Ok(Self { account, family, rotating: None }.rotated(salt))
    }

    /// The token of the same session under a salt.
    #[must_use]
    pub fn rotated(&self, salt: RotationSalt) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"onehop refresh token\0");
        digest.update(self.family);
        digest.update(salt.0);
        let mut rotating = [0; ROTATING_BYTES];
        rotating.copy_from_slice(&digest.finalize()[..ROTATING_BYTES]);
        Self { rotating: Some(rotating), ..self.clone() }
    }

    /// Whether this is the token under a salt; without one, a token from before rotation.
    #[must_use]
    pub fn is_under(&self, salt: Option<RotationSalt>) -> bool {
        match (salt, self.rotating) {
            (Some(salt), Some(rotating)) => self.rotated(salt).rotating == Some(rotating),
            (None, None) => true,
            _ => false,
        }
    }

    /// Reads a token as [`encode`](Self::encode) writes it; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, secrets) = match text.split_once(KIND_SEPARATOR) {
            Some((prefix, secrets)) => {
                (AccountKind::ALL.into_iter().find(|kind| kind.prefix() == Some(prefix))?, secrets)
            }
            None => (AccountKind::User, text),
        };
        let bytes = URL_SAFE_NO_PAD.decode(secrets).ok()?;
        let rotating = match bytes.len() {
            TOKEN_BYTES_WITHOUT_ROTATION => None,
            TOKEN_BYTES => Some(bytes[TOKEN_BYTES_WITHOUT_ROTATION..].try_into().ok()?),
            _ => return None,
        };
        let account = AccountId { kind, id: Uuid::from_slice(&bytes[..16]).ok()? };
        let family = bytes[16..TOKEN_BYTES_WITHOUT_ROTATION].try_into().ok()?;
        Some(Self { account, family, rotating })
    }

    /// The token as clients keep it: characters that URLs, headers and cookies take unchanged.
    #[must_use]
    pub fn encode(&self) -> String {
        let rotating: &[u8] = self.rotating.as_ref().map_or(&[], <[u8; ROTATING_BYTES]>::as_slice);
        let secrets =
            URL_SAFE_NO_PAD.encode([self.account.id.as_bytes().as_slice(), &self.family, rotating].concat());
        match self.account.kind.prefix() {
            Some(prefix) => format!("{prefix}{KIND_SEPARATOR}{secrets}"),
            None => secrets,
        }
    }

    /// The account whose session it is.
    #[must_use]
    pub fn account(&self) -> AccountId {
        self.account
    }

    /// The session that it renews.
    #[must_use]
    pub fn session_id(&self) -> SessionId {
        let mut digest = Sha256::new();
        digest.update(b"onehop session\0");
        digest.update(self.family);
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

    fn token(account: AccountId) -> (RefreshToken, RotationSalt) {
        let salt = RotationSalt::random().unwrap();
        (RefreshToken::random(account, salt).unwrap(), salt)
    }

    #[test]
    fn a_refresh_token_is_read_as_it_was_written_and_not_shown() {
        for account in [AccountId::user, AccountId::customer].map(|of| of(Uuid::from_u128(7))) {
            let (token, _) = token(account);
            let text = token.encode();
            assert_eq!(RefreshToken::parse(&text), Some(token.clone()));
            assert_eq!(token.account(), account);
            assert_eq!(format!("{token:?}"), "RefreshToken(..)");
            for other in ["", "x", &text[..60], &format!("{text}A"), &text.replace(|_| true, "!")] {
                assert_eq!(RefreshToken::parse(other), None, "{other}");
            }
            assert_eq!(RefreshToken::parse(&format!("agent.{text}")), None);
        }
    }

    #[test]
    fn a_token_from_before_rotation_is_read() {
        let bytes = [Uuid::from_u128(7).as_bytes().as_slice(), &[1; FAMILY_BYTES]].concat();
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let token = RefreshToken::parse(&text).unwrap();
        assert_eq!((text.len(), token.encode()), (64, text));
        let salt = RotationSalt::random().unwrap();
        assert!(token.is_under(None) && !token.is_under(Some(salt)));
        assert!(token.rotated(salt).is_under(Some(salt)) && !token.rotated(salt).is_under(None));
    }

    #[test]
    fn tokens_of_a_session_share_its_id_and_differ_by_their_salt() {
        let (first, salt) = token(AccountId::user(Uuid::nil()));
        let later = RotationSalt::random().unwrap();
        let second = first.rotated(later);
        assert_eq!(first.session_id(), second.session_id());
        assert_eq!(second.rotated(later), second, "a salt gives one token");
        assert!(first.is_under(Some(salt)) && !first.is_under(Some(later)) && second.is_under(Some(later)));
        assert_ne!(first.encode(), second.encode());
        let (other, _) = token(AccountId::user(Uuid::nil()));
        assert_ne!(first.session_id(), other.session_id());
        let id = first.session_id();
        assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        assert!(!first.encode().contains(&id.to_string()));
        assert_eq!((SessionId::parse("short"), RotationSalt::parse("short")), (None, None));
        assert_eq!(RotationSalt::parse(&salt.to_string()), Some(salt));
    }
}
