//! Items enclosed in one object, as exports have them: `{"Documents": [..], "_count": 2}`. Exactly one of its
//! properties is an array of objects. Items are taken one after the other.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Whether the only object of a file is no item but encloses the items: it has no id, and exactly one of its
/// properties is an array of objects.
pub(super) fn encloses_items(text: &[u8]) -> bool {
    let Ok(object) = serde_json::from_slice::<Map<String, Value>>(text) else { return false };
    let has_objects =
        |value: &&Value| value.as_array().is_some_and(|elements| elements.iter().any(Value::is_object));
    let has_id = ["id", "_id"].iter().any(|id| object.contains_key(*id));
    !has_id && object.values().filter(has_objects).count() == 1
}

/// Takes the items in the array of an object, until one is refused.
pub(super) struct Enclosed<'a> {
    take: &'a mut dyn FnMut(Value) -> bool,
    /// The property of the array.
    property: Option<String>,
}

impl<'a> Enclosed<'a> {
    pub fn new(take: &'a mut dyn FnMut(Value) -> bool) -> Self {
        Self { take, property: None }
    }
}

impl<'de> Visitor<'de> for Enclosed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with an array of objects")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(Property { name, enclosed: &mut self })?;
        }
        match self.property {
            Some(_) => Ok(()),
            None => Err(A::Error::custom("the object has no array of objects")),
        }
    }
}

/// The value of a property, which may be the array.
struct Property<'e, 'a> {
    name: String,
    enclosed: &'e mut Enclosed<'a>,
}

impl<'de> DeserializeSeed<'de> for Property<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Property<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(value) = elements.next_element::<Value>()? {
            if value.is_object() {
                let property = self.enclosed.property.get_or_insert_with(|| self.name.clone());
                if *property != self.name {
                    let text = format!(
                        "the object has two arrays of objects, `{property}` and `{}`; a file for each is expected",
                        self.name
                    );
                    return Err(A::Error::custom(text));
                }
                if !(self.enclosed.take)(value) {
                    return Err(A::Error::custom("the rest of the array is not read"));
                }
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
