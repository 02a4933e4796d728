//! Sample change: a change of a typical item, written to measure its consequences.

use onehop_change_feed::ProjectionError;
use onehop_store::{ContainerSpec, PartitionKey, set_property};
use serde_json::{Value, json};

use crate::body::{Body, SourcePlace};
use crate::field_path::FieldPath;
use crate::item_type::{DELETED, ID, ItemType, TTL, VERSION};

/// The time to live of a soft-deleted item, s.
const DELETED_TTL_SECONDS: u32 = 30 * 24 * 3600;
/// The digits at the beginning of an id that are replaced by the highest ones, so that new items come last in
/// an order by id.
const ID_PREFIX_DIGITS: usize = 8;

/// Partition key and id of an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemKey {
    pub(crate) partition_key: PartitionKey,
    pub(crate) id: String,
}

/// A change of one item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SampleChange {
    pub(crate) item_type: ItemType,
    /// The item that is changed, or that a new one is like.
    pub(crate) item: ItemKey,
    pub(crate) edit: SampleEdit,
}

/// The change of an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SampleEdit {
    /// A new item like it.
    Create(Vec<FieldEdit>),
    /// It is replaced.
    Change(Vec<FieldEdit>),
    /// It is soft-deleted.
    Delete,
}

/// The change of a field. The item keeps its size, as far as possible.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldEdit {
    /// Another value of the same length.
    Alter(&'static str),
    /// This value.
    Set(&'static str, Value),
    /// Another value for the first copy at this path.
    AlterCopy { path: FieldPath, by: FieldPath },
}

impl SampleEdit {
    pub(crate) fn is_deletion(&self) -> bool {
        matches!(self, Self::Delete)
    }

    /// The item with the edit. `number` distinguishes new items of one measurement.
    pub(crate) fn apply(
        &self,
        spec: &ContainerSpec,
        mut body: Body,
        number: u32,
    ) -> Result<Body, ProjectionError> {
        let version = match self {
            Self::Create(_) => 1,
            Self::Change(_) | Self::Delete => body.version() + 1,
        };
        body.0.insert(VERSION.to_owned(), version.into());
        match self {
            Self::Create(edits) => {
                let id = new_id(body.id()?, number);
                let former = body.get(ID).cloned();
                // The id may be the partition key, or a part of it.
                for property in spec.partition_key.split('/') {
                    if body.get(property) == former.as_ref() {
                        body.0.insert(property.to_owned(), id.as_str().into());
                    }
                }
                body.0.insert(ID.to_owned(), id.into());
                edits.iter().for_each(|edit| edit.apply(&mut body));
            }
            Self::Change(edits) => edits.iter().for_each(|edit| edit.apply(&mut body)),
            Self::Delete => {
                body.0.insert(DELETED.to_owned(), true.into());
                body.0.insert(TTL.to_owned(), DELETED_TTL_SECONDS.into());
            }
        }
        Ok(body)
    }
}

impl FieldEdit {
    fn apply(&self, body: &mut Body) {
        match self {
            Self::Alter(field) => {
                let altered = altered(body.get(field));
                set_property(&mut body.0, field, altered);
            }
            Self::Set(field, value) => {
                set_property(&mut body.0, field, value.clone());
            }
            Self::AlterCopy { path, by } => {
                let first = body.keyed(*path, *by).into_iter().next();
                let Some((id, value)) = first.map(|copy| (copy.id.to_owned(), altered(copy.stored))) else {
                    return;
                };
                body.set_copies(*path, *by, SourcePlace { id: &id, key: None }, &value);
            }
        }
    }
}

fn altered(value: Option<&Value>) -> Value {
    match value {
        Some(Value::Number(number)) => json!(number.as_u64().unwrap_or_default() + 1),
        Some(Value::String(text)) => {
            let mut characters: Vec<char> = text.chars().collect();
            if let Some(last) = characters.last_mut() {
                *last = if *last == 'x' { 'y' } else { 'x' };
            }
            Value::String(characters.into_iter().collect())
        }
        Some(Value::Array(elements)) => {
            let mut elements = elements.clone();
            let last = elements.pop();
            elements.push(altered(last.as_ref()));
            Value::Array(elements)
        }
        Some(Value::Object(members)) => {
            let mut members = members.clone();
            if let Some(member) = members.values_mut().next() {
                *member = altered(Some(member));
            }
            Value::Object(members)
        }
        Some(Value::Bool(value)) => json!(!value),
        _ => json!("x"),
    }
}

/// An id of the same length.
fn new_id(like: &str, number: u32) -> String {
    let rest = like.get(ID_PREFIX_DIGITS..).unwrap_or_default();
    format!("{:0ID_PREFIX_DIGITS$x}{rest}", u32::MAX - 0xff + number)
}
