//! Stored passwords: the hash of an account's password and its version, in an item of `accounts`. Each kind
//! of account says which item. The version grows with each change; sessions that were started under an
//! earlier version end.
//!
//! [`AccountPasswords`] keeps the password in an item of its own, under the account with a prefix, so that a
//! change of the login name does not move it.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::accounts::account_id::AccountId;
use crate::accounts::password::PasswordHash;
use crate::domain::conditional_write::{self, ATTEMPTS_MAX, WriteAttempt};
use crate::domain::containers::ACCOUNTS;
use crate::domain::error::{CommandError, Refusal, RefusalCode, contended};
use onehop_store::{ETag, Fault, FaultKind, Ledger, NewItem, PartitionKey, Store, WriteOp};

/// The value of `type`.
const ITEM_TYPE: &str = "password";

/// A password as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPassword {
    /// The id of the item in `accounts` that has it.
    pub place: String,
    /// A PHC string; `None` for an account that cannot sign in with a password.
    hash: Option<String>,
    pub version: u64,
    /// The partition key of the account's item, where it does not follow from the account.
    pub partition: Option<String>,
}

/// The password of an item, without its other fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PasswordFields {
    #[serde(default)]
    password_hash: Option<String>,
    #[serde(default)]
    password_version: u64,
    #[serde(default)]
    account_partition: Option<String>,
}

/// The password of an account, in `accounts` under the account with a prefix.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PasswordItem<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    item_type: &'static str,
    password_hash: &'a str,
    password_version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_partition: Option<&'a str>,
}

impl StoredPassword {
    pub(crate) fn new(place: &str, hash: Option<&str>, version: u64) -> Self {
        Self { place: place.to_owned(), hash: hash.map(str::to_owned), version, partition: None }
    }

    /// The hash.
    ///
    /// # Errors
    /// It is no PHC string.
    pub(crate) fn hash(&self) -> Result<Option<PasswordHash>, Fault> {
        let parsed = self.hash.as_deref().map(PasswordHash::from_stored).transpose();
        parsed.map_err(|error| Fault::new(FaultKind::Corrupt, "the hash of a password").with_source(error))
    }

    /// Whether both are of one change of the password, wherever they lie.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.hash == other.hash && self.version == other.version
    }
}

/// The current password is wrong, or was changed meanwhile.
pub(crate) fn wrong_password() -> Refusal {
    Refusal::new(RefusalCode::Forbidden, Some("currentPassword"), "currentPassword is wrong")
}

/// The password in an item of `accounts`.
pub(crate) async fn password_at(
    store: &dyn Store,
    place: &str,
    ledger: &Ledger,
) -> Result<Option<(StoredPassword, ETag)>, Fault> {
    let Some(item) = store.read(ACCOUNTS, &PartitionKey::from(place), place, ledger).await? else {
        return Ok(None);
    };
    let PasswordFields { password_hash, password_version, account_partition } = item.decode()?;
    let password = StoredPassword::new(place, password_hash.as_deref(), password_version);
    Ok(Some((StoredPassword { partition: account_partition, ..password }, item.etag)))
}

/// The place of an account's password, and how it is replaced there.
#[async_trait]
pub(crate) trait PasswordHolder: Send + Sync {
    /// The password as it is now.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` when the account does not exist.
    async fn current(&self, ledger: &Ledger) -> Result<StoredPassword, CommandError>;

    /// Replaces the password that was compared. Safe to repeat.
    ///
    /// # Errors
    /// `FORBIDDEN` on `currentPassword` when another change was faster.
    async fn replace(
        &self,
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError>;
}

/// Passwords in items of their own. Cheap to clone.
#[derive(Clone)]
pub struct AccountPasswords(Arc<dyn Store>);

impl AccountPasswords {
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    /// The id of the item.
    #[must_use]
    pub fn place(account: AccountId) -> String {
        format!("password:{account}")
    }

    /// The password of an account, if any.
    pub(crate) async fn find(
        &self,
        account: AccountId,
        ledger: &Ledger,
    ) -> Result<Option<StoredPassword>, Fault> {
        let found = password_at(&*self.0, &Self::place(account), ledger).await?;
        Ok(found.map(|(password, _)| password))
    }

    /// Stores the first password of an account, with the partition key of its item where that does not follow
    /// from the account. An existing password stays.
    pub(crate) async fn create(
        &self,
        account: AccountId,
        hash: &str,
        partition: Option<&str>,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let place = Self::place(account);
        let (key, item) = (PartitionKey::from(place.as_str()), item(&place, hash, 0, partition));
        conditional_write::create_new(&*self.0, ACCOUNTS, &key, &item, ledger).await
    }

    /// Removes the password of an account that will never be.
    pub(crate) async fn remove(&self, account: AccountId, ledger: &Ledger) -> Result<(), Fault> {
        let place = Self::place(account);
        let (key, delete) =
            (PartitionKey::from(place.as_str()), WriteOp::Delete { id: place, if_match: None });
        conditional_write::attempt(&*self.0, ACCOUNTS, &key, delete, ledger).await?;
        Ok(())
    }

    /// Replaces a password that was compared.
    ///
    /// # Errors
    /// `FORBIDDEN` on `currentPassword` when another change was faster.
    pub(crate) async fn replace(
        &self,
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let place = compared.place.as_str();
        let wanted = StoredPassword::new(place, Some(&hash.to_stored()), compared.version + 1);
        let key = PartitionKey::from(place);
        for _ in 0..ATTEMPTS_MAX {
            let Some((now, etag)) = password_at(&*self.0, place, ledger).await? else {
                return Err(wrong_password().into());
            };
            if now.is_same(&wanted) {
                return Ok(());
            }
            if !now.is_same(compared) {
                return Err(wrong_password().into());
            }
            let item = item(place, &hash.to_stored(), wanted.version, now.partition.as_deref());
            let replace = WriteOp::Replace { item, if_match: Some(etag) };
            let written = conditional_write::attempt(&*self.0, ACCOUNTS, &key, replace, ledger).await?;
            if written == WriteAttempt::Written {
                return Ok(());
            }
        }
        Err(contended("a password").into())
    }
}

impl std::fmt::Debug for AccountPasswords {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AccountPasswords(..)")
    }
}

fn item(place: &str, hash: &str, version: u64, partition: Option<&str>) -> NewItem {
    let item = PasswordItem {
        id: place,
        item_type: ITEM_TYPE,
        password_hash: hash,
        password_version: version,
        account_partition: partition,
    };
    NewItem::encode(place, &item)
}
