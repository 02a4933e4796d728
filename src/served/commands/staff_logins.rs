//! Logins of staff: logins to which the settings give rights. Rights belong to the id of the account, which
//! is recorded at the first start with the login. The account keeps its login while it is listed, and a login
//! of another account at a later start is refused.

use onehop_store::{Fault, Ledger, NewItem, PartitionKey, WriteOp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ServedCommands;
use crate::domain::conditional_write::{self, ATTEMPTS_MAX, WriteAttempt};
use crate::domain::containers::ACCOUNTS;
use crate::domain::error::{CommandError, Refusal, RefusalCode, contended};
use crate::served::model::UniqueField;

/// The value of `type` of a record.
const STAFF_NAME: &str = "staffName";

/// Staff that cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum StaffLoginError {
    /// The login has passed to another account.
    #[error(
        "the login belonged to the account {first} when it was first listed, and does not any more: list another login"
    )]
    Passed {
        /// The first account.
        first: Uuid,
    },
    /// The search for the account has failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A fault of the store.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The account of a login when it was first listed, in `accounts` under the key of the login with a prefix.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StaffLoginItem {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    user_id: Uuid,
}

impl ServedCommands {
    /// The account with a login of staff, which keeps the login from now on; `None` where no account has it.
    ///
    /// # Errors
    /// [`StaffLoginError`].
    pub async fn staff_account(&self, login: &str, ledger: &Ledger) -> Result<Option<Uuid>, StaffLoginError> {
        let found = self.account_with(login, ledger).await?;
        let holder = found.and_then(|place| Uuid::try_parse(&place.id).ok());
        let Some(login_key) = self.login_key(login) else { return Ok(None) };
        self.record(&login_key, holder, ledger).await?;
        if let Some(account) = holder {
            self.kept_logins.lock().insert(login_key, account);
        }
        Ok(holder)
    }

    /// Records the account of a login, or compares it with the recorded one.
    async fn record(
        &self,
        login_key: &str,
        holder: Option<Uuid>,
        ledger: &Ledger,
    ) -> Result<(), StaffLoginError> {
        let id = format!("staff:{login_key}");
        let key = PartitionKey::from(id.as_str());
        for _ in 0..ATTEMPTS_MAX {
            if let Some(item) = self.store.read(ACCOUNTS, &key, &id, ledger).await? {
                let first = item.decode::<StaffLoginItem>()?.user_id;
                return if holder == Some(first) { Ok(()) } else { Err(StaffLoginError::Passed { first }) };
            }
            let Some(user_id) = holder else { return Ok(()) };
            let item = StaffLoginItem { id: id.clone(), item_type: STAFF_NAME.to_owned(), user_id };
            let create = WriteOp::Create(NewItem::encode(id.as_str(), &item));
            if conditional_write::attempt(&*self.store, ACCOUNTS, &key, create, ledger).await?
                == WriteAttempt::Written
            {
                return Ok(());
            }
        }
        Err(contended("a login of staff").into())
    }

    /// Refuses an update by which a member of staff loses the login in the settings.
    ///
    /// # Errors
    /// `FORBIDDEN` on the login.
    pub(super) fn check_kept_login(
        &self,
        account: &str,
        before: &[(UniqueField, String)],
        after: &[(UniqueField, String)],
    ) -> Result<(), Refusal> {
        let kept = self.kept_logins.lock();
        let is_kept = |key: &str| kept.get(key).is_some_and(|holder| holder.to_string() == account);
        match before.iter().find(|left| !after.contains(left) && is_kept(&left.1)) {
            Some((field, _)) => {
                let message = "a member of staff who is listed by login keeps it";
                Err(Refusal::new(RefusalCode::Forbidden, Some(field.name), message))
            }
            None => Ok(()),
        }
    }
}
