//! Completion of responses: codes of errors, the order of the fields at the root, and concealed names of the
//! schema.

use async_graphql::indexmap::IndexMap;
use async_graphql::{Name, PathSegment, Response, ServerError, Value};

use super::concealed::concealed;
use super::errors;
use super::schema::SchemaOptions;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::selections::fields;

/// The response keys that the operation selects at its root, in order, with fragments expanded.
pub(super) fn root_keys(context: &RequestContext) -> Vec<Name> {
    let (document, selections) = (&context.document.definitions, &context.operation().selection_set.node);
    let fields = fields(document, selections, "").into_iter();
    fields.map(|(field, _)| field.node.response_key().node.clone()).collect()
}

/// Gives every error a code, and puts the fields at the root in the order of the selection:
/// async-graphql leaves out failed fields, and orders the others as they were ready. A failed field is
/// null here; where it may not be, the HTTP side carries the null further up, as it does everywhere
/// below the root.
pub(super) fn complete(response: &mut Response, root: &[Name]) {
    for error in &mut response.errors {
        errors::complete(error);
    }
    // async-graphql writes null where directives left nothing of the selection.
    if response.errors.is_empty() && response.data == Value::Null {
        response.data = Value::Object(IndexMap::new());
    }
    let Value::Object(data) = &mut response.data else {
        return;
    };
    if response.errors.is_empty() && data.len() < 2 {
        return;
    }
    let mut ordered = IndexMap::with_capacity(root.len());
    for response_key in root {
        let has_failed = || response.errors.iter().any(|error| is_about(error, response_key));
        match data.swap_remove(response_key) {
            Some(value) => {
                ordered.insert(response_key.clone(), value);
            }
            // Without an error `@skip` left it out, or it is selected twice.
            None if !ordered.contains_key(response_key) && has_failed() => {
                ordered.insert(response_key.clone(), Value::Null);
            }
            None => {}
        }
    }
    *data = ordered;
}

/// Takes names and types of the schema out of errors of validation, where clients may not know them.
pub(super) fn conceal_schema(errors: &mut [ServerError], options: SchemaOptions) {
    if options.suggestions {
        return;
    }
    for error in errors.iter_mut().filter(|error| error.path.is_empty()) {
        if let Some(message) = concealed(&error.message) {
            error.message = message;
        }
    }
}

/// Whether an error stopped the field with this key at the root.
fn is_about(error: &ServerError, response_key: &Name) -> bool {
    matches!(error.path.first(), Some(PathSegment::Field(name)) if name == response_key.as_str())
}
