//! Literals: constant values of a model, such as a default or the value of a condition.

use std::fmt;

use serde::Serialize;

/// A constant GraphQL value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction or an exponent; finite.
    Float(f64),
    /// A text.
    String(String),
    /// The name of an enum's value.
    Enum(String),
    /// A list.
    List(Vec<Literal>),
    /// An object, in the order of the file.
    Object(Vec<(String, Literal)>),
}

impl fmt::Display for Literal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Boolean(value) => write!(formatter, "{value}"),
            Self::Int(value) => write!(formatter, "{value}"),
            // `{:?}` has a fraction or an exponent, so it is read as a float again.
            Self::Float(value) => write!(formatter, "{value:?}"),
            Self::String(value) => formatter.write_str(&quoted(value)),
            Self::Enum(value) => formatter.write_str(value),
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(Self::to_string).collect();
                write!(formatter, "[{}]", values.join(", "))
            }
            Self::Object(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                write!(formatter, "{{{}}}", fields.join(", "))
            }
        }
    }
}

/// A text as a GraphQL string on one line.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            character if character.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(character)));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
