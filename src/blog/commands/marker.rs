//! Which command wrote an item. A store may repeat a write whose answer was lost and then report a conflict with
//! the very write it repeated; the mark tells "exists, and it is mine" from "exists". It lies beside the article's
//! fields as `commandId`, in likes and in what soft deletes leave; whoever rewrites such an item may drop it.

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

/// The item as it is written by this command.
pub(super) fn encode_marked<T: Serialize>(id: impl Into<String>, item: &T, command_id: Uuid) -> NewItem {
    NewItem::encode(id, &Marked { item, command_id })
}

/// The command that wrote the item, where it left its mark.
pub(super) fn command_of(item: &Item) -> Result<Option<Uuid>, Fault> {
    Ok(item.decode::<Mark>()?.command_id)
}
