//! Amounts of money of a served model: their types, and their values.

use std::sync::Arc;

use async_graphql::Result;
use async_graphql::dynamic::{Field, FieldValue, InputObject, InputValue, Object, TypeRef};
use onehop_model::{FieldKind, ValueSource};
use serde_json::Value as Json;

use super::objects::{Resolved, absent};
use crate::domain::money::StoredAmount;
use crate::served::amounts::{currency_of, evaluated};
use crate::served::{Body, ServedModel, stored};

/// An amount of money.
struct ServedAmount {
    minor_units: i64,
    currency_code: String,
}

/// An amount with its currency, which a computed amount has from its operands.
pub(super) fn amount<'a>(
    (model, fields): (&ServedModel, &[onehop_model::Field]),
    field: &onehop_model::Field,
    (object, item): (&Body, &Arc<Body>),
    value: &Json,
) -> Result<Option<FieldValue<'a>>> {
    let within = stored::within(model.model(), fields, object, item);
    let computed = || match &field.kind {
        FieldKind::Stored(stored_field) => match &stored_field.source {
            ValueSource::Computed(rule) => evaluated(within, rule).ok().flatten()?.currency,
            _ => None,
        },
        _ => None,
    };
    match (value.as_i64(), currency_of(within, field).or_else(computed)) {
        (Some(minor_units), Some(currency_code)) => {
            Ok(Some(FieldValue::owned_any(ServedAmount { minor_units, currency_code })))
        }
        _ => absent(field),
    }
}

/// The type of amounts of money.
pub(super) fn money_object() -> Object {
    let amount = Field::new("amount", TypeRef::named_nn("Decimal"), |ctx| {
        let value = ctx.parent_value.try_downcast_ref::<ServedAmount>().map(|money| {
            let ServedAmount { minor_units, currency_code } = money;
            let text = StoredAmount { minor_units: *minor_units, currency_code }.to_string();
            Some(FieldValue::value(text))
        });
        Resolved::Now(value).into_future()
    });
    let currency = Field::new("currencyCode", TypeRef::named_nn(TypeRef::STRING), |ctx| {
        let value = ctx.parent_value.try_downcast_ref::<ServedAmount>();
        let value = value.map(|money| Some(FieldValue::value(money.currency_code.as_str())));
        Resolved::Now(value).into_future()
    });
    Object::new("Money")
        .description("An amount of money.")
        .field(amount.description("The amount, with the decimals of the currency."))
        .field(currency.description("The currency, by ISO 4217."))
}

/// The input of amounts of money.
pub(super) fn money_input() -> InputObject {
    let amount = InputValue::new("amount", TypeRef::named_nn("Decimal"));
    let currency = InputValue::new("currencyCode", TypeRef::named_nn(TypeRef::STRING));
    InputObject::new("MoneyInput")
        .description("An amount of money.")
        .field(amount.description("The amount, with no more decimals than the currency has."))
        .field(currency.description("The currency, by ISO 4217."))
}
