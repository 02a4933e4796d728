//! Shape error: an unexpected form of JSON, described without its content.

use std::error::Error;
use std::fmt;

/// Stored JSON with another shape than was expected. The text names the property or the expected shape where
/// serde reports it, and the place; it never repeats a value, because it reaches logs, dead letters and
/// command lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeError(String);

impl fmt::Display for ShapeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for ShapeError {}

impl From<serde_json::Error> for ShapeError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // These name a property of the type that was expected.
        if text.starts_with("missing field `") || text.starts_with("duplicate field `") {
            return Self(text);
        }
        let place = format!("at line {} column {}", error.line(), error.column());
        let is_of_another_type = text.starts_with("invalid type: ") || text.starts_with("invalid value: ");
        // The expectation stands behind the value, and a value may hold anything.
        let expected = text.rsplit_once(", expected ").map(|(_, expected)| expected);
        let expected = expected.map(|expected| expected.split(" at line ").next().unwrap_or_default());
        Self(match expected.filter(|_| is_of_another_type) {
            Some(expected) => format!("a value is not {expected}, {place}"),
            None => format!("{:?} error {place}", error.classify()).to_lowercase(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::ShapeError;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only ever read from JSON")]
    struct Post {
        title: String,
        likes: u32,
        id: uuid::Uuid,
    }

    fn said_of(json: &str) -> String {
        ShapeError::from(serde_json::from_str::<Post>(json).expect_err("another shape")).to_string()
    }

    #[test]
    fn the_property_or_what_was_expected_is_said_and_the_place() {
        assert_eq!(said_of(r#"{"title": "a"}"#), "missing field `likes` at line 1 column 14");
        assert_eq!(said_of(r#"{"likes": "a"}"#), "a value is not u32, at line 1 column 13");
        assert_eq!(said_of(r#"{"likes": 1"#), "eof error at line 1 column 11");
    }

    #[test]
    fn a_value_is_never_repeated() {
        for json in [
            r#"{"likes": "hidden"}"#,
            r#"{"likes": "hidden, expected hidden at line 1"}"#,
            r#"{"title": 4711}"#,
            r#"{"id": "hidden-hidden"}"#,
            r#"{"likes": -4711}"#,
            r#"{"likes": 1.4711}"#,
            r#"{"title": ["hidden"]}"#,
            r#"["hidden"]"#,
            r#""hidden""#,
            "hidden",
        ] {
            let said = said_of(json);
            assert!(!said.contains("hidden") && !said.contains("4711"), "{json}: {said}");
        }
    }
}
