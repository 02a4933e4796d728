//! Usernames and their holders: reservations in `accounts`, made, taken over, renamed and released so that a
//! crash at any step neither loses a name nor gives it twice.
//!
//! A name has one or more keys (`Username::keys`): its normalised form, and its skeletons, by which it looks
//! like another name. Each key is reserved by an item of its own (`accounts`, id = key), by the same rules;
//! the first one also has the way to sign in. A key is held by the one user to whom its reservation points,
//! and only as long as that user's item has a name with that key, or announces one in `pendingUsername`. A
//! name is claimed key by key; when one of them is held by another user, the name is taken. Items of two
//! logical partitions are never written together, so every protocol is a sequence of single conditional
//! writes. Other commands have to be able to judge every state between two of them. Three rules make that so:
//!
//! 1. *A claim writes the reservation.* A rename first announces the name in the user item, then writes the
//!    reservation, even when that points to the user already: its ETag changes.
//! 2. *A judge reads the reservation first and the user second*, then acts with If-Match on the reservation.
//!    Before it calls a reservation lapsed, it rewrites the user item as read, with If-Match: a read may be
//!    old where replicas lag, a conditional write is not. So at the moment of that write the user neither had
//!    nor announced the name; had the user announced it later, its claim has changed the reservation, and the
//!    If-Match fails.
//! 3. *A sign-up is judged by its user id.* It writes the reservation first and its user second. A command
//!    that finds the user missing waits a little, then blocks the user id with an item of type `abandoned`.
//!    From then on the sign-up cannot finish (its Create conflicts, and it starts again), and before that the
//!    block itself conflicts.
//!
//! No name is taken twice: a reservation changes hands only by If-Match after a judgement. By rules 2 and 3
//! the former holder cannot complete a claim on the version that was judged. No name is lost: if no user has
//! or announces the name of a reservation, the next claim takes it over. So the leftovers of a crash cost a
//! later claim a few operations and nothing else.

mod author_names;
mod deleted_users;
mod deletion;
mod rename;
mod reservation;

use std::sync::Arc;

use crate::accounts::username::{NameKey, NormalizedUsername, Username};
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem, is_user, types};
use crate::domain::conditional_write;
use onehop_store::{
    ContainerName, ETag, Fault, FaultKind, Item, Ledger, NewItem, PartitionKey, Store, WriteOp,
};

use author_names::AuthorNames;

pub(super) use crate::domain::conditional_write::WriteAttempt;
pub(super) use deleted_users::DeletedUsers;
pub use rename::RollForward;
pub(in crate::blog) use rename::left_keys;
pub(super) use reservation::{ClaimOutcome, ReservationOwner};

/// Attempts of a protocol after another one changed the items it had read.
const ATTEMPTS_MAX: u32 = 16;

/// The protocols over reservations. Cheap to clone.
#[derive(Clone)]
pub struct UsernameReservations {
    store: Arc<dyn Store>,
    /// The same, with reads of the latest commit: a password that a rename takes along, and second looks, may
    /// not come from a replica that lags.
    latest: Arc<dyn Store>,
    author_names: AuthorNames,
    deleted: DeletedUsers,
}

/// The result of looking a user up by id.
pub(super) enum UserLookup {
    Missing,
    /// A sign-up that was given up, or an account that its user deleted: there is no such user, and never
    /// will be.
    Abandoned,
    User(Box<StoredUser>),
}

/// A user item as it was read.
pub(crate) struct StoredUser {
    pub(super) user: UserItem,
    pub(super) etag: ETag,
    item: Item,
}

impl UsernameReservations {
    /// The protocols over a store whose reads see the latest commit of all processes.
    #[must_use]
    pub fn new(latest: Arc<dyn Store>) -> Self {
        Self::over(Arc::clone(&latest), latest)
    }

    /// The protocols over a store and the same store with reads of the latest commit.
    #[must_use]
    pub(super) fn over(store: Arc<dyn Store>, latest: Arc<dyn Store>) -> Self {
        Self { store, latest, author_names: AuthorNames::default(), deleted: DeletedUsers::default() }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The same, with reads of the latest commit.
    pub(super) fn latest(&self) -> &dyn Store {
        &*self.latest
    }

    /// Keeps the name of a user who is likely to write something next.
    pub(super) fn keep_author_name(&self, id: UserId, username: &str, now_ms: i64) {
        self.author_names.insert(id, username, now_ms);
    }

    /// The username of a user who writes something; `None` when there is no such user.
    pub(super) async fn author_name(
        &self,
        id: UserId,
        now_ms: i64,
        ledger: &Ledger,
    ) -> Result<Option<String>, Fault> {
        if let Some(username) = self.author_names.get(id, now_ms) {
            return Ok(Some(username.as_ref().to_owned()));
        }
        let UserLookup::User(stored) = self.find(id, ledger).await? else { return Ok(None) };
        let username = stored.user.username;
        // A name that is about to change is not kept.
        if stored.user.pending_username.is_none() {
            self.author_names.insert(id, &username, now_ms);
        }
        Ok(Some(username))
    }

    /// The user with this id.
    pub(super) async fn find(&self, id: UserId, ledger: &Ledger) -> Result<UserLookup, Fault> {
        find_user(&*self.store, id, ledger).await
    }

    /// The reservation of a key.
    pub(super) async fn reservation(
        &self,
        name: &str,
        ledger: &Ledger,
    ) -> Result<Option<(AccountItem, ETag)>, Fault> {
        read_reservation(&*self.store, name, ledger).await
    }

    /// Creates the user of a sign-up whose reservation is made; `None` when the sign-up was given up
    /// meanwhile.
    pub(super) async fn create_user(
        &self,
        id: UserId,
        name: &Username,
        ledger: &Ledger,
    ) -> Result<Option<UserItem>, Fault> {
        let user = UserItem {
            id,
            item_type: types::USER.to_owned(),
            user_id: id,
            username: name.as_str().to_owned(),
            version: 1,
            pending_username: None,
            former_username: None,
            former_keys: Vec::new(),
            suspended: false,
        };
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(NewItem::encode(id.to_string(), &user));
            if self.attempt(USERS, &id.partition_key(), create, ledger).await? == WriteAttempt::Written {
                return Ok(Some(user));
            }
            match self.find(id, ledger).await? {
                UserLookup::User(stored) => return Ok(Some(stored.user)),
                UserLookup::Abandoned => return Ok(None),
                UserLookup::Missing => {}
            }
        }
        Err(crate::domain::error::contended("a user"))
    }

    /// Replaces a user item that has not changed since it was read.
    pub(super) async fn replace_user(
        &self,
        user: &UserItem,
        etag: &ETag,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        let item = NewItem::encode(user.id.to_string(), user);
        let replace = WriteOp::Replace { item, if_match: Some(etag.clone()) };
        self.author_names.remove(user.id);
        let replaced = self.attempt(USERS, &user.id.partition_key(), replace, ledger).await;
        // Again, for readers of the former name meanwhile.
        self.author_names.remove(user.id);
        replaced
    }

    /// One conditional write. A refusal by precondition, by a conflict or by absence is an answer.
    pub(super) async fn attempt(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        conditional_write::attempt(&*self.store, container, partition_key, operation, ledger).await
    }
}

/// The reservation of a key, as a store has it.
pub(super) async fn read_reservation(
    store: &dyn Store,
    name: &str,
    ledger: &Ledger,
) -> Result<Option<(AccountItem, ETag)>, Fault> {
    match store.read(ACCOUNTS, &PartitionKey::from(name), name, ledger).await? {
        Some(item) => Ok(Some((item.decode()?, item.etag))),
        None => Ok(None),
    }
}

/// The user with this id, as a store has it.
pub(super) async fn find_user(store: &dyn Store, id: UserId, ledger: &Ledger) -> Result<UserLookup, Fault> {
    let Some(item) = store.read(USERS, &id.partition_key(), &id.to_string(), ledger).await? else {
        return Ok(UserLookup::Missing);
    };
    if !is_user(&item)? {
        return Ok(UserLookup::Abandoned);
    }
    Ok(UserLookup::User(Box::new(StoredUser { user: item.decode()?, etag: item.etag.clone(), item })))
}

/// Whether the user has a name with this key, or has announced one.
pub(super) fn has_key(user: &UserItem, key: &NameKey) -> Result<bool, Fault> {
    if parsed(&user.username)?.keys().contains(key) {
        return Ok(true);
    }
    match &user.pending_username {
        Some(pending) => Ok(parsed(pending)?.keys().contains(key)),
        None => Ok(false),
    }
}

/// A stored username.
pub(super) fn parsed(stored: &str) -> Result<Username, Fault> {
    Username::parse(stored).map_err(|error| {
        Fault::new(FaultKind::Corrupt, "a stored username breaks the rules").with_source(error)
    })
}

/// The normalised form of a stored username.
pub(super) fn normalized(stored: &str) -> Result<NormalizedUsername, Fault> {
    Ok(parsed(stored)?.normalized().clone())
}

/// A reservation of a key by the user.
pub(super) fn account(key: &NameKey, user_id: UserId, password_hash: Option<String>) -> AccountItem {
    AccountItem {
        id: key.as_str().to_owned(),
        item_type: types::ACCOUNT.to_owned(),
        user_id,
        password_hash,
        password_version: 0,
        idempotency_key_hash: None,
    }
}

/// The wanted content of a reservation that the user has already: the password there is kept if it is the
/// later one.
fn with_latest_password(wanted: &AccountItem, existing: AccountItem) -> AccountItem {
    if existing.user_id != wanted.user_id || existing.password_version <= wanted.password_version {
        return wanted.clone();
    }
    let AccountItem { password_hash, password_version, .. } = existing;
    AccountItem { password_hash, password_version, ..wanted.clone() }
}
