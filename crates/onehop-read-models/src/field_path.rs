//! Field path: a field of an item, `array[].field` for a field of each element of an array, or `array[]` for
//! the elements themselves. Another value in place of the array is its only element.

use std::fmt;

use serde_json::{Value, json};

/// A parsed field path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldPath {
    Field(&'static str),
    Element { array: &'static str, field: &'static str },
    Elements(&'static str),
}

impl FieldPath {
    pub(crate) fn parse(path: &'static str) -> Self {
        match path.split_once("[].") {
            Some((array, field)) => Self::Element { array, field },
            None => path.strip_suffix("[]").map_or(Self::Field(path), Self::Elements),
        }
    }

    /// The field of the item in which the value is.
    pub(crate) fn root(self) -> &'static str {
        match self {
            Self::Field(field) => field,
            Self::Element { array, .. } | Self::Elements(array) => array,
        }
    }

    /// The value of [`root`](Self::root) in an item that has this value at the path, and nothing else.
    pub(crate) fn with(self, value: Value) -> Value {
        match self {
            Self::Field(_) => value,
            Self::Element { field, .. } => json!([{ field: value }]),
            Self::Elements(_) => json!([value]),
        }
    }

    /// The array; `None` for a field of the item itself.
    pub(crate) fn array(self) -> Option<&'static str> {
        match self {
            Self::Field(_) => None,
            Self::Element { array, .. } | Self::Elements(array) => Some(array),
        }
    }
}

impl From<&'static str> for FieldPath {
    fn from(path: &'static str) -> Self {
        Self::parse(path)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => formatter.write_str(field),
            Self::Element { array, field } => write!(formatter, "{array}[].{field}"),
            Self::Elements(array) => write!(formatter, "{array}[]"),
        }
    }
}
