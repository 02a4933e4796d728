//! Signing in by name and password. Every failure has one answer after the same work, so that neither words nor
//! time tell which names exist. Making a token is left to the caller.

use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::accounts::username::{NormalizedUsername, Username};
use crate::blog::items::UserItem;
use crate::store::Ledger;

use super::create_user::stored_hash;
use super::names::{Found, normalized};
use super::{CommandError, Commands, Refusal};

/// Who somebody says to be.
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
    /// `INVALID_CREDENTIALS`.
    pub async fn sign_in(&self, input: SignIn, ledger: &Ledger) -> Result<UserItem, CommandError> {
        let name = Username::parse(&input.username).ok().map(|name| name.normalized().clone());
        let account = match &name {
            Some(name) => self.names.reservation(name.as_str(), ledger).await?.map(|(account, _)| account),
            None => None,
        };
        let stored = account.as_ref().map(stored_hash).transpose()?.flatten();
        let password = Password::attempt(&input.password);
        let accepted = self.passwords.verify_for(input.caller, password, stored).await?;
        match (name, account) {
            (Some(name), Some(account)) if accepted => {
                match self.names.find(account.user_id, ledger).await? {
                    Found::User(stored) if is_called(&stored.user, &name)? => Ok(stored.user),
                    _ => Err(refused().into()),
                }
            }
            _ => Err(refused().into()),
        }
    }
}

/// A reservation that its user has left, or has not taken yet, opens no door.
fn is_called(user: &UserItem, name: &NormalizedUsername) -> Result<bool, CommandError> {
    Ok(normalized(&user.username)? == *name)
}

fn refused() -> Refusal {
    Refusal::invalid_credentials("username or password is wrong")
}
