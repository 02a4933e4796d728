//! The lengths of values in JSON, which resolvers take from the response budget.

use async_graphql::Value;

/// Bytes of a field's key in JSON, with its quotes, its colon and its comma.
#[must_use]
pub fn key_length(key: &str) -> usize {
    key.len() + 4
}

/// Bytes of a value in JSON. The content of an object or a list is counted where it is resolved.
#[must_use]
pub fn leaf_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text_length(text),
        Value::Enum(name) => name.len() + 2,
        Value::Boolean(_) | Value::Null => 5,
        Value::Number(_) => 8,
        Value::List(_) | Value::Object(_) | Value::Binary(_) => 3,
    }
}

/// Bytes of a string in JSON, with its quotes and escapes.
#[must_use]
pub fn text_length(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0_usize,
    });
    text.len() + escapes.sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_counts_as_it_is_written_in_json() {
        for text in ["", "plain", "\u{1}\u{1f}", "\"\\\n\r\t\u{8}\u{c}", "\u{7f}ä€😀/"] {
            assert_eq!(text_length(text), serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }
}
