//! Scalars: stored values in the form of the API, as the general executor writes them. A value of another
//! type than its field's has no form here.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::plan::ScalarKind;
use crate::domain::stored_json::{StoredValue, unescaped};
use crate::served::formats::text_of;
use onehop_runtime::clock::format_timestamp;

/// Bytes of a number and of a truth value in the response budget, for any value.
pub(super) const NUMBER_BYTES: usize = 8;
pub(super) const WORD_BYTES: usize = 5;
/// The longest integer that is written as it is stored, with its sign.
const INTEGER_CHARS_MAX: usize = 18;

/// A stored value as JSON of the API, and its bytes in the response budget.
pub(super) fn constant_of(kind: &ScalarKind, value: &Value) -> Option<(Vec<u8>, usize)> {
    let json = value.to_string();
    let stored = match value {
        Value::String(_) => StoredValue::Text(&json),
        Value::Number(_) => StoredValue::Number(&json),
        Value::Bool(is_set) => StoredValue::Flag(*is_set),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let mut out = Vec::new();
    let bytes = write_scalar(&mut out, kind, stored)?;
    Some((out, bytes))
}

/// Writes a stored value, and returns its bytes in the response budget.
pub(super) fn write_scalar(out: &mut Vec<u8>, kind: &ScalarKind, value: StoredValue<'_>) -> Option<usize> {
    let start = out.len();
    match (kind, value) {
        (ScalarKind::Text, StoredValue::Text(json)) => out.extend_from_slice(json.as_bytes()),
        (ScalarKind::Int, StoredValue::Number(number)) if is_integer(number) => {
            out.extend_from_slice(number.as_bytes());
            return Some(NUMBER_BYTES);
        }
        (ScalarKind::Float, StoredValue::Number(number)) => {
            let number: Cow<'_, str> = match is_integer(number) {
                true => number.into(),
                // As the reader of the general executor has it.
                false => serde_json::from_str::<Number>(number).ok()?.to_string().into(),
            };
            out.extend_from_slice(number.as_bytes());
            return Some(NUMBER_BYTES);
        }
        (ScalarKind::Boolean, StoredValue::Flag(is_set)) => {
            out.extend_from_slice(word(is_set));
            return Some(WORD_BYTES);
        }
        (ScalarKind::Enum(values), StoredValue::Text(json)) => {
            let text = unescaped(json)?;
            let (_, name) = values.iter().find(|(stored, _)| **stored == *text)?;
            out.extend_from_slice(name);
        }
        (ScalarKind::Epoch { unit_ms }, StoredValue::Number(number)) if is_integer(number) => {
            let ms = number.parse::<i64>().ok()?.checked_mul(*unit_ms)?;
            put_text(out, &format_timestamp(ms));
        }
        (ScalarKind::DecimalNumber, StoredValue::Number(number)) => {
            put_text(out, &text_of(&serde_json::from_str::<Number>(number).ok()?));
        }
        _ => return None,
    }
    Some(out.len() - start)
}

/// Writes a text without escapes, with its quotes.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Whether a JSON number is a whole number in the only form in which it is written.
fn is_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    number != "-0" && number.len() <= INTEGER_CHARS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A truth value as JSON.
pub(super) fn word(is_set: bool) -> &'static [u8] {
    if is_set { b"true" } else { b"false" }
}
