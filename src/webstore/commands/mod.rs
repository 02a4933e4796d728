//! The write side of the web store: one file for each subject, with its inputs, its refusals, and its writes.
//!
//! [`WebstoreCommands`] owns the rules of writing: limits, exact counts, repeats with an idempotency key. It
//! refuses to know tokens, GraphQL and HTTP, and it writes no read model: copies follow by the change feed. A
//! new product gets the names of its category and tags by point reads. Commands for staff ask for a
//! [`StaffMember`](crate::accounts::staff::StaffMember). A command returns the items that its
//! write leaves.

mod address;
mod customer;
mod customer_account;
mod holders;
mod meta;
mod product;
mod sales_order;
pub(in crate::webstore) mod skus;
mod text;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::accounts::password::PasswordHasher;
use crate::domain::accounts::passwords::AccountPasswords;
use crate::domain::conditional_write::{self, ATTEMPTS_MAX, is_ambiguous, judge};
use crate::domain::error::{CommandError, Refusal, contended};
use crate::domain::ids::IdSource;
use crate::domain::keyed_turns::KeyedTurns;
use onehop_runtime::clock::Clock;
use onehop_store::{ContainerName, Fault, Item, Ledger, NewItem, PartitionKey, Store, WriteOp};

pub use address::{ADDRESSES_MAX, TypedAddress};
pub use customer::{CreateCustomer, UpdateCustomer};
pub use customer_account::{ChangeCustomerPassword, ChangeEmailAddress, SignInCustomer};
pub(in crate::webstore) use holders::{Customers, email_reservation, reservation_id};
pub use meta::{META_ITEMS_MAX, MetaKind};
pub use product::{CreateProduct, TAGS_PER_PRODUCT_MAX, TypedMoney, UpdateProduct};
pub use sales_order::{
    CreateSalesOrder, DeleteSalesOrder, ORDER_LINES_MAX, OrderedProduct, QUANTITY_MAX, SettledOrder,
};
pub(in crate::webstore) use skus::{ProductKey, Products, sku_reservation, sku_reservation_id};

/// The parts that the commands need from outside.
pub struct WebstoreParts {
    pub store: Arc<dyn Store>,
    /// The same store, whose reads see the latest commit of all processes. They decide where nothing would be
    /// written: other reads may come from a replica that lags, and only a conditional write shows that.
    pub latest: Arc<dyn Store>,
    /// The store that sign-ins read. It does the same point reads, and charges the same, with and without a
    /// customer.
    pub sign_in_store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub passwords: PasswordHasher,
}

/// The write side. Cheap to clone.
#[derive(Clone)]
pub struct WebstoreCommands {
    store: Arc<dyn Store>,
    latest: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    passwords: PasswordHasher,
    account_passwords: AccountPasswords,
    customers: Customers,
    /// The same for sign-ins.
    signing_in: Customers,
    products: Products,
    /// Commands on one customer take turns: they would only refuse each other.
    turns: Arc<KeyedTurns>,
}

impl WebstoreCommands {
    /// The write side over these parts.
    #[must_use]
    pub fn new(parts: WebstoreParts) -> Self {
        let WebstoreParts { store, latest, sign_in_store, clock, ids, passwords } = parts;
        let (customers, products) = (Customers(Arc::clone(&store)), Products(Arc::clone(&store)));
        let account_passwords = AccountPasswords::new(Arc::clone(&store));
        Self {
            store,
            latest,
            clock,
            ids,
            passwords,
            account_passwords,
            customers,
            signing_in: Customers(sign_in_store),
            products,
            turns: Arc::default(),
        }
    }

    fn new_id(&self) -> Uuid {
        self.ids.next_id(self.clock.now_ms())
    }

    async fn create_new<T: Serialize>(
        &self,
        (container, partition_key): (ContainerName, &PartitionKey),
        id: String,
        item: &T,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let item = NewItem::encode(id, item);
        conditional_write::create_new(&*self.store, container, partition_key, &item, ledger).await
    }

    /// Changes an item by optimistic concurrency: reads it, applies the change, and replaces it unless
    /// another write was faster. `None` from the change leaves the item unchanged.
    ///
    /// # Errors
    /// `absent` if the item does not exist, a refusal of the change, `Unavailable` when others kept changing
    /// the item, or `Ambiguous` where it would be refused after a write without an answer.
    async fn change<T>(
        &self,
        ItemAddress { container, partition_key, item_type }: ItemAddress<'_>,
        id: &str,
        absent: impl Fn() -> Refusal + Send + Sync,
        change: impl Fn(&T) -> Result<Option<T>, Refusal> + Send + Sync,
        ledger: &Ledger,
    ) -> Result<T, CommandError>
    where
        T: Serialize + DeserializeOwned + Send + Sync,
    {
        // Whose answer may have been lost.
        let mut tried: Option<NewItem> = None;
        let (mut is_latest, mut may_be_done) = (false, false);
        let refused = |refusal: Refusal, may_be_done| CommandError::from(refusal).unless_done(may_be_done);
        for _ in 0..ATTEMPTS_MAX {
            let store = if is_latest { &self.latest } else { &self.store };
            let Some(item) = store.read(container, partition_key, id, ledger).await? else {
                return Err(refused(absent(), may_be_done));
            };
            if !is_of_type(&item, item_type)? {
                return Err(refused(absent(), may_be_done));
            }
            let current: T = item.decode()?;
            if tried.as_ref().is_some_and(|tried| tried.body == NewItem::encode(id, &current).body) {
                return Ok(current);
            }
            let changed = match change(&current) {
                Ok(Some(changed)) => changed,
                _ if !is_latest => {
                    is_latest = true;
                    continue;
                }
                Ok(None) => return Ok(current),
                Err(refusal) => return Err(refused(refusal, may_be_done)),
            };
            let wanted = NewItem::encode(id, &changed);
            let write = WriteOp::Replace { item: wanted.clone(), if_match: Some(item.etag.clone()) };
            let written = self.store.write(container, partition_key, write, ledger).await;
            may_be_done |= is_ambiguous(&written);
            if judge(written)?.is_some() {
                return Ok(changed);
            }
            tried = Some(wanted);
        }
        Err(contended("an item").into())
    }
}

/// Where an item lies, and which type it has.
struct ItemAddress<'a> {
    container: ContainerName,
    partition_key: &'a PartitionKey,
    item_type: &'static str,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    item_type: String,
}

/// Whether an item has a type. A container may hold several types under ids that clients name.
fn is_of_type(item: &Item, item_type: &str) -> Result<bool, Fault> {
    Ok(item.decode::<Kind>()?.item_type == item_type)
}

impl std::fmt::Debug for WebstoreCommands {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WebstoreCommands").finish_non_exhaustive()
    }
}
