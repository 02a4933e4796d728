//! Staff names: usernames to which the settings give rights. A name is resolved to the id of its user when a
//! process starts, and the first resolution is recorded in `accounts`. A name that belongs to another user at
//! a later start, of any process, is refused.
//!
//! Rights belong to the id. The names are protected as well, against impersonation of staff: no sign-up,
//! rename or OpenID Connect provider gives such a name, or a look-alike, to another user. Its user keeps it
//! until an operator lists the user by id.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Refusal;
use super::names::{UserLookup, UsernameReservations, WriteAttempt, normalized};
use crate::accounts::username::{NameKey, NormalizedUsername, Username};
use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::UserId;
use crate::blog::items::types;
use crate::domain::conditional_write::ATTEMPTS_MAX;
use crate::domain::error::{RefusalCode, contended};
use onehop_store::{Fault, Ledger, NewItem, PartitionKey, WriteOp};

/// A member of staff as the settings list one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedUser {
    Name(Username),
    Id(UserId),
}

/// The members of staff, as users.
#[derive(Debug, Default)]
pub struct ResolvedStaff {
    pub ids: Vec<UserId>,
    pub names: ProtectedNames,
    /// Listed users that do not exist. Their names are protected all the same.
    pub missing: Vec<ListedUser>,
}

/// Usernames that no other user may take, by each of their keys.
#[derive(Debug, Default)]
pub struct ProtectedNames {
    /// `None` for a name that has no user.
    users: HashMap<NameKey, Option<UserId>>,
    kept: HashMap<UserId, NormalizedUsername>,
}

/// Why staff cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum StaffNameError {
    /// The user who had the name when it was first listed does not have it any more.
    #[error("the staff name {name} does not belong to the user any more who had it when it was first listed")]
    Passed { name: String, first: UserId },
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The user to whom a staff name was first resolved, in `accounts` under the name with a prefix.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StaffNameItem {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    user_id: UserId,
}

impl ProtectedNames {
    fn protect(&mut self, name: &Username, user: Option<UserId>) {
        self.users.extend(name.keys().into_iter().map(|key| (key, user)));
        self.kept.extend(user.map(|user| (user, name.normalized().clone())));
    }

    /// Refuses a name for a new user.
    ///
    /// # Errors
    /// It is protected, or looks like a protected one.
    pub(super) fn check_new(&self, name: &Username) -> Result<(), Refusal> {
        match name.keys().iter().any(|key| self.users.contains_key(key)) {
            true => Err(Refusal::username_taken()),
            false => Ok(()),
        }
    }

    /// Refuses a name for a user who has another one.
    ///
    /// # Errors
    /// It is protected for another user, or the user has to keep a protected name.
    pub(super) fn check_rename(&self, user: UserId, name: &Username) -> Result<(), Refusal> {
        if self.kept.get(&user).is_some_and(|kept| kept != name.normalized()) {
            let message =
                "a member of staff who is listed by username keeps it until an operator lists the user id";
            return Err(Refusal::new(RefusalCode::Forbidden, Some("username"), message));
        }
        let is_of_another = |key| self.users.get(key).is_some_and(|holder| *holder != Some(user));
        match name.keys().iter().any(is_of_another) {
            true => Err(Refusal::username_taken()),
            false => Ok(()),
        }
    }
}

impl UsernameReservations {
    /// The users behind the names in the settings. A rename that is under way is finished first.
    ///
    /// # Errors
    /// A name has passed to another user since it was first listed; a fault of the store.
    pub async fn resolve_staff(
        &self,
        listed: &[ListedUser],
        ledger: &Ledger,
    ) -> Result<ResolvedStaff, StaffNameError> {
        let mut resolved = ResolvedStaff::default();
        for user in listed {
            let id = match user {
                ListedUser::Name(name) => {
                    let holder = self.holder(name.normalized(), ledger).await?;
                    self.record(name.normalized(), holder, ledger).await?;
                    resolved.names.protect(name, holder);
                    holder
                }
                ListedUser::Id(id) => {
                    let found = self.find(*id, ledger).await?;
                    matches!(found, UserLookup::User(_)).then_some(*id)
                }
            };
            match id {
                Some(id) => resolved.ids.push(id),
                None => resolved.missing.push(user.clone()),
            }
        }
        Ok(resolved)
    }

    /// The user who has a name.
    async fn holder(&self, name: &NormalizedUsername, ledger: &Ledger) -> Result<Option<UserId>, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let Some((reservation, _)) = self.reservation(name.as_str(), ledger).await? else {
                return Ok(None);
            };
            let id = reservation.user_id;
            let UserLookup::User(stored) = self.find(id, ledger).await? else { return Ok(None) };
            if stored.user.pending_username.is_none() {
                let is_called = normalized(&stored.user.username)? == *name;
                return Ok(is_called.then_some(id));
            }
            self.roll_forward(id, ledger).await?;
        }
        Err(contended("a staff name"))
    }

    /// Records the user of a staff name, or compares the user with the recorded one.
    async fn record(
        &self,
        name: &NormalizedUsername,
        holder: Option<UserId>,
        ledger: &Ledger,
    ) -> Result<(), StaffNameError> {
        // No username has a colon.
        let id = format!("staff:{name}");
        let key = PartitionKey::from(id.as_str());
        for _ in 0..ATTEMPTS_MAX {
            if let Some(item) = self.store().read(ACCOUNTS, &key, &id, ledger).await? {
                let first = item.decode::<StaffNameItem>()?.user_id;
                return match holder == Some(first) {
                    true => Ok(()),
                    false => Err(StaffNameError::Passed { name: name.to_string(), first }),
                };
            }
            let Some(user_id) = holder else { return Ok(()) };
            let item = StaffNameItem { id: id.clone(), item_type: types::STAFF_NAME.to_owned(), user_id };
            let create = WriteOp::Create(NewItem::encode(id.as_str(), &item));
            if self.attempt(ACCOUNTS, &key, create, ledger).await? == WriteAttempt::Written {
                return Ok(());
            }
        }
        Err(contended("a staff name").into())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn name(typed: &str) -> Username {
        Username::parse(typed).unwrap()
    }

    fn code(checked: Result<(), Refusal>) -> Option<RefusalCode> {
        checked.err().map(|refusal| refusal.code)
    }

    #[test]
    fn a_protected_name_and_its_look_alikes_are_kept_for_its_user() {
        let [ada, eve] = [1, 2].map(|id| UserId(Uuid::from_u128(id)));
        let mut names = ProtectedNames::default();
        names.protect(&name("lena"), Some(ada));
        names.protect(&name("boss"), None);
        for taken in ["lena", "LENA", "Iena", "1ena", "boss", "b0ss"] {
            assert_eq!(code(names.check_new(&name(taken))), Some(RefusalCode::Conflict), "{taken}");
            assert_eq!(code(names.check_rename(eve, &name(taken))), Some(RefusalCode::Conflict), "{taken}");
        }
        assert_eq!(code(names.check_new(&name("grace"))), None);
        assert_eq!(code(names.check_rename(ada, &name("Lena"))), None, "another case");
        for other in ["grace", "Iena", "boss"] {
            assert_eq!(code(names.check_rename(ada, &name(other))), Some(RefusalCode::Forbidden), "{other}");
        }
    }
}
