//! Command marker: identifies the command that wrote an item, so that a write whose response was lost is
//! recognised. A store may repeat such a write and report a conflict with it; the marker distinguishes
//! "exists, and it is mine" from "exists". It is the property `commandId` of likes and of soft-deleted items;
//! later writes of the item may drop it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use onehop_store::{Fault, Item, NewItem};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Marked<'a, T> {
    #[serde(flatten)]
    item: &'a T,
    command_id: Uuid,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mark {
    #[serde(default)]
    command_id: Option<Uuid>,
}

/// The item with the marker of this command.
pub(crate) fn encode_marked<T: Serialize>(id: impl Into<String>, item: &T, command_id: Uuid) -> NewItem {
    NewItem::encode(id, &Marked { item, command_id })
}

/// The command that wrote the item, where it left its mark.
pub(crate) fn command_of(item: &Item) -> Result<Option<Uuid>, Fault> {
    Ok(item.decode::<Mark>()?.command_id)
}
