//! Accounts of a served model: signing up, signing in, and changing the password, by the protocols of all
//! [accounts](crate::domain::accounts). The login is a unique field of the account type.

use std::sync::Arc;

use async_trait::async_trait;
use onehop_store::{Fault, FaultKind, Ledger, OperationRecord, RequestCharge};
use serde_json::Value;
use uuid::Uuid;

use super::create::Claimant;
use super::{ServedCommand, ServedCommands, WrittenItem};
use crate::accounts::account_id::AccountId;
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::{Password, PasswordHash};
use crate::domain::accounts::password_change::{
    PasswordChange, change_password, start_first_session, start_session,
};
use crate::domain::accounts::passwords::{AccountPasswords, PasswordHolder, StoredPassword};
use crate::domain::accounts::sessions::{NewSession, SessionStart, Sessions};
use crate::domain::error::{CommandError, Refusal, contended};
use crate::served::ids::ItemPlace;
use crate::served::model::{Body, PartitionSource, ServedModel, TypeIndex, UniqueField};
use crate::served::stored;
use crate::served::unique::reservation_keys;

/// Attempts of a sign-up with new ids after others had given it up for dead.
const SIGN_UP_ATTEMPTS_MAX: u32 = 8;
/// The charge of a point read of a small item.
const POINT_READ_MIN: RequestCharge = RequestCharge(1.0);

/// A new account: its item and its password, as typed.
pub struct SignUp<'a> {
    /// The creation of the item. Its caller is ignored.
    pub command: ServedCommand<'a>,
    /// The password.
    pub password: &'a str,
    /// In whose turn the password is hashed.
    pub caller: HashingCaller,
}

/// Both passwords of a change, as typed.
pub struct PasswordsTyped<'a> {
    /// The password until now.
    pub current: &'a str,
    /// The new password.
    pub new: &'a str,
    /// In whose turn they are hashed.
    pub caller: HashingCaller,
}

/// The password of an account.
struct ServedPassword<'a> {
    commands: &'a ServedCommands,
    account: AccountId,
}

impl ServedCommands {
    /// Signs up: creates the item and the password of an account, and starts a session.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `CONFLICT` for a taken value.
    pub async fn sign_up(
        &self,
        sign_up: SignUp<'_>,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(WrittenItem, NewSession), CommandError> {
        let start = SessionStart { password_version: 0, network: sign_up.caller.network() };
        let created = self.create_account(sign_up, ledger).await?;
        let account = account_id(&created.place)?;
        Ok((created, start_first_session(sessions, account, start, ledger).await?))
    }

    /// Creates the item and the password of an account.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `CONFLICT` for a taken value.
    pub async fn create_account(
        &self,
        SignUp { command, password, caller }: SignUp<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let ty = command.mutation.ty;
        let login = self.login(ty)?;
        let mut body = self.new_body(&command, ledger).await?;
        let login = self.text_of(ty, login.name, &body);
        let password = Password::choose(password, &login);
        let password = password.map_err(|rule| Refusal::bad_input("password", rule))?;
        let hash = self.passwords.hash_for(caller, password).await?.to_stored();
        for _ in 0..SIGN_UP_ATTEMPTS_MAX {
            let place = self.identify(ty, self.ids.next_id(self.clock.now_ms()), &mut body)?;
            self.claim(&place, &body, Claimant::New, ledger).await?;
            let account = account_id(&place)?;
            self.account_passwords.create(account, &hash, self.stated_partition(&place), ledger).await?;
            match self.write_new(place, body.clone(), Claimant::New, ledger).await {
                Ok(written) => return Ok(written),
                Err(CommandError::Fault(fault)) if fault.kind == FaultKind::Unavailable => {
                    // Others gave this sign-up up: no account ever has this id.
                    self.account_passwords.remove(account, ledger).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(contended("the reservation of a login").into())
    }

    /// The account with a login and a password, and a new session.
    ///
    /// # Errors
    /// `INVALID_CREDENTIALS`, for every failure, after the same work.
    pub async fn sign_in(
        &self,
        (login, password): (&str, &str),
        caller: HashingCaller,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(WrittenItem, NewSession), CommandError> {
        let reads = ledger.part();
        let identified = self.identify_account(login, password, caller, &reads).await;
        record_sign_in(&reads, matches!(identified, Ok(Some(_))), ledger);
        let (written, compared) = identified?.ok_or_else(refused)?;
        let account = account_id(&written.place)?;
        let session = start_session(sessions, account, &compared, caller.network(), ledger).await?;
        Ok((written, session.ok_or_else(refused)?))
    }

    /// There are three point reads, whether there is such an account or not.
    async fn identify_account(
        &self,
        login: &str,
        password: &str,
        caller: HashingCaller,
        ledger: &Ledger,
    ) -> Result<Option<(WrittenItem, StoredPassword)>, CommandError> {
        let found = self.account_of_login(login, ledger).await?;
        let account =
            found.as_ref().map_or(Ok(AccountId::user(Uuid::nil())), |found| account_id(&found.place))?;
        let stored = self.account_passwords.find(account, ledger).await?;
        let hash = match (&found, &stored) {
            (Some(_), Some(stored)) => stored.hash()?,
            _ => None,
        };
        let is_accepted = self.passwords.verify_for(caller, Password::attempt(password), hash).await?;
        Ok(found.zip(stored).filter(|_| is_accepted))
    }

    /// The account that has a login: two point reads.
    async fn account_of_login(
        &self,
        login: &str,
        ledger: &Ledger,
    ) -> Result<Option<WrittenItem>, CommandError> {
        let Some(ty) = self.model.account() else { return Ok(None) };
        let unique = self.login(ty)?;
        let key = self.login_key(login).unwrap_or_else(|| "unique:".to_owned());
        let reserved = self.unique.reservations().find(&key, ledger).await?;
        let place = reserved.and_then(|(reservation, _)| self.unique.place_of(&reservation));
        let Some(place) = place else {
            // As many reads as for a known login: the store of commands repeats a read of a missing item in
            // the latest commit.
            let nobody = Uuid::nil().to_string();
            let nobody = ItemPlace::within(ty, &nobody, nobody.clone());
            self.stored(&*self.latest, &nobody, ledger).await?;
            return Ok(None);
        };
        let Some(body) = self.reads.item(&place, ledger).await? else { return Ok(None) };
        // A reservation that its account has left opens no door.
        let has_login =
            self.unique.keys(ty, &body).iter().any(|(field, own)| *field == unique && *own == key);
        Ok(has_login.then_some(WrittenItem { place, body }))
    }

    /// The key of a login: equal for all forms of one; `None` for a text that is no login.
    #[must_use]
    pub fn login_key(&self, login: &str) -> Option<String> {
        let ty = self.model.account()?;
        let keys = reservation_keys(&self.model, ty, &self.login(ty).ok()?, login).ok()?;
        keys.into_iter().next()
    }

    /// The account that a login belongs to.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn account_with(
        &self,
        login: &str,
        ledger: &Ledger,
    ) -> Result<Option<ItemPlace>, CommandError> {
        Ok(self.account_of_login(login, ledger).await?.map(|found| found.place))
    }

    /// The item with a value of a unique field.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn item_with(
        &self,
        (ty, field): (TypeIndex, &str),
        value: &str,
        ledger: &Ledger,
    ) -> Result<Option<WrittenItem>, Fault> {
        let unique = self.ty(ty).unique.iter().find(|unique| unique.name == field);
        let keys = unique.and_then(|unique| reservation_keys(&self.model, ty, unique, value).ok());
        let Some(key) = keys.and_then(|keys| keys.into_iter().next()) else { return Ok(None) };
        let Some((reservation, _)) = self.unique.reservations().find(&key, ledger).await? else {
            return Ok(None);
        };
        let Some(place) = self.unique.place_of(&reservation).filter(|place| place.ty == ty) else {
            return Ok(None);
        };
        let Some(body) = self.reads.item(&place, ledger).await? else { return Ok(None) };
        // The item may have left the value.
        let has_it = self.unique.keys(ty, &body).iter().any(|(_, own)| *own == key);
        Ok(has_it.then_some(WrittenItem { place, body }))
    }

    /// The item of an account.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn account_item(&self, account: Uuid, ledger: &Ledger) -> Result<Option<WrittenItem>, Fault> {
        let Some(place) = self.account_place(account, ledger).await? else { return Ok(None) };
        Ok(self.reads.item(&place, ledger).await?.map(|body| WrittenItem { place, body }))
    }

    /// The place of an account's item; `None` for an account without one. Where the partition key does not
    /// follow from the account, it lies beside the password, and never changes.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn account_place(&self, account: Uuid, ledger: &Ledger) -> Result<Option<ItemPlace>, Fault> {
        let Some(ty) = self.model.account() else { return Ok(None) };
        if let Some(place) = ItemPlace::of_id(&self.model, ty, &account.to_string()) {
            return Ok(Some(place));
        }
        let place = |partition: &str| ItemPlace::within(ty, partition, account.to_string());
        if let Some(partition) = self.account_partitions.get(&account) {
            return Ok(Some(place(&partition)));
        }
        let found = self.account_passwords.find(AccountId::user(account), ledger).await?;
        let Some(partition) = found.and_then(|found| found.partition) else { return Ok(None) };
        let found = place(&partition);
        self.account_partitions.insert(account, partition.into());
        Ok(Some(found))
    }

    /// The partition key of an account's item, where it does not follow from the account.
    pub(super) fn stated_partition<'p>(&self, place: &'p ItemPlace) -> Option<&'p str> {
        match self.ty(place.ty).key {
            PartitionSource::Properties(_) => Some(place.partition.as_str()),
            PartitionSource::Id | PartitionSource::Constant => None,
        }
    }

    /// The login of an account's item.
    #[must_use]
    pub fn login_of(&self, item: &WrittenItem) -> String {
        match self.login(item.place.ty) {
            Ok(login) => self.text_of(item.place.ty, login.name, &item.body),
            Err(_) => String::new(),
        }
    }

    /// Changes the password, ends all sessions of the account, and starts another one. Safe to repeat.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `newPassword`; `FORBIDDEN` on `currentPassword` when it is wrong.
    pub async fn change_account_password(
        &self,
        item: &WrittenItem,
        typed: PasswordsTyped<'_>,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<NewSession, CommandError> {
        let account = account_id(&item.place)?;
        let login = self.login_of(item);
        let change = PasswordChange {
            account,
            login: &login,
            current_password: typed.current,
            new_password: typed.new,
            caller: typed.caller,
        };
        let holder = ServedPassword { commands: self, account };
        change_password((&self.passwords, sessions), &holder, change, ledger).await
    }

    fn login(&self, ty: TypeIndex) -> Result<UniqueField, Fault> {
        let served = self.ty(ty);
        let login = served.item.login.as_ref();
        let unique = served.unique.iter().find(|unique| login.is_some_and(|login| **login == *unique.name));
        unique.copied().ok_or_else(|| Fault::new(FaultKind::Internal, "the account type has no unique login"))
    }

    fn text_of(&self, ty: TypeIndex, name: &str, body: &Body) -> String {
        let fields = &self.ty(ty).item.fields;
        let field = fields.iter().find(|field| *field.name == *name);
        let value = field.map(|field| stored::value_of(self.model.model(), fields, field, body));
        value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Arc<ServedModel> {
        &self.model
    }
}

#[async_trait]
impl PasswordHolder for ServedPassword<'_> {
    async fn current(&self, ledger: &Ledger) -> Result<StoredPassword, CommandError> {
        let found = self.commands.account_passwords.find(self.account, ledger).await?;
        let none = || StoredPassword::new(&AccountPasswords::place(self.account), None, 0);
        Ok(found.unwrap_or_else(none))
    }

    async fn replace(
        &self,
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        self.commands.account_passwords.replace(compared, hash, ledger).await
    }
}

pub(super) fn account_id(place: &ItemPlace) -> Result<AccountId, Fault> {
    let id = Uuid::try_parse(&place.id);
    id.map(AccountId::user)
        .map_err(|error| Fault::new(FaultKind::Corrupt, "the id of an account").with_source(error))
}

fn refused() -> Refusal {
    Refusal::invalid_credentials("the login or the password is wrong")
}

/// Records the reads of a sign-in. After a failure they look the same whether the login exists or not.
fn record_sign_in(reads: &Ledger, succeeded: bool, ledger: &Ledger) {
    for operation in reads.operations() {
        let recorded = match succeeded {
            true => operation,
            false => OperationRecord { items: 1, charge: POINT_READ_MIN, ..operation },
        };
        ledger.record(recorded);
    }
}
