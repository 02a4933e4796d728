//! UUIDv7 from a date and a stream, and the hyphenated text of it.

use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

use onehop_study::rng::StreamRng;

/// RFC 9562: the date in the upper 48 bits, 74 random bits around version and variant.
pub fn uuid_v7(creation_ms: i64, rng: &mut StreamRng) -> Uuid {
    let (high, low) = (rng.next_u64().to_be_bytes(), rng.next_u64().to_be_bytes());
    let mut random = [0; 10];
    random[..8].copy_from_slice(&high);
    random[8..].copy_from_slice(&low[..2]);
    Builder::from_unix_timestamp_millis(creation_ms.max(0) as u64, &random).into_uuid()
}

/// Appends the 36 characters of an id, in lower case, without allocating.
pub fn write_id(id: Uuid, output: &mut String) {
    output.push_str(id.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]));
}
