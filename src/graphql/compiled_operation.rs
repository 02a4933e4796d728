//! Compiled operations: properties of an operation of a document that hold before any request, kept with the
//! parsed document.

use std::ops::ControlFlow;

use async_graphql::parser::types::{ExecutableDocument, Field, OperationDefinition};
use async_graphql::{Positioned, ServerError, Variables};
use async_graphql_value::Value as InputValue;

use super::complexity::Complexity;
use super::errors::{self, Code};
use super::plans::OperationPlans;
use super::schema::SchemaOptions;
use onehop_graphql_server::document::Document;
use onehop_graphql_server::selections::{SelectionVisitor, visit};

/// The arguments on which the complexity of an operation depends.
const COUNTED_ARGUMENTS: [&str; 4] = ["first", "last", "ids", "request"];

/// The properties of one operation.
#[derive(Debug)]
pub(super) struct CompiledOperation {
    pub(super) plans: OperationPlans,
    /// The complexity, where it is the same with any variables.
    pub(super) complexity: Option<usize>,
}

impl CompiledOperation {
    /// The compiled form of an operation of a document, made when it is first asked for.
    pub(super) fn of<'a>(
        document: &'a Document,
        operation: &OperationDefinition,
        complexity: &Complexity,
    ) -> Option<&'a Self> {
        let definitions = &document.definitions;
        document.compiled(operation, || {
            let plans = OperationPlans::of(definitions, operation);
            document.add_compiled_bytes(size_of::<Self>() + plans.bytes());
            Self { plans, complexity: fixed_complexity(definitions, operation, complexity) }
        })
    }
}

/// The complexity of an operation of a request.
///
/// # Errors
/// The operation is more complex than is permitted, or asks for the schema where that is not permitted.
pub(super) fn permitted_complexity(
    document: &Document,
    operation: &OperationDefinition,
    variables: &Variables,
    (complexity, options): (&Complexity, SchemaOptions),
) -> Result<usize, ServerError> {
    if document.size.introspects && !options.introspection {
        let message = "Introspection is disabled on this server.";
        return Err(errors::document_error(Code::ValidationFailed, message));
    }
    let compiled = CompiledOperation::of(document, operation, complexity);
    let found = match compiled.and_then(|compiled| compiled.complexity) {
        Some(found) => found,
        None => complexity.of(&document.definitions, operation, variables).map_err(|mut error| {
            errors::complete(&mut error);
            error
        })?,
    };
    complexity.check(found)?;
    Ok(found)
}

fn fixed_complexity(
    document: &ExecutableDocument,
    operation: &OperationDefinition,
    complexity: &Complexity,
) -> Option<usize> {
    let mut selections = vec![&operation.selection_set.node];
    while let Some(set) = selections.pop() {
        let mut fields = CountedFields(Vec::new());
        if visit(document, set, "", &mut fields).is_break() {
            return None;
        }
        selections.extend(fields.0.into_iter().map(|field| &field.selection_set.node));
    }
    complexity.of(document, operation, &Variables::default()).ok()
}

/// The fields of a selection set; a visit breaks at a field whose complexity depends on a variable.
struct CountedFields<'a>(Vec<&'a Field>);

impl<'a> SelectionVisitor<'a> for CountedFields<'a> {
    type Break = ();

    fn field(&mut self, field: &'a Positioned<Field>, _on: &'a str) -> ControlFlow<()> {
        let field = &field.node;
        let is_variable =
            |name| matches!(field.get_argument(name).map(|value| &value.node), Some(InputValue::Variable(_)));
        if COUNTED_ARGUMENTS.into_iter().any(is_variable) {
            return ControlFlow::Break(());
        }
        self.0.push(field);
        ControlFlow::Continue(())
    }
}
