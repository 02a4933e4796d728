//! Requests of a first study, with their rates.

use std::fmt::Write as _;

use super::documents::{by_value, embedded_name, few, fields_of};
use super::infer::{FoundType, label_of};
use super::names::{capital, small};
use super::shapes::Shape;

/// Requests a second of the generated requests, which people replace.
const READS_A_SECOND: u32 = 10;
const WRITES_A_SECOND: u32 = 1;

/// Requests by id, along each reference, for a frequent value, and writes.
pub(super) fn requests(types: &[FoundType]) -> String {
    let mut text = String::from(
        "# Requests with their rates a second: replace the rates by your own, and add `peak` and `skew: ZIPF`.\n",
    );
    for ty in types {
        let (name, root) = (&ty.name, small(&ty.name));
        let mut fields = scalars(ty);
        for (field, target) in ty.references() {
            if let Some(label) = label_of(types, target).filter(|_| !field.is_list()) {
                let _ = write!(fields, " {} {{ {} }}", field.name, label.name);
            }
        }
        for field in ty.fields.iter().filter(|field| field.target.is_none()) {
            fields.push_str(&embedded_labels(types, &ty.name, &field.name, &field.shape));
        }
        let _ = write!(
            text,
            "\nquery {name}ById($id: ID!) @request(perSecond: {READS_A_SECOND}) {{\n  {root}(id: $id) {{ {fields} }}\n}}\n"
        );
        for source in types {
            for (field, _) in source.references().filter(|(_, target)| target == name) {
                let reverse = source.reverse_name(types, field);
                let _ = write!(
                    text,
                    "\nquery {}Of{name}($id: ID!) @request(perSecond: {READS_A_SECOND}) {{\n  {root}(id: $id) {{ {reverse}(first: 20) {{ nodes {{ {} }} }} }}\n}}\n",
                    capital(&reverse),
                    scalars(source)
                );
            }
        }
        for (field, _) in few(ty) {
            let list = by_value(ty, field);
            let _ = write!(
                text,
                "\nquery {}($unused: ID) @request(perSecond: {WRITES_A_SECOND}) {{\n  {list}(first: 20) {{ nodes {{ {} }} }}\n}}\n",
                capital(&list),
                scalars(ty)
            );
        }
        let _ = write!(
            text,
            "\nmutation Create{name} @request(perSecond: {WRITES_A_SECOND}) {{\n  create{name}(input: $input) {{ {root} {{ id }} }}\n}}\n"
        );
        // A change of a copied name reaches all copies; other types change their state.
        let is_referred = types.iter().flat_map(FoundType::references).any(|(_, target)| target == name);
        let state = few(ty).next().map(|(field, _)| field).filter(|_| !is_referred || ty.label().is_none());
        if let Some(changed) = state.or_else(|| ty.label()) {
            let _ = write!(
                text,
                "\nmutation Update{name}($id: ID!) @request(perSecond: {WRITES_A_SECOND}) {{\n  update{name}(input: {{id: $id, {0}: ${0}}}) {{ {root} {{ id }} }}\n}}\n",
                changed.name
            );
        }
    }
    text.replace("($unused: ID)", "")
}

/// The selection of the labels that references in embedded objects lead to: ` lines { product { name } }`.
fn embedded_labels(types: &[FoundType], owner: &str, field: &str, shape: &Shape) -> String {
    let Some(objects) = shape.objects() else { return String::new() };
    let name = embedded_name(types, owner, field);
    let inner = |(inner_name, _, inner, _): (String, &String, &Shape, String)| match &inner.target {
        Some(target) => label_of(types, target)
            .map_or(String::new(), |label| format!(" {inner_name} {{ {} }}", label.name)),
        None => embedded_labels(types, &name, &inner_name, inner),
    };
    let found: String = fields_of(types, owner, field, objects).map(inner).collect();
    if found.is_empty() { found } else { format!(" {field} {{{found} }}") }
}

/// The scalar fields of a type, and its id.
fn scalars(ty: &FoundType) -> String {
    let fields = ty.fields.iter().filter(|field| field.target.is_none() && field.shape.scalar().is_some());
    let names: Vec<&str> = std::iter::once("id").chain(fields.map(|field| field.name.as_str())).collect();
    names.join(" ")
}
