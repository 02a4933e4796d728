//! Create: the checks of the input, the references with their copies, the reservations of unique values, and
//! the batch with the counts of parents.

use std::sync::Arc;

use onehop_model::{
    Action, Computed, Field, FieldKind, ItemType, Kept, Literal, PathCondition, PathTest, ReferenceField,
    Scalar, TypeOf, ValueSource,
};
use onehop_store::{KEY_SEPARATOR, Ledger, WriteOp, key_value};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::counts::MissingParent;
use super::embedded::FilledValues;
use super::{ServedCommand, ServedCommands, WrittenItem, new_item, next_version, refusal_of};
use crate::domain::conditional_write::ATTEMPTS_MAX;
use crate::domain::digest::sha256_hex;
use crate::domain::error::{CommandError, Refusal, contended};
use crate::domain::reservations::KeyClaim;
use crate::domain::text::IdempotencyKey;
use crate::served::amounts::{AmountError, evaluated, stored_form};
use crate::served::formats::{currency_path, currency_roots, encoded, is_money};
use crate::served::identity;
use crate::served::ids::{ItemPlace, derived_id};
use crate::served::input::{AMOUNT, InputCheck, InputCurrency, InputField, input_fields, input_name};
use crate::served::model::{Body, ServedType, TypeIndex, UniqueField};
use crate::served::names::interned;
use crate::served::recognition::{field_of, holds, literal_value, recognised_properties};
use crate::served::references::{key_fields, partition_beside, write_copied_scalars, write_reference};
use crate::served::stored;
use crate::served::unique::{check_chosen, reservation_keys};

/// The input field of the idempotency key.
pub const IDEMPOTENCY_KEY: &str = "idempotencyKey";
/// The property with the hash of the input of a creation with an idempotency key.
const CONTENT_HASH: &str = "contentHash";
/// The property that names the command which created an item with a derived id.
const COMMAND_ID: &str = "commandId";

/// The values of an input, checked.
pub(super) struct CheckedInput {
    /// The stored form of the values, with the place of each field.
    pub(super) values: Vec<(String, Value)>,
    /// The references, each with the places of its targets.
    pub(super) references: Vec<(String, Vec<ItemPlace>)>,
    /// The currencies of the amounts.
    pub(super) currencies: Vec<InputCurrency>,
}

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
        self.claim(&place, &body, claimant, ledger).await?;
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
        let mut references = checked.references;
        for field in &ty.item.fields {
            if let FieldKind::Reference(reference) = &field.kind
                && reference.caller
            {
                let Some(account) = command.requester.account else {
                    return Err(Refusal::unauthenticated("Sign in to do this.").into());
                };
                let target = self.model.index_of(&reference.target);
                let place = target.and_then(|ty| ItemPlace::of_id(&self.model, ty, &account.to_string()));
                references.extend(place.map(|place| (field.name.to_string(), vec![place])));
            }
        }
        self.set_references(command.mutation.ty, references, &mut body, ledger).await?;
        self.compute(command.mutation.ty, &mut body)?;
        self.check_recognised(ty, &body)?;
        Ok(body)
    }

    /// The properties of a new item that no input sets.
    pub(super) fn initial_body(&self, ty: &ServedType) -> Body {
        let mut body = Body::new();
        body.insert("type".to_owned(), json!(ty.type_value));
        body.insert("version".to_owned(), json!(1));
        // The support check has refused conditions without such properties.
        for (path, value) in recognised_properties(&ty.item).unwrap_or_default() {
            stored::set(&mut body, path, value);
        }
        for field in &ty.item.fields {
            self.set_initial(field, &mut body);
        }
        body
    }

    /// # Errors
    /// `BAD_USER_INPUT` on a field whose value violates the type's `@where`.
    pub(super) fn check_recognised(&self, ty: &ServedType, body: &Body) -> Result<(), Refusal> {
        for PathCondition { path, test } in &ty.item.recognised_by {
            let Some(field) = field_of(&ty.item, path) else { continue };
            let stored_form = |literal: &Literal| match field.property() == Some(path) {
                true => stored::literal_of(self.model.model(), field, literal),
                false => literal_value(literal),
            };
            let value = stored::get(body, path).cloned().unwrap_or_default();
            if !holds(test, &value, stored_form) {
                let rule = match test {
                    PathTest::Is(literal) => format!("must be {literal}"),
                    PathTest::In(literals) => format!("must be one of {}", Literal::List(literals.clone())),
                    PathTest::Prefix(prefix) => format!("must begin with {prefix:?}"),
                    PathTest::Exists(true) => "is needed".to_owned(),
                    PathTest::Exists(false) => "cannot have a value".to_owned(),
                };
                let rule = format!("{rule} in items of {}", ty.name);
                return Err(Refusal::bad_input(input_name(field), rule));
            }
        }
        Ok(())
    }

    fn set_initial(&self, field: &Field, body: &mut Body) {
        if let FieldKind::Count(count) = &field.kind
            && let Kept::Batch { property, .. } | Kept::Behind { property, .. } = &count.kept
        {
            stored::set(body, property, json!(0));
        }
        let FieldKind::Stored(stored_field) = &field.kind else { return };
        let value = match (&stored_field.source, &stored_field.default) {
            (ValueSource::Created, _) => encoded(stored_field.format, json!(self.timestamp())),
            (ValueSource::Version(_), None) => json!(1),
            (_, Some(default)) if !default.sparse => {
                stored::literal_of(self.model.model(), field, &default.value)
            }
            _ => return,
        };
        stored::set(body, &stored_field.property, value);
    }

    /// Checks the values of an input. All invalid fields are reported at once.
    pub(super) fn check(
        &self,
        command: &ServedCommand<'_>,
        fields: &[InputField<'_>],
    ) -> Result<CheckedInput, Refusal> {
        let mut check = InputCheck::new(&self.model);
        let mut checked = CheckedInput { values: Vec::new(), references: Vec::new(), currencies: Vec::new() };
        for input in fields {
            let Some(typed) = command.input.get(input.name) else {
                if input.is_required {
                    check.refuse(input.name, &[], "is needed");
                }
                continue;
            };
            match &input.field.kind {
                FieldKind::Reference(reference) => {
                    let places = self.check_reference(&mut check, input, &reference.target, typed);
                    checked.references.push((input.field.name.to_string(), places));
                }
                _ => {
                    if let Some(value) = check.value(input.name, input.field, typed, &[]) {
                        self.check_unique(&mut check, command.mutation.ty, input, &value);
                        checked.values.push((input.field.name.to_string(), value));
                    }
                }
            }
        }
        checked.currencies = check.take_currencies();
        match check.invalid.is_empty() {
            true => Ok(checked),
            false => Err(Refusal::invalid(check.invalid)),
        }
    }

    fn check_unique(&self, check: &mut InputCheck<'_>, ty: TypeIndex, input: &InputField<'_>, value: &Value) {
        let unique = self.ty(ty).unique.iter().find(|unique| *unique.name == *input.field.name);
        if let (Some(unique), Some(text)) = (unique, value.as_str()) {
            let keys = reservation_keys(&self.model, ty, unique, text).map(drop);
            if let Err(rule) = keys.and_then(|()| check_chosen(unique.normalize, text)) {
                check.refuse(input.name, &[], rule);
            }
        }
    }

    fn check_reference(
        &self,
        check: &mut InputCheck<'_>,
        input: &InputField<'_>,
        target: &str,
        typed: &Value,
    ) -> Vec<ItemPlace> {
        let ids: Vec<&Value> = match typed {
            Value::Null => Vec::new(),
            Value::Array(ids) => ids.iter().collect(),
            id => vec![id],
        };
        let max = input.field.checks.length_max.unwrap_or(crate::served::input::LIST_ELEMENTS_MAX) as usize;
        let min = input.field.checks.length_min.unwrap_or(0) as usize;
        if input.field.ty.list.is_some() && !(min..=max).contains(&ids.len()) {
            check.refuse(
                input.name,
                &[],
                format_args!("must have {min} to {max} elements; this one has {}", ids.len()),
            );
            return Vec::new();
        }
        if ids.is_empty() && input.field.ty.non_null && input.field.ty.list.is_none() {
            check.refuse(input.name, &[], "cannot be null");
        }
        let mut places = Vec::new();
        for id in ids {
            let place = id.as_str().and_then(|id| ItemPlace::decode(&self.model, id).ok());
            match place.filter(|place| self.ty(place.ty).name == target) {
                Some(place) if !places.contains(&place) => places.push(place),
                Some(_) => {}
                None => check.refuse(input.name, &[], format_args!("is not the id of {target}")),
            }
        }
        places
    }

    pub(super) fn set_values(&self, ty: &ServedType, values: Vec<(String, Value)>, body: &mut Body) {
        for (name, value) in values {
            let Some(field) = ty.item.field(&name) else { continue };
            let FieldKind::Stored(stored_field) = &field.kind else { continue };
            let is_default = stored_field.default.as_ref().is_some_and(|default| {
                default.sparse && value == stored::literal_of(self.model.model(), field, &default.value)
            });
            let value = match is_money(field) {
                true => value.get(AMOUNT).cloned().unwrap_or_default(),
                false => value,
            };
            stored::set(body, &stored_field.property, if is_default { Value::Null } else { value });
        }
    }

    /// Reads the targets of references, and writes their ids and copies.
    ///
    /// # Errors
    /// `NOT_FOUND` on the input of a reference without its target.
    pub(super) async fn set_references(
        &self,
        ty_index: TypeIndex,
        references: Vec<(String, Vec<ItemPlace>)>,
        body: &mut Body,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let ty = self.ty(ty_index);
        let mut all = self.implied_references(ty, &references, body);
        all.extend(references);
        for (name, places) in all {
            let Some(field) = ty.item.field(&name) else { continue };
            let mut targets = Vec::new();
            for place in places {
                let found = self.reads.item(&place, ledger).await?;
                let found = found.ok_or_else(|| {
                    let text = format!("there is no such {}", self.ty(place.ty).name);
                    Refusal::not_found(input_name(field), &text)
                })?;
                targets.push((place, found));
            }
            let targets: Vec<(ItemPlace, &Body)> =
                targets.iter().map(|(place, found)| (place.clone(), &**found)).collect();
            write_reference(&self.model, field, &targets, body);
            write_copied_scalars(&self.model, &ty.item.fields, &name, targets.first(), body);
            if let FieldKind::Reference(reference) = &field.kind
                && let Some((place, _)) = targets.first()
            {
                self.fill_partition(ty, reference, place, body);
            }
            if let FieldKind::Reference(reference) = &field.kind
                && let Some((place, _)) = targets.first()
                && let Some((_, by)) = key_fields(&self.model, reference).first()
                && partition_beside(&self.model, (&ty.item.fields, reference), &place.id, body).as_ref()
                    != Some(&place.partition)
            {
                let input = interned(&format!("{name}Id"));
                return Err(Refusal::bad_input(input, format_args!("must be of the same {by}")).into());
            }
        }
        Ok(())
    }

    /// The references without a value that are part of the partition key of another reference's target.
    pub(super) fn implied_references(
        &self,
        ty: &ServedType,
        references: &[(String, Vec<ItemPlace>)],
        body: &Body,
    ) -> Vec<(String, Vec<ItemPlace>)> {
        let mut implied = Vec::new();
        for (name, places) in references {
            let (Some(FieldKind::Reference(reference)), Some(place)) =
                (ty.item.field(name).map(|field| &field.kind), places.first())
            else {
                continue;
            };
            let values: Vec<&str> = place.partition.as_str().split(KEY_SEPARATOR).collect();
            for (part, by) in key_fields(&self.model, reference) {
                let (Some(field), Some(value)) = (ty.item.field(by), values.get(part)) else { continue };
                let (FieldKind::Reference(target), Some(property)) = (&field.kind, field.property()) else {
                    continue;
                };
                let is_given = references.iter().any(|(given, _)| **by == **given)
                    || stored::get(body, property).is_some();
                let target = self.model.index_of(&target.target);
                let place = target.and_then(|target| ItemPlace::of_id(&self.model, target, value));
                if let (false, Some(place)) = (is_given, place) {
                    implied.push((by.to_string(), vec![place]));
                }
            }
        }
        implied
    }

    /// Writes the partition key of a reference's target into the plain fields that hold it, where these have
    /// no value or are no part of the item's own key.
    pub(super) fn fill_partition(
        &self,
        ty: &ServedType,
        reference: &ReferenceField,
        place: &ItemPlace,
        body: &mut Body,
    ) {
        let values: Vec<&str> = place.partition.as_str().split(KEY_SEPARATOR).collect();
        for (part, by) in key_fields(&self.model, reference) {
            let (Some(field), Some(value)) = (ty.item.field(by), values.get(part)) else { continue };
            let (FieldKind::Stored(_), Some(property)) = (&field.kind, field.property()) else { continue };
            let is_id = field.ty.of == TypeOf::Scalar(Scalar::Id) && !ty.is_fixed(by);
            if is_id || stored::get(body, property).is_none() {
                stored::set(body, property, key_value(value));
            }
        }
    }

    /// Writes the currencies of an input. An amount that the input does not change keeps its currency.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on an amount in another currency than amounts that stay.
    pub(super) fn set_currencies(
        &self,
        ty: &ServedType,
        currencies: &[InputCurrency],
        filled: &FilledValues,
        body: &mut Body,
    ) -> Result<(), Refusal> {
        let mut all = currencies.to_vec();
        all.extend(filled.currencies.iter().cloned());
        for InputCurrency { path, code, name } in &all {
            let other = all.iter().find(|other| other.path == *path && other.code != *code);
            // Computed amounts follow the others.
            let is_computed = |field: &Field| {
                matches!(&field.kind, FieldKind::Stored(stored_field)
                    if matches!(stored_field.source, ValueSource::Computed(_)))
            };
            let stays = |field: &&Field| {
                let is_written = filled.values.iter().any(|(written, _)| *written == *field.name);
                let roots = currency_roots(self.model.model(), field);
                let is_there = field.property().is_some_and(|property| stored::get(body, property).is_some());
                !is_written
                    && !is_computed(field)
                    && is_there
                    && roots.iter().any(|root| path.properties().first().is_some_and(|first| first == root))
            };
            let present = stored::get(body, path).and_then(Value::as_str).map(str::to_owned);
            let kept =
                present.filter(|present| present != code && ty.item.fields.iter().any(|field| stays(&field)));
            if let Some(wanted) = kept.or_else(|| other.map(|other| other.code.clone())) {
                let rule = format!("must be in {wanted}, as the other amounts of the item");
                return Err(Refusal::bad_input(name, rule));
            }
            stored::set(body, path, json!(code));
        }
        Ok(())
    }

    /// Writes the computed values that items store.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on a product or sum that is too large, or has several currencies.
    pub(super) fn compute(&self, ty: TypeIndex, body: &mut Body) -> Result<(), Refusal> {
        let ItemType { fields, .. } = &self.ty(ty).item;
        for field in fields {
            if let FieldKind::Stored(stored_field) = &field.kind
                && let ValueSource::Computed(rule) = &stored_field.source
                && (rule.stored || (is_money(field) && field.ty.non_null))
            {
                self.check_amount(fields, field, rule, (body, body))?;
                let within = stored::within(self.model.model(), fields, body, body);
                let found = evaluated(within, rule).ok().flatten();
                if is_money(field)
                    && field.ty.non_null
                    && found.is_none()
                    && let Some(from) = rule.from.first()
                {
                    let reason = format!("has no amount, which {} needs", field.name);
                    return Err(Refusal::bad_input(interned(from.first()), reason));
                }
                if !rule.stored {
                    continue;
                }
                let currency = found.and_then(|amount| amount.currency);
                let value = stored::computed(self.model.model(), fields, (field, rule), body);
                if let (Some(path), Some(currency)) = (currency_path(field), currency) {
                    stored::set(body, path, json!(currency));
                }
                stored::set(body, &stored_field.property, value);
            }
        }
        Ok(())
    }

    /// # Errors
    /// `BAD_USER_INPUT` on a product or sum that is too large, or has several currencies.
    pub(super) fn check_amount(
        &self,
        fields: &[Field],
        field: &Field,
        rule: &Computed,
        (object, item): (&Body, &Body),
    ) -> Result<(), Refusal> {
        let refused = |error: AmountError| Refusal::bad_input(interned(&field.name), error);
        let within = stored::within(self.model.model(), fields, object, item);
        let Some(amount) = evaluated(within, rule).map_err(refused)? else { return Ok(()) };
        stored_form(field, &amount).map_err(refused)?;
        // Another amount beside it has the same property for its currency.
        let present = currency_path(field).and_then(|path| stored::get(item, path)).and_then(Value::as_str);
        let is_other = |present: &str| amount.currency.as_deref().is_some_and(|code| code != present);
        let shares = |other: &&Field| {
            other.name != field.name
                && is_money(other)
                && currency_path(other) == currency_path(field)
                && other.property().is_some_and(|property| stored::get(item, property).is_some())
        };
        if present.is_some_and(is_other) && fields.iter().any(|other| shares(&other)) {
            return Err(refused(AmountError::Currencies));
        }
        Ok(())
    }

    /// The id of a new item: derived from its fields, derived from the idempotency key, or new.
    fn new_item_id(
        &self,
        command: &ServedCommand<'_>,
        key: Option<&IdempotencyKey>,
        body: &Body,
    ) -> Result<Uuid, CommandError> {
        let ty = self.ty(command.mutation.ty);
        if !ty.item.id_from.is_empty() {
            return Ok(self.derived(command.mutation.ty, body));
        }
        Ok(match key {
            Some(key) => {
                let account =
                    command.requester.account.map(|account| account.to_string()).unwrap_or_default();
                derived_id(&["key", &account, ty.type_value, key.as_str()])
            }
            None => self.ids.next_id(self.clock.now_ms()),
        })
    }

    /// The id that is derived from the fields of `idFrom`.
    pub(super) fn derived(&self, ty: TypeIndex, body: &Body) -> Uuid {
        identity::derived(&self.model, ty, body)
    }

    /// Writes the id and the partition key.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on the field of the key, where it is empty or too long.
    pub(super) fn identify(&self, ty: TypeIndex, id: Uuid, body: &mut Body) -> Result<ItemPlace, Refusal> {
        identity::identify(&self.model, ty, id, body)
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
                Claimant::New => self.unique.release(key, place, ledger).await?,
                Claimant::Known(before) if before.iter().any(|(_, present)| present == key) => {}
                Claimant::Known(_) => self.unique.release_lapsed(key, place, ledger).await?,
            }
        }
        Ok(())
    }

    /// Writes a new item whose unique values are reserved. Where it is refused, a new id gives them back.
    pub(super) async fn write_claimed(
        &self,
        place: ItemPlace,
        body: Body,
        claimant: Claimant<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let keys = self.unique.keys(place.ty, &body);
        let written = self.write_new(place.clone(), body, ledger).await;
        if let (Err(CommandError::Rejected(_)), Claimant::New) = (&written, claimant) {
            self.give_back(&keys, &place, claimant, ledger).await?;
        }
        written
    }

    /// Writes a new item with the counts of its parents. Safe to repeat with the same id.
    pub(super) async fn write_new(
        &self,
        place: ItemPlace,
        mut body: Body,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let is_derived = !self.ty(place.ty).item.id_from.is_empty();
        if is_derived {
            body.insert(COMMAND_ID.to_owned(), json!(self.ids.next_id(self.clock.now_ms()).to_string()));
        }
        let _turn = self.turns.wait(self.turn_key(&place)).await;
        for _ in 0..ATTEMPTS_MAX {
            let existing = match is_derived || body.contains_key(CONTENT_HASH) {
                true => self.stored(&place, ledger).await?,
                false => None,
            };
            let operation = match existing {
                Some(existing) if self.is_present(place.ty, &existing.body) => {
                    return self.repeated(place, &body, existing.body);
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
            let operations = std::iter::once(operation).chain(counts).collect();
            if self.write(&place, operations, ledger).await?.is_some() {
                return Ok(WrittenItem { place, body: Arc::new(body) });
            }
            // The answer may be lost, or a parent has changed.
            if let Some(found) = self.stored(&place, ledger).await?
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

    /// The outcome of a creation whose item exists.
    fn repeated(&self, place: ItemPlace, wanted: &Body, existing: Body) -> Result<WrittenItem, CommandError> {
        let is_own = existing.get(COMMAND_ID) == wanted.get(COMMAND_ID);
        let hash = wanted.get(CONTENT_HASH);
        if (wanted.contains_key(COMMAND_ID) && is_own)
            || (hash.is_some() && existing.get(CONTENT_HASH) == hash)
        {
            return Ok(WrittenItem { place, body: Arc::new(existing) });
        }
        let ty = self.ty(place.ty);
        match (hash, ty.item.id_from.first()) {
            (Some(_), None) => Err(Refusal::key_reused().into()),
            (_, first) => {
                let field = first.and_then(|name| ty.item.field(name)).map_or("id", input_name);
                Err(Refusal::conflict(field, &format!("this {} exists already", ty.name)).into())
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
