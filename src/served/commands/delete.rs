//! Delete: the mark of a deleted item, or its removal, with the counts of its parents.

use std::sync::Arc;

use onehop_model::Deletion;
use onehop_store::{Ledger, Store, WriteOp};
use serde_json::json;

use super::{
    ServedCommand, ServedCommands, StoredBody, WrittenItem, may_be_outdated, new_item, next_version,
};
use crate::domain::conditional_write::ATTEMPTS_MAX;
use crate::domain::error::{CommandError, RefusalCode, contended};
use crate::served::ids::ItemPlace;
use crate::served::recognition::literal_value;
use crate::served::stored;

impl ServedCommands {
    /// Deletes an item. Items that it owns follow.
    ///
    /// # Errors
    /// `NOT_FOUND`, `UNAUTHENTICATED`, `FORBIDDEN`; `CONFLICT` where a condition does not hold.
    pub async fn delete(
        &self,
        command: ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let (place, mut found) = self.deletable(&command, ledger).await?;
        let _turn = self.turns.wait(self.turn_key(&place)).await;
        for _ in 0..ATTEMPTS_MAX {
            let before = found.body;
            let operation = match self.ty(place.ty).tombstone_ttl_s() {
                None => WriteOp::Delete { id: place.id.clone(), if_match: Some(found.etag) },
                Some(ttl_s) => {
                    let mut deleted = before.clone();
                    deleted.insert("deleted".to_owned(), json!(true));
                    deleted.insert("ttl".to_owned(), json!(ttl_s));
                    if let Deletion::Soft { path, is, .. } = &self.ty(place.ty).item.deletion {
                        stored::set(&mut deleted, path, literal_value(is));
                    }
                    next_version(&mut deleted);
                    WriteOp::Replace { item: new_item(&place, &deleted), if_match: Some(found.etag) }
                }
            };
            let keys = self.unique.keys(place.ty, &before);
            let own = self.unique.own(keys.iter().map(|(_, key)| key.as_str()), &place, ledger).await?;
            let counts = self.count_writes((place.ty, &before), -1, ledger).await?;
            let operations = std::iter::once(operation).chain(counts.into_iter().flatten()).collect();
            if self.write(&place, operations, ledger).await?.is_none() {
                match self.deletable(&command, ledger).await {
                    // An attempt whose answer was lost has deleted it.
                    Err(CommandError::Rejected(refusal)) if refusal.code == RefusalCode::NotFound => {}
                    again => {
                        (_, found) = again?;
                        continue;
                    }
                }
            }
            self.unique.release(own, ledger).await?;
            return Ok(WrittenItem { place, body: Arc::new(before) });
        }
        Err(contended("an item").into())
    }

    /// The item that a deletion names, if its caller may delete it and its conditions hold. A replica may
    /// lag, so the latest commit decides about a refusal.
    pub(super) async fn deletable(
        &self,
        command: &ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<(ItemPlace, StoredBody), CommandError> {
        match self.deletable_in(&*self.store, command, ledger).await {
            Err(CommandError::Rejected(refusal)) if may_be_outdated(refusal.code) => {
                self.deletable_in(&*self.latest, command, ledger).await
            }
            found => found,
        }
    }

    async fn deletable_in(
        &self,
        store: &dyn Store,
        command: &ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<(ItemPlace, StoredBody), CommandError> {
        let (place, found) = self.named(store, command, ledger).await?;
        self.check_conditions(command, &found.body)?;
        Ok((place, found))
    }
}
