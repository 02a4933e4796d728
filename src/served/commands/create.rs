//! Create: the checks of the input, the reservations of unique values, and the batch with the counts of
//! parents.

use std::sync::Arc;

use onehop_model::{Action, FieldKind};
use onehop_store::{Fault, Ledger, WriteOp};
use serde_json::{Map, Value, json};

use super::counts::MissingParent;
use super::{ServedCommand, ServedCommands, StoredBody, WrittenItem, new_item, next_version, refusal_of};
use crate::domain::conditional_write::ATTEMPTS_MAX;
use crate::domain::digest::sha256_hex;
use crate::domain::error::{CommandError, Refusal, contended};
use crate::domain::reservations::KeyClaim;
use crate::domain::text::IdempotencyKey;
use crate::served::ids::ItemPlace;
use crate::served::input::{input_fields, input_name};
use crate::served::model::{Body, TypeIndex, UniqueField};

/// The input field of the idempotency key.
pub const IDEMPOTENCY_KEY: &str = "idempotencyKey";
/// The property with the hash of the input of a creation with an idempotency key.
const CONTENT_HASH: &str = "contentHash";
/// The property that names the command which created an item with a derived id.
const COMMAND_ID: &str = "commandId";

/// The item for which unique values are reserved.
#[derive(Debug, Clone, Copy)]
pub(super) enum Claimant<'a> {
    /// An item whose id no other command has.
    New,
    /// An item that other commands may write at the same time, with the keys of its present values.
    Known(&'a [(UniqueField, String)]),
}

impl ServedCommands {
    /// Creates an item.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `UNAUTHENTICATED`, `FORBIDDEN`; `CONFLICT` for a taken value, for an
    /// item that exists, and for an idempotency key with other input.
    pub async fn create(
        &self,
        command: ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        if let Some(decision) = command.requester.decide_without_item(&command.mutation.grants) {
            refusal_of(decision)?;
        }
        let ty = command.mutation.ty;
        let key = idempotency_key(command.input)?;
        let mut body = self.new_body(&command, ledger).await?;
        self.authorize(&command, &body, ledger).await?;
        let id = self.new_item_id(&command, key.as_ref(), &body)?;
        if key.is_some() {
            let input = Value::Object(command.input.clone()).to_string();
            body.insert(CONTENT_HASH.to_owned(), json!(sha256_hex(&[&input])));
        }
        let place = self.identify(ty, id, &mut body)?;
        let is_known = key.is_some() || !self.ty(ty).item.id_from.is_empty();
        let claimant = if is_known { Claimant::Known(&[]) } else { Claimant::New };
        if let Claimant::New = claimant {
            self.claim(&place, &body, claimant, ledger).await?;
        }
        self.write_claimed(place, body, claimant, ledger).await
    }

    /// The properties of a new item without its id.
    pub(super) async fn new_body(
        &self,
        command: &ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<Body, CommandError> {
        let ty = self.ty(command.mutation.ty);
        let fields = input_fields(ty, Action::Create, &command.mutation.fields);
        let checked = self.check(command, &fields)?;
        let mut body = self.initial_body(ty);
        let filled = self.filled(ty, checked.values, ledger).await?;
        self.set_currencies(ty, &checked.currencies, &filled, &mut body)?;
        self.set_values(ty, filled.values, &mut body);
        // The caller decides the values that others have to agree with.
        let mut references = Vec::new();
        for field in &ty.item.fields {
            if let FieldKind::Reference(reference) = &field.kind
                && reference.caller
            {
                let place = match command.requester.account {
                    Some(account) => self.account_place(account, ledger).await?,
                    None => None,
                };
                let place = place.ok_or_else(|| Refusal::unauthenticated("Sign in to do this."))?;
                references.push((field.name.to_string(), vec![place]));
            }
        }
        references.extend(checked.references);
        self.set_references(command.mutation.ty, references, (None, &mut body), ledger).await?;
        self.compute(command.mutation.ty, &mut body)?;
        self.check_recognised(ty, &body)?;
        Ok(body)
    }

    /// Reserves the unique values of an item.
    ///
    /// # Errors
    /// `CONFLICT` on the field whose value is taken. Reservations of other fields are given back.
    pub(super) async fn claim(
        &self,
        place: &ItemPlace,
        body: &Body,
        claimant: Claimant<'_>,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let keys = self.unique.keys(place.ty, body);
        for (index, (unique, key)) in keys.iter().enumerate() {
            let wanted = self.unique.reservation(key, place);
            if let KeyClaim::Held { .. } = self.unique.reservations().claim(key, &wanted, ledger).await? {
                self.give_back(&keys[..index], place, claimant, ledger).await?;
                let text = format!("this {} is taken", unique.name);
                return Err(Refusal::conflict(unique.name, &text).into());
            }
        }
        Ok(())
    }

    /// Deletes the reservations of a refused write.
    async fn give_back(
        &self,
        keys: &[(UniqueField, String)],
        place: &ItemPlace,
        claimant: Claimant<'_>,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        for (_, key) in keys {
            match claimant {
                Claimant::New => {
                    let own = self.unique.own(std::iter::once(key.as_str()), place, ledger).await?;
                    self.unique.release(own, ledger).await?;
                }
                Claimant::Known(before) if before.iter().any(|(_, present)| present == key) => {}
                Claimant::Known(_) => self.unique.release_lapsed(key, place, ledger).await?,
            }
        }
        Ok(())
    }

    /// Writes a new item. One with a new id has its unique values reserved, and gives them back where it is
    /// refused.
    pub(super) async fn write_claimed(
        &self,
        place: ItemPlace,
        body: Body,
        claimant: Claimant<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let keys = self.unique.keys(place.ty, &body);
        let written = self.write_new(place.clone(), body, claimant, ledger).await;
        if let (Err(CommandError::Rejected(_)), Claimant::New) = (&written, claimant) {
            self.give_back(&keys, &place, claimant, ledger).await?;
        }
        written
    }

    /// Writes a new item with the counts of its parents. Safe to repeat with the same id. An item that other
    /// commands may write reserves its values here, after each look at the stored item: a command that takes
    /// a reservation over has rewritten that item before, so this write fails and looks again.
    pub(super) async fn write_new(
        &self,
        place: ItemPlace,
        mut body: Body,
        claimant: Claimant<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let is_derived = !self.ty(place.ty).item.id_from.is_empty();
        if is_derived {
            body.insert(COMMAND_ID.to_owned(), json!(self.ids.next_id(self.clock.now_ms()).to_string()));
        }
        let _turn = self.turns.wait(self.turn_key(&place)).await;
        for _ in 0..ATTEMPTS_MAX {
            let existing = match is_derived || body.contains_key(CONTENT_HASH) {
                true => self.existing(&place, &body, ledger).await?,
                false => None,
            };
            let operation = match existing {
                Some(existing) if self.is_present(place.ty, &existing.body) => {
                    self.check_repeated(place.ty, &body, &existing.body)?;
                    return Ok(WrittenItem { place, body: Arc::new(existing.body) });
                }
                Some(existing) => {
                    let version = existing.body.get("version").cloned().unwrap_or(json!(1));
                    body.insert("version".to_owned(), version);
                    next_version(&mut body);
                    WriteOp::Replace { item: new_item(&place, &body), if_match: Some(existing.etag) }
                }
                None => WriteOp::Create(new_item(&place, &body)),
            };
            let counts = self.count_writes((place.ty, &body), 1, ledger).await?;
            let counts = counts.map_err(|MissingParent| self.missing_parent(place.ty))?;
            if let Claimant::Known(_) = claimant {
                self.claim(&place, &body, claimant, ledger).await?;
            }
            let operations = std::iter::once(operation).chain(counts).collect();
            if self.write(&place, operations, ledger).await?.is_some() {
                return Ok(WrittenItem { place, body: Arc::new(body) });
            }
            // The answer may be lost, or a parent has changed.
            if let Some(found) = self.stored(&*self.store, &place, ledger).await?
                && !is_derived
                && !body.contains_key(CONTENT_HASH)
            {
                return match self.is_present(place.ty, &found.body) {
                    true => Ok(WrittenItem { place, body: Arc::new(found.body) }),
                    false => Err(contended("a reservation").into()),
                };
            }
        }
        Err(contended("an item").into())
    }

    /// The item that a creation finds in its place, also a deleted one. A replica may lag, so the latest
    /// commit decides about an item for which the creation is refused.
    async fn existing(
        &self,
        place: &ItemPlace,
        wanted: &Body,
        ledger: &Ledger,
    ) -> Result<Option<StoredBody>, Fault> {
        let found = self.stored(&*self.store, place, ledger).await?;
        let is_refused = |found: &StoredBody| {
            self.is_present(place.ty, &found.body)
                && self.check_repeated(place.ty, wanted, &found.body).is_err()
        };
        if found.as_ref().is_some_and(is_refused) {
            return self.stored(&*self.latest, place, ledger).await;
        }
        Ok(found)
    }

    /// # Errors
    /// `CONFLICT` where the item of a creation exists, and is no other attempt of it.
    fn check_repeated(&self, ty: TypeIndex, wanted: &Body, existing: &Body) -> Result<(), Refusal> {
        let is_own = existing.get(COMMAND_ID) == wanted.get(COMMAND_ID);
        let hash = wanted.get(CONTENT_HASH);
        if (wanted.contains_key(COMMAND_ID) && is_own)
            || (hash.is_some() && existing.get(CONTENT_HASH) == hash)
        {
            return Ok(());
        }
        let ty = self.ty(ty);
        match (hash, ty.item.id_from.first()) {
            (Some(_), None) => Err(Refusal::key_reused()),
            (_, first) => {
                let field = first.and_then(|name| ty.item.field(name)).map_or("id", input_name);
                Err(Refusal::conflict(field, &format!("this {} exists already", ty.name)))
            }
        }
    }

    fn missing_parent(&self, ty: TypeIndex) -> Refusal {
        let ty = self.ty(ty);
        let parent = ty.counted_in.first().map_or("item", |count| self.ty(count.parent).name);
        let field = ty.counted_in.first().map_or("id", |count| count.by);
        Refusal::not_found(field, &format!("there is no such {parent}"))
    }
}

/// The idempotency key of an input.
fn idempotency_key(input: &Map<String, Value>) -> Result<Option<IdempotencyKey>, Refusal> {
    let typed = input.get(IDEMPOTENCY_KEY).and_then(Value::as_str);
    typed.map(|typed| IdempotencyKey::parse(typed.to_owned())).transpose()
}
