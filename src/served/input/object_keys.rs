//! Partition keys of references in objects of an input: the fields beside a reference that hold the key of
//! its target.

use onehop_model::{EmbeddedType, Field, FieldKind, ReferenceField};
use onehop_store::{KEY_SEPARATOR, key_value};
use serde_json::{Map, Value};

use super::{InputCheck, input_name};
use crate::domain::error::InputStep;
use crate::served::ids::ItemPlace;
use crate::served::references::key_fields;
use crate::served::stored;

impl InputCheck<'_> {
    /// Writes the partition keys of an object's references into the fields beside these.
    pub(super) fn set_keys(
        &mut self,
        embedded: &EmbeddedType,
        values: &Map<String, Value>,
        object: &mut Map<String, Value>,
        within: &[InputStep],
    ) {
        for field in &embedded.fields {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let typed = match values.get(input_name(field)) {
                Some(Value::Array(typed)) => typed.as_slice(),
                Some(typed) => std::slice::from_ref(typed),
                None => continue,
            };
            for place in typed.iter().filter_map(|typed| ItemPlace::decode(self.model, typed.as_str()?).ok())
            {
                self.set_key(embedded, (field, reference), &place, object, within);
            }
        }
    }

    /// Writes the partition key of one target.
    fn set_key(
        &mut self,
        embedded: &EmbeddedType,
        (field, reference): (&Field, &ReferenceField),
        place: &ItemPlace,
        object: &mut Map<String, Value>,
        within: &[InputStep],
    ) {
        let parts: Vec<&str> = place.partition.as_str().split(KEY_SEPARATOR).collect();
        for (part, by) in key_fields(self.model, reference) {
            let beside = embedded.fields.iter().find(|field| field.name == *by).and_then(Field::property);
            let (Some(property), Some(part)) = (beside, parts.get(part)) else { continue };
            let value = key_value(part);
            if stored::get(object, property).is_some_and(|present| *present != value) {
                self.refuse(input_name(field), within, format_args!("must be of the same {by}"));
            }
            stored::set(object, property, value);
        }
    }
}
