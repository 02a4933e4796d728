//! Update: changed fields of an item, guarded by the version that the client has seen.

use std::sync::Arc;

use onehop_change_feed::Cause;
use onehop_model::{Action, Field, FieldKind, ValueSource};
use onehop_runtime::planted;
use onehop_store::{Ledger, Store, WriteOp};
use serde_json::{Value, json};

use super::create::Claimant;
use super::{
    ServedCommand, ServedCommands, StoredBody, WrittenItem, may_be_outdated, new_item, next_version,
    refusal_of, version_of,
};
use crate::domain::conditional_write::{ATTEMPTS_MAX, is_ambiguous, judge};
use crate::domain::error::{CommandError, Refusal, contended};
use crate::served::formats::encoded;
use crate::served::ids::ItemPlace;
use crate::served::input::{InputField, input_fields, input_name};
use crate::served::model::{Body, ServedType};
use crate::served::references::key_fields;
use crate::served::stored;

/// The input field with the version that the client has seen.
pub const IF_VERSION: &str = "ifVersion";

/// An update before it is written.
struct PlannedUpdate {
    place: ItemPlace,
    found: StoredBody,
    /// `None` where nothing differs.
    changed: Option<Body>,
}

/// The outcome of the write of an update. The item is read again unless it was written.
enum Replacement {
    Written(WrittenItem),
    Refused,
    /// It may have been written.
    Unanswered,
}

/// The writes of one command that were sent. A store may send a write again whose answer was lost, and refuse
/// it for the first one.
struct SentWrites {
    /// The mark of the command, where another command with the same values is refused.
    mark: Option<String>,
    /// The version of the last one.
    version: Option<u64>,
}

impl SentWrites {
    /// Whether an item is as this command has written it.
    fn made(&self, body: &Body) -> bool {
        let mark = body.get(Cause::FIELD).and_then(Value::as_str);
        let is_own = mark == self.mark.as_deref() || planted!("any-mark-is-its-own") && mark.is_some();
        self.version.is_some() && self.mark.is_some() && is_own
    }

    /// Whether an item has changed since a write which may have been done.
    fn may_lie_before(&self, body: &Body) -> bool {
        self.version.is_some_and(|sent| version_of(body) > sent)
    }
}

/// Whether a plan ends without a write because of the state of the item, which another process may have
/// changed.
fn writes_nothing(planned: &Result<PlannedUpdate, CommandError>) -> bool {
    match planned {
        Ok(planned) => planned.changed.is_none(),
        Err(CommandError::Rejected(refusal)) => may_be_outdated(refusal.code),
        Err(CommandError::Fault(_)) => false,
    }
}

impl ServedCommands {
    /// Changes an item. Fields that the input leaves out stay.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `NOT_FOUND`, `UNAUTHENTICATED`, `FORBIDDEN`; `CONFLICT` for a taken
    /// value, another version, and a condition that does not hold.
    pub async fn update(
        &self,
        command: ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let ty = self.ty(command.mutation.ty);
        let fields = input_fields(ty, Action::Update, &command.mutation.fields);
        let is_guarded = !command.mutation.conditions.is_empty() || command.input.contains_key(IF_VERSION);
        let mark = is_guarded.then(|| self.ids.next_id(self.clock.now_ms()).to_string());
        let (mut sent, mut may_be_done, mut is_latest) = (SentWrites { mark, version: None }, false, false);
        for _ in 0..ATTEMPTS_MAX {
            let store = if is_latest { &self.latest } else { &self.store };
            let planned = self.planned(&command, (&**store, &fields), &sent, ledger).await;
            if !is_latest && writes_nothing(&planned) && !planted!("edit-trusts-a-replica") {
                is_latest = true;
                continue;
            }
            let planned = planned.map_err(|error| error.unless_done(may_be_done))?;
            let PlannedUpdate { place, found, changed } = planned;
            let Some(changed) = changed else {
                return Ok(WrittenItem { place, body: Arc::new(found.body) });
            };
            sent.version = Some(version_of(&changed));
            let replaced = self.replace(place, found, changed, ledger).await;
            match replaced.map_err(|error| error.unless_done(may_be_done))? {
                Replacement::Written(written) => return Ok(written),
                Replacement::Refused => {}
                Replacement::Unanswered => may_be_done = true,
            }
        }
        Err(contended("an item").into())
    }

    /// The item as this store has it, with the change of the command.
    async fn planned(
        &self,
        command: &ServedCommand<'_>,
        (store, fields): (&dyn Store, &[InputField<'_>]),
        sent: &SentWrites,
        ledger: &Ledger,
    ) -> Result<PlannedUpdate, CommandError> {
        let named = self.named(store, command, ledger).await;
        // It may have been deleted after it was written.
        let (place, found) = named.map_err(|error| error.unless_done(sent.version.is_some()))?;
        if sent.made(&found.body) {
            return Ok(PlannedUpdate { place, found, changed: None });
        }
        let changed = self.checked_change(command, fields, (&place, &found.body), sent, ledger).await;
        let changed = changed.map_err(|error| error.unless_done(sent.may_lie_before(&found.body)))?;
        Ok(PlannedUpdate { place, found, changed })
    }

    /// The changed item, if the command may change it; `None` where nothing differs.
    async fn checked_change(
        &self,
        command: &ServedCommand<'_>,
        fields: &[InputField<'_>],
        (place, before): (&ItemPlace, &Body),
        sent: &SentWrites,
        ledger: &Ledger,
    ) -> Result<Option<Body>, CommandError> {
        if sent.version.is_none() || !planted!("condition-of-an-earlier-look") {
            self.check_conditions(command, before)?;
        }
        self.authorize_fields(command, fields, before, ledger).await?;
        let mut changed = self.changed(command, fields, before, ledger).await?;
        // An attempt whose answer was lost may have written it.
        if sent.version.is_none() || changed.is_some() {
            self.check_version(command, self.ty(place.ty), before)?;
        }
        if let (Some(changed), Some(mark)) = (&mut changed, &sent.mark) {
            changed.insert(Cause::FIELD.to_owned(), json!(mark));
        }
        Ok(changed)
    }

    /// Callers of fields with rules of their own.
    async fn authorize_fields(
        &self,
        command: &ServedCommand<'_>,
        fields: &[InputField<'_>],
        body: &Body,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        for input in fields.iter().filter(|input| command.input.contains_key(input.name)) {
            let Some(grants) = &input.field.authorization.update else { continue };
            let item = (command.mutation.ty, body);
            refusal_of(command.requester.decide(&self.reads, grants, item, ledger).await?)?;
        }
        Ok(())
    }

    /// The changed item; `None` where nothing differs.
    async fn changed(
        &self,
        command: &ServedCommand<'_>,
        fields: &[InputField<'_>],
        before: &Body,
        ledger: &Ledger,
    ) -> Result<Option<Body>, CommandError> {
        let ty = self.ty(command.mutation.ty);
        let checked = self.check(command, fields)?;
        let mut body = before.clone();
        let filled = self.filled(ty, checked.values, ledger).await?;
        self.set_currencies(ty, &checked.currencies, &filled, &mut body)?;
        let named: Vec<String> = filled.values.iter().map(|(name, _)| name.clone()).collect();
        self.set_values(ty, filled.values, &mut body);
        self.clear_partitions(ty, &checked.references, &named, &mut body);
        let given: Vec<String> = checked.references.iter().map(|(name, _)| name.clone()).collect();
        self.set_references(command.mutation.ty, checked.references, (Some(before), &mut body), ledger)
            .await?;
        self.check_kept_references(ty, &given, (before, &body))?;
        self.compute(command.mutation.ty, &mut body)?;
        self.check_recognised(ty, &body)?;
        let value =
            |field: &Field, body: &Body| stored::value_of(self.model.model(), &ty.item.fields, field, body);
        let currency =
            |field: &Field, body: &Body| field.currency().and_then(|path| stored::get(body, path)).cloned();
        let differs = |field: &&Field| {
            value(field, before) != value(field, &body) || currency(field, before) != currency(field, &body)
        };
        let changed: Vec<&Field> = ty.item.fields.iter().filter(differs).collect();
        if changed.is_empty() && body == *before {
            return Ok(None);
        }
        for field in &ty.item.fields {
            let FieldKind::Stored(stored_field) = &field.kind else { continue };
            let concerns = |of: &[onehop_model::Name]| {
                changed.iter().any(|changed| of.is_empty() || of.contains(&changed.name))
            };
            match &stored_field.source {
                ValueSource::Updated(of) if concerns(of) => {
                    let now = encoded(stored_field.format, json!(self.timestamp()));
                    stored::set(&mut body, &stored_field.property, now);
                }
                ValueSource::Version(of) if concerns(of) => {
                    let version = value(field, before).as_u64().unwrap_or(1);
                    stored::set(&mut body, &stored_field.property, json!(version + 1));
                }
                _ => {}
            }
        }
        next_version(&mut body);
        Ok(Some(body))
    }

    /// A reference that stays keeps the fields with the partition key of its target.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on such a field.
    fn check_kept_references(
        &self,
        ty: &ServedType,
        given: &[String],
        (before, after): (&Body, &Body),
    ) -> Result<(), Refusal> {
        let value = |field: &Field, body| field.property().and_then(|path| stored::get(body, path)).cloned();
        for field in &ty.item.fields {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let has_target =
                value(field, after).is_some_and(|value| value.as_array().is_none_or(|ids| !ids.is_empty()));
            if !has_target || given.iter().any(|name| **name == *field.name) {
                continue;
            }
            let beside = key_fields(&self.model, reference).into_iter();
            for key in beside.filter_map(|(_, name)| ty.item.field(name)) {
                if value(key, before) != value(key, after) {
                    let reason = format_args!("belongs to {}: give both", input_name(field));
                    return Err(Refusal::bad_input(input_name(key), reason));
                }
            }
        }
        Ok(())
    }

    /// # Errors
    /// `CONFLICT` on `ifVersion`, with the present version.
    fn check_version(
        &self,
        command: &ServedCommand<'_>,
        ty: &ServedType,
        body: &Body,
    ) -> Result<(), Refusal> {
        let Some(wanted) = command.input.get(IF_VERSION).and_then(Value::as_u64) else { return Ok(()) };
        let Some((field, _)) = ty.version_field() else { return Ok(()) };
        let current =
            stored::value_of(self.model.model(), &ty.item.fields, field, body).as_u64().unwrap_or(1);
        if wanted == current {
            return Ok(());
        }
        let refusal = Refusal::conflict(IF_VERSION, &format!("the {} has version {current}", ty.name));
        Err(Refusal { current_version: u32::try_from(current).ok(), ..refusal })
    }

    /// Writes the changed item.
    async fn replace(
        &self,
        place: ItemPlace,
        found: StoredBody,
        changed: Body,
        ledger: &Ledger,
    ) -> Result<Replacement, CommandError> {
        let before = self.unique.keys(place.ty, &found.body);
        let after = self.unique.keys(place.ty, &changed);
        if before != after {
            self.check_kept_login(&place.id, &before, &after)?;
            self.claim(&place, &changed, Claimant::Known(&before), ledger).await?;
        }
        let left = before.iter().filter(|key| !after.contains(key)).map(|(_, key)| key.as_str());
        let mut left = self.unique.own(left, &place, ledger).await?;
        if planted!("unique-value-released-before-the-write") {
            self.unique.release(std::mem::take(&mut left), ledger).await?;
        }
        let if_match = (!planted!("update-without-if-match")).then_some(found.etag);
        let replace = WriteOp::Replace { item: new_item(&place, &changed), if_match };
        let written = self.store.write(self.ty(place.ty).container, &place.partition, replace, ledger).await;
        let unless_written =
            if is_ambiguous(&written) { Replacement::Unanswered } else { Replacement::Refused };
        if judge(written)?.is_none() {
            return Ok(unless_written);
        }
        self.unique.release(left, ledger).await?;
        Ok(Replacement::Written(WrittenItem { place, body: Arc::new(changed) }))
    }
}
