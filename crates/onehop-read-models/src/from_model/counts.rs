//! Count rules and owned items of a model: `@count` and `@owned`.

use onehop_model::{
    Deletion, Field, FieldKind, Function, ItemType as Declared, Kept, KeySource, ListSource, Model, Name,
    PropertyPath, RelatedSource, ValueSource,
};
use onehop_store::{ContainerName, interned};

use super::back_references::back_references;
use super::item_types::{ItemTypes, property, root_property};
use super::model_error::ModelError;
use super::projection_names::ProjectionNames;
use super::related::related_places;
use super::relations::key_properties;
use crate::computation::Padding;
use crate::item_type::{ItemPartition, ItemType};
use crate::rule::{CountRule, CountText, OwnedType, OwnsRule, Rule};

const COUNT: &str = "@count";

/// The counts that commands keep.
pub(super) fn rules(model: &Model, types: &ItemTypes) -> Vec<Result<Rule, ModelError>> {
    let counts = model.items().iter().flat_map(|item| {
        item.fields.iter().filter_map(move |field| match &field.kind {
            FieldKind::Count(count) => Some((item, field, count)),
            _ => None,
        })
    });
    let rule = |(item, field, count): (&Declared, &Field, &onehop_model::CountField)| {
        let place = format!("{}.{}", item.name, field.name);
        let kept = match &count.kept {
            Kept::Query => return None,
            Kept::Batch { property, .. } => KeptCount { property, projection: None },
            // A count follows each change of its items, so any bound of its lag holds.
            Kept::Behind { property, .. } => KeptCount { property, projection: Some(place.as_str()) },
        };
        Some(count_rule(model, types, item, field, &count.of, &kept))
    };
    counts.filter_map(rule).collect()
}

/// Where a count is stored, and the projection that keeps it.
struct KeptCount<'a> {
    property: &'a PropertyPath,
    projection: Option<&'a str>,
}

fn count_rule(
    model: &Model,
    types: &ItemTypes,
    item: &Declared,
    field: &Field,
    of: &Name,
    kept: &KeptCount<'_>,
) -> Result<Rule, ModelError> {
    let place = format!("{}.{}", item.name, field.name);
    let unsupported = |reason: &str| Err(ModelError::unsupported(&place, COUNT, reason));
    let Some(FieldKind::Related(related)) = item.field(of).map(|field| &field.kind) else {
        return unsupported("it counts a field with related items");
    };
    let counted = model.item(&related.item_type);
    if kept.projection.is_some() && counted.is_some_and(|counted| counted.deletion == Deletion::Hard) {
        return unsupported("no change feed shows the deletion of counted items, which is HARD");
    }
    let refers_here = |by: &&Name| match counted.and_then(|it| it.field(by)).map(|field| &field.kind) {
        Some(FieldKind::Reference(reference)) => reference.target == item.name,
        _ => false,
    };
    let of = counted;
    let (counted, by) = match &related.source {
        RelatedSource::Partition { by } => {
            if !related.conditions.is_empty() {
                return unsupported("it counts all items: `@where` is for counts of a `@list`");
            }
            let key = by.iter().find(refers_here).and_then(|by| counted?.field(by));
            let Some(key) = key.and_then(Field::property) else {
                return unsupported("the counted items have no stored reference to their parent");
            };
            (types.get(&related.item_type)?.clone(), root_property(&place, key)?)
        }
        RelatedSource::List(list) if kept.projection.is_some() => match list.by.as_slice() {
            [by] if refers_here(&by) => entries_of(model, &place, list)?,
            _ => return unsupported("it counts the entries of a `@list` by one reference to this type"),
        },
        RelatedSource::List(_) | RelatedSource::Find { .. } => {
            return unsupported("it counts the items of a `@partition`, or of a `@list` with `kept: BEHIND`");
        }
    };
    let parent = types.get(&item.name)?.clone();
    let reference = match &related.source {
        RelatedSource::Partition { by } => by.iter().find(refers_here),
        RelatedSource::List(list) => list.by.first(),
        RelatedSource::Find { .. } => None,
    };
    let key = match parent.partition {
        ItemPartition::Field(_) => {
            of.zip(reference).map(|(of, reference)| key_of_parent(&place, item, of, reference, by))
        }
        ItemPartition::Id | ItemPartition::Constant(_) => None,
    };
    let key = key.transpose()?.filter(|key| counted.partition != ItemPartition::Field(key));
    let counted = match key {
        // Entries have the partition key of their parent, too.
        Some(key) => counted.with_fields(key.split('/')),
        None => counted,
    };
    Ok(Rule::Count(
        CountRule {
            counted,
            parent,
            field: property(kept.property)?,
            by,
            parent_key_fields: key,
            text: count_text(item, &field.name)?,
            projection: kept.projection.map(interned).transpose()?,
        }
        .into(),
    ))
}

/// The entries of a list as counted items, with the property that names their parent: their partition key.
fn entries_of(model: &Model, place: &str, list: &ListSource) -> Result<(ItemType, &'static str), ModelError> {
    let key = model.container(&list.container).and_then(|container| container.key.first());
    let key = key.ok_or_else(|| ModelError::unsupported(place, COUNT, "the list has no container"))?;
    let by = root_property(place, key)?;
    let container = ContainerName::named(&list.container)?;
    let entries = ItemType::new(container, interned(&list.entry_type)?, &[by]);
    Ok((entries.partitioned_by(by), by))
}

/// The properties of a counted item, or of its entry, that hold the partition key of its parent, with slashes
/// between them. `by` holds the parent's id.
fn key_of_parent(
    place: &str,
    parent: &Declared,
    counted: &Declared,
    reference: &Name,
    by: &'static str,
) -> Result<&'static str, ModelError> {
    let paths = match counted.field(reference).map(|field| &field.kind) {
        Some(FieldKind::Reference(held)) => key_properties(parent, held, &counted.fields),
        _ => None,
    };
    let paths = paths.ok_or_else(|| {
        ModelError::unsupported(place, COUNT, "the counted items lack the partition key of their parent")
    })?;
    let mut properties = Vec::new();
    for (part, path) in parent.key.iter().zip(paths) {
        properties.push(if *part == KeySource::Id { by } else { root_property(place, path)? });
    }
    Ok(interned(&properties.join("/"))?)
}

/// The text of a count in its parent: a stored `PADDED` of the count.
fn count_text(item: &Declared, count: &Name) -> Result<Option<CountText>, ModelError> {
    for field in &item.fields {
        let FieldKind::Stored(stored) = &field.kind else { continue };
        let ValueSource::Computed(computed) = &stored.source else { continue };
        let is_of_count = computed.from.iter().any(|path| path.single() == Some(count));
        if computed.function == Function::Padded && computed.stored && is_of_count {
            let digits = computed.length.unwrap_or_default() as usize;
            return Ok(Some(CountText { field: property(&stored.property)?, padding: Padding { digits } }));
        }
    }
    Ok(None)
}

/// The items that are deleted after their owner: one rule for each type of owner.
pub(super) fn owners(
    model: &Model,
    types: &ItemTypes,
    names: &ProjectionNames,
) -> Vec<Result<Rule, ModelError>> {
    let owner_of = |item: &Declared| match item.field(item.owned_by.as_ref()?).map(|field| &field.kind) {
        Some(FieldKind::Reference(reference)) => model.item(&reference.target),
        _ => None,
    };
    let rule = |owner: &Declared| -> Option<Result<Rule, ModelError>> {
        let owned: Vec<_> = model
            .items()
            .iter()
            .filter(|item| owner_of(item).is_some_and(|found| found.name == owner.name))
            .collect();
        if owned.is_empty() {
            return None;
        }
        if owner.deletion == Deletion::Hard {
            let reason = format!("no change feed shows the deletion of `{}`, which is HARD", owner.name);
            return Some(Err(ModelError::unsupported(&owned[0].name, "@owned", reason)));
        }
        Some(owns(model, types, names, owner, &owned))
    };
    model.items().iter().filter_map(rule).collect()
}

fn owns(
    model: &Model,
    types: &ItemTypes,
    names: &ProjectionNames,
    owner: &Declared,
    owned: &[&Declared],
) -> Result<Rule, ModelError> {
    let rule = OwnsRule {
        name: interned(&names.of_owner(&owner.name))?,
        owner: types.get(&owner.name)?.clone(),
        owned: owned.iter().map(|item| owned_type(model, types, item)).collect::<Result<_, _>>()?,
    };
    Ok(Rule::Owns(rule.into()))
}

fn owned_type(model: &Model, types: &ItemTypes, item: &Declared) -> Result<OwnedType, ModelError> {
    let by = item.owned_by.as_ref().and_then(|by| item.field(by)).and_then(Field::property);
    let by = by.ok_or_else(|| {
        ModelError::unsupported(&item.name, "@owned", "the reference to the owner is not stored")
    })?;
    Ok(OwnedType {
        item_type: types.get(&item.name)?.clone(),
        by: root_property(&item.name, by)?,
        tombstone_ttl_s: tombstone_of_owned(model, item),
    })
}

/// The time to live of an owned item after its deletion, in seconds, where others have to see the deletion:
/// lists of the items, entries by which copies in their arrays are found, the items that it owns, and the
/// reservations of its unique values. `None` where it can be removed at once.
#[must_use]
pub fn tombstone_of_owned(model: &Model, item: &Declared) -> Option<u32> {
    let Deletion::Soft { ttl_seconds, .. } = item.deletion else { return None };
    item.owned_by.as_ref()?;
    let is_listed = related_places(model).iter().any(|place| {
        matches!(place.related.source, RelatedSource::List(_)) && place.target.name == item.name
    });
    let owns = model.items().iter().any(|owned| {
        let by = owned.owned_by.as_ref().and_then(|by| owned.field(by));
        matches!(by.map(|by| &by.kind), Some(FieldKind::Reference(to)) if to.target == item.name)
    });
    let is_unique =
        |field: &Field| matches!(&field.kind, FieldKind::Stored(stored) if stored.unique.is_some());
    // The entries by which copies in its arrays are found.
    let is_entered =
        back_references(model).is_ok_and(|found| found.iter().any(|found| found.item.name == item.name));
    (is_listed || is_entered || owns || item.fields.iter().any(is_unique)).then_some(ttl_seconds)
}
