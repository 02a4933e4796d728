//! The size of a JSON text, before values are built from it: a value takes many times the bytes of its text.
//! Reads JSON that was read to its end already, without its meaning.

use super::limit_exceeded::LimitExceeded;

/// The longest `variables` and `extensions` of a request, in bytes of JSON. A post's content has at most
/// 100,000 characters, which take at most 400,000 bytes, or 600,000 where a client escapes characters of two
/// bytes.
pub const VARIABLES_BYTES_MAX: usize = 768 * 1024;

/// Limit of keys and values.
pub const VARIABLES_VALUES_MAX: usize = 5_000;

/// Depth limit of lists and objects.
pub const VARIABLES_DEPTH_MAX: usize = 16;

/// The limits of variables and of extensions, each for itself.
#[derive(Debug, Clone, Copy)]
pub struct VariableLimits {
    pub bytes_max: usize,
    /// Keys and values.
    pub values_max: usize,
    /// Lists and objects within one another; the reader of JSON stops at 127.
    pub depth_max: usize,
}

impl Default for VariableLimits {
    fn default() -> Self {
        Self {
            bytes_max: VARIABLES_BYTES_MAX,
            values_max: VARIABLES_VALUES_MAX,
            depth_max: VARIABLES_DEPTH_MAX,
        }
    }
}

impl VariableLimits {
    /// Walks over a JSON text once.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    pub fn check(&self, json: &str) -> Result<(), LimitExceeded> {
        at_most(self.bytes_max, json.len(), "variables-bytes-max", "bytes")?;
        let bytes = json.as_bytes();
        let (mut position, mut values, mut depth) = (0, 0_usize, 0_usize);
        while let Some(&byte) = bytes.get(position) {
            position += match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => {
                    position += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    position += 1;
                    continue;
                }
                b'{' | b'[' => {
                    depth += 1;
                    1
                }
                b'"' => string_length(&bytes[position..]),
                _ => bytes[position..].iter().take_while(|byte| is_literal(**byte)).count().max(1),
            };
            values += 1;
            at_most(self.depth_max, depth, "variables-depth-max", "levels of lists and objects")?;
            at_most(self.values_max, values, "variables-values-max", "keys and values")?;
        }
        Ok(())
    }
}

fn at_most(max: usize, actual: usize, limit: &'static str, unit: &'static str) -> Result<(), LimitExceeded> {
    let what = "The variables, or the extensions, have more than";
    LimitExceeded::new(limit, max, what, unit).unless(actual <= max)
}

fn is_literal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The length of the string that starts here, closed or not.
fn string_length(bytes: &[u8]) -> usize {
    let mut position = 1;
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: VariableLimits = VariableLimits { bytes_max: 100, values_max: 8, depth_max: 3 };

    fn exceeded(json: &str) -> Option<&'static str> {
        LIMITS.check(json).err().map(|exceeded| exceeded.limit)
    }

    #[test]
    fn each_limit_is_kept_by_what_is_at_it_and_exceeded_by_one_more() {
        assert_eq!(exceeded(&format!("\"{}\"", "a".repeat(98))), None);
        assert_eq!(exceeded(&format!("\"{}\"", "a".repeat(99))), Some("variables-bytes-max"));
        for (at, beyond) in [
            ("[1,2,3,4,5,6,7]", "[1,2,3,4,5,6,7,8]"),
            (r#"{"a":1,"b":"c","d":[]}"#, r#"{"a":1,"b":"c","d":{},"e":null}"#),
            ("[true, null, -1.5e+3, \"\", {}, [], 0]", "[[], [], [], [], [], [], [], []]"),
        ] {
            assert_eq!((exceeded(at), exceeded(beyond)), (None, Some("variables-values-max")), "{at}");
        }
        assert_eq!(exceeded(r#"{"a":[{}]}"#), None);
        assert_eq!(exceeded(r#"{"a":[{"b":[]}]}"#), Some("variables-depth-max"));
        assert_eq!(exceeded(&"[".repeat(90)), Some("variables-depth-max"));
    }

    #[test]
    fn what_stands_in_strings_counts_for_nothing() {
        assert_eq!(exceeded(r#"{"a": "[[[[,,,,,,,,\"{{{{\\"}"#), None);
    }
}
