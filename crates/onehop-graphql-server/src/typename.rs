//! Validation of parts that async-graphql's validator passes over: the field `__typename` with its directives
//! and arguments, and directives on variables. Knows no schema.
//!
//! A directive on `__typename` moves to an inline fragment around it, which means the same and is validated:
//! otherwise a variable that is used nowhere else counts as unused, and an unknown variable or directive
//! passes.

use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, Field, InlineFragment, Selection, SelectionSet,
};
use async_graphql::{Pos, Positioned, ServerError};

const TYPENAME: &str = "__typename";

/// Makes each `__typename` visible to validation. The document is within the limits of documents.
///
/// # Errors
/// The first thing that no schema allows.
pub(super) fn normalize(document: &mut ExecutableDocument) -> Result<(), ServerError> {
    let operations: Vec<_> = match &mut document.operations {
        DocumentOperations::Single(operation) => vec![operation],
        DocumentOperations::Multiple(operations) => operations.values_mut().collect(),
    };
    for operation in operations {
        let operation = &mut operation.node;
        for variable in &operation.variable_definitions {
            if let Some(directive) = variable.node.directives.first() {
                let name = &directive.node.name.node;
                let message = format!("Directive \"{name}\" may not be used on \"VARIABLE_DEFINITION\"");
                return Err(error(message, directive.pos));
            }
        }
        normalize_selections(&mut operation.selection_set.node)?;
    }
    document
        .fragments
        .values_mut()
        .try_for_each(|fragment| normalize_selections(&mut fragment.node.selection_set.node))
}

fn normalize_selections(selections: &mut SelectionSet) -> Result<(), ServerError> {
    for selection in &mut selections.items {
        match &mut selection.node {
            Selection::Field(field) if field.node.name.node == TYPENAME => {
                check(field)?;
                if !field.node.directives.is_empty() {
                    selection.node = within_fragment(field.clone());
                }
            }
            Selection::Field(field) => normalize_selections(&mut field.node.selection_set.node)?,
            Selection::InlineFragment(fragment) => {
                normalize_selections(&mut fragment.node.selection_set.node)?;
            }
            Selection::FragmentSpread(_) => {}
        }
    }
    Ok(())
}

/// It has neither arguments nor fields.
fn check(field: &Positioned<Field>) -> Result<(), ServerError> {
    if let Some((name, _)) = field.node.arguments.first() {
        return Err(error(format!("Unknown argument \"{}\" on field \"{TYPENAME}\".", name.node), name.pos));
    }
    if !field.node.selection_set.node.items.is_empty() {
        let message = format!("Field \"{TYPENAME}\" must not have a selection, for it has no subfields.");
        return Err(error(message, field.pos));
    }
    Ok(())
}

fn within_fragment(mut field: Positioned<Field>) -> Selection {
    let (pos, directives) = (field.pos, std::mem::take(&mut field.node.directives));
    let items = vec![Positioned::new(Selection::Field(field), pos)];
    let selection_set = Positioned::new(SelectionSet { items }, pos);
    Selection::InlineFragment(Positioned::new(
        InlineFragment { type_condition: None, directives, selection_set },
        pos,
    ))
}

fn error(message: String, pos: Pos) -> ServerError {
    ServerError::new(message, Some(pos))
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn normalized(text: &str) -> Result<ExecutableDocument, String> {
        let mut document = parse_query(text).unwrap();
        normalize(&mut document).map(|()| document).map_err(|error| error.message)
    }

    fn without_positions(document: &ExecutableDocument) -> String {
        let text = format!("{document:?}");
        text.split("pos: ").map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect()
    }

    #[test]
    fn a_directive_moves_to_a_fragment_around_it() {
        for (text, expected) in [
            ("{ __typename @include(if: true) }", "{ ... @include(if: true) { __typename } }"),
            ("{ a { x: __typename @skip(if: $no) b } }", "{ a { ... @skip(if: $no) { x: __typename } b } }"),
            (
                "{ ... on Q { __typename @skip(if: $no) } ...F } fragment F on Q { __typename @skip(if: $no) }",
                "{ ... on Q { ... @skip(if: $no) { __typename } } ...F }
                 fragment F on Q { ... @skip(if: $no) { __typename } }",
            ),
            ("{ __typename a }", "{ __typename a }"),
        ] {
            let expected = parse_query(expected).unwrap();
            assert_eq!(without_positions(&normalized(text).unwrap()), without_positions(&expected), "{text}");
        }
    }

    #[test]
    fn what_no_schema_allows_is_refused() {
        for (text, told) in [
            ("{ __typename(a: 1) }", "argument \"a\""),
            ("{ a { __typename { b } } }", "selection"),
            ("query($a: Int @skip(if: true)) { b(c: $a) }", "VARIABLE_DEFINITION"),
        ] {
            let message = normalized(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }
}
