//! Checks for circles: of copied and computed fields, and of embedded types.

use std::collections::{BTreeMap, BTreeSet};

use super::checked::Checked;
use crate::problem::Problem;
use crate::syntax::Span;
use crate::value::{CopyOrigin, Field, FieldKind, FieldPath, TypeOf, ValueSource};

/// A graph of names: each with the names that it depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Checks both kinds of circles.
pub(super) fn check_circles(checked: &Checked<'_>) {
    for circle in circles(&value_graph(checked)) {
        let span = circle.first().and_then(|name| name.split_once('.')).map(|(ty, field)| {
            let (ty_span, field_span) = (checked.type_span(ty), checked.field_span(ty, field));
            if field_span == Span::default() { ty_span } else { field_span }
        });
        let problem = Problem::CopyCircle { circle: words(&circle) };
        checked.reports.add(span.unwrap_or_default(), problem);
    }
    for circle in circles(&embedded_graph(checked)) {
        let span = circle.first().map(|name| checked.type_span(name));
        let problem = Problem::EmbeddedCircle { circle: words(&circle) };
        checked.reports.add(span.unwrap_or_default(), problem);
    }
}

fn words(circle: &[String]) -> String {
    let first = circle.first().cloned().into_iter();
    circle.iter().cloned().chain(first).collect::<Vec<_>>().join(", ")
}

/// The fields that each copied or computed field is made from.
fn value_graph(checked: &Checked<'_>) -> Graph {
    let mut graph = Graph::new();
    let items = checked.parts.items.iter().map(|item| (&item.name, &item.fields));
    let embedded = checked.parts.embedded.iter().map(|embedded| (&embedded.name, &embedded.fields));
    for (ty, fields) in items.chain(embedded) {
        for field in fields {
            let sources = sources(checked, ty, field);
            graph.entry(format!("{ty}.{}", field.name)).or_default().extend(sources);
        }
    }
    graph
}

/// The fields that a field's value is made from, as `Type.field`.
fn sources(checked: &Checked<'_>, ty: &str, field: &Field) -> Vec<String> {
    let FieldKind::Stored(stored) = &field.kind else { return Vec::new() };
    match &stored.source {
        ValueSource::Computed(computed) => {
            computed.from.iter().filter_map(|path| end_of(checked, ty, path)).collect()
        }
        ValueSource::Copied(copy) => match &copy.from {
            CopyOrigin::Type { item_type, field } => vec![format!("{item_type}.{field}")],
            CopyOrigin::Reference { reference, field } => {
                let target = checked.parts.field(ty, reference).map(|reference| reference.ty.of.name());
                target.map(|target| format!("{target}.{field}")).into_iter().collect()
            }
        },
        _ => Vec::new(),
    }
}

/// The field at the end of a path.
fn end_of(checked: &Checked<'_>, ty: &str, path: &FieldPath) -> Option<String> {
    let (last, through) = path.fields().split_last()?;
    let mut ty = ty.to_owned();
    for field in through {
        ty = checked.parts.field(&ty, field)?.ty.of.name().to_owned();
    }
    Some(format!("{ty}.{last}"))
}

/// The embedded types of the fields of each embedded type.
fn embedded_graph(checked: &Checked<'_>) -> Graph {
    let embedded = checked.parts.embedded.iter().map(|embedded| {
        let inner = embedded.fields.iter().filter_map(|field| match &field.ty.of {
            TypeOf::Embedded(name) => Some(name.to_string()),
            _ => None,
        });
        (embedded.name.to_string(), inner.collect())
    });
    embedded.collect()
}

/// The circles of a graph, each once, from its smallest name on. The search keeps its own stack, so depth is
/// no limit.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in graph.keys() {
        let mut path: Vec<(&str, std::collections::btree_set::Iter<'_, String>)> = Vec::new();
        push(graph, start, &done, &mut path);
        while let Some((name, rest)) = path.last_mut() {
            let name = *name;
            let Some(next) = rest.next() else {
                done.insert(name);
                path.pop();
                continue;
            };
            if let Some(place) = path.iter().position(|(known, _)| known == next) {
                let circle: Vec<String> = path[place..].iter().map(|(name, _)| (*name).to_owned()).collect();
                found.push(circle);
            } else {
                push(graph, next, &done, &mut path);
            }
        }
    }
    found
}

fn push<'g>(
    graph: &'g Graph,
    name: &str,
    done: &BTreeSet<&str>,
    path: &mut Vec<(&'g str, std::collections::btree_set::Iter<'g, String>)>,
) {
    if let Some((name, next)) = graph.get_key_value(name)
        && !done.contains(name.as_str())
    {
        path.push((name, next.iter()));
    }
}
