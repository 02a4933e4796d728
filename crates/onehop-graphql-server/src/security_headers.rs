//! The headers by which browsers keep answers from being misread, framed or embedded. Every answer has them.

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderName, HeaderValue, Response,
        header::{
            CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
            X_FRAME_OPTIONS,
        },
    },
};

/// Answers that are no pages may load nothing.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Powers that neither our pages nor their embedded content use.
const POWERS: &str = "accelerometer=(), autoplay=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), \
    magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=(), xr-spatial-tracking=()";

const ALWAYS: [(HeaderName, HeaderValue); 6] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("permissions-policy"), HeaderValue::from_static(POWERS)),
];

/// The number of an answer's other headers.
const HEADERS_EXPECTED: usize = 8;

/// The headers of answers beside the common ones.
#[derive(Debug, Clone, Default)]
pub struct SecurityHeaders {
    transport: Option<HeaderValue>,
}

impl SecurityHeaders {
    /// For this many seconds browsers shall come back over HTTPS only; 0 where HTTPS is not served.
    pub fn new(hsts_seconds: u32) -> Self {
        let value = (hsts_seconds > 0).then(|| HeaderValue::try_from(format!("max-age={hsts_seconds}")).ok());
        Self { transport: value.flatten() }
    }

    /// Adds them to an answer. Pages bring a content security policy of their own.
    pub fn add(&self, mut response: Response<Body>) -> Response<Body> {
        let headers: &mut HeaderMap = response.headers_mut();
        // One allocation instead of three.
        headers.reserve(ALWAYS.len() + HEADERS_EXPECTED);
        for (name, value) in ALWAYS {
            headers.insert(name, value);
        }
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(NOTHING);
        if let Some(transport) = &self.transport {
            headers.insert(STRICT_TRANSPORT_SECURITY, transport.clone());
        }
        response
    }
}
