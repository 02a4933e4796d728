//! Generated commands of a served model: create, update and delete, with checks, authorization, ownership,
//! copies, counts and uniqueness. Each writes one batch in one logical partition.

pub mod account;
mod account_deletion;
mod checked_input;
mod computed;
mod counts;
pub mod create;
mod delete;
mod embedded;
mod identity;
pub mod import;
mod initial_body;
mod reference_writes;
pub mod staff_logins;
pub mod update;

use std::collections::HashMap;
use std::sync::Arc;

use onehop_change_feed::Cause;
use onehop_model::{Action, Condition, FieldTest, Grants, Name};
use onehop_read_models::ConditionTest;
use onehop_runtime::clock::{Clock, format_timestamp};
use onehop_store::{Batch, ETag, Fault, Item, Ledger, NewItem, Store, WriteOp};
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::access::{Decision, Requester};
use super::ids::ItemPlace;
use super::model::{Body, ServedModel, ServedType, TypeIndex};
use super::names::interned;
use super::reads::{ServedReads, is_deleted};
use super::stored;
use super::unique::UniqueValues;
use crate::accounts::password::PasswordHasher;
use crate::domain::accounts::passwords::AccountPasswords;
use crate::domain::conditional_write;
use crate::domain::error::{CommandError, Refusal, RefusalCode};
use crate::domain::ids::IdSource;
use crate::domain::keyed_turns::KeyedTurns;

/// The accounts whose partition keys are remembered.
const ACCOUNT_PARTITIONS_MAX: usize = 10_000;

/// The parts that commands need from outside.
pub struct ServedCommandParts {
    /// The store, whose reads decide about writes.
    pub store: Arc<dyn Store>,
    /// The same store, whose reads see the latest commit of all processes. They decide where nothing would be
    /// written: other reads may come from a replica that lags, and only a conditional write shows that.
    pub latest: Arc<dyn Store>,
    /// The model.
    pub model: Arc<ServedModel>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Password hashing.
    pub passwords: PasswordHasher,
}

/// The write side of a served model. Cheap to clone; clones share the turns.
#[derive(Clone)]
pub struct ServedCommands {
    store: Arc<dyn Store>,
    latest: Arc<dyn Store>,
    model: Arc<ServedModel>,
    reads: ServedReads,
    unique: UniqueValues,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    passwords: PasswordHasher,
    account_passwords: AccountPasswords,
    /// The partition keys of accounts, where they do not follow from the account.
    account_partitions: Arc<Cache<Uuid, Arc<str>>>,
    turns: Arc<KeyedTurns>,
    /// The accounts of staff by the keys of their logins.
    kept_logins: Arc<Mutex<HashMap<String, Uuid>>>,
}

/// A mutation of the model.
#[derive(Debug, Clone)]
pub struct ServedMutation {
    /// The item type that it writes.
    pub ty: TypeIndex,
    /// The write.
    pub action: Action,
    /// The fields that it writes; empty for all.
    pub fields: Vec<Name>,
    /// The conditions on the item.
    pub conditions: Vec<Condition>,
    /// The callers.
    pub grants: Grants,
}

/// A command: a mutation with its input, as typed.
#[derive(Debug)]
pub struct ServedCommand<'a> {
    /// The mutation.
    pub mutation: &'a ServedMutation,
    /// The input.
    pub input: &'a Map<String, Value>,
    /// The caller.
    pub requester: Requester,
}

/// The result of a command: the item as written, and its place.
#[derive(Debug, Clone)]
pub struct WrittenItem {
    /// Its place.
    pub place: ItemPlace,
    /// Its properties.
    pub body: Arc<Body>,
}

/// An item as it was read for a write.
struct StoredBody {
    body: Body,
    etag: ETag,
}

impl ServedCommands {
    /// The write side over these parts. Each process needs exactly one: its turns order the writers.
    #[must_use]
    pub fn new(parts: ServedCommandParts) -> Self {
        let ServedCommandParts { store, latest, model, clock, ids, passwords } = parts;
        Self {
            reads: ServedReads::new(Arc::clone(&store), Arc::clone(&model)),
            unique: UniqueValues { store: Arc::clone(&store), model: Arc::clone(&model) },
            account_passwords: AccountPasswords::new(Arc::clone(&store)),
            account_partitions: Arc::new(Cache::new(ACCOUNT_PARTITIONS_MAX)),
            turns: Arc::default(),
            kept_logins: Arc::default(),
            store,
            latest,
            model,
            clock,
            ids,
            passwords,
        }
    }

    fn ty(&self, ty: TypeIndex) -> &ServedType {
        self.model.ty(ty)
    }

    fn timestamp(&self) -> String {
        format_timestamp(self.clock.now_ms())
    }

    /// An item as it is stored, also a deleted one.
    async fn stored(
        &self,
        store: &dyn Store,
        place: &ItemPlace,
        ledger: &Ledger,
    ) -> Result<Option<StoredBody>, Fault> {
        let container = self.ty(place.ty).container;
        let found = store.read(container, &place.partition, &place.id, ledger).await?;
        let stored =
            |item: Item| Ok(StoredBody { body: self.model.decoded(place.ty, &item)?, etag: item.etag });
        found.map(stored).transpose()
    }

    /// The item that the input of an update or deletion names, as this store has it.
    async fn named(
        &self,
        store: &dyn Store,
        command: &ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<(ItemPlace, StoredBody), CommandError> {
        let ty = self.ty(command.mutation.ty);
        let name = ty.id_input;
        let typed = command.input.get(name).and_then(Value::as_str).unwrap_or_default();
        let place =
            ItemPlace::decode(&self.model, typed).ok().filter(|place| place.ty == command.mutation.ty);
        let place =
            place.ok_or_else(|| Refusal::bad_input(name, format_args!("is not the id of {}", ty.name)))?;
        let found = self.stored(store, &place, ledger).await?;
        let found = found.filter(|found| self.is_present(place.ty, &found.body));
        let found =
            found.ok_or_else(|| Refusal::not_found(name, &format!("there is no such {}", ty.name)))?;
        self.authorize(command, &found.body, ledger).await?;
        Ok((place, found))
    }

    fn is_present(&self, ty: TypeIndex, body: &Body) -> bool {
        body.get("type").and_then(Value::as_str) == Some(self.ty(ty).type_value) && !is_deleted(body)
    }

    /// # Errors
    /// `UNAUTHENTICATED`, `FORBIDDEN`.
    async fn authorize(
        &self,
        command: &ServedCommand<'_>,
        body: &Body,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let item = (command.mutation.ty, body);
        let decision = command.requester.decide(&self.reads, &command.mutation.grants, item, ledger).await?;
        Ok(refusal_of(decision)?)
    }

    /// # Errors
    /// `CONFLICT` where a condition of the mutation does not hold.
    fn check_conditions(&self, command: &ServedCommand<'_>, body: &Body) -> Result<(), Refusal> {
        for condition in &command.mutation.conditions {
            if !self.holds(command.mutation.ty, condition, body) {
                let field = interned(condition.field.first());
                return Err(Refusal::conflict(
                    field,
                    &format!("the mutation needs an item whose {condition}"),
                ));
            }
        }
        Ok(())
    }

    fn holds(&self, ty: TypeIndex, condition: &Condition, body: &Body) -> bool {
        let ty = self.ty(ty);
        let model = self.model.model();
        let Some(place) = model.stored_place(&ty.item, &condition.field) else { return false };
        let field = place.field;
        let value = match &place.object {
            None => stored::value_of(model, place.fields, field, body),
            Some(object) => match stored::get(body, object).and_then(Value::as_object) {
                Some(object) => stored::value_of(model, place.fields, field, object),
                None => Value::Null,
            },
        };
        let literal = |literal| stored::literal_of(model, field, literal);
        let test = match &condition.test {
            FieldTest::Is(wanted) => ConditionTest::In(vec![literal(wanted)]),
            FieldTest::In(wanted) => ConditionTest::In(wanted.iter().map(literal).collect()),
            FieldTest::Exists(exists) => ConditionTest::Exists(*exists),
            FieldTest::AtLeast(bound) => ConditionTest::AtLeast(literal(bound)),
            FieldTest::Below(end) => ConditionTest::Below(literal(end)),
        };
        test.holds(&value)
    }

    /// Writes a batch; `None` where its items have to be read again.
    async fn write(
        &self,
        place: &ItemPlace,
        mut operations: Vec<WriteOp>,
        ledger: &Ledger,
    ) -> Result<Option<()>, Fault> {
        let container = self.ty(place.ty).container;
        if operations.len() == 1
            && let Some(operation) = operations.pop()
        {
            let written = self.store.write(container, &place.partition, operation, ledger).await;
            return Ok(conditional_write::judge(written)?.map(drop));
        }
        let batch = Batch { operations, ..Batch::new(container, place.partition.clone()) };
        Ok(conditional_write::judge(self.store.batch(batch, ledger).await)?.map(drop))
    }
}

/// # Errors
/// The refusal of a caller without a grant.
pub fn refusal_of(decision: Decision) -> Result<(), Refusal> {
    match decision {
        Decision::Allowed => Ok(()),
        Decision::SignInFirst => Err(Refusal::unauthenticated("Sign in to do this.")),
        Decision::Forbidden => Err(Refusal::forbidden("You may not do this.")),
    }
}

/// Whether a refusal follows from the state of an item, which a replica that lags may not show yet.
fn may_be_outdated(code: RefusalCode) -> bool {
    matches!(code, RefusalCode::Conflict | RefusalCode::Forbidden | RefusalCode::NotFound)
}

/// The item of a body.
fn new_item(place: &ItemPlace, body: &Body) -> NewItem {
    NewItem::encode(place.id.clone(), body)
}

/// The version of a stored item.
fn version_of(body: &Body) -> u64 {
    body.get("version").and_then(Value::as_u64).unwrap_or(1)
}

/// The body with the next version. The next writer is no projection.
fn next_version(body: &mut Body) {
    body.insert("version".to_owned(), json!(version_of(body) + 1));
    body.remove(Cause::FIELD);
}
