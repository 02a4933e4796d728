//! Verification of the web store: its read models, and that each e-mail address is reserved for its one
//! customer, and each SKU for its one product.

mod skus;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Invariant, Settle, Verifier, Violation};
use onehop_store::{Fault, Ledger, PartitionKey, Store};

use self::skus::{HeldSkus, ReservedSkus};
use super::commands::{Customers, Products, reservation_id};
use super::ids::CustomerId;
use super::items::{CustomerItem, types};
use super::read_models::read_models;
use crate::accounts::email_address::EmailAddress;
use crate::domain::containers::ACCOUNTS;
use crate::domain::reservations::HolderLookup;

/// Reservations of e-mail addresses, by a hash of the address.
static EMAIL_RESERVATION: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(ACCOUNTS, types::EMAIL_ADDRESS, &["customerId"]));

/// A verifier of the web store in this store.
#[must_use]
pub fn verifier(store: Arc<dyn Store>, settle: Arc<dyn Settle>) -> Verifier {
    let (customers, products) = (Customers(Arc::clone(&store)), Products(Arc::clone(&store)));
    let invariants: Vec<Box<dyn Invariant>> = vec![
        Box::new(ReservedAddresses(customers.clone())),
        Box::new(HeldReservations(customers.clone())),
        Box::new(MovedPasswords(customers)),
        Box::new(ReservedSkus(products.clone())),
        Box::new(HeldSkus(products)),
    ];
    Verifier::new(read_models().clone(), store, settle, invariants)
}

/// No customer holds a password: earlier versions stored it there, from where it travels through the change
/// feed.
struct MovedPasswords(Customers);

#[async_trait]
impl Invariant for MovedPasswords {
    fn name(&self) -> &'static str {
        "customerPassword"
    }

    fn item_type(&self) -> &ItemType {
        read_models().item_type(types::CUSTOMER).expect("the model has customers")
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let Some(id) = customer_id(id) else { return Ok(None) };
        match self.0.read(id, &Ledger::new()).await? {
            HolderLookup::Found(stored) if stored.customer.password.is_some() => {
                Ok(violation("the customer holds the hash of its password", [Some(stored.etag), None]))
            }
            _ => Ok(None),
        }
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let (Some(id), ledger) = (customer_id(id), Ledger::new()) else { return Ok(false) };
        let HolderLookup::Found(stored) = self.0.read(id, &ledger).await? else { return Ok(false) };
        let is_held = stored.customer.password.is_some();
        self.0.move_password(stored.customer, &ledger).await?;
        Ok(is_held)
    }
}

/// The e-mail address of each customer is reserved for that customer.
struct ReservedAddresses(Customers);

#[async_trait]
impl Invariant for ReservedAddresses {
    fn name(&self) -> &'static str {
        "emailAddress"
    }

    fn item_type(&self) -> &ItemType {
        read_models().item_type(types::CUSTOMER).expect("the model has customers")
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let (Some(id), ledger) = (customer_id(id), Ledger::new()) else { return Ok(None) };
        let HolderLookup::Found(stored) = self.0.read(id, &ledger).await? else { return Ok(None) };
        let Some(key) = key_of(&stored.customer) else {
            return Ok(violation("the e-mail address does not keep the rules", [Some(stored.etag), None]));
        };
        let reserved = self.0.reservations().find(&key, &ledger).await?;
        let (holder, etag) = reserved.map(|(reservation, etag)| (reservation.customer_id, etag)).unzip();
        let problem = match holder {
            Some(holder) if holder == id => return Ok(None),
            Some(holder) if self.holds(holder, &key, &ledger).await? => {
                "another customer has the e-mail address"
            }
            Some(_) => "the e-mail address is reserved for another customer",
            None => "the e-mail address is not reserved",
        };
        Ok(violation(problem, [Some(stored.etag), etag]))
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let Some(id) = customer_id(id) else { return Ok(false) };
        self.0.reserve_again(id, &Ledger::new()).await
    }
}

impl ReservedAddresses {
    /// Whether a customer has the address with this key.
    async fn holds(&self, id: CustomerId, key: &str, ledger: &Ledger) -> Result<bool, Fault> {
        let found = self.0.read(id, ledger).await?;
        Ok(matches!(found, HolderLookup::Found(stored) if key_of(&stored.customer).as_deref() == Some(key)))
    }
}

/// Each reservation of an e-mail address has its customer. A sign-up that died leaves one without.
struct HeldReservations(Customers);

#[async_trait]
impl Invariant for HeldReservations {
    fn name(&self) -> &'static str {
        "emailReservation"
    }

    fn item_type(&self) -> &ItemType {
        &EMAIL_RESERVATION
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let ledger = Ledger::new();
        let Some((reservation, etag)) = self.0.reservations().find(id, &ledger).await? else {
            return Ok(None);
        };
        match self.0.read(reservation.customer_id, &ledger).await? {
            HolderLookup::Found(stored) => {
                // An address that breaks the rules is reported with its customer.
                let is_other = key_of(&stored.customer).is_some_and(|key| key != id);
                let found =
                    || violation("the customer has another e-mail address", [Some(stored.etag), Some(etag)]);
                Ok(is_other.then(found).flatten())
            }
            HolderLookup::Missing | HolderLookup::Abandoned => {
                Ok(violation("there is no customer with the reserved e-mail address", [None, Some(etag)]))
            }
        }
    }

    fn is_repaired_by_deletion(&self) -> bool {
        true
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        self.0.release_lapsed(id, &Ledger::new()).await
    }
}

/// The id of the reservation of a customer's address; `None` where the address breaks the rules.
fn key_of(customer: &CustomerItem) -> Option<String> {
    EmailAddress::parse(&customer.email_address).ok().map(|address| reservation_id(&address))
}

fn violation(problem: &str, seen: [Option<onehop_store::ETag>; 2]) -> Option<Violation> {
    Some(Violation { problem: problem.to_owned(), seen: seen.into() })
}

fn customer_id(id: &str) -> Option<CustomerId> {
    id.parse().ok().map(CustomerId)
}
