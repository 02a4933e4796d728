//! Related fields of a model: its lists, of item types and of `Query`.

use onehop_model::{
    Field, FieldKind, ItemType, Model, Name, QueryKind, ReferenceField, RelatedField, RelatedSource,
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

/// Whether the ids of a type are derived from an item of another type and the caller, so that one point read
/// finds the caller's.
#[must_use]
pub fn is_derived_of_caller(owner: &str, item: &ItemType) -> bool {
    let reference = |name: &Name| match item.field(name).map(|field| &field.kind) {
        Some(FieldKind::Reference(reference)) => Some(reference),
        _ => None,
    };
    let mut references = item.id_from.iter().filter_map(reference);
    let is_owner = |reference: &ReferenceField| *reference.target == *owner && !reference.caller;
    item.id_from.len() == 2
        && references.clone().any(|reference| reference.caller)
        && references.any(is_owner)
}

/// The reference of a type to its caller.
#[must_use]
pub fn caller_reference(item: &ItemType) -> Option<(&Name, &ReferenceField)> {
    item.fields.iter().find_map(|field| match &field.kind {
        FieldKind::Reference(reference) if reference.caller => Some((&field.name, reference)),
        _ => None,
    })
}
