//! UUIDv7 from a date and a stream, and the hyphenated text of it.

use uuid::Uuid;
use uuid::fmt::Hyphenated;

pub use crate::domain::ids::uuid_v7;

/// Appends the 36 characters of an id, in lower case, without allocating.
pub fn write_id(id: Uuid, output: &mut String) {
    output.push_str(id.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]));
}
