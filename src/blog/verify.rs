//! Verification of the blog: its read models, that each username is reserved for its user, and that nothing
//! of a deleted account is left.

mod deleted_accounts;

use std::sync::Arc;

use async_trait::async_trait;
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Invariant, Settle, Verifier, Violation};
use onehop_store::{ETag, Fault, Item, Ledger, PartitionKey, Store};

use self::deleted_accounts::{HeldReservations, RemovedAccounts};
use super::commands::UsernameReservations;
use super::containers::{ACCOUNTS, USERS};
use super::ids::UserId;
use super::items::{AccountItem, UserItem, is_user, types};
use super::read_models::read_models;
use crate::accounts::username::{NameKey, Username};

/// A verifier of the blog in this store.
#[must_use]
pub fn verifier(store: Arc<dyn Store>, settle: Arc<dyn Settle>) -> Verifier {
    let invariants: Vec<Box<dyn Invariant>> = vec![
        Box::new(Reservations { store: Arc::clone(&store) }),
        Box::new(RemovedAccounts { store: Arc::clone(&store) }),
        Box::new(HeldReservations { store: Arc::clone(&store) }),
    ];
    Verifier::new(read_models().clone(), store, settle, invariants)
}

/// The keys of each user's name are reserved for that user.
struct Reservations {
    store: Arc<dyn Store>,
}

#[async_trait]
impl Invariant for Reservations {
    fn name(&self) -> &'static str {
        "reservation"
    }

    fn item_type(&self) -> &ItemType {
        read_models().item_type(types::USER).expect("the model has users")
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let Some(id) = UserId::parse(id) else { return Ok(None) };
        let Some((user, source)) = self.user(id).await? else { return Ok(None) };
        let violation = |problem: &str, reservation: Option<&Item>| {
            let etag = |item: &Item| -> ETag { item.etag.clone() };
            let problem = format!("{}: {problem}", user.username);
            Some(Violation { problem, seen: vec![Some(etag(&source)), reservation.map(etag)] })
        };
        let Ok(username) = Username::parse(&user.username) else {
            return Ok(violation("the name does not keep the rules", None));
        };
        for (index, key) in username.keys().iter().enumerate() {
            let item = self.read(ACCOUNTS, &PartitionKey::from(key.as_str()), key.as_str()).await?;
            let holder = item.as_ref().map(|item| item.decode::<AccountItem>()).transpose()?;
            let problem = match holder.map(|account| account.user_id) {
                Some(holder) if holder == id => continue,
                // Two names from before there were skeletons may look alike.
                Some(holder) if index > 0 && self.has_key(holder, key).await? => continue,
                Some(_) if index > 0 => "a name that looks like it is reserved for another user",
                Some(_) => "the name is reserved for another user",
                None if index > 0 => "the name is not reserved against names that look like it",
                None => "the name is not reserved",
            };
            return Ok(violation(problem, item.as_ref()));
        }
        Ok(None)
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let Some(id) = UserId::parse(id) else { return Ok(false) };
        UsernameReservations::new(Arc::clone(&self.store)).reserve_again(id, &Ledger::new()).await
    }
}

impl Reservations {
    async fn read(
        &self,
        container: onehop_store::ContainerName,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<Item>, Fault> {
        self.store.read(container, key, id, &Ledger::new()).await
    }

    async fn user(&self, id: UserId) -> Result<Option<(UserItem, Item)>, Fault> {
        let item = self.read(USERS, &id.partition_key(), &id.to_string()).await?;
        let Some(item) = item else { return Ok(None) };
        Ok(if is_user(&item)? { Some((item.decode()?, item)) } else { None })
    }

    /// Whether the user has a name with this key.
    async fn has_key(&self, id: UserId, key: &NameKey) -> Result<bool, Fault> {
        let user = self.user(id).await?;
        let username = user.and_then(|(user, _)| Username::parse(&user.username).ok());
        Ok(username.is_some_and(|username| username.keys().contains(key)))
    }
}
