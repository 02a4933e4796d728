//! Counts that commands keep in their batches: the writes of the parents of an item that is created or
//! deleted.

use std::collections::BTreeMap;

use onehop_store::{Ledger, WriteOp};
use serde_json::{Value, json};

use super::{ServedCommands, new_item, next_version};
use crate::domain::error::CommandError;
use crate::served::ids::{ItemPlace, derived_id};
use crate::served::model::{Body, StoredCount, TypeIndex};

/// The parent of an item that should exist, and does not.
pub(super) struct MissingParent;

impl ServedCommands {
    /// The key of the turns of a logical partition.
    pub(super) fn turn_key(&self, place: &ItemPlace) -> uuid::Uuid {
        derived_id(&[self.ty(place.ty).container.as_str(), place.partition.as_str()])
    }

    /// The writes of the parents that count an item: one more, or one less.
    ///
    /// # Errors
    /// A fault of the store, and a computed value of the parent that is too large.
    pub(super) async fn count_writes(
        &self,
        (ty, body): (TypeIndex, &Body),
        change: i64,
        ledger: &Ledger,
    ) -> Result<Result<Vec<WriteOp>, MissingParent>, CommandError> {
        let mut by_parent: BTreeMap<(TypeIndex, String), Vec<StoredCount>> = BTreeMap::new();
        for count in &self.ty(ty).counted_in {
            let Some(id) = body.get(count.by).and_then(Value::as_str) else { continue };
            by_parent.entry((count.parent, id.to_owned())).or_default().push(*count);
        }
        let mut writes = Vec::new();
        let item_id = body.get("id").and_then(Value::as_str);
        for ((parent, id), counts) in by_parent {
            // A parent whose key is a field is in the logical partition of its items.
            let place = ItemPlace::of_id(&self.model, parent, &id).or_else(|| {
                let partition = self.ty(ty).partition_key(item_id, body)?;
                Some(ItemPlace { ty: parent, partition, id: id.clone() })
            });
            let Some(place) = place else { continue };
            let found = self.stored(&*self.store, &place, ledger).await?;
            let Some(mut found) = found.filter(|found| self.is_present(parent, &found.body)) else {
                // A deleted parent needs no count.
                if change < 0 {
                    continue;
                }
                return Ok(Err(MissingParent));
            };
            for count in counts {
                let before = found.body.get(count.property).and_then(Value::as_i64).unwrap_or(0);
                found.body.insert(count.property.to_owned(), json!((before + change).max(0)));
            }
            self.compute(parent, &mut found.body)?;
            next_version(&mut found.body);
            writes.push(WriteOp::Replace { item: new_item(&place, &found.body), if_match: Some(found.etag) });
        }
        Ok(Ok(writes))
    }
}
