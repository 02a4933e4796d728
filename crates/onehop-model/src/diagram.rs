//! Diagram of a model: a Mermaid flowchart of containers and item types, with copies, lists, counts and
//! owners as arrows.

use std::fmt::Write;

use crate::value::{
    Container, CopyOrigin, FieldKind, ItemType, Kept, ListSource, Model, Place, QueryKind, RelatedField,
    RelatedSource, ValueSource,
};

/// A list with the field that serves it.
struct PlacedList<'a> {
    field: String,
    related: &'a RelatedField,
    list: &'a ListSource,
}

impl Model {
    /// A Mermaid flowchart. Dotted arrows are frozen copies.
    pub fn diagram(&self) -> String {
        let lists = placed_lists(self);
        let mut lines = vec!["flowchart LR".to_owned()];
        for container in self.containers() {
            lines.extend(subgraph(self, container, &lists));
        }
        for item in self.items() {
            lines.extend(item_arrows(self, item));
        }
        lines.extend(lists.iter().filter_map(|list| list_arrow(self, list)));
        lines.join("\n") + "\n"
    }
}

/// The lists of a model.
fn placed_lists(model: &Model) -> Vec<PlacedList<'_>> {
    let of_items = model.items().iter().flat_map(|item| {
        item.fields.iter().filter_map(move |field| match &field.kind {
            FieldKind::Related(related) => Some((format!("{}.{}", item.name, field.name), related)),
            _ => None,
        })
    });
    let of_query = model.queries().iter().filter_map(|query| match &query.kind {
        QueryKind::Related(related) => Some((format!("Query.{}", query.name), related)),
        _ => None,
    });
    let lists = of_items.chain(of_query).filter_map(|(field, related)| match &related.source {
        RelatedSource::List(list) => Some(PlacedList { field, related, list }),
        _ => None,
    });
    lists.collect()
}

/// The id of a node: letters, digits and `_`.
fn node(parts: &[&str]) -> String {
    let joined = parts.join("_");
    joined.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect()
}

/// A text between quotes of Mermaid.
fn label(text: &str) -> String {
    text.replace('"', "#quot;").replace(char::is_control, " ")
}

fn item_node(item: &ItemType) -> String {
    node(&[&item.container, &item.name])
}

fn list_node(list: &PlacedList<'_>) -> String {
    node(&[&list.list.container, &list.field])
}

fn subgraph(model: &Model, container: &Container, lists: &[PlacedList<'_>]) -> Vec<String> {
    let key: Vec<String> = container.key.iter().map(|path| path.slashed()).collect();
    let place = match container.place {
        Place::Account => "",
        Place::Mirror => ", also in each process",
        Place::Process => ", in each process",
    };
    let followed = if container.followed { ", followed" } else { "" };
    let title = label(&format!("{} {}{place}{followed}", container.name, key.join(" ")));
    let mut lines = vec![format!("    subgraph {}[\"{title}\"]", node(&["c", &container.name]))];
    for item in model.items().iter().filter(|item| item.container == container.name) {
        lines.push(format!("        {}[\"{}\"]", item_node(item), label(&item.name)));
    }
    for list in lists.iter().filter(|list| list.list.container == container.name) {
        let text = label(&format!("short copies of {}", list.related.item_type));
        lines.push(format!("        {}[\"{text}\"]", list_node(list)));
    }
    lines.push("    end".to_owned());
    lines
}

/// The arrows that start or end at an item type: copies, counts and the owner.
fn item_arrows(model: &Model, item: &ItemType) -> Vec<String> {
    let mut arrows = Vec::new();
    let to = item_node(item);
    let mut arrow = |from: &str, frozen: bool, text: String| {
        let line = if frozen { "-.->" } else { "-->" };
        if let Some(from) = model.item(from) {
            arrows.push(format!("    {} {line}|\"{}\"| {to}", item_node(from), label(&text)));
        }
    };
    for field in &item.fields {
        match &field.kind {
            FieldKind::Reference(reference) => {
                for copy in &reference.copies {
                    let place = match field.ty.list {
                        Some(_) => format!("{}[].{}", reference.property, copy.property),
                        None => copy.property.to_string(),
                    };
                    let mut text = format!("copy {} into {place} by {}", copy.field, field.name);
                    if reference.frozen {
                        text.push_str(", frozen");
                    }
                    arrow(&reference.target, reference.frozen, text);
                }
            }
            FieldKind::Count(count) => {
                let Some(FieldKind::Related(related)) = item.field(&count.of).map(|field| &field.kind) else {
                    continue;
                };
                let mode = match count.kept {
                    Kept::Batch { .. } => "count",
                    Kept::Behind { .. } => "count, behind,",
                    Kept::Query => continue,
                };
                arrow(&related.item_type, false, format!("{mode} into {}", field.name));
            }
            FieldKind::Stored(_) | FieldKind::Related(_) | FieldKind::HasCaller(_) => {}
        }
    }
    for (field, from, origin, frozen) in scalar_copies(model, item) {
        let mut text = format!("copy {origin} into {field}");
        if frozen {
            text.push_str(", frozen");
        }
        arrow(&from, frozen, text);
    }
    if let Some(FieldKind::Reference(owner)) =
        item.owned_by.as_ref().and_then(|by| item.field(by)).map(|field| &field.kind)
    {
        arrow(&owner.target, false, "owns".to_owned());
    }
    arrows
}

/// The copied scalars of an item and of the objects in it: the field, the source's type and field, and
/// whether it is frozen.
fn scalar_copies(model: &Model, item: &ItemType) -> Vec<(String, String, String, bool)> {
    let mut copies = Vec::new();
    let inner = item.fields.iter().filter_map(|field| {
        let embedded = model.embedded_type(field.ty.of.name())?;
        Some((format!("{}.", field.name), embedded.fields.as_slice()))
    });
    for (prefix, fields) in std::iter::once((String::new(), item.fields.as_slice())).chain(inner) {
        for field in fields {
            let FieldKind::Stored(stored) = &field.kind else { continue };
            let ValueSource::Copied(copy) = &stored.source else { continue };
            let (from, origin) = match &copy.from {
                CopyOrigin::Type { item_type, field } => (item_type.to_string(), field),
                CopyOrigin::Reference { reference, field } => {
                    let target = fields.iter().find(|known| known.name == *reference);
                    (target.map_or(String::new(), |target| target.ty.of.name().to_owned()), field)
                }
            };
            copies.push((format!("{prefix}{}", field.name), from, origin.to_string(), copy.frozen));
        }
    }
    copies
}

fn list_arrow(model: &Model, list: &PlacedList<'_>) -> Option<String> {
    let from = item_node(model.item(&list.related.item_type)?);
    let mut text = format!("list {}", list.list.projection);
    match list.list.keep {
        Some(keep) => write!(text, ": the first {keep}").ok()?,
        None => text.push_str(": all"),
    }
    if !list.list.by.is_empty() {
        let by: Vec<&str> = list.list.by.iter().map(|field| &**field).collect();
        write!(text, ", by {}", by.join(" and ")).ok()?;
    }
    for order in &list.related.order {
        let direction = if order.descending { "descending" } else { "ascending" };
        write!(text, ", {} {direction}", order.field).ok()?;
    }
    for condition in &list.related.conditions {
        write!(text, ", where {}", condition).ok()?;
    }
    Some(format!("    {from} -->|\"{}\"| {}", label(&text), list_node(list)))
}
