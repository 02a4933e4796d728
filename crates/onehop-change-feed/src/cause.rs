//! Cause of a change: the command or the projection that wrote this version of an item.
//!
//! A projection that writes items which commands own, such as a new name into all items that carry it, makes
//! a change like any other. So it marks the version that it writes, in the field [`Cause::FIELD`]. The mark
//! names the version, so it ends with the next write also where that keeps fields which it does not know. A
//! version without its own mark was written by a command.

use std::fmt;

use onehop_store::{Fault, Item};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The name by which a repair marks its writes.
const REPAIR: &str = "repair";
/// Between the name and the version.
const SEPARATOR: char = '@';

/// The cause of a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A command: the item records a user's action.
    Command,
    /// The projection with this name: the item follows another one.
    Projection(String),
    /// A repair of drifts.
    Repair,
}

#[derive(Deserialize)]
struct MarkedItem {
    #[serde(default)]
    version: Value,
    #[serde(default, rename = "causedBy")]
    caused_by: Value,
}

impl Cause {
    /// The field of an item that has the mark: `name@version`.
    pub const FIELD: &'static str = "causedBy";

    /// The cause of this version of an item.
    ///
    /// # Errors
    /// The body is no JSON object.
    pub fn of(item: &Item) -> Result<Self, Fault> {
        let MarkedItem { version, caused_by } = item.decode()?;
        let mark = caused_by.as_str().and_then(|mark| mark.rsplit_once(SEPARATOR));
        Ok(
            match mark
                .filter(|(_, marked)| version.as_u64().is_some_and(|version| marked == &version.to_string()))
            {
                Some((REPAIR, _)) => Self::Repair,
                Some((projection, _)) => Self::Projection(projection.to_owned()),
                None => Self::Command,
            },
        )
    }

    /// Marks this version of an item. A command leaves no mark.
    pub fn mark(&self, body: &mut Map<String, Value>, version: u64) {
        let name = match self {
            Self::Command => {
                body.remove(Self::FIELD);
                return;
            }
            Self::Projection(name) => name,
            Self::Repair => REPAIR,
        };
        body.insert(Self::FIELD.to_owned(), format!("{name}{SEPARATOR}{version}").into());
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => formatter.write_str("a command"),
            Self::Projection(name) => write!(formatter, "the projection {name}"),
            Self::Repair => formatter.write_str("a repair"),
        }
    }
}

#[cfg(test)]
mod tests {
    use onehop_store::ETag;
    use serde_json::json;

    use super::*;

    fn item(body: &Value) -> Item {
        Item { body: body.to_string().into_bytes().into(), etag: ETag::from_number(1), timestamp_ms: 0 }
    }

    fn marked(cause: &Cause, version: u64) -> Value {
        let mut body = Map::from_iter([("version".to_owned(), version.into())]);
        cause.mark(&mut body, version);
        Value::Object(body)
    }

    #[test]
    fn a_marked_version_names_its_cause() {
        for cause in [Cause::Projection("names@2".to_owned()), Cause::Repair, Cause::Command] {
            assert_eq!(Cause::of(&item(&marked(&cause, 7))).unwrap(), cause);
        }
        assert_eq!(marked(&Cause::Projection("names".to_owned()), 7)["causedBy"], "names@7");
    }

    #[test]
    fn the_next_version_is_a_commands_also_where_the_mark_stays() {
        let mut body = marked(&Cause::Projection("names".to_owned()), 7);
        body["version"] = json!(8);
        assert_eq!(Cause::of(&item(&body)).unwrap(), Cause::Command);
    }

    #[test]
    fn a_field_of_another_shape_is_no_mark() {
        for caused_by in [json!(7), json!(null), json!("names"), json!("names@"), json!(["names@7"])] {
            let body = json!({ "version": 7, "causedBy": caused_by });
            assert_eq!(Cause::of(&item(&body)).unwrap(), Cause::Command, "{caused_by}");
        }
        assert!(Cause::of(&item(&json!("text"))).is_err());
    }
}
