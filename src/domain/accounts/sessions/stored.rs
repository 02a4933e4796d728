//! The stored form of sessions: one item for each account, with all its sessions, and the rotation of their
//! refresh tokens.

use std::time::Duration;

use onehop_runtime::planted;
use onehop_store::{Fault, Item, NewItem};
use serde::{Deserialize, Serialize};

use crate::accounts::session::{RefreshToken, RotationSalt, SessionId};

/// The least time to live of an account's sessions, also where all have ended. A delayed write arrives
/// earlier.
const TTL_S_MIN: u32 = 3600;

/// Grace of the refresh token before the current one after a renewal: for tabs that renew at once, and for a
/// client that lost the answer and asks again. Twice the request timeout.
pub const REFRESH_TOKEN_GRACE: Duration = Duration::from_secs(60);

/// The value of `type`.
const ITEM_TYPE: &str = "sessions";

/// The sessions of an account, in `accounts` under the account with a prefix.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionsItem {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    /// The environment that they are good in.
    audience: String,
    /// The version of the password under which they were started.
    #[serde(default, skip_serializing_if = "is_zero")]
    password_version: u64,
    /// The oldest first.
    sessions: Vec<SessionEntry>,
    ttl: u32,
}

/// One session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionEntry {
    /// A hash of the family secret of the refresh tokens.
    id: String,
    expires_at_ms: i64,
    /// The salt of the refresh token that is good now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    /// The salt before the last renewal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    former_salt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renewed_at_ms: Option<i64>,
    /// The sealed network of the sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// The sessions of an account.
#[derive(Debug, Clone, Default)]
pub(super) struct AccountSessions {
    pub(super) sessions: Vec<StoredSession>,
    pub(super) password_version: u64,
}

/// A session as it is stored.
#[derive(Debug, Clone)]
pub(super) struct StoredSession {
    pub(super) id: SessionId,
    pub(super) expires_at_ms: i64,
    /// `None` for a session from before rotation that was not renewed since.
    pub(super) salt: Option<RotationSalt>,
    pub(super) renewal: Option<LastRenewal>,
    pub(super) network: Option<String>,
}

/// The last renewal of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastRenewal {
    former_salt: Option<RotationSalt>,
    at_ms: i64,
}

/// The age of a refresh token of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenAge {
    /// The current token.
    Current,
    /// The one before it, within the grace.
    Former,
    /// An older token, or a guess by a client with an older one.
    Old,
}

impl StoredSession {
    pub(super) fn age_of(&self, token: &RefreshToken, now_ms: i64) -> TokenAge {
        let grace_ms = u64::try_from(REFRESH_TOKEN_GRACE.as_millis()).unwrap_or(u64::MAX);
        if token.is_under(self.salt) {
            return TokenAge::Current;
        }
        // A renewal in the future was dated by a clock that ran ahead: its grace ends, too.
        let is_former =
            |last: &LastRenewal| now_ms.abs_diff(last.at_ms) <= grace_ms && token.is_under(last.former_salt);
        if self.renewal.as_ref().is_some_and(is_former) || planted!("old-refresh-token-stays-good") {
            TokenAge::Former
        } else {
            TokenAge::Old
        }
    }

    pub(super) fn rotate(&mut self, salt: RotationSalt, now_ms: i64) {
        self.renewal = Some(LastRenewal { former_salt: self.salt, at_ms: now_ms });
        self.salt = Some(salt);
    }

    fn entry(&self) -> SessionEntry {
        SessionEntry {
            id: self.id.to_string(),
            expires_at_ms: self.expires_at_ms,
            salt: self.salt.map(|salt| salt.to_string()),
            former_salt: self.renewal.and_then(|last| last.former_salt).map(|salt| salt.to_string()),
            renewed_at_ms: self.renewal.map(|last| last.at_ms),
            network: self.network.clone(),
        }
    }
}

impl SessionEntry {
    /// `None` for an entry that cannot be read: its session is over.
    fn session(self) -> Option<StoredSession> {
        let salt = |text: Option<String>| text.map(|text| RotationSalt::parse(&text).ok_or(())).transpose();
        let former_salt = salt(self.former_salt).ok()?;
        Some(StoredSession {
            id: SessionId::parse(&self.id)?,
            expires_at_ms: self.expires_at_ms,
            salt: salt(self.salt).ok()?,
            renewal: self.renewed_at_ms.map(|at_ms| LastRenewal { former_salt, at_ms }),
            network: self.network,
        })
    }
}

/// The stored sessions of an account after the end of all; `None` where all have ended before. The item
/// stays for a while: a first create whose outcome was unknown may still arrive, and would bring a session
/// back that has ended meanwhile.
///
/// # Errors
/// The item cannot be decoded.
pub(crate) fn without_sessions(item: &Item) -> Result<Option<NewItem>, Fault> {
    let stored: SessionsItem = item.decode()?;
    if stored.sessions.is_empty() {
        return Ok(None);
    }
    let ended = SessionsItem { sessions: Vec::new(), ttl: TTL_S_MIN, ..stored };
    Ok(Some(NewItem::encode(ended.id.clone(), &ended)))
}

/// Whether an item of sessions has one, good or expired.
///
/// # Errors
/// The item cannot be decoded.
pub(crate) fn has_sessions(item: &Item) -> Result<bool, Fault> {
    Ok(!item.decode::<SessionsItem>()?.sessions.is_empty())
}

impl AccountSessions {
    /// The item, which expires with the last session in it.
    pub(super) fn item(&self, id: &str, audience: &str, now_ms: i64) -> SessionsItem {
        let last_ms = self.sessions.iter().map(|session| session.expires_at_ms).max().unwrap_or(0);
        let left_s = last_ms.saturating_sub(now_ms).max(0) / 1000;
        SessionsItem {
            id: id.to_owned(),
            item_type: ITEM_TYPE.to_owned(),
            audience: audience.to_owned(),
            password_version: self.password_version,
            sessions: self.sessions.iter().map(StoredSession::entry).collect(),
            ttl: u32::try_from(left_s).unwrap_or(u32::MAX).saturating_add(1).max(TTL_S_MIN),
        }
    }
}

impl SessionsItem {
    /// The sessions that have not expired. Sessions of another environment came with a backup or a copy:
    /// their accounts sign in again.
    pub(super) fn sessions(self, audience: &str, now_ms: i64) -> AccountSessions {
        if self.audience != audience {
            return AccountSessions::default();
        }
        let sessions = self.sessions.into_iter().filter_map(SessionEntry::session);
        let sessions = sessions.filter(|session| session.expires_at_ms > now_ms).collect();
        AccountSessions { sessions, password_version: self.password_version }
    }
}
