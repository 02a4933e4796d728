//! Request ids: the header `x-request-id`, by which a client or a proxy finds a request in the log. An id
//! that comes with a request is kept where it is short and plain; otherwise the server makes one.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// The header of the id, in requests and responses.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is accepted, in characters.
pub const REQUEST_ID_CHARS_MAX: usize = 128;
/// Characters of an accepted id beside letters and digits: no space, quote or bracket that a log would have
/// to escape.
const PUNCTUATION: &[u8] = b"-_.~:/+=@";
/// Hexadecimal characters that distinguish the ids of one process from the ids of others.
const PREFIX_CHARS: usize = 12;

/// Makes ids for requests without an id.
#[derive(Debug)]
pub(super) struct RequestIds {
    prefix: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that begin with the end of a random id.
    pub(super) fn new(random: Uuid) -> Self {
        let random = random.simple().to_string();
        Self { prefix: random[random.len() - PREFIX_CHARS..].to_owned(), next: AtomicU64::new(1) }
    }

    /// The id of a request with these headers.
    pub(super) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let mut given = headers.get_all(REQUEST_ID).iter();
        match (given.next(), given.next()) {
            (Some(id), None) if is_plain(id.as_bytes()) => id.clone(),
            _ => self.made(),
        }
    }

    fn made(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        HeaderValue::try_from(format!("{}-{number:x}", self.prefix)).expect("hexadecimal digits and a dash")
    }
}

fn is_plain(id: &[u8]) -> bool {
    let is_short = !id.is_empty() && id.len() <= REQUEST_ID_CHARS_MAX;
    is_short && id.iter().all(|byte| byte.is_ascii_alphanumeric() || PUNCTUATION.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(given: &[&str]) -> String {
        let headers = given.iter().map(|id| (REQUEST_ID, HeaderValue::from_str(id).unwrap()));
        RequestIds::new(Uuid::from_u128(0xabc)).of(&headers.collect()).to_str().unwrap().to_owned()
    }

    #[test]
    fn a_plain_id_of_a_client_is_kept() {
        for id in ["7", "0af7651916cd43dd8448eb211c80319c", "Root=1-67891233-abcdef", "a/b:c@d+e~f"] {
            assert_eq!(id_of(&[id]), id);
        }
        let longest = "x".repeat(REQUEST_ID_CHARS_MAX);
        assert_eq!(id_of(&[&longest]), longest);
    }

    #[test]
    fn any_other_id_is_replaced() {
        let too_long = "x".repeat(REQUEST_ID_CHARS_MAX + 1);
        for given in [&[][..], &[""], &["a b"], &["a\"b"], &["a{b"], &[&too_long], &["one", "two"]] {
            assert_eq!(id_of(given), "000000000abc-1");
        }
    }

    #[test]
    fn made_ids_differ() {
        let ids = RequestIds::new(Uuid::nil());
        assert_ne!(ids.of(&HeaderMap::new()), ids.of(&HeaderMap::new()));
    }
}
