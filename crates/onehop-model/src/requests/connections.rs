//! Levels of connections in requests: `nodes`, `edges` and `node`, which requests may name or leave out, are
//! left out, and so are `pageInfo` and `cursor`. A field of a type may have such a name, too.

use super::value::{RequestSet, Selection};
use crate::value::{Field, FieldKind, Model, QueryKind, TypeOf};

/// The fields of a connection, beside its items.
const CONNECTION: [&str; 3] = ["nodes", "edges", "pageInfo"];
/// The fields of an edge.
const EDGE: [&str; 2] = ["node", "cursor"];
const TYPE_NAME: &str = "__typename";

/// Leaves out the levels, by the first design that makes a request.
pub(super) fn leave_out_levels(set: &mut RequestSet, designs: &[&Model]) {
    for request in set.requests.iter_mut().filter(|request| !request.is_write) {
        let names = |design: &&&Model| request.is_of(design.design().unwrap_or(design.name()));
        let Some(design) = designs.iter().find(names) else { continue };
        for selection in &mut request.fields {
            if let Some(query) = design.queries().iter().find(|query| query.name == selection.field) {
                let is_list = matches!(query.kind, QueryKind::Related(_));
                object(design, &query.item_type, is_list, selection);
            }
        }
    }
}

fn object(design: &Model, ty: &str, is_list: bool, selection: &mut Selection) {
    if is_list {
        selection.selections = items(std::mem::take(&mut selection.selections));
    }
    selection.selections.retain(|inner| &*inner.field != TYPE_NAME);
    let item = design.item(ty).map(|item| item.fields.as_slice());
    let embedded = || design.embedded_type(ty).map(|embedded| embedded.fields.as_slice());
    let fields: &[Field] = item.or_else(embedded).unwrap_or_default();
    for inner in &mut selection.selections {
        let Some(field) = fields.iter().find(|field| field.name == inner.field) else { continue };
        match (&field.kind, &field.ty.of) {
            (FieldKind::Related(related), _) => object(design, &related.item_type, true, inner),
            (FieldKind::Reference(reference), _) => object(design, &reference.target, false, inner),
            (_, TypeOf::Embedded(name)) => object(design, name, false, inner),
            _ => {}
        }
    }
}

/// The selections of the items of a list, with or without the levels of a connection.
fn items(selections: Vec<Selection>) -> Vec<Selection> {
    if !are_all(&selections, &CONNECTION) {
        return selections;
    }
    let mut found = Vec::new();
    for level in selections {
        match &*level.field {
            "nodes" => found.extend(level.selections),
            "edges" if are_all(&level.selections, &EDGE) => {
                let nodes = level.selections.into_iter().filter(|inner| &*inner.field == "node");
                found.extend(nodes.flat_map(|node| node.selections));
            }
            "edges" => found.extend(level.selections),
            _ => {}
        }
    }
    found
}

/// Whether each selection has one of these names.
fn are_all(selections: &[Selection], names: &[&str]) -> bool {
    selections.iter().all(|inner| names.contains(&&*inner.field) || &*inner.field == TYPE_NAME)
}
