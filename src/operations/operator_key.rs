//! Operator key: the bearer token with which the one who runs the server reads stored items over HTTP. It is
//! random and lives as long as the process.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes of a key.
const KEY_BYTES: usize = 32;
/// The scheme of the header `Authorization` (RFC 6750).
const SCHEME: &str = "Bearer";

/// The key of one process. Its debug form does not show it.
#[derive(Clone)]
pub struct OperatorKey(Arc<str>);

impl OperatorKey {
    /// A new key.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes).into()))
    }

    /// The key as text, for the address that the operator opens.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a request has the key as its bearer token. Keys are compared in constant time.
    #[must_use]
    pub fn authorizes(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).into_iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, token)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(SCHEME)
            && verify_slices_are_equal(token.trim().as_bytes(), self.0.as_bytes()).is_ok()
    }
}

impl fmt::Debug for OperatorKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OperatorKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect()
    }

    #[test]
    fn only_the_key_itself_authorizes() {
        let (key, other) = (OperatorKey::random().unwrap(), OperatorKey::random().unwrap());
        let (bearer, text) = (format!("Bearer {}", key.reveal()), key.reveal());
        assert!(key.authorizes(&headers(&[&bearer])));
        assert!(!other.authorizes(&headers(&[&bearer])));
        let wrong = ["Bearer", "Bearer ", "Basic x", text, &bearer[..bearer.len() - 1]];
        for value in wrong {
            assert!(!key.authorizes(&headers(&[value])), "{value}");
        }
        assert!(!key.authorizes(&headers(&[])));
        assert!(!key.authorizes(&headers(&[&bearer, &bearer])), "one header");
        assert!(!format!("{key:?}").contains(text));
    }
}
