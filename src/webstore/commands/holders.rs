//! Holders of e-mail addresses: customers, and their reservations in the accounts container. See
//! [`crate::domain::reservations`] for why a crash between the reservation and the customer neither loses an
//! address nor gives it away twice.
//!
//! The id of a reservation is a hash of the address, so that the store's rules on ids do not matter.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;

use crate::accounts::email_address::EmailAddress;
use crate::domain::accounts::passwords::AccountPasswords;
use crate::domain::conditional_write::{self, ATTEMPTS_MAX, WriteAttempt};
use crate::domain::containers::{ABANDONED, ABANDONED_TTL_S};
use crate::domain::digest::sha256_hex;
use crate::domain::error::contended;
use crate::domain::reservations::{HolderLookup, Holders, KeyClaim, Reservations};
use crate::webstore::containers::CUSTOMER;
use crate::webstore::ids::CustomerId;
use crate::webstore::items::{AbandonedCustomerItem, CustomerItem, EmailReservationItem, types};
use onehop_store::{ETag, Fault, FaultKind, Item, Ledger, NewItem, Store, WriteOp};

/// The customers of a store, as holders of e-mail addresses.
#[derive(Clone)]
pub(in crate::webstore) struct Customers(pub(in crate::webstore) Arc<dyn Store>);

/// A customer as read.
pub(crate) struct StoredCustomer {
    pub(in crate::webstore) customer: CustomerItem,
    pub(in crate::webstore) etag: ETag,
    item: Item,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    item_type: String,
}

impl Customers {
    pub(in crate::webstore) fn reservations(&self) -> Reservations<'_, Self> {
        Reservations { store: &*self.0, holders: self }
    }

    /// The customer with this id.
    pub(in crate::webstore) async fn read(
        &self,
        id: CustomerId,
        ledger: &Ledger,
    ) -> Result<HolderLookup<StoredCustomer>, Fault> {
        let Some(item) = self.0.read(CUSTOMER, &id.partition_key(), &id.to_string(), ledger).await? else {
            return Ok(HolderLookup::Missing);
        };
        if item.decode::<Kind>()?.item_type == ABANDONED {
            return Ok(HolderLookup::Abandoned);
        }
        Ok(HolderLookup::Found(StoredCustomer { customer: item.decode()?, etag: item.etag.clone(), item }))
    }

    /// Creates the customer of a sign-up whose reservation is made; `None` when the sign-up was given up
    /// meanwhile.
    pub(super) async fn create(
        &self,
        customer: &CustomerItem,
        ledger: &Ledger,
    ) -> Result<Option<CustomerItem>, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(NewItem::encode(customer.id.to_string(), customer));
            if self.attempt(customer.id, create, ledger).await? == WriteAttempt::Written {
                return Ok(Some(customer.clone()));
            }
            match self.read(customer.id, ledger).await? {
                HolderLookup::Found(stored) => return Ok(Some(stored.customer)),
                HolderLookup::Abandoned => return Ok(None),
                HolderLookup::Missing => {}
            }
        }
        Err(contended("a customer"))
    }

    /// Replaces a customer that has not changed since it was read.
    pub(super) async fn replace(
        &self,
        customer: &CustomerItem,
        etag: ETag,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        let item = NewItem::encode(customer.id.to_string(), customer);
        self.attempt(customer.id, WriteOp::Replace { item, if_match: Some(etag) }, ledger).await
    }

    /// Moves the password that earlier versions kept in the customer to the accounts container. Safe to
    /// repeat.
    pub(in crate::webstore) async fn move_password(
        &self,
        customer: CustomerItem,
        ledger: &Ledger,
    ) -> Result<CustomerItem, Fault> {
        let Some(password) = &customer.password else { return Ok(customer) };
        // A later password is there already, and stays.
        let passwords = AccountPasswords::new(Arc::clone(&self.0));
        passwords.create(customer.id.into(), &password.hash, None, ledger).await?;
        for _ in 0..ATTEMPTS_MAX {
            let HolderLookup::Found(stored) = self.read(customer.id, ledger).await? else {
                return Ok(customer);
            };
            let current = stored.customer;
            if current.password.is_none() {
                return Ok(current);
            }
            let moved = CustomerItem { password: None, version: current.version + 1, ..current };
            if self.replace(&moved, stored.etag, ledger).await? == WriteAttempt::Written {
                return Ok(moved);
            }
        }
        Err(contended("a customer"))
    }

    /// Reserves the address of a customer again where its reservation is missing or has lapsed; says whether
    /// it was written.
    pub(in crate::webstore) async fn reserve_again(
        &self,
        id: CustomerId,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let HolderLookup::Found(stored) = self.read(id, ledger).await? else { return Ok(false) };
        let Ok(address) = EmailAddress::parse(&stored.customer.email_address) else { return Ok(false) };
        let (key, reservations) = (reservation_id(&address), self.reservations());
        let found = reservations.find(&key, ledger).await?;
        if found.is_some_and(|(reservation, _)| reservation.customer_id == id) {
            return Ok(false);
        }
        let claim = reservations.claim(&key, &reservation(&key, id, None), ledger).await?;
        Ok(matches!(claim, KeyClaim::Granted))
    }

    /// Deletes a reservation that has lapsed; says whether it was deleted.
    pub(in crate::webstore) async fn release_lapsed(
        &self,
        key: &str,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let reservations = self.reservations();
        let Some((reservation, etag)) = reservations.find(key, ledger).await? else { return Ok(false) };
        if !reservations.has_lapsed(key, reservation.customer_id, ledger).await? {
            return Ok(false);
        }
        Ok(reservations.delete(key, etag, ledger).await? == WriteAttempt::Written)
    }

    async fn attempt(
        &self,
        id: CustomerId,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        conditional_write::attempt(&*self.0, CUSTOMER, &id.partition_key(), operation, ledger).await
    }
}

#[async_trait]
impl Holders for Customers {
    type Id = CustomerId;
    type Holder = StoredCustomer;
    type Reservation = EmailReservationItem;

    fn holder_of(reservation: &EmailReservationItem) -> CustomerId {
        reservation.customer_id
    }

    fn renewed(wanted: &EmailReservationItem, _existing: &EmailReservationItem) -> EmailReservationItem {
        wanted.clone()
    }

    async fn find(&self, id: CustomerId, ledger: &Ledger) -> Result<HolderLookup<StoredCustomer>, Fault> {
        self.read(id, ledger).await
    }

    fn has_key(holder: &StoredCustomer, key: &str) -> Result<bool, Fault> {
        let address = EmailAddress::parse(&holder.customer.email_address).map_err(|error| {
            Fault::new(FaultKind::Corrupt, "a stored e-mail address breaks the rules").with_source(error)
        })?;
        Ok(reservation_id(&address) == key)
    }

    async fn confirm(&self, holder: StoredCustomer, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let id = holder.customer.id;
        let item = NewItem { id: id.to_string(), body: holder.item.body };
        self.attempt(id, WriteOp::Replace { item, if_match: Some(holder.etag) }, ledger).await
    }

    async fn abandon(&self, id: CustomerId, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let item_type = ABANDONED.to_owned();
        let block = AbandonedCustomerItem { id, item_type, customer_id: id, ttl: ABANDONED_TTL_S };
        self.attempt(id, WriteOp::Create(NewItem::encode(id.to_string(), &block)), ledger).await
    }
}

/// The id of the reservation of an address. No username has a colon.
pub(in crate::webstore) fn reservation_id(address: &EmailAddress) -> String {
    format!("email:{}", sha256_hex(&[&address.key()]))
}

/// A reservation of an address by a customer.
pub(super) fn reservation(
    id: &str,
    customer_id: CustomerId,
    idempotency_key_hash: Option<String>,
) -> EmailReservationItem {
    EmailReservationItem {
        id: id.to_owned(),
        item_type: types::EMAIL_ADDRESS.to_owned(),
        customer_id,
        idempotency_key_hash,
    }
}

/// A reservation of an address by a customer of a data set.
pub(in crate::webstore) fn email_reservation(
    address: &EmailAddress,
    customer_id: CustomerId,
) -> EmailReservationItem {
    reservation(&reservation_id(address), customer_id, None)
}
