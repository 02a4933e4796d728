//! Where the bodies of a dead letter are, how they get there, and how a replay finds them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::containers::{DEAD_LETTERS, digest, types};
use super::context::ProcessorContext;
use super::dead_letters::{DeadLetterEntry, FailedChange};
use super::expiring_body::{ExpiredItem, ExpiringBody, SEPARATE_BYTES_MAX};
use onehop_store::{
    Change, ETag, Fault, Item, Ledger, NewItem, PartitionKey, Rejection, WriteError, WriteOp,
};

/// A body in an item of its own, in its stored form.
#[derive(Serialize, Deserialize)]
struct SeparateBody {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    body: Value,
}

impl FailedChange {
    /// The id of the item that has the body of this change for a letter.
    fn body_id(&self, letter: &str) -> Option<String> {
        match &self.expiring {
            ExpiringBody::Separate { etag, .. } => Some(format!("{letter}~{}", digest(&[&self.id, etag]))),
            _ => None,
        }
    }

    /// Writes down in an entry of a letter where the body is.
    pub(super) fn refer_to_body(&self, letter: &str, entry: &mut DeadLetterEntry) {
        (entry.expiring, entry.unkept_bytes) = match &self.expiring {
            ExpiringBody::Inline(body) => (Some(body.clone()), None),
            ExpiringBody::TooLong { bytes } => (None, Some(*bytes)),
            ExpiringBody::Unneeded | ExpiringBody::Separate { .. } => (None, None),
        };
        entry.expiring_body = self.body_id(letter);
    }

    /// Writes the body where it is an item of its own, before the letter that refers to it.
    pub(super) async fn keep_body(
        &self,
        letter: &str,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let (Some(id), ExpiringBody::Separate { body, .. }) = (self.body_id(letter), &self.expiring) else {
            return Ok(());
        };
        let item_type = types::EXPIRING_BODY.to_owned();
        let separate = SeparateBody { id: id.clone(), item_type, body: body.clone() };
        let write = WriteOp::Upsert(NewItem::encode(id.clone(), &separate));
        match context.store.write(DEAD_LETTERS, &PartitionKey::from(id.as_str()), write, ledger).await {
            Ok(_) => Ok(()),
            Err(WriteError::Fault(fault)) => Err(fault),
            Err(WriteError::Rejected { reason, .. }) => Err(refused(&reason)),
        }
    }
}

fn refused(reason: &Rejection) -> Fault {
    let message = format!("the body of an expiring item cannot be kept: {reason}");
    Fault::new(onehop_store::FaultKind::Internal, message)
}

impl DeadLetterEntry {
    /// The change of an item that has expired since it was added.
    pub(super) async fn expired_item(
        &self,
        partition_key: &PartitionKey,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<ExpiredItem, Fault> {
        if let Some(bytes) = self.unkept_bytes {
            return Ok(ExpiredItem::Lost(format!(
                "the item has expired, and its body of {bytes} bytes was not kept: {SEPARATE_BYTES_MAX} bytes are kept"
            )));
        }
        let body = match (&self.expiring, &self.expiring_body) {
            (Some(body), _) => Some(body.clone()),
            (None, Some(id)) => {
                let key = PartitionKey::from(id.as_str());
                let found = context.store.read(DEAD_LETTERS, &key, id, ledger).await?;
                found.map(|item| item.decode::<SeparateBody>()).transpose()?.map(|separate| separate.body)
            }
            (None, None) => return Ok(ExpiredItem::Unneeded),
        };
        let Some(body) = body.and_then(|body| serde_json::to_vec(&body).ok()) else {
            return Ok(ExpiredItem::Lost("the item has expired, and its kept body is gone".to_owned()));
        };
        let timestamp_ms = context.clock.now_ms();
        let item = Item { body: body.into(), etag: ETag::from_text("expired"), timestamp_ms };
        let change = Change { partition_key: partition_key.clone(), id: self.id.clone(), item };
        Ok(ExpiredItem::Change(Box::new(change)))
    }
}
