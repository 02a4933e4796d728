//! Global ids: the values of `ID` for clients. A kind and one or two UUIDs in base64url. An id carries the
//! partition key of its item, such as the post of a comment or the category of a product, so that any node is
//! one hop away.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;
use uuid::Uuid;

use crate::blog::ids::kinds::{COMMENT, LIKE, POST, USER};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use crate::webstore::ids::kinds::{CUSTOMER, PRODUCT, PRODUCT_CATEGORY, PRODUCT_TAG, SALES_ORDER};
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};

const UUID_BYTES: usize = 16;
const SHORT_BYTES: usize = 1 + UUID_BYTES;
const LONG_BYTES: usize = 1 + 2 * UUID_BYTES;
/// Characters of the longest id: base64 without padding.
const CHARACTERS_MAX: usize = LONG_BYTES.div_ceil(3) * 4;

/// The object behind an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobalId {
    User(UserId),
    Post(PostId),
    Comment(PostId, CommentId),
    Like(PostId, LikeId),
    Customer(CustomerId),
    SalesOrder(CustomerId, SalesOrderId),
    Product(CategoryId, ProductId),
    ProductCategory(CategoryId),
    ProductTag(TagId),
}

/// A text that is no id of this API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("is not an id of this API")]
pub struct InvalidId;

impl GlobalId {
    /// The id as clients see it.
    #[must_use]
    pub fn encode(self) -> String {
        self.with_bytes(|bytes| URL_SAFE_NO_PAD.encode(bytes))
    }

    fn with_bytes<T>(self, encode: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::User(id) => encode(&short(USER, id.0)),
            Self::Post(id) => encode(&short(POST, id.0)),
            Self::Comment(post, id) => encode(&long(COMMENT, post.0, id.0)),
            Self::Like(post, id) => encode(&long(LIKE, post.0, id.0)),
            Self::Customer(id) => encode(&short(CUSTOMER, id.0)),
            Self::SalesOrder(customer, id) => encode(&long(SALES_ORDER, customer.0, id.0)),
            Self::Product(category, id) => encode(&long(PRODUCT, category.0, id.0)),
            Self::ProductCategory(id) => encode(&short(PRODUCT_CATEGORY, id.0)),
            Self::ProductTag(id) => encode(&short(PRODUCT_TAG, id.0)),
        }
    }

    /// Reads an id.
    ///
    /// # Errors
    /// [`InvalidId`] unless [`GlobalId::encode`] writes exactly this text for some id.
    pub fn decode(text: &str) -> Result<Self, InvalidId> {
        if text.len() > CHARACTERS_MAX {
            return Err(InvalidId);
        }
        let mut bytes = [0; LONG_BYTES];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).map_err(|_| InvalidId)?;
        let (kind, first, second) = (bytes[0], uuid_at(&bytes, 1), uuid_at(&bytes, SHORT_BYTES));
        match (kind, length) {
            (USER, SHORT_BYTES) => Ok(Self::User(UserId(first))),
            (POST, SHORT_BYTES) => Ok(Self::Post(PostId(first))),
            (COMMENT, LONG_BYTES) => Ok(Self::Comment(PostId(first), CommentId(second))),
            (LIKE, LONG_BYTES) => Ok(Self::Like(PostId(first), LikeId(second))),
            (CUSTOMER, SHORT_BYTES) => Ok(Self::Customer(CustomerId(first))),
            (SALES_ORDER, LONG_BYTES) => Ok(Self::SalesOrder(CustomerId(first), SalesOrderId(second))),
            (PRODUCT, LONG_BYTES) => Ok(Self::Product(CategoryId(first), ProductId(second))),
            (PRODUCT_CATEGORY, SHORT_BYTES) => Ok(Self::ProductCategory(CategoryId(first))),
            (PRODUCT_TAG, SHORT_BYTES) => Ok(Self::ProductTag(TagId(first))),
            _ => Err(InvalidId),
        }
    }
}

/// Writes the id of an object with this kind and one or two UUIDs at the end of a buffer.
pub(super) fn encode_uuids(kind: u8, ids: &[Uuid], out: &mut Vec<u8>) {
    let mut characters = [0; CHARACTERS_MAX];
    let length = match ids {
        [id] => URL_SAFE_NO_PAD.encode_slice(short(kind, *id), &mut characters),
        [partition, id] => URL_SAFE_NO_PAD.encode_slice(long(kind, *partition, *id), &mut characters),
        _ => Ok(0),
    };
    out.extend_from_slice(&characters[..length.unwrap_or_default()]);
}

fn short(kind: u8, id: Uuid) -> [u8; SHORT_BYTES] {
    let mut bytes = [kind; SHORT_BYTES];
    bytes[1..].copy_from_slice(id.as_bytes());
    bytes
}

fn long(kind: u8, partition: Uuid, id: Uuid) -> [u8; LONG_BYTES] {
    let mut bytes = [kind; LONG_BYTES];
    bytes[1..SHORT_BYTES].copy_from_slice(partition.as_bytes());
    bytes[SHORT_BYTES..].copy_from_slice(id.as_bytes());
    bytes
}

fn uuid_at(bytes: &[u8; LONG_BYTES], start: usize) -> Uuid {
    let mut uuid = [0; UUID_BYTES];
    uuid.copy_from_slice(&bytes[start..start + UUID_BYTES]);
    Uuid::from_bytes(uuid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_id_survives_encoding_and_decoding(first: u128, second: u128) {
            let (first, second) = (Uuid::from_u128(first), Uuid::from_u128(second));
            for id in [
                GlobalId::User(UserId(first)),
                GlobalId::Post(PostId(first)),
                GlobalId::Comment(PostId(first), CommentId(second)),
                GlobalId::Like(PostId(first), LikeId(second)),
                GlobalId::Customer(CustomerId(first)),
                GlobalId::SalesOrder(CustomerId(first), SalesOrderId(second)),
                GlobalId::Product(CategoryId(first), ProductId(second)),
                GlobalId::ProductCategory(CategoryId(first)),
                GlobalId::ProductTag(TagId(first)),
            ] {
                prop_assert_eq!(GlobalId::decode(&id.encode()), Ok(id));
            }
            for (id, kind, ids) in [
                (GlobalId::User(UserId(first)), USER, vec![first]),
                (GlobalId::Product(CategoryId(first), ProductId(second)), PRODUCT, vec![first, second]),
            ] {
                let mut out = b"before".to_vec();
                encode_uuids(kind, &ids, &mut out);
                prop_assert_eq!(out, [b"before", id.encode().as_bytes()].concat());
            }
        }

        #[test]
        fn a_text_is_an_id_in_one_form_only(text in "[A-Za-z0-9_=-]{0,50}") {
            if let Ok(id) = GlobalId::decode(&text) {
                prop_assert_eq!(id.encode(), text);
            }
        }
    }

    #[test]
    fn an_id_of_an_unknown_kind_or_length_is_refused() {
        for bytes in [&b""[..], b"u", b"x0123456789abcdef", b"u0123456789abcde", &[b'u'; 33], &[b'c'; 17]] {
            assert_eq!(GlobalId::decode(&URL_SAFE_NO_PAD.encode(bytes)), Err(InvalidId), "{bytes:?}");
        }
    }
}
