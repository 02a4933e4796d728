//! The `Decimal` scalar and the `Money` type.

use async_graphql::{InputValueError, InputValueResult, Object, Scalar, ScalarType, Value};

use crate::domain::money::Money;

/// A decimal number in its text form. Whether it is an amount of a currency, commands say.
pub struct Decimal(pub String);

/// The rule of the scalar. A JSON number is refused, since it may have been rounded on its way.
const EXPECTED: &str = "a decimal number is a string such as \"12.50\"";

impl Decimal {
    /// The name of the scalar in the schema.
    pub const NAME: &'static str = "Decimal";

    /// Checks that a value is a decimal number in its text form.
    ///
    /// # Errors
    /// The rule of this scalar.
    pub fn check(value: &Value) -> Result<(), &'static str> {
        if matches!(value, Value::String(_)) { Ok(()) } else { Err(EXPECTED) }
    }
}

/// An exact decimal number as a string, such as "12.50". A number without quotes is refused.
#[Scalar]
impl ScalarType for Decimal {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) => Ok(Self(text)),
            _ => Err(InputValueError::custom(EXPECTED)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        Self::check(value).is_ok()
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
