//! A short copy of a post beside the one that is there: which write, if any, brings it up to date.

use crate::blog::items::PostCopyItem;
use onehop_change_feed::ProjectionError;
use onehop_store::{Item, NewItem, WriteOp};

/// The write that puts `copy` where `existing` is, `None` when that is as new. A copy never goes back in time; one of
/// the same version that differs was damaged, and is mended.
pub(in crate::blog) fn update(
    copy: &PostCopyItem,
    existing: Option<&Item>,
) -> Result<Option<WriteOp>, ProjectionError> {
    let item = || NewItem::encode(copy.id.to_string(), copy);
    let Some(existing) = existing else { return Ok(Some(WriteOp::Create(item()))) };
    let stored: PostCopyItem = existing.decode()?;
    let up_to_date = stored.version > copy.version || stored == *copy;
    Ok((!up_to_date).then(|| WriteOp::Replace { item: item(), if_match: Some(existing.etag.clone()) }))
}
