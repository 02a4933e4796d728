//! Limits of responses: the bytes of one response and of all responses, the charge for their size, and the
//! refusal of a response that exceeds them.

use std::time::Duration;

use async_graphql::{Error, ErrorExtensionValues, ServerError};

use super::limit_exceeded::LimitExceeded;

/// Largest response, in bytes of its body before compression. A post of 100,000 characters with 100 comments
/// of 10,000 characters fits even where JSON escapes each of them with six bytes.
pub const RESPONSE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of all responses that are built or sent at once.
pub const RESPONSES_IN_FLIGHT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Reserved for each request before it executes, so that a small response is never shed after its request has
/// executed.
pub const RESPONSE_BYTES_RESERVED: usize = 16 * 1024;

/// The charge of a caller's quota for each KiB of a response beyond [`RESPONSE_BYTES_INCLUDED`], in request
/// units.
pub const RESPONSE_RU_PER_KIB: u32 = 1;

/// The first bytes of a response, which the request charge of the store pays for.
pub const RESPONSE_BYTES_INCLUDED: usize = 64 * 1024;

/// When a request whose response found no memory may come again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The size limits of responses.
#[derive(Debug, Clone, Copy)]
pub struct ResponseLimits {
    /// Bytes of one response.
    pub bytes_max: usize,
    /// Bytes of all responses that are built or sent. Large responses may take half of it, and small ones all
    /// of it.
    pub in_flight_bytes_max: usize,
    /// Request units of the caller's quota for each KiB beyond [`RESPONSE_BYTES_INCLUDED`].
    pub ru_per_kib: u32,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self {
            bytes_max: RESPONSE_BYTES_MAX,
            in_flight_bytes_max: RESPONSES_IN_FLIGHT_BYTES_MAX,
            ru_per_kib: RESPONSE_RU_PER_KIB,
        }
    }
}

impl ResponseLimits {
    /// The charge of the caller's quota for the size of a response, beside the request charge of the store.
    #[must_use]
    pub fn size_charge(&self, bytes: usize) -> f64 {
        let beyond = bytes.saturating_sub(RESPONSE_BYTES_INCLUDED);
        f64::from(self.ru_per_kib) * beyond as f64 / 1024.0
    }

    pub(super) fn exceeded(&self) -> LimitExceeded {
        LimitExceeded::new("response-bytes-max", self.bytes_max, "The response has more than", "bytes")
    }
}

/// Why a response is not built to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseRefused {
    #[error(transparent)]
    OverLimit(LimitExceeded),
    /// Load shedding: the responses of the process take all the memory that they may.
    #[error("The server holds as many bytes of responses as it may: try again later.")]
    Overloaded,
}

impl ResponseRefused {
    fn describe(self, extensions: &mut ErrorExtensionValues) {
        match self {
            Self::OverLimit(exceeded) => exceeded.describe(extensions),
            Self::Overloaded => {
                extensions.set("code", "UNAVAILABLE");
                extensions.set("retryAfterMs", u64::try_from(RETRY_AFTER.as_millis()).unwrap_or(u64::MAX));
            }
        }
    }
}

impl From<ResponseRefused> for ServerError {
    fn from(refused: ResponseRefused) -> Self {
        let mut error = Self::new(refused.to_string(), None);
        refused.describe(error.extensions.get_or_insert_default());
        error
    }
}

impl ResponseRefused {
    /// The error of a resolver.
    #[must_use]
    pub fn into_error(self) -> Error {
        let ServerError { message, extensions, .. } = self.into();
        Error { message, source: None, extensions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_charged_for_what_exceeds_its_first_bytes() {
        let limits = ResponseLimits { ru_per_kib: 2, ..ResponseLimits::default() };
        assert_eq!(limits.size_charge(RESPONSE_BYTES_INCLUDED), 0.0);
        assert_eq!(limits.size_charge(RESPONSE_BYTES_INCLUDED + 10 * 1024), 20.0);
    }
}
