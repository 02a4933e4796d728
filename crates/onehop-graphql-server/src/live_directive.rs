//! The directive `@live` of queries: a subscription to the answer. Finds it in documents, and adds it to
//! introspection.
//!
//! async-graphql does not know it, so documents lose it when they are parsed. A document remembers its live
//! operations.

use async_graphql::parser::types::{
    Directive, DocumentOperations, ExecutableDocument, Field, OperationDefinition, OperationType,
    SelectionSet,
};
use async_graphql::{Name, Positioned, ServerError, Value};

use crate::selections::fields;

/// The definition of the directive, for the SDL of a schema whose service serves live queries.
pub const LIVE_DIRECTIVE_SDL: &str =
    "\"Sends the answer, and a new one whenever it changes.\"\ndirective @live on QUERY\n";

/// The name of the directive.
const NAME: &str = "live";
const DESCRIPTION: &str = "Sends the answer, and a new one whenever it changes.";

/// Takes `@live` from the operations of a document. Returns the places of the live operations.
///
/// # Errors
/// The directive has arguments, is repeated, or stands on a mutation or a subscription.
pub(crate) fn take(document: &mut ExecutableDocument) -> Result<Vec<usize>, ServerError> {
    let operations: Vec<_> = match &mut document.operations {
        DocumentOperations::Single(operation) => vec![operation],
        DocumentOperations::Multiple(operations) => operations.values_mut().collect(),
    };
    let mut live = Vec::new();
    for (place, operation) in operations.into_iter().enumerate() {
        if take_from(&mut operation.node)? {
            live.push(place);
        }
    }
    Ok(live)
}

fn take_from(operation: &mut OperationDefinition) -> Result<bool, ServerError> {
    let is_live = |directive: &&Positioned<_>| is_named(directive);
    let found = operation.directives.iter().filter(is_live).count();
    let Some(directive) = operation.directives.iter().find(is_live) else { return Ok(false) };
    let refused = |message: &str| ServerError::new(message, Some(directive.pos));
    if operation.ty != OperationType::Query {
        return Err(refused("The directive \"live\" may be used on queries alone."));
    }
    if found > 1 {
        return Err(refused("The directive \"live\" may be used once on an operation."));
    }
    if !directive.node.arguments.is_empty() {
        return Err(refused("The directive \"live\" has no arguments."));
    }
    operation.directives.retain(|directive| !is_named(directive));
    Ok(true)
}

fn is_named(directive: &Positioned<Directive>) -> bool {
    directive.node.name.node == NAME
}

/// Whether the definitions of a schema have the directive.
pub(crate) fn is_defined(sdl: &str) -> bool {
    sdl.lines().any(|line| line == "directive @live on QUERY")
}

/// Adds the directive to the introspected directives in the data of an operation.
pub(crate) fn add_to_introspection(
    document: &ExecutableDocument,
    operation: &OperationDefinition,
    data: &mut Value,
) {
    for schema in selected(document, &operation.selection_set.node, "__schema") {
        let Some(found) = member(data, schema) else { continue };
        for directives in selected(document, &schema.selection_set.node, "directives") {
            if let Some(Value::List(listed)) = member(found, directives)
                && let Some(element) = listed.first().and_then(|like| element(document, directives, like))
            {
                listed.push(element);
            }
        }
    }
}

/// The fields of a name in a selection set, the first of each response key.
fn selected<'a>(
    document: &'a ExecutableDocument,
    selections: &'a SelectionSet,
    name: &str,
) -> Vec<&'a Field> {
    let mut found: Vec<&Field> = Vec::new();
    for (field, _) in fields(document, selections, "") {
        let key = field.node.response_key();
        let is_new = found.iter().all(|other| other.response_key().node != key.node);
        if field.node.name.node == name && is_new {
            found.push(&field.node);
        }
    }
    found
}

fn member<'v>(value: &'v mut Value, field: &Field) -> Option<&'v mut Value> {
    match value {
        Value::Object(members) => members.get_mut(&field.response_key().node),
        _ => None,
    }
}

/// The directive with the fields that another element of the list has: conditions of the selection have been
/// applied there.
fn element(document: &ExecutableDocument, directives: &Field, like: &Value) -> Option<Value> {
    let Value::Object(like) = like else { return None };
    let selections = fields(document, &directives.selection_set.node, "");
    let value_of = |key: &Name| {
        let field = selections.iter().find(|(field, _)| field.node.response_key().node == *key)?;
        Some(match field.0.node.name.node.as_str() {
            "name" => Value::from(NAME),
            "description" => Value::from(DESCRIPTION),
            "isRepeatable" => Value::from(false),
            "locations" => Value::List(vec![Value::Enum(Name::new("QUERY"))]),
            "args" => Value::List(Vec::new()),
            "__typename" => Value::from("__Directive"),
            _ => Value::Null,
        })
    };
    let members = like.keys().filter_map(|key| Some((key.clone(), value_of(key)?)));
    Some(Value::Object(members.collect()))
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn taken(text: &str) -> Result<Vec<usize>, String> {
        take(&mut parse_query(text).unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn live_operations_are_found_by_their_places() {
        assert_eq!(taken("query @live { a }"), Ok(vec![0]));
        assert_eq!(taken("{ a }"), Ok(vec![]));
        let mut document = parse_query("query A { a } query B @live @other { b }").unwrap();
        assert_eq!(take(&mut document).map(|live| live.len()).ok(), Some(1));
        let left: usize =
            document.operations.iter().map(|(_, operation)| operation.node.directives.len()).sum();
        assert_eq!(left, 1, "other directives stay");
    }

    #[test]
    fn a_misplaced_directive_is_refused() {
        for (text, message) in [
            ("mutation @live { a }", "The directive \"live\" may be used on queries alone."),
            ("subscription @live { a }", "The directive \"live\" may be used on queries alone."),
            ("query @live @live { a }", "The directive \"live\" may be used once on an operation."),
            ("query @live(if: true) { a }", "The directive \"live\" has no arguments."),
        ] {
            assert_eq!(taken(text), Err(message.to_owned()), "{text}");
        }
    }
}
