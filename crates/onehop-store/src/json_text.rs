//! JSON bodies as text.

use serde::de::Error as _;

/// The text of a JSON body. It is checked once as a whole, which is cheaper than each text in it by itself.
///
/// # Errors
/// It is not UTF-8.
pub fn json_text(body: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(body).map_err(serde_json::Error::custom)
}
