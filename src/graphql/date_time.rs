//! The `DateTime` scalar. Instants are stored in the form in which clients get them, and handed through.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use onehop_runtime::clock::parse_timestamp;

/// An instant in its text form.
pub struct DateTime(pub String);

/// An instant in UTC, RFC 3339 with milliseconds.
#[Scalar(specified_by_url = "https://scalars.graphql.org/andimarek/date-time.html")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) if parse_timestamp(&text).is_some() => Ok(Self(text)),
            value => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}
