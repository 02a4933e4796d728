//! C1: sign up. First the name's reservation, which holds the way to sign in, then the user; see
//! [`super::names`] for why a crash between them neither loses the name nor gives it away twice.

use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::accounts::username::Username;
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use onehop_store::Ledger;

use super::names::{self, ClaimOutcome, ReservationOwner};
use super::{CommandError, Commands, Refusal};
use crate::domain::accounts::password_change::start_first_session;
use crate::domain::accounts::passwords::StoredPassword;
use crate::domain::accounts::sessions::{NewSession, SessionStart, Sessions};
use crate::domain::digest::sha256_hex;
use crate::domain::error::{InvalidFields, contended};
use crate::domain::text::IdempotencyKey;

/// Attempts of a sign-up with new user ids after others had given it up for dead.
const SIGN_UP_ATTEMPTS_MAX: u32 = 8;

/// A new user, as typed.
#[derive(Clone)]
pub struct CreateUser {
    pub username: String,
    pub password: String,
    pub idempotency_key: Option<String>,
    /// In whose turn the password is hashed.
    pub caller: HashingCaller,
}

/// The properties that a repeated sign-up has to share with the first.
struct RepeatedSignUp<'a> {
    username: &'a Username,
    password: Password,
    key_hash: Option<&'a str>,
}

impl Commands {
    /// Creates a user who can sign in with a password.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `username`, `password` or `idempotencyKey`; `CONFLICT` on `username` when it is
    /// taken or protected, on `idempotencyKey` when a sign-up with this key had another password or spelling.
    pub async fn create_user(&self, input: CreateUser, ledger: &Ledger) -> Result<UserItem, CommandError> {
        Ok(self.create_account(input, ledger).await?.0)
    }

    /// Creates a user, and starts a session.
    ///
    /// # Errors
    /// As [`create_user`](Self::create_user).
    pub async fn sign_up(
        &self,
        input: CreateUser,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(UserItem, NewSession), CommandError> {
        let network = input.caller.network();
        let (user, password_version) = self.create_account(input, ledger).await?;
        let start = SessionStart { password_version, network };
        let session = start_first_session(sessions, user.id.into(), start, ledger).await?;
        Ok((user, session))
    }

    /// The user, and the version of the password.
    async fn create_account(
        &self,
        input: CreateUser,
        ledger: &Ledger,
    ) -> Result<(UserItem, u64), CommandError> {
        let mut invalid = InvalidFields::default();
        let username = Username::choose(&input.username);
        let username = invalid.check(username.map_err(Refusal::invalid_username));
        let password = Password::choose(&input.password, &input.username);
        let password = invalid.check(password.map_err(|rule| Refusal::bad_input("password", rule)));
        let key = invalid.check(input.idempotency_key.map(IdempotencyKey::parse).transpose());
        let (Some(username), Some(password), Some(key)) = (username, password, key) else {
            return Err(invalid.refusal().into());
        };
        self.protected_names().check_new(&username)?;
        let key_hash = key.map(|key| sha256_hex(&[username.normalized().as_str(), key.as_str()]));
        let password_hash = self.passwords.hash_for(input.caller, password.clone()).await?.to_stored();

        for _ in 0..SIGN_UP_ATTEMPTS_MAX {
            let id = UserId(self.new_id());
            let wanted = AccountItem {
                idempotency_key_hash: key_hash.clone(),
                ..names::account(&username.normalized().clone().into(), id, Some(password_hash.clone()))
            };
            match self.names.claim_name(&username, &wanted, ledger).await? {
                ClaimOutcome::Held(holder) => {
                    let repeat =
                        RepeatedSignUp { username: &username, password, key_hash: key_hash.as_deref() };
                    return self.first_sign_up(repeat, input.caller, *holder, ledger).await;
                }
                ClaimOutcome::Imitates => return Err(Refusal::username_taken().into()),
                ClaimOutcome::Granted => {}
            }
            if let Some(user) = self.names.create_user(id, &username, ledger).await? {
                self.names.keep_author_name(id, &user.username, self.clock.monotonic_ms());
                return Ok((user, 0));
            }
        }
        Err(contended("the reservation of a username").into())
    }

    /// The answer to a repeat: the user of the first sign-up, for who knows key and password. To all others
    /// the name is taken, or about to be: then its rename is finished on the way.
    async fn first_sign_up(
        &self,
        RepeatedSignUp { username, password, key_hash }: RepeatedSignUp<'_>,
        caller: HashingCaller,
        ReservationOwner { reservation, user }: ReservationOwner,
        ledger: &Ledger,
    ) -> Result<(UserItem, u64), CommandError> {
        if user.pending_username.is_some() {
            self.names.roll_forward(user.id, ledger).await?;
        }
        if key_hash.is_none() || reservation.idempotency_key_hash.as_deref() != key_hash {
            return Err(Refusal::username_taken().into());
        }
        let stored = stored_password(&reservation).hash()?;
        if self.passwords.verify_for(caller, password, stored).await? && user.username == username.as_str() {
            if user.suspended {
                return Err(Refusal::account_suspended().into());
            }
            return Ok((user, reservation.password_version));
        }
        Err(Refusal::key_reused().into())
    }
}

/// The password in the reservation of a username.
pub(super) fn stored_password(account: &AccountItem) -> StoredPassword {
    StoredPassword::new(&account.id, account.password_hash.as_deref(), account.password_version)
}
