//! References of an item: the ids and the copies of their targets, and the parts of partition keys that
//! follow from them.

use std::sync::Arc;

use onehop_model::{Field, FieldKind, ReferenceField, Scalar, TypeOf, ValueSource};
use onehop_store::{KEY_SEPARATOR, Ledger, key_value};
use serde_json::Value;

use super::ServedCommands;
use crate::domain::error::{CommandError, Refusal};
use crate::served::held_copies::HeldCopies;
use crate::served::ids::ItemPlace;
use crate::served::input::input_name;
use crate::served::model::{Body, ServedModel, ServedType, TypeIndex};
use crate::served::names::interned;
use crate::served::references::{
    key_fields, partition_beside, target_place, write_copied_scalars, write_reference,
};
use crate::served::stored;

impl ServedCommands {
    /// Reads the targets of references, and writes their ids and copies. The frozen copies of the item before
    /// an update stay where the target stays.
    ///
    /// # Errors
    /// `NOT_FOUND` on the input of a reference without its target; `BAD_USER_INPUT` on one whose target lies
    /// in another logical partition than the fields beside it say.
    pub(super) async fn set_references(
        &self,
        ty_index: TypeIndex,
        references: Vec<(String, Vec<ItemPlace>)>,
        (before, body): (Option<&Body>, &mut Body),
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let ty = self.ty(ty_index);
        let mut all = self.implied_references(ty, &references, body);
        all.extend(references);
        let mut written = Vec::new();
        for (name, places) in all {
            let Some(field) = ty.item.field(&name) else { continue };
            let targets = self.existing_targets(field, places, ledger).await?;
            let targets: Vec<(ItemPlace, &Body)> =
                targets.iter().map(|(place, found)| (place.clone(), &**found)).collect();
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let held = before.map(|before| {
                let known = target_place(&self.model, ty_index, field, before);
                let keeps_target =
                    known.is_some() && known.as_ref() == targets.first().map(|(place, _)| place);
                HeldCopies::of(&ty.item.fields, field, reference, (keeps_target, before))
            });
            write_reference(&self.model, field, &targets, body);
            write_copied_scalars(&self.model, &ty.item.fields, &name, targets.first(), body);
            if let Some(held) = held {
                held.restore(body);
            }
            if let Some((place, _)) = targets.first() {
                self.fill_partition(ty, reference, place, body);
            }
            written.push((field, reference, targets.into_iter().map(|(place, _)| place).collect()));
        }
        check_partitions(&self.model, &ty.item.fields, &written, body)?;
        Ok(())
    }

    /// The targets of a reference, which exist.
    ///
    /// # Errors
    /// `NOT_FOUND` on the input of the reference for a target that does not.
    pub(super) async fn existing_targets(
        &self,
        field: &Field,
        places: Vec<ItemPlace>,
        ledger: &Ledger,
    ) -> Result<Vec<(ItemPlace, Arc<Body>)>, CommandError> {
        let mut targets = Vec::with_capacity(places.len());
        for place in places {
            let found = self.reads.item(&place, ledger).await?;
            let found = found.ok_or_else(|| {
                let text = format!("there is no such {}", self.ty(place.ty).name);
                Refusal::not_found(input_name(field), &text)
            })?;
            targets.push((place, found));
        }
        Ok(targets)
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

    /// Clears the plain fields with the partition key of a reference's former target, which the input leaves
    /// out: they are filled from the new one.
    pub(super) fn clear_partitions(
        &self,
        ty: &ServedType,
        references: &[(String, Vec<ItemPlace>)],
        given: &[String],
        body: &mut Body,
    ) {
        for (name, places) in references {
            let Some(FieldKind::Reference(reference)) = ty.item.field(name).map(|field| &field.kind) else {
                continue;
            };
            for (_, by) in key_fields(&self.model, reference) {
                let is_kept =
                    places.is_empty() || given.iter().any(|given| **given == **by) || ty.is_fixed(by);
                let Some(field) = ty.item.field(by).filter(|_| !is_kept) else { continue };
                // Those who may change such a field say so.
                if let (FieldKind::Stored(plain), Some(property)) = (&field.kind, field.property())
                    && field.authorization.update.is_none()
                    && plain.source == ValueSource::Input
                    && !plain.immutable
                {
                    stored::set(body, property, Value::Null);
                }
            }
        }
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
}

/// # Errors
/// `BAD_USER_INPUT` on a reference to a target in another logical partition than the fields beside it say.
fn check_partitions(
    model: &ServedModel,
    fields: &[Field],
    written: &[(&Field, &ReferenceField, Vec<ItemPlace>)],
    body: &Body,
) -> Result<(), Refusal> {
    for (field, reference, places) in written {
        let Some((_, by)) = key_fields(model, reference).into_iter().next() else { continue };
        let is_beside = |place: &ItemPlace| {
            partition_beside(model, (fields, reference), &place.id, body).as_ref() == Some(&place.partition)
        };
        if reference.caller && !places.iter().all(is_beside) {
            return Err(Refusal::bad_input(interned(by), "must be that of the account that is signed in"));
        }
        if !places.iter().all(is_beside) {
            return Err(Refusal::bad_input(input_name(field), format_args!("must be of the same {by}")));
        }
    }
    Ok(())
}
