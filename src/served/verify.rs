//! Verification of a served model: its read models, the computed values that items store, that each unique
//! value is reserved for its one item, and that each reservation has its item.

use std::sync::Arc;

use async_trait::async_trait;
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Invariant, Settle, Verifier, Violation};
use onehop_store::{Fault, Ledger, PartitionKey, Store};

use super::computed_values;
use super::ids::ItemPlace;
use super::model::{ServedModel, TypeIndex};
use super::unique::{RESERVATION, UniqueValues};
use crate::domain::conditional_write::WriteAttempt;
use crate::domain::containers::ACCOUNTS;
use crate::domain::reservations::{HolderLookup, Holders as _, KeyClaim};

/// A verifier of a served model in this store.
#[must_use]
pub fn verifier(model: &Arc<ServedModel>, store: Arc<dyn Store>, settle: Arc<dyn Settle>) -> Verifier {
    let values = UniqueValues { store: Arc::clone(&store), model: Arc::clone(model) };
    let mut invariants = computed_values::invariants(model, &store);
    let of_values = invariants.len();
    for (ty, served) in model.types().filter(|(_, served)| !served.unique.is_empty()) {
        let item_type = ItemType::new(served.container, served.type_value, &[]);
        invariants.push(Box::new(ReservedValues { values: values.clone(), ty, item_type }));
    }
    if invariants.len() > of_values {
        let item_type = ItemType::new(ACCOUNTS, RESERVATION, &[]);
        invariants.push(Box::new(HeldReservations { values, item_type }));
    }
    Verifier::new(model.read_models().clone(), store, settle, invariants)
}

/// The unique values of each item of a type are reserved for it.
struct ReservedValues {
    values: UniqueValues,
    ty: TypeIndex,
    item_type: ItemType,
}

impl ReservedValues {
    fn place(&self, partition_key: &PartitionKey, id: &str) -> ItemPlace {
        ItemPlace { ty: self.ty, partition: partition_key.clone(), id: id.to_owned() }
    }

    /// The keys of the values of an item that is there.
    async fn keys(&self, place: &ItemPlace) -> Result<Vec<String>, Fault> {
        let holder = UniqueValues::holder_of(&self.values.reservation("", place));
        Ok(match self.values.find(holder, &Ledger::new()).await? {
            HolderLookup::Found(found) => found.keys,
            HolderLookup::Missing | HolderLookup::Abandoned => Vec::new(),
        })
    }
}

#[async_trait]
impl Invariant for ReservedValues {
    fn name(&self) -> &'static str {
        "uniqueValue"
    }

    fn item_type(&self) -> &ItemType {
        &self.item_type
    }

    async fn violation(&self, partition_key: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let place = self.place(partition_key, id);
        for key in self.keys(&place).await? {
            let found = self.values.reservations().find(&key, &Ledger::new()).await?;
            let problem = match found.as_ref() {
                Some((reservation, _)) if self.values.is_of(reservation, &place) => continue,
                Some(_) => "a unique value is reserved for another item",
                None => "a unique value is not reserved",
            };
            return Ok(Some(Violation {
                problem: problem.to_owned(),
                seen: vec![found.map(|(_, etag)| etag)],
            }));
        }
        Ok(None)
    }

    async fn repair(&self, partition_key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let (place, mut is_written) = (self.place(partition_key, id), false);
        for key in self.keys(&place).await? {
            let found = self.values.reservations().find(&key, &Ledger::new()).await?;
            if found.is_some_and(|(reservation, _)| self.values.is_of(&reservation, &place)) {
                continue;
            }
            let wanted = self.values.reservation(&key, &place);
            let claim = self.values.reservations().claim(&key, &wanted, &Ledger::new()).await?;
            is_written |= matches!(claim, KeyClaim::Granted);
        }
        Ok(is_written)
    }
}

/// Each reservation has an item with its value. A creation that died leaves one without.
struct HeldReservations {
    values: UniqueValues,
    item_type: ItemType,
}

#[async_trait]
impl Invariant for HeldReservations {
    fn name(&self) -> &'static str {
        "reservation"
    }

    fn item_type(&self) -> &ItemType {
        &self.item_type
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let ledger = Ledger::new();
        let Some((reservation, etag)) = self.values.reservations().find(id, &ledger).await? else {
            return Ok(None);
        };
        let holder = self.values.find(UniqueValues::holder_of(&reservation), &ledger).await?;
        let is_held = match holder {
            HolderLookup::Found(found) => found.keys.iter().any(|key| key == id),
            // The item has expired. The next item with the value takes it over.
            HolderLookup::Missing => self.values.expires(&reservation),
            HolderLookup::Abandoned => false,
        };
        let problem = "no item has the reserved value".to_owned();
        Ok((!is_held).then(|| Violation { problem, seen: vec![Some(etag)] }))
    }

    fn is_repaired_by_deletion(&self) -> bool {
        true
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let (reservations, ledger) = (self.values.reservations(), Ledger::new());
        let Some((reservation, etag)) = reservations.find(id, &ledger).await? else { return Ok(false) };
        if !reservations.has_lapsed(id, UniqueValues::holder_of(&reservation), &ledger).await? {
            return Ok(false);
        }
        Ok(reservations.delete(id, etag, &ledger).await? == WriteAttempt::Written)
    }
}
