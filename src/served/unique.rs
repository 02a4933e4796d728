//! Unique fields of served items, by reservations in the accounts container. See
//! [`crate::domain::reservations`] for why a crash neither loses a value nor gives it twice.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use onehop_model::Normalize;
use onehop_store::{
    ETag, Fault, Item, KEY_SEPARATOR, Ledger, NewItem, PartitionKey, Store, WriteOp, key_value,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids::ItemPlace;
use super::model::{Body, ServedModel, TypeIndex, UniqueField};
use super::reads::is_deleted;
use super::stored;
use crate::accounts::email_address::EmailAddress;
use crate::accounts::username::{Username, UsernameError};
use crate::domain::conditional_write::{self, WriteAttempt};
use crate::domain::containers::{ABANDONED, ABANDONED_TTL_S};
use crate::domain::digest::sha256_hex;
use crate::domain::reservations::{HolderLookup, Holders, Reservations};

/// The value of `type` of a reservation.
pub(super) const RESERVATION: &str = "reservation";

/// The items of a model, as holders of unique values.
#[derive(Clone)]
pub(crate) struct UniqueValues {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<ServedModel>,
}

/// The reservation of a value.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UniqueReservation {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    /// The value of `type` of the holder.
    holder_type: String,
    holder_partition: String,
    holder_id: String,
}

/// The holder of a value: its `type`, partition key and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HolderId {
    holder_type: String,
    partition: String,
    id: String,
}

/// A holder as it was read.
pub(crate) struct StoredHolder {
    pub(crate) place: ItemPlace,
    /// The keys of its unique values.
    pub(crate) keys: Vec<String>,
    item: Item,
}

/// A reservation of an item, as it was read.
pub(crate) struct OwnReservation {
    key: String,
    etag: ETag,
}

/// A text that has no normal form: it breaks the rules of its kind.
pub(crate) type InvalidForm = String;

impl UniqueValues {
    pub(crate) fn reservations(&self) -> Reservations<'_, Self> {
        Reservations { store: &*self.store, holders: self }
    }

    /// A reservation of a value by an item.
    pub(crate) fn reservation(&self, key: &str, place: &ItemPlace) -> UniqueReservation {
        UniqueReservation {
            id: key.to_owned(),
            item_type: RESERVATION.to_owned(),
            holder_type: self.model.ty(place.ty).type_value.to_owned(),
            holder_partition: place.partition.as_str().to_owned(),
            holder_id: place.id.clone(),
        }
    }

    /// Whether a reservation points to an item.
    pub(crate) fn is_of(&self, reservation: &UniqueReservation, place: &ItemPlace) -> bool {
        holder_is(&self.model, reservation, place)
    }

    /// The place of a reservation's holder; `None` where the model has no such type.
    pub(crate) fn place_of(&self, reservation: &UniqueReservation) -> Option<ItemPlace> {
        self.place(&Self::holder_of(reservation))
    }

    /// Whether the holder of a reservation may expire.
    pub(crate) fn expires(&self, reservation: &UniqueReservation) -> bool {
        let holder = self.place_of(reservation);
        holder.is_some_and(|holder| self.model.model().expires(&self.model.ty(holder.ty).item))
    }

    /// The reservations that an item should have: the keys of its unique values.
    pub(crate) fn keys(&self, ty: TypeIndex, body: &Body) -> Vec<(UniqueField, String)> {
        keys_of(&self.model, ty, body)
    }

    fn place(&self, holder: &HolderId) -> Option<ItemPlace> {
        let (ty, _) = self.model.types().find(|(_, ty)| ty.type_value == holder.holder_type)?;
        Some(ItemPlace {
            ty,
            partition: PartitionKey::from(holder.partition.as_str()),
            id: holder.id.clone(),
        })
    }

    async fn write(
        &self,
        place: &ItemPlace,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        let container = self.model.ty(place.ty).container;
        conditional_write::attempt(&*self.store, container, &place.partition, operation, ledger).await
    }

    /// Deletes the reservation of an item that does not have the value, unless another command is about to
    /// write it.
    pub(crate) async fn release_lapsed(
        &self,
        key: &str,
        place: &ItemPlace,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let reservations = self.reservations();
        let Some((found, etag)) = reservations.find(key, ledger).await? else { return Ok(()) };
        if self.is_of(&found, place) && reservations.has_lapsed(key, Self::holder_of(&found), ledger).await? {
            // A claim that changed the reservation meanwhile keeps it.
            reservations.delete(key, etag, ledger).await?;
        }
        Ok(())
    }

    /// The present reservations of an item among these keys. They are read before the item is written without
    /// the keys: the item may take a key again at once, and that claim writes the reservation anew.
    pub(crate) async fn own<'k>(
        &self,
        keys: impl Iterator<Item = &'k str> + Send,
        place: &ItemPlace,
        ledger: &Ledger,
    ) -> Result<Vec<OwnReservation>, Fault> {
        let mut own = Vec::new();
        for key in keys {
            let found = self.reservations().find(key, ledger).await?;
            let found = found.filter(|(found, _)| self.is_of(found, place));
            own.extend(found.map(|(_, etag)| OwnReservation { key: key.to_owned(), etag }));
        }
        Ok(own)
    }

    /// Deletes reservations, but for those that a later claim has written.
    pub(crate) async fn release(&self, own: Vec<OwnReservation>, ledger: &Ledger) -> Result<(), Fault> {
        for OwnReservation { key, etag } in own {
            self.release_one(&key, &etag, ledger).await?;
        }
        Ok(())
    }

    async fn release_one(&self, key: &str, etag: &ETag, ledger: &Ledger) -> Result<(), Fault> {
        let reservations = self.reservations();
        for _ in 0..conditional_write::ATTEMPTS_MAX {
            if reservations.delete(key, etag.clone(), ledger).await? == WriteAttempt::Written {
                return Ok(());
            }
            let now = reservations.find(key, ledger).await?;
            if now.is_none_or(|(_, now)| now != *etag) {
                return Ok(());
            }
        }
        Err(crate::domain::error::contended("a reservation"))
    }
}

#[async_trait]
impl Holders for UniqueValues {
    type Id = HolderId;
    type Holder = StoredHolder;
    type Reservation = UniqueReservation;

    fn holder_of(reservation: &UniqueReservation) -> HolderId {
        HolderId {
            holder_type: reservation.holder_type.clone(),
            partition: reservation.holder_partition.clone(),
            id: reservation.holder_id.clone(),
        }
    }

    fn renewed(wanted: &UniqueReservation, _existing: &UniqueReservation) -> UniqueReservation {
        wanted.clone()
    }

    async fn find(&self, id: HolderId, ledger: &Ledger) -> Result<HolderLookup<StoredHolder>, Fault> {
        let Some(place) = self.place(&id) else { return Ok(HolderLookup::Abandoned) };
        let container = self.model.ty(place.ty).container;
        let Some(item) = self.store.read(container, &place.partition, &place.id, ledger).await? else {
            return Ok(HolderLookup::Missing);
        };
        let body = self.model.decoded(place.ty, &item)?;
        if body.get("type").and_then(Value::as_str) == Some(ABANDONED) {
            return Ok(HolderLookup::Abandoned);
        }
        let keys = match is_deleted(&body) {
            true => Vec::new(),
            false => self.keys(place.ty, &body).into_iter().map(|(_, key)| key).collect(),
        };
        Ok(HolderLookup::Found(StoredHolder { place, keys, item }))
    }

    fn has_key(holder: &StoredHolder, key: &str) -> Result<bool, Fault> {
        Ok(holder.keys.iter().any(|known| known == key))
    }

    async fn confirm(&self, holder: StoredHolder, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let item = NewItem { id: holder.place.id.clone(), body: holder.item.body };
        let etag: ETag = holder.item.etag;
        self.write(&holder.place, WriteOp::Replace { item, if_match: Some(etag) }, ledger).await
    }

    async fn abandon(&self, id: HolderId, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let Some(place) = self.place(&id) else { return Ok(WriteAttempt::LookAgain) };
        let key_properties = self.model.ty(place.ty).key_properties;
        let mut block = Body::new();
        for (property, value) in key_properties.iter().zip(place.partition.as_str().split(KEY_SEPARATOR)) {
            block.insert((*property).to_owned(), key_value(value));
        }
        block.insert("id".to_owned(), json!(place.id));
        if !key_properties.contains(&"type") {
            block.insert("type".to_owned(), json!(ABANDONED));
        } else {
            block.insert("deleted".to_owned(), json!(true));
        }
        block.insert("ttl".to_owned(), json!(ABANDONED_TTL_S));
        let item = NewItem::encode(place.id.clone(), &block);
        self.write(&place, WriteOp::Create(item), ledger).await
    }
}

/// The keys of the unique values of an item.
pub(crate) fn keys_of(model: &ServedModel, ty: TypeIndex, body: &Body) -> Vec<(UniqueField, String)> {
    let served = model.ty(ty);
    let mut found = Vec::new();
    for unique in &served.unique {
        let Some(field) = served.item.field(unique.name) else { continue };
        let value = stored::value_of(model.model(), &served.item.fields, field, body);
        let keys = unique_text(&value).map(|text| reservation_keys(model, ty, unique, &text));
        let keys = keys.and_then(Result::ok).unwrap_or_default();
        found.extend(keys.into_iter().map(|key| (*unique, key)));
    }
    found
}

/// A unique value as text: a text itself, or the digits of a whole number.
pub(crate) fn unique_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// Whether a reservation points to an item.
pub(crate) fn holder_is(model: &ServedModel, reservation: &UniqueReservation, place: &ItemPlace) -> bool {
    reservation.holder_type == model.ty(place.ty).type_value
        && reservation.holder_partition == place.partition.as_str()
        && reservation.holder_id == place.id
}

/// The ids of the reservations of a value: one, and of a username one more for each look-alike form.
///
/// # Errors
/// The rule that the value breaks.
pub(crate) fn reservation_keys(
    model: &ServedModel,
    ty: TypeIndex,
    unique: &UniqueField,
    value: &str,
) -> Result<Vec<String>, InvalidForm> {
    let forms = match unique.normalize {
        Normalize::Exact => vec![value.to_owned()],
        Normalize::Lower => vec![value.to_lowercase()],
        Normalize::Email => vec![EmailAddress::parse(value).map_err(|error| error.to_string())?.key()],
        Normalize::Username => {
            let name = Username::parse(value).map_err(rule_of_name)?;
            name.keys().iter().map(|key| key.as_str().to_owned()).collect()
        }
    };
    let id = |form: String| format!("unique:{}", sha256_hex(&[model.ty(ty).type_value, unique.name, &form]));
    Ok(forms.into_iter().map(id).collect())
}

/// The rule that a name breaks, as the end of a sentence about the field.
fn rule_of_name(error: UsernameError) -> InvalidForm {
    let rule = error.to_string();
    match error {
        UsernameError::Reserved => "is reserved".to_owned(),
        _ => rule.strip_prefix("Usernames ").map_or(rule.clone(), str::to_owned),
    }
}

/// The rule that a chosen value breaks, beyond its normal form.
pub(crate) fn check_chosen(normalize: Normalize, value: &str) -> Result<(), InvalidForm> {
    match normalize {
        Normalize::Email => EmailAddress::choose(value).map(drop).map_err(|error| error.to_string()),
        Normalize::Username => Username::choose(value).map(drop).map_err(rule_of_name),
        Normalize::Exact | Normalize::Lower => Ok(()),
    }
}
