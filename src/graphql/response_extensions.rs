//! Extensions of responses: the request charge and the operations on the store.

use std::collections::BTreeMap;

use async_graphql::{Value, to_value};

use onehop_store::Ledger;

/// The name by which a request asks for its operations, and under which the response lists them.
pub(super) const OPERATIONS: &str = "operations";
/// The charge of a response's reads and writes, in request units.
const REQUEST_CHARGE: &str = "requestCharge";

/// Sets the charge of the request, and its operations if it asks for them.
pub(super) fn set_charges(extensions: &mut BTreeMap<String, Value>, ledger: &Ledger, tells_operations: bool) {
    let total = Value::from(hundredths(ledger.total().0));
    extensions.insert(REQUEST_CHARGE.to_owned(), total);
    if tells_operations {
        let mut operations = ledger.folded();
        for operation in &mut operations {
            operation.request_charge.0 = hundredths(operation.request_charge.0);
        }
        // Plain rows with string keys are always values of GraphQL.
        let operations = to_value(&operations).unwrap_or_default();
        extensions.insert(OPERATIONS.to_owned(), operations);
    }
}

/// Request charges have two decimals; sums of them shall, too.
pub(super) fn hundredths(charge: f64) -> f64 {
    (charge * 100.0).round() / 100.0
}
