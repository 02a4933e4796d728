//! Signing in by name and password. Every failure has one answer after the same work, so that neither words
//! nor time reveal which names exist, nor does the ledger of the request. Making a token is left to the
//! caller.

use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::accounts::username::{NormalizedUsername, Username};
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use crate::domain::accounts::password_change::start_session;
use crate::domain::accounts::sessions::{NewSession, Sessions};
use onehop_runtime::planted;
use onehop_store::{Fault, Ledger, OperationRecord, RequestCharge};

use super::create_user::stored_password;
use super::names::{UserLookup, normalized};
use super::{CommandError, Commands, Refusal};

/// The charge of a point read of a small item. An emulator charges nothing for a missing one.
const POINT_READ_MIN: RequestCharge = RequestCharge(1.0);

/// Sign-in input: name and password.
pub struct SignIn {
    pub username: String,
    pub password: String,
    /// In whose turn the password is hashed.
    pub caller: HashingCaller,
}

impl Commands {
    /// The user with this name and password.
    ///
    /// # Errors
    /// `INVALID_CREDENTIALS`; `ACCOUNT_SUSPENDED` with the right password.
    pub async fn sign_in(&self, input: SignIn, ledger: &Ledger) -> Result<UserItem, CommandError> {
        Ok(self.identify(input, ledger).await?.0)
    }

    /// The user with this name and password, and a new session.
    ///
    /// # Errors
    /// As [`sign_in`](Self::sign_in).
    pub async fn start_session(
        &self,
        input: SignIn,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(UserItem, NewSession), CommandError> {
        let network = input.caller.network();
        let (user, account) = self.identify(input, ledger).await?;
        let compared = stored_password(&account);
        let session = start_session(sessions, user.id.into(), &compared, network, ledger).await?;
        let session = self.unless_closed(user.id, session.ok_or_else(refused)?, sessions, ledger).await?;
        Ok((user, session))
    }

    /// A session that has just been started. It ends where the account was suspended or deleted meanwhile:
    /// that ends all sessions of before, and this may be one of after.
    ///
    /// # Errors
    /// `ACCOUNT_SUSPENDED`, also for a deleted account.
    pub(super) async fn unless_closed(
        &self,
        user: UserId,
        session: NewSession,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<NewSession, CommandError> {
        if planted!("sign-in-beside-a-suspension-stays") || self.may_sign_in(user, sessions, ledger).await? {
            return Ok(session);
        }
        sessions.end_all(user.into(), ledger).await?;
        Err(Refusal::account_suspended().into())
    }

    /// The user for whom a name is reserved, by the key of the name.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn user_of_name(&self, key: &str, ledger: &Ledger) -> Result<Option<UserId>, Fault> {
        Ok(self.names.reservation(key, ledger).await?.map(|(account, _)| account.user_id))
    }

    /// The user of a session, also where a replica that lags lacks a new one. `None` for an account that was
    /// deleted.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn user(&self, id: UserId, ledger: &Ledger) -> Result<Option<UserItem>, Fault> {
        Ok(match self.names.find(id, ledger).await? {
            UserLookup::User(stored) => Some(stored.user),
            UserLookup::Missing | UserLookup::Abandoned => None,
        })
    }

    async fn identify(
        &self,
        input: SignIn,
        ledger: &Ledger,
    ) -> Result<(UserItem, AccountItem), CommandError> {
        let name = Username::parse(&input.username).ok().map(|name| name.normalized().clone());
        let account = match &name {
            Some(name) => self.reserved(name, ledger).await?,
            None => None,
        };
        let stored = account.as_ref().map(|account| stored_password(account).hash()).transpose()?.flatten();
        let password = Password::attempt(&input.password);
        let accepted = self.passwords.verify_for(input.caller, password, stored).await?;
        match (name, account) {
            (Some(name), Some(account)) if accepted => {
                match self.names.find(account.user_id, ledger).await? {
                    UserLookup::User(stored) if is_called(&stored.user, &name)? => {
                        match stored.user.suspended {
                            true => Err(Refusal::account_suspended().into()),
                            false => Ok((stored.user, account)),
                        }
                    }
                    _ => Err(refused().into()),
                }
            }
            _ => Err(refused().into()),
        }
    }
}

impl Commands {
    /// The reservation of a name. The ledger has one item and the charge of one for it whether there is one
    /// or not.
    async fn reserved(
        &self,
        name: &NormalizedUsername,
        ledger: &Ledger,
    ) -> Result<Option<AccountItem>, CommandError> {
        let read = ledger.part();
        let found = self.names.reservation(name.as_str(), &read).await;
        for operation in read.operations() {
            let charge = RequestCharge(operation.charge.0.max(POINT_READ_MIN.0));
            ledger.record(OperationRecord { items: 1, charge, ..operation });
        }
        Ok(found?.map(|(account, _)| account))
    }
}

/// A reservation that its user has left, or has not taken yet, opens no door.
fn is_called(user: &UserItem, name: &NormalizedUsername) -> Result<bool, CommandError> {
    Ok(normalized(&user.username)? == *name)
}

fn refused() -> Refusal {
    Refusal::invalid_credentials("username or password is wrong")
}
