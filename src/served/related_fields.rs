//! Related fields of a model: its lists, of item types and of `Query`.

use onehop_model::{
    Field, FieldKind, ItemType, KeySource, Model, Name, QueryKind, ReferenceField, RelatedField,
    RelatedSource, TypeOf,
};

/// The related field, if the field is one.
#[must_use]
pub fn related(field: &Field) -> Option<&RelatedField> {
    match &field.kind {
        FieldKind::Related(related) => Some(related),
        _ => None,
    }
}

/// All lists of a model, each with its type; `None` for `Query`.
pub fn lists(model: &Model) -> impl Iterator<Item = (Option<&str>, &RelatedField)> {
    let of_types = model.items().iter().flat_map(|item| {
        let fields = item.fields.iter().filter_map(related);
        fields.map(move |related| (Some(&*item.name), related))
    });
    let of_query = model.queries().iter().filter_map(|query| match &query.kind {
        onehop_model::QueryKind::Related(related) => Some((None, related)),
        _ => None,
    });
    of_types.chain(of_query)
}

/// All lists of a model, each with its place: `Type.field`.
pub fn placed_lists(model: &Model) -> impl Iterator<Item = (String, &RelatedField)> {
    let of_types = model.items().iter().flat_map(|item| {
        let found = |field: &'_ Field| format!("{}.{}", item.name, field.name);
        item.fields.iter().filter_map(move |field| Some((found(field), related(field)?)))
    });
    let of_query = model.queries().iter().filter_map(|query| match &query.kind {
        QueryKind::Related(related) => Some((format!("Query.{}", query.name), related)),
        _ => None,
    });
    of_types.chain(of_query)
}

/// Whether a list is a read model.
#[must_use]
pub fn is_read_model(related: &RelatedField) -> bool {
    matches!(related.source, RelatedSource::List(_))
}

/// Whether the owner of a list and the caller decide the place of the caller's item in the list, so that one
/// point read finds it: each field of its id and of its partition key is one of the two, or a part of the
/// partition key of the owner.
#[must_use]
pub fn is_derived_of_caller(owner: &str, list: &RelatedField, item: &ItemType) -> bool {
    let Some((name, of_owner)) = owner_reference(owner, item) else { return false };
    let by = match &list.source {
        RelatedSource::Partition { by } => by.as_slice(),
        RelatedSource::Find { by, through: None } => by.as_slice(),
        RelatedSource::List(list) => &list.by,
        RelatedSource::Find { through: Some(_), .. } => return false,
    };
    let is_caller = |name: &Name| held(item, name).is_some_and(|held| held.caller);
    let is_known = |part: &Name| part == name || of_owner.partition.contains(part) || is_caller(part);
    !item.id_from.is_empty()
        && by.contains(name)
        && place_fields(item).all(is_known)
        && place_fields(item).any(is_caller)
}

/// The one reference to a type among the fields that decide the place of an item, but for the caller.
pub fn owner_reference<'a>(owner: &str, item: &'a ItemType) -> Option<(&'a Name, &'a ReferenceField)> {
    let to_owner = |name: &'a Name| {
        let held = held(item, name).filter(|held| *held.target == *owner && !held.caller)?;
        Some((name, held))
    };
    let mut found = place_fields(item).filter_map(to_owner);
    let (name, reference) = found.next()?;
    found.all(|(other, _)| other == name).then_some((name, reference))
}

/// The fields from which the id and the partition key of an item are made, each once.
pub fn place_fields(item: &ItemType) -> impl Iterator<Item = &Name> {
    let of_key = item.key.iter().filter_map(|part| match part {
        KeySource::Field(name) => Some(name).filter(|name| !item.id_from.contains(name)),
        KeySource::Id | KeySource::Type => None,
    });
    item.id_from.iter().chain(of_key)
}

fn held<'a>(item: &'a ItemType, name: &Name) -> Option<&'a ReferenceField> {
    match item.field(name).map(|field| &field.kind) {
        Some(FieldKind::Reference(reference)) => Some(reference),
        _ => None,
    }
}

/// Whether each item needs a target of a reference.
#[must_use]
pub fn needs_target(field: &Field) -> bool {
    field.ty.non_null && (field.ty.list.is_none() || field.checks.length_min.is_some_and(|min| min > 0))
}

/// The references of a type, also those of its embedded objects: each with its field and its target.
pub fn references<'a>(model: &'a Model, item: &'a ItemType) -> impl Iterator<Item = (&'a Field, &'a Name)> {
    let embedded = item.fields.iter().filter_map(|field| match &field.ty.of {
        TypeOf::Embedded(of) => model.embedded().iter().find(|embedded| embedded.name == *of),
        _ => None,
    });
    let fields = item.fields.iter().chain(embedded.flat_map(|embedded| &embedded.fields));
    fields.filter_map(|field| match &field.kind {
        FieldKind::Reference(reference) => Some((field, &reference.target)),
        _ => None,
    })
}

/// Whether references that are followed lead from a type to another.
#[must_use]
pub fn leads_to(model: &Model, from: &Name, to: &Name, is_followed: impl Fn(&Field) -> bool) -> bool {
    let (mut open, mut seen) = (vec![from], Vec::new());
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        let Some(item) = model.item(name).filter(|_| !seen.contains(&name)) else { continue };
        let followed = references(model, item).filter(|(field, _)| is_followed(field));
        open.extend(followed.map(|(_, target)| target));
        seen.push(name);
    }
    false
}

/// The reference of a type to its caller.
#[must_use]
pub fn caller_reference(item: &ItemType) -> Option<(&Name, &ReferenceField)> {
    item.fields.iter().find_map(|field| match &field.kind {
        FieldKind::Reference(reference) if reference.caller => Some((&field.name, reference)),
        _ => None,
    })
}
