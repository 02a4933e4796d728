//! The root of a subscription: exactly one field. async-graphql runs several, and passes over fields in
//! fragments, so the rule is kept here, and the content of fragments is put in their place before validation.

use std::ops::ControlFlow;

use async_graphql::parser::types::{
    Directive, ExecutableDocument, Field, OperationDefinition, OperationType, Selection,
};
use async_graphql::{Positioned, ServerError};
use onehop_graphql_server::selections::{SelectionVisitor, visit};

use super::errors::{Code, document_error};

/// The name of the root type.
const ROOT_TYPE: &str = "Subscription";
/// Directives that could leave the only field out.
const CONDITIONS: [&str; 2] = ["skip", "include"];

/// Checks the subscriptions of a document, and writes their only field out of its fragments.
///
/// # Errors
/// `GRAPHQL_VALIDATION_FAILED` unless each selects exactly one field, unconditionally.
pub(super) fn write_out(document: &mut ExecutableDocument) -> Result<(), ServerError> {
    let mut roots = Vec::new();
    for (_, operation) in document.operations.iter() {
        roots.push(match operation.node.ty {
            OperationType::Subscription => Some(root_field(document, &operation.node)?),
            OperationType::Query | OperationType::Mutation => None,
        });
    }
    if roots.iter().all(Option::is_none) {
        return Ok(());
    }
    let operations = match &mut document.operations {
        async_graphql::parser::types::DocumentOperations::Single(operation) => vec![operation],
        async_graphql::parser::types::DocumentOperations::Multiple(operations) => {
            operations.values_mut().collect()
        }
    };
    for (operation, root) in operations.into_iter().zip(roots) {
        if let Some(field) = root {
            let position = field.pos;
            operation.node.selection_set.node.items =
                vec![Positioned::new(Selection::Field(field), position)];
        }
    }
    // Nothing spreads them any more, and an unused fragment is not valid.
    document.fragments.retain(|_, fragment| fragment.node.type_condition.node.on.node != ROOT_TYPE);
    Ok(())
}

/// The field at the root. Selected several times under the same key it is one, with its selections together.
fn root_field(
    document: &ExecutableDocument,
    operation: &OperationDefinition,
) -> Result<Positioned<Field>, ServerError> {
    let mut root = UnconditionalFields(Vec::new());
    if let ControlFlow::Break(error) = visit(document, &operation.selection_set.node, ROOT_TYPE, &mut root) {
        return Err(error);
    }
    let mut fields = root.0.into_iter();
    let Some(mut root) = fields.next().cloned() else { return Err(not_one()) };
    if root.node.name.node.starts_with("__") {
        return Err(invalid("A subscription cannot select an introspection field at its root."));
    }
    for field in fields {
        let is_same = field.node.name.node == root.node.name.node
            && field.node.response_key().node == root.node.response_key().node
            && field.node.arguments == root.node.arguments;
        if !is_same {
            return Err(not_one());
        }
        root.node.selection_set.node.items.extend(field.node.selection_set.node.items.iter().cloned());
    }
    Ok(root)
}

/// The fields at the root; a condition on one of them, or on a fragment around it, is refused.
struct UnconditionalFields<'a>(Vec<&'a Positioned<Field>>);

impl<'a> SelectionVisitor<'a> for UnconditionalFields<'a> {
    type Break = ServerError;

    fn field(&mut self, field: &'a Positioned<Field>, _on: &'a str) -> ControlFlow<ServerError> {
        self.0.push(field);
        refuse_conditions(&field.node.directives)
    }

    fn fragment(&mut self, fragment: &'a Selection) -> ControlFlow<ServerError> {
        refuse_conditions(fragment.directives())
    }
}

fn refuse_conditions(directives: &[Positioned<Directive>]) -> ControlFlow<ServerError> {
    let is_condition =
        |directive: &Positioned<Directive>| CONDITIONS.contains(&directive.node.name.node.as_str());
    if directives.iter().any(is_condition) {
        return ControlFlow::Break(invalid("A subscription cannot have @skip or @include at its root."));
    }
    ControlFlow::Continue(())
}

fn not_one() -> ServerError {
    invalid("A subscription selects exactly one field at its root.")
}

fn invalid(message: &str) -> ServerError {
    document_error(Code::ValidationFailed, message)
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn written_out(document: &str) -> Result<Vec<String>, String> {
        let mut document = parse_query(document).unwrap();
        write_out(&mut document).map_err(|error| error.message)?;
        let (_, operation) = document.operations.iter().next().unwrap();
        let items = &operation.node.selection_set.node.items;
        assert_eq!(items.len(), 1);
        let Selection::Field(field) = &items[0].node else { panic!("not a field") };
        let selected = |selection: &Positioned<Selection>| match &selection.node {
            Selection::Field(field) => field.node.name.node.to_string(),
            Selection::FragmentSpread(spread) => format!("...{}", spread.node.fragment_name.node),
            Selection::InlineFragment(_) => "...".to_owned(),
        };
        let mut names = vec![field.node.response_key().node.to_string()];
        names.extend(field.node.selection_set.node.items.iter().map(selected));
        names.extend(document.fragments.keys().map(|name| format!("fragment {name}")));
        Ok(names)
    }

    #[test]
    fn the_only_field_is_found_in_fragments() {
        let document = "subscription { ... on Subscription { ...A } }
            fragment A on Subscription { feed: feedChanged { id ...P } } fragment P on Post { title }";
        assert_eq!(written_out(document).unwrap(), ["feed", "id", "...P", "fragment P"]);
    }

    #[test]
    fn a_field_that_is_selected_twice_is_one_field() {
        let document = "subscription { feedChanged { id } feedChanged { title } }";
        assert_eq!(written_out(document).unwrap(), ["feedChanged", "id", "title"]);
    }

    #[test]
    fn several_fields_none_and_conditions_are_refused() {
        for document in [
            "subscription { feedChanged { id } other: feedChanged { id } }",
            "subscription { postChanged(id: 1) { id } postChanged(id: 2) { id } }",
            "subscription { feedChanged { id } ...A } fragment A on Subscription { commentAdded { id } }",
            "subscription { __typename }",
            "subscription { ...A } fragment A on Subscription { ...A }",
            "subscription { feedChanged @skip(if: false) { id } }",
            "subscription { ... @include(if: true) { feedChanged { id } } }",
            "query A { a } subscription B { feedChanged { id } __typename }",
        ] {
            assert!(written_out(document).is_err(), "{document}");
        }
    }

    #[test]
    fn queries_stay_as_they_are() {
        let text = "query { ...A b } fragment A on Query { a }";
        let (mut document, before) = (parse_query(text).unwrap(), parse_query(text).unwrap());
        write_out(&mut document).unwrap();
        assert_eq!(format!("{document:?}"), format!("{before:?}"));
    }
}
