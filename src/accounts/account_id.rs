//! Account ids: which account a request, a session or a stored item belongs to. An account has a kind, such
//! as users of the blog or customers of the web store, and a UUID. Its text is the subject of access tokens,
//! and part of the ids of stored items. Two kinds have different texts, so that a token of one kind never
//! acts as the other, even with equal UUIDs.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

/// Until this age an account is new.
pub const NEW_ACCOUNT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// A kind of account. A further kind needs a variant and a name; sessions, cookies, passwords and limits
/// follow from the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccountKind {
    User,
    Customer,
}

impl AccountKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::User, Self::Customer];

    /// The name, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Customer => "customer",
        }
    }

    /// The prefix of the texts of the kind. Users, the first kind, have no prefix.
    #[must_use]
    pub fn prefix(self) -> Option<&'static str> {
        (self != Self::User).then(|| self.name())
    }
}

/// An account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId {
    pub kind: AccountKind,
    pub id: Uuid,
}

impl AccountId {
    /// A user.
    #[must_use]
    pub fn user(id: Uuid) -> Self {
        Self { kind: AccountKind::User, id }
    }

    /// A customer.
    #[must_use]
    pub fn customer(id: Uuid) -> Self {
        Self { kind: AccountKind::Customer, id }
    }

    /// Reads an account as [`Display`](fmt::Display) writes it; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, id) = match text.split_once(':') {
            Some((prefix, id)) => {
                (AccountKind::ALL.into_iter().find(|kind| kind.prefix() == Some(prefix))?, id)
            }
            None => (AccountKind::User, text),
        };
        Some(Self { kind, id: Uuid::try_parse(id).ok()? })
    }

    /// Whether the account was made less than [`NEW_ACCOUNT_AGE`] ago. Its UUID (version 7) has the time; one
    /// of another version is not new.
    #[must_use]
    pub fn is_new(&self, now_ms: i64) -> bool {
        if self.id.get_version_num() != 7 {
            return false;
        }
        // The upper 48 bits are milliseconds since the Unix epoch (RFC 9562).
        let made_ms = i64::try_from(self.id.as_u128() >> 80).unwrap_or(i64::MAX);
        let new_ms = i64::try_from(NEW_ACCOUNT_AGE.as_millis()).unwrap_or(i64::MAX);
        now_ms < made_ms.saturating_add(new_ms)
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.prefix() {
            Some(prefix) => write!(formatter, "{prefix}:{}", self.id.as_hyphenated()),
            None => write!(formatter, "{}", self.id.as_hyphenated()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_customer_with_one_uuid_are_two_accounts() {
        let id = Uuid::from_u128(7);
        for account in [AccountId::user(id), AccountId::customer(id)] {
            assert_eq!(AccountId::parse(&account.to_string()), Some(account));
        }
        assert_eq!(AccountId::user(id).to_string(), id.as_hyphenated().to_string());
        assert_ne!(AccountId::user(id).to_string(), AccountId::customer(id).to_string());
    }

    #[test]
    fn another_text_is_no_account() {
        let uuid = Uuid::from_u128(7);
        for text in ["", "customer:", "customer:customer:", "ada"] {
            assert_eq!(AccountId::parse(text), None, "{text}");
        }
        for prefix in ["user", "agent", "Customer", ""] {
            assert_eq!(AccountId::parse(&format!("{prefix}:{uuid}")), None, "{prefix}");
        }
    }

    #[test]
    fn an_account_is_new_for_a_day() {
        const MADE_MS: i64 = 1_800_000_000_000;
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let id = uuid::Builder::from_unix_timestamp_millis(MADE_MS as u64, &[7; 10]).into_uuid();
        let account = AccountId::customer(id);
        assert!(account.is_new(MADE_MS) && account.is_new(MADE_MS + DAY_MS - 1));
        assert!(!account.is_new(MADE_MS + DAY_MS));
        assert!(account.is_new(MADE_MS - DAY_MS), "a clock that was set back");
        assert!(!AccountId::user(Uuid::from_u128(7)).is_new(0), "no time is known");
    }
}
