//! Signing in and changing a password, for each kind of account.
//!
//! A change ends every session of the account, in three steps: all sessions end, the new hash is stored, and
//! a new session starts in place of all sessions begun meanwhile. A process that dies after the first step
//! has signed the account out and changed nothing. A process that dies after the second leaves no old
//! session, except sessions that a client with the old password started in between. The next sign-in ends
//! them, because it is under a later version of the password.
//!
//! A sign-in compares the stored password again after its session has started. So one with the old password
//! does not slip in.

use onehop_runtime::planted;
use onehop_store::Ledger;

use super::passwords::{PasswordHolder, StoredPassword, password_at, wrong_password};
use super::sessions::{NewSession, SessionStart, Sessions};
use crate::accounts::account_id::AccountId;
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::network_prefixes::Prefix;
use crate::accounts::password::{Password, PasswordHasher};
use crate::domain::error::{CommandError, Refusal, contended};

/// Both passwords, as typed, and who changes them.
pub struct PasswordChange<'a> {
    pub account: AccountId,
    /// The login name, of which no password is made.
    pub login: &'a str,
    pub current_password: &'a str,
    pub new_password: &'a str,
    pub caller: HashingCaller,
}

/// Starts a session for a password that was compared; `None` where it has changed since, also in another
/// process.
pub(crate) async fn start_session(
    sessions: &Sessions,
    account: AccountId,
    compared: &StoredPassword,
    network: Prefix,
    ledger: &Ledger,
) -> Result<Option<NewSession>, CommandError> {
    let start = SessionStart { password_version: compared.version, network };
    let Some(session) = sessions.start(account, start, ledger).await? else { return Ok(None) };
    let now = password_at(sessions.store(), &compared.place, ledger).await?;
    if now.is_some_and(|(now, _)| now.is_same(compared)) || planted!("sign-in-beside-a-change-stays") {
        return Ok(Some(session));
    }
    sessions.end(account, session.id, ledger).await?;
    Ok(None)
}

/// Starts the first session of an account that has just been made, or was made by an earlier try of the same
/// command.
pub(crate) async fn start_first_session(
    sessions: &Sessions,
    account: AccountId,
    start: SessionStart,
    ledger: &Ledger,
) -> Result<NewSession, CommandError> {
    let started = sessions.start(account, start, ledger).await?;
    Ok(started.ok_or_else(|| contended("the password of an account"))?)
}

/// Changes the password of an account, ends all its sessions, and starts another one. Safe to repeat.
///
/// # Errors
/// `BAD_USER_INPUT` on `newPassword`; `FORBIDDEN` on `currentPassword` when it is wrong or the account has no
/// password.
pub(crate) async fn change_password(
    (passwords, sessions): (&PasswordHasher, &Sessions),
    holder: &dyn PasswordHolder,
    change: PasswordChange<'_>,
    ledger: &Ledger,
) -> Result<NewSession, CommandError> {
    let PasswordChange { account, login, current_password, new_password, caller } = change;
    let new = Password::choose(new_password, login);
    let new = new.map_err(|rule| Refusal::bad_input("newPassword", rule))?;
    let current = Password::attempt(current_password);
    if current == new {
        return Err(Refusal::bad_input("newPassword", "must be another password than the current one").into());
    }
    let mut compared = holder.current(ledger).await?;
    if passwords.verify_for(caller, current, compared.hash()?).await? {
        let hash = passwords.hash_for(caller, new).await?;
        sessions.end_all(account, ledger).await?;
        holder.replace(&compared, &hash, ledger).await?;
        compared.version += 1;
    } else if !passwords.verify_for(caller, new, compared.hash()?).await? {
        // With the new password it would be a repeat: the first command may have died before its last step.
        return Err(wrong_password().into());
    }
    let start = SessionStart { password_version: compared.version, network: caller.network() };
    Ok(sessions.start_only(account, start, ledger).await?)
}
