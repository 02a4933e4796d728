//! Identity of an item: its id, new or derived, and its partition key.

use std::borrow::Cow;

use onehop_model::{FieldKind, Name};
use onehop_store::{KEY_SEPARATOR, PartitionKey, joined_key, key_text, key_value};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ServedCommand, ServedCommands};
use crate::domain::error::{CommandError, Refusal};
use crate::domain::text::IdempotencyKey;
use crate::served::ids::{ItemPlace, derived_id};
use crate::served::model::{Body, PartitionSource, TypeIndex};
use crate::served::stored;

impl ServedCommands {
    /// The id of a new item: derived from its fields, derived from the idempotency key, or new.
    pub(super) fn new_item_id(
        &self,
        command: &ServedCommand<'_>,
        key: Option<&IdempotencyKey>,
        body: &Body,
    ) -> Result<Uuid, CommandError> {
        let ty = self.ty(command.mutation.ty);
        if !ty.item.id_from.is_empty() {
            return Ok(self.derived(command.mutation.ty, body));
        }
        Ok(match key {
            Some(key) => {
                let account =
                    command.requester.account.map(|account| account.to_string()).unwrap_or_default();
                derived_id(&["key", &account, ty.type_value, key.as_str()])
            }
            None => self.ids.next_id(self.clock.now_ms()),
        })
    }

    /// The id that is derived from the fields of `idFrom`.
    pub(super) fn derived(&self, ty: TypeIndex, body: &Body) -> Uuid {
        let ty = self.ty(ty);
        let text = |name: &Name| {
            let field = ty.item.field(name)?;
            match stored::value_of(self.model.model(), &ty.item.fields, field, body) {
                Value::String(text) => Some(text),
                value => Some(value.to_string()),
            }
        };
        let texts: Vec<String> = ty.item.id_from.iter().filter_map(text).collect();
        let parts: Vec<&str> = std::iter::once("fields").chain(texts.iter().map(String::as_str)).collect();
        derived_id(&parts)
    }

    /// The place of the item of an account that refers to another item, where its id is derived from both.
    #[must_use]
    pub fn derived_place(&self, ty: TypeIndex, owner: &ItemPlace, account: Uuid) -> Option<ItemPlace> {
        let mut body = Body::new();
        for name in &self.ty(ty).item.id_from {
            let field = self.ty(ty).item.field(name)?;
            let FieldKind::Reference(reference) = &field.kind else { return None };
            let id = if reference.caller { account.to_string() } else { owner.id.clone() };
            stored::set(&mut body, &reference.property, json!(id));
        }
        let id = self.derived(ty, &body);
        self.identify(ty, id, &mut body).ok()
    }

    /// Writes the id and the partition key.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on the field of the key, where it is empty or too long.
    pub(super) fn identify(&self, ty: TypeIndex, id: Uuid, body: &mut Body) -> Result<ItemPlace, Refusal> {
        let served = self.ty(ty);
        let id = id.to_string();
        body.insert("id".to_owned(), json!(id));
        let partition = match served.key {
            PartitionSource::Id => PartitionKey::from(id.as_str()),
            PartitionSource::Constant => PartitionKey::from(served.type_value),
            PartitionSource::Properties(properties) => {
                let mut values = Vec::with_capacity(properties.len());
                let max = onehop_store::limits::PARTITION_KEY_BYTES_MAX / properties.len().max(1);
                for property in properties {
                    let value = match *property {
                        "type" => Some(Cow::Borrowed(served.type_value)),
                        property => body.get(property).and_then(key_text),
                    };
                    let value = value.unwrap_or_default();
                    if value.is_empty() || value.len() > max {
                        return Err(Refusal::bad_input(property, format_args!("must have 1 to {max} bytes")));
                    }
                    values.push(value);
                }
                PartitionKey::new(joined_key(values.iter().map(AsRef::as_ref)))
            }
        };
        for (property, value) in served.key_properties.iter().zip(partition.as_str().split(KEY_SEPARATOR)) {
            body.insert((*property).to_owned(), key_value(value));
        }
        Ok(ItemPlace { ty, partition, id })
    }
}
