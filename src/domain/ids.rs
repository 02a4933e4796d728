//! Ids: newtypes of UUIDs, and the source of new ones (UUIDv7).

use onehop_study::rng::StreamRng;
use uuid::Uuid;

/// A newtype of a UUID that can be a partition key.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub uuid::Uuid);

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self.0.as_hyphenated(), formatter)
            }
        }

        impl $name {
            /// The id as a partition key.
            #[must_use]
            pub fn partition_key(self) -> onehop_store::PartitionKey {
                onehop_store::PartitionKey::from(&*self.0.as_hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()))
            }
        }
    };
}

pub(crate) use id;

/// Where new ids come from.
pub trait IdSource: Send + Sync + 'static {
    /// A new UUIDv7 for this instant (Unix ms).
    fn next_id(&self, now_ms: i64) -> Uuid;
}

/// Ids with randomness from the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn next_id(&self, now_ms: i64) -> Uuid {
        let mut random = [0_u8; 10];
        if getrandom::fill(&mut random).is_err() {
            random.copy_from_slice(&Uuid::now_v7().as_bytes()[6..]);
        }
        uuid::Builder::from_unix_timestamp_millis(u64::try_from(now_ms).unwrap_or(0), &random).into_uuid()
    }
}

/// A UUIDv7 of a data set: the date in the upper 48 bits (RFC 9562), and 74 bits of a stream around version
/// and variant.
#[must_use]
pub fn uuid_v7(creation_ms: i64, rng: &mut StreamRng) -> Uuid {
    let (high, low) = (rng.next_u64().to_be_bytes(), rng.next_u64().to_be_bytes());
    let mut random = [0; 10];
    random[..8].copy_from_slice(&high);
    random[8..].copy_from_slice(&low[..2]);
    uuid::Builder::from_unix_timestamp_millis(u64::try_from(creation_ms).unwrap_or(0), &random).into_uuid()
}

/// The creation date in a UUIDv7, in Unix ms; `None` for UUIDs of other versions.
#[must_use]
pub fn creation_ms(id: Uuid) -> Option<i64> {
    if id.get_version_num() != 7 {
        return None;
    }
    i64::try_from(id.as_u128() >> 80).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_creation_date_of_an_id_is_that_of_its_source() {
        let id = RandomIds.next_id(1_767_225_600_123);
        assert_eq!(creation_ms(id), Some(1_767_225_600_123));
        assert_eq!(creation_ms(Uuid::from_u128(7)), None);
    }

    #[test]
    fn new_ids_are_uuids_of_version_7_with_the_given_time() {
        let id = RandomIds.next_id(1_700_000_000_123);
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id.as_u128() >> 80, 1_700_000_000_123);
    }
}
