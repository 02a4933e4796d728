//! Items of a given size and shape. Their text has no repetitions, so that no compression makes them smaller.

use serde_json::{Map, Value, json};

use super::containers::{GROUP, ORDER, TYPE};
use onehop_store::PartitionKey;

/// Sizes of items, bytes of JSON without system properties.
pub(super) const SIZES: [usize; 6] = [200, 1_024, 2_048, 10 * 1_024, 100 * 1_024, 400 * 1_024];

/// The content of an item beside its id, type, partition key and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Flat,
    /// Fifty properties of their own.
    FiftyProperties,
    /// Three levels of objects, with two values on each.
    Nested,
    /// An array of twenty different numbers.
    Array,
    /// Ten properties without a value, five of them true or false.
    Literals,
}

impl Shape {
    pub(super) const ALL: [Self; 5] =
        [Self::Flat, Self::FiftyProperties, Self::Nested, Self::Array, Self::Literals];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::FiftyProperties => "fifty-properties",
            Self::Nested => "nested",
            Self::Array => "array",
            Self::Literals => "literals",
        }
    }

    fn add_to(self, item: &mut Map<String, Value>) {
        match self {
            Self::Flat => {}
            Self::FiftyProperties => {
                item.extend((0..50).map(|number| (format!("property{number}"), json!(number))));
            }
            Self::Nested => {
                let inner = json!({ "first": 1, "second": "two" });
                let middle = json!({ "first": 1, "second": "two", "inner": inner });
                item.insert("outer".to_owned(), json!({ "first": 1, "second": "two", "middle": middle }));
            }
            Self::Array => {
                item.insert("numbers".to_owned(), (0..20).collect());
            }
            Self::Literals => {
                let values =
                    |number: usize| if number.is_multiple_of(2) { Value::Null } else { json!(number > 4) };
                item.extend((0..10).map(|number| (format!("literal{number}"), values(number))));
            }
        }
    }
}

/// The logical partition of all items.
pub(super) fn home() -> PartitionKey {
    PartitionKey::from("home")
}

/// An item of a shape, filled up with text to a size. An item that is larger without text has a text of one
/// character.
pub(super) fn item(id: &str, shape: Shape, bytes: usize) -> Value {
    let mut item = Map::new();
    item.insert("id".to_owned(), id.into());
    item.insert("home".to_owned(), home().as_str().into());
    item.insert("type".to_owned(), TYPE.into());
    item.insert(ORDER.to_owned(), format!("rank of {id}").into());
    item.insert(GROUP.to_owned(), "one".into());
    shape.add_to(&mut item);
    item.insert("text".to_owned(), "".into());
    let without_text = Value::Object(item.clone()).to_string().len();
    item.insert("text".to_owned(), text(bytes.saturating_sub(without_text).max(1)).into());
    Value::Object(item)
}

/// Letters that follow from their place: a multiplicative congruential sequence.
fn text(characters: usize) -> String {
    let mut state = 1_u64;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap_or_default())
    };
    (0..characters).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_its_size_and_shape() {
        for bytes in SIZES {
            assert_eq!(item("a", Shape::Flat, bytes).to_string().len(), bytes);
        }
        for shape in Shape::ALL {
            assert_eq!(item("a", shape, 2_048).to_string().len(), 2_048, "{}", shape.name());
        }
        assert_eq!(item("a", Shape::FiftyProperties, 2_048)["property49"], 49);
    }
}
