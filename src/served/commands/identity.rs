//! Identity of a new item: its id, new or derived, and its partition key.

use uuid::Uuid;

use super::{ServedCommand, ServedCommands};
use crate::domain::error::{CommandError, Refusal};
use crate::domain::text::IdempotencyKey;
use crate::served::identity;
use crate::served::ids::{ItemPlace, derived_id};
use crate::served::model::{Body, TypeIndex};

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
        identity::derived(&self.model, ty, body)
    }

    /// Writes the id and the partition key.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on the field of the key, where it is empty or too long.
    pub(super) fn identify(&self, ty: TypeIndex, id: Uuid, body: &mut Body) -> Result<ItemPlace, Refusal> {
        identity::identify(&self.model, ty, id, body)
    }
}
