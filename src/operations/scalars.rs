//! Scalars of the operations API.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

/// A whole number of up to 64 bits, as a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub u64);

/// A whole number of up to 64 bits, as a JSON number.
#[Scalar]
impl ScalarType for Count {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::Number(number) => {
                number.as_u64().map(Self).ok_or_else(|| InputValueError::custom("must be a whole number"))
            }
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::Number(self.0.into())
    }
}
