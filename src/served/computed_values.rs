//! Computed values that items store. Commands write them with their sources. An item has another value, or
//! none, where the model has changed since, where a process with an older model wrote it, and where a
//! projection has changed a source, such as a copy: a projection writes them then, and verification compares
//! them.

use std::sync::Arc;

use async_trait::async_trait;
use onehop_change_feed::{Cause, IntendedWrite, Projection, ProjectionError, Step, StepInput};
use onehop_model::{Computed, Field, FieldKind, Model, PropertyPath, StoredField, ValueSource};
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Invariant, Violation};
use onehop_store::{
    Change, ContainerName, Fault, Item, Ledger, NewItem, PartitionKey, Store, WriteOp, property_mut,
    property_of_path,
};
use serde_json::{Value, json};

use super::amounts::evaluated;
use super::formats::is_currency_of_item;
use super::former_values::embedded_fields;
use super::model::{Body, ServedModel, ServedType, TypeIndex};
use super::names::interned;
use super::reads::is_deleted;
use super::stored;
use crate::domain::conditional_write::{self, WriteAttempt};

/// The projections that write computed values, one for each type whose items store some.
pub(super) fn projections(model: &Arc<ServedModel>) -> impl Iterator<Item = Arc<dyn Projection>> {
    let storing = model.types().filter(|(_, served)| stores_any(model.model(), &served.item.fields));
    storing.map(|(ty, served)| {
        let items = ComputedItems { model: Arc::clone(model), ty };
        Arc::new(ComputedValues { items, name: projection_name(served), types: [served.type_value] }) as _
    })
}

/// The invariants of items with computed values.
pub(super) fn invariants(model: &Arc<ServedModel>, store: &Arc<dyn Store>) -> Vec<Box<dyn Invariant>> {
    let computing = model.types().filter(|(_, served)| computes_any(model.model(), &served.item.fields));
    let invariant = |(ty, served): (TypeIndex, &ServedType)| {
        Box::new(StoredAsComputed {
            items: ComputedItems { model: Arc::clone(model), ty },
            store: Arc::clone(store),
            item_type: ItemType::new(served.container, served.type_value, &[]),
        }) as _
    };
    computing.map(invariant).collect()
}

/// The rule of a computed field, with the stored form of its value.
pub(super) fn computed_rule(field: &Field) -> Option<(&StoredField, &Computed)> {
    match &field.kind {
        FieldKind::Stored(form @ StoredField { source: ValueSource::Computed(rule), .. }) => {
            Some((form, rule))
        }
        _ => None,
    }
}

/// Writes the value of a computed field that items store, and its currency at this path.
pub(super) fn write_computed(
    model: &Model,
    fields: &[Field],
    (field, rule): (&Field, &Computed),
    currency: Option<&PropertyPath>,
    object: &mut Body,
) {
    let Some(property) = field.property() else { return };
    let within = stored::within(model, fields, object, object);
    let code = evaluated(within, rule).ok().flatten().and_then(|amount| amount.currency);
    let value = stored::computed(model, fields, (field, rule), object);
    if let (Some(path), Some(code)) = (currency, code) {
        stored::set(object, path, json!(code));
    }
    stored::set(object, property, value);
}

/// The currency of an amount that stands in an object: `None` where it is a property of the item.
pub(super) fn currency_in_object(field: &Field) -> Option<&PropertyPath> {
    field.currency().filter(|_| !is_currency_of_item(field))
}

/// Writes the computed values of an item or object, and of the objects in it, where it has others. Says
/// whether it had others. Values that are not stored any more are removed.
fn update(
    model: &Model,
    fields: &[Field],
    currency: fn(&Field) -> Option<&PropertyPath>,
    object: &mut Body,
) -> bool {
    let mut has_changed = false;
    for field in fields {
        let Some(inner) = embedded_fields(model, field).filter(|inner| computes_any(model, inner)) else {
            continue;
        };
        let Some(path) = field.property().map(|path| property_of_path(path.properties())) else { continue };
        let objects = match property_mut(object, &path) {
            Some(Value::Array(elements)) => elements.as_mut_slice(),
            Some(value) => std::slice::from_mut(value),
            None => continue,
        };
        for object in objects.iter_mut().filter_map(Value::as_object_mut) {
            has_changed |= update(model, inner, currency_in_object, object);
        }
    }
    for field in fields {
        let Some((form, rule)) = computed_rule(field) else { continue };
        if !rule.stored {
            let is_currency = |other: &Field| other.currency() == Some(&form.property);
            if stored::get(object, &form.property).is_some() && !fields.iter().any(is_currency) {
                stored::set(object, &form.property, Value::Null);
                has_changed = true;
            }
            continue;
        }
        // Its sources do not give a value: a command has refused that.
        if field.ty.non_null && stored::computed(model, fields, (field, rule), object).is_null() {
            continue;
        }
        let currency = currency(field);
        let present = |object: &Body| {
            let at = |path: &PropertyPath| stored::get(object, path).cloned().unwrap_or_default();
            (at(&form.property), currency.map(at))
        };
        let before = present(object);
        write_computed(model, fields, (field, rule), currency, object);
        let after = present(object);
        has_changed |= !is_equal(&before.0, &after.0) || before.1 != after.1;
    }
    has_changed
}

/// Whether two values are equal. Stores write the number 6.0 as 6.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there =
                |(name, one): (&String, &Value)| other.get(name).is_some_and(|other| is_equal(one, other));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

/// Whether items with these fields store computed values, also in objects.
fn stores_any(model: &Model, fields: &[Field]) -> bool {
    any_rule(model, fields, |rule| rule.stored)
}

fn computes_any(model: &Model, fields: &[Field]) -> bool {
    any_rule(model, fields, |_| true)
}

fn any_rule(model: &Model, fields: &[Field], is_it: fn(&Computed) -> bool) -> bool {
    fields.iter().any(|field| {
        computed_rule(field).is_some_and(|(_, rule)| is_it(rule))
            || embedded_fields(model, field).is_some_and(|inner| any_rule(model, inner, is_it))
    })
}

/// The items of a type.
#[derive(Debug)]
struct ComputedItems {
    model: Arc<ServedModel>,
    ty: TypeIndex,
}

impl ComputedItems {
    /// An item with other computed values than it has; `None` where they are the same, and for a deleted one.
    fn updated(&self, item: &Item) -> Result<Option<Body>, Fault> {
        let mut body = self.model.decoded(self.ty, item)?;
        let fields = &self.model.ty(self.ty).item.fields;
        let has_changed =
            !is_deleted(&body) && update(self.model.model(), fields, Field::currency, &mut body);
        Ok(has_changed.then_some(body))
    }

    /// The write of an updated item in the place of the present one.
    fn replacement(&self, id: &str, present: &Item, mut body: Body) -> WriteOp {
        let version = body.get("version").and_then(Value::as_u64).unwrap_or(1) + 1;
        body.insert("version".to_owned(), json!(version));
        Cause::Projection(projection_name(self.model.ty(self.ty)).to_owned()).mark(&mut body, version);
        WriteOp::Replace { item: NewItem::encode(id, &body), if_match: Some(present.etag.clone()) }
    }
}

/// No field of a type has a projection of this name.
fn projection_name(ty: &ServedType) -> &'static str {
    interned(&format!("{}.computed.values", ty.name))
}

/// Writes the computed values of a type's items that are others than their sources give.
#[derive(Debug)]
struct ComputedValues {
    items: ComputedItems,
    name: &'static str,
    types: [&'static str; 1],
}

impl Projection for ComputedValues {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.items.model.ty(self.items.ty).container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, _: StepInput<'_>) -> Result<Step, ProjectionError> {
        let Some(body) = self.items.updated(&change.item)? else { return Ok(Step::done()) };
        let replace = self.items.replacement(&change.id, &change.item, body);
        let write = IntendedWrite::one(self.source(), change.partition_key.clone(), replace);
        // A writer that changes the item meanwhile makes a change that comes here again.
        Ok(Step::done().after_writing(vec![write]).yield_to_newer_changes())
    }
}

/// The computed values that an item stores are equal to the values of its sources.
struct StoredAsComputed {
    items: ComputedItems,
    store: Arc<dyn Store>,
    item_type: ItemType,
}

impl StoredAsComputed {
    /// The item where it has other values than computed, with the write that mends it.
    async fn found(&self, partition_key: &PartitionKey, id: &str) -> Result<Option<(Item, Body)>, Fault> {
        let container = self.item_type.container;
        let Some(item) = self.store.read(container, partition_key, id, &Ledger::new()).await? else {
            return Ok(None);
        };
        Ok(self.items.updated(&item)?.map(|body| (item, body)))
    }
}

#[async_trait]
impl Invariant for StoredAsComputed {
    fn name(&self) -> &'static str {
        "computedValue"
    }

    fn item_type(&self) -> &ItemType {
        &self.item_type
    }

    fn may_be_violated(&self, item: &Item) -> bool {
        self.items.updated(item).is_ok_and(|updated| updated.is_some())
    }

    async fn violation(&self, partition_key: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let found = self.found(partition_key, id).await?;
        Ok(found.map(|(item, _)| Violation {
            problem: "a stored computed value is not what its sources give".to_owned(),
            seen: vec![Some(item.etag)],
        }))
    }

    async fn repair(&self, partition_key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let Some((item, body)) = self.found(partition_key, id).await? else { return Ok(false) };
        let replace = self.items.replacement(id, &item, body);
        let (container, ledger) = (self.item_type.container, Ledger::new());
        let attempt = conditional_write::attempt(&*self.store, container, partition_key, replace, &ledger);
        Ok(attempt.await? == WriteAttempt::Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value_at_each_depth() {
        assert!(is_equal(&json!({"a": [6.0, "x"]}), &json!({"a": [6, "x"]})));
        assert!(!is_equal(&json!({"a": [6.5]}), &json!({"a": [6]})));
        assert!(!is_equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!is_equal(&json!([1]), &json!([1, 2])));
        assert!(!is_equal(&json!("6"), &json!(6)));
    }
}
