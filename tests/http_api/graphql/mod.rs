//! The schema's behaviour, one file per feature, executed without HTTP.

mod batching;
mod charges;
mod commands;
mod comparison;
mod errors;
mod limits;
mod nodes;
mod plans;
mod shapes;

use serde_json::{Value, json};

/// The error of a response that has exactly one, as clients see it.
fn only_error(response: &async_graphql::Response) -> Value {
    let response = serde_json::to_value(response).expect("JSON");
    let errors = response["errors"].as_array().cloned().unwrap_or_default();
    let [error] = errors.as_slice() else { panic!("one error: {response}") };
    error.clone()
}

/// Code and field of a response's only error.
fn code_and_field(response: &async_graphql::Response) -> Value {
    let error = only_error(response);
    json!([error["extensions"]["code"], error["extensions"]["field"]])
}
