//! The `Decimal` scalar and the `Money` type.

use async_graphql::{InputValueError, InputValueResult, Object, Scalar, ScalarType, Value};

use crate::webstore::money::Money;

/// A decimal number in its text form. Whether it is an amount of a currency, commands say.
pub struct Decimal(pub String);

/// An exact decimal number as a string, such as "12.50".
#[Scalar]
impl ScalarType for Decimal {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) => Ok(Self(text)),
            value => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

/// An amount as clients see it.
pub struct MoneyValue(pub(super) Money);

/// An amount of money.
#[Object(name = "Money")]
impl MoneyValue {
    /// The amount, with the decimals of the currency.
    async fn amount(&self) -> Decimal {
        Decimal(self.0.to_string())
    }

    /// The currency, by ISO 4217.
    async fn currency_code(&self) -> &str {
        self.0.currency.as_str()
    }
}
