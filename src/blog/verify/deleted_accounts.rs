//! Verification of deleted accounts: no post, comment, like, session or reserved name of theirs is left.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Invariant, Violation};
use onehop_store::{Direction, Fault, Item, Ledger, PartitionKey, Query, Store, WriteOp};

use crate::blog::commands::UsernameReservations;
use crate::blog::containers::{ACCOUNTS, POSTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, DeletedUserItem, types};
use crate::domain::accounts::sessions::{has_sessions, sessions_place};
use crate::domain::conditional_write::{self, WriteAttempt};

/// The rests of deleted accounts.
static DELETED_USERS: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(USERS, types::DELETED_USER, &["userId"]));
/// Reservations of usernames.
static RESERVATIONS: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(ACCOUNTS, types::ACCOUNT, &["userId"]));

/// Everything of a deleted account is removed.
pub(super) struct RemovedAccounts {
    pub(super) store: Arc<dyn Store>,
}

#[async_trait]
impl Invariant for RemovedAccounts {
    fn name(&self) -> &'static str {
        "deletedAccount"
    }

    fn item_type(&self) -> &ItemType {
        &DELETED_USERS
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let Some(user) = UserId::parse(id) else { return Ok(None) };
        let Some((rest, item)) = rest_of(&*self.store, user).await? else { return Ok(None) };
        let problem = match self.item_left(user).await? {
            Some(item_type) => format!("a {item_type} of the deleted account is left"),
            None if self.has_sessions(user).await? => "sessions of the deleted account are left".to_owned(),
            None if !rest.removed => "the removal of the deleted account has not ended".to_owned(),
            None => return Ok(None),
        };
        Ok(Some(Violation { problem, seen: vec![Some(item.etag)] }))
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let Some(user) = UserId::parse(id) else { return Ok(false) };
        UsernameReservations::new(Arc::clone(&self.store)).remove_again(user, &Ledger::new()).await
    }
}

impl RemovedAccounts {
    /// The type of an item that is left.
    async fn item_left(&self, user: UserId) -> Result<Option<&'static str>, Fault> {
        for item_type in [types::POST, types::COMMENT, types::LIKE] {
            let query = Query::Equality {
                container: POSTS,
                path: "userId",
                value: &user.to_string(),
                item_type,
                direction: Direction::NewestFirst,
                after: None,
                limit: 1,
                order_by: None,
            };
            if !self.store.query(&query, &Ledger::new()).await?.items.is_empty() {
                return Ok(Some(item_type));
            }
        }
        Ok(None)
    }

    async fn has_sessions(&self, user: UserId) -> Result<bool, Fault> {
        let place = sessions_place(user.into());
        let key = PartitionKey::from(place.as_str());
        let found = self.store.read(ACCOUNTS, &key, &place, &Ledger::new()).await?;
        found.as_ref().map_or(Ok(false), has_sessions)
    }
}

/// No username is reserved for a deleted account.
pub(super) struct HeldReservations {
    pub(super) store: Arc<dyn Store>,
}

#[async_trait]
impl Invariant for HeldReservations {
    fn name(&self) -> &'static str {
        "reservationOfDeletedAccount"
    }

    fn item_type(&self) -> &ItemType {
        &RESERVATIONS
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let Some((reservation, rest)) = self.of_deleted_account(id).await? else { return Ok(None) };
        let problem = "a username is reserved for a deleted account".to_owned();
        Ok(Some(Violation { problem, seen: vec![Some(reservation.etag), Some(rest.etag)] }))
    }

    async fn repair(&self, key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let Some((reservation, _)) = self.of_deleted_account(id).await? else { return Ok(false) };
        let delete = WriteOp::Delete { id: id.to_owned(), if_match: Some(reservation.etag) };
        let deleted = conditional_write::attempt(&*self.store, ACCOUNTS, key, delete, &Ledger::new()).await?;
        Ok(deleted == WriteAttempt::Written)
    }
}

impl HeldReservations {
    /// A reservation, and the rest of the deleted account for which it is.
    async fn of_deleted_account(&self, id: &str) -> Result<Option<(Item, Item)>, Fault> {
        let Some(item) = self.store.read(ACCOUNTS, &PartitionKey::from(id), id, &Ledger::new()).await? else {
            return Ok(None);
        };
        let holder = item.decode::<AccountItem>()?.user_id;
        Ok(rest_of(&*self.store, holder).await?.map(|(_, rest)| (item, rest)))
    }
}

/// The rest of a deleted account.
async fn rest_of(store: &dyn Store, user: UserId) -> Result<Option<(DeletedUserItem, Item)>, Fault> {
    let item = store.read(USERS, &user.partition_key(), &user.to_string(), &Ledger::new()).await?;
    let Some(item) = item else { return Ok(None) };
    // Neither a user nor the rest of an abandoned sign-up has this shape and type.
    let rest = item.decode::<DeletedUserItem>().ok().filter(|rest| rest.item_type == types::DELETED_USER);
    Ok(rest.map(|rest| (rest, item)))
}
