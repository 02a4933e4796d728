//! Target copy: one copy that is kept in items of one type.

use std::sync::Arc;

use onehop_change_feed::{ProjectionError, ReadRequest};

use crate::body::Body;
use crate::field_path::FieldPath;
use crate::item_type::ItemType;
use crate::rule::CopyRule;
use crate::source_value::source_key;

/// A copy that is kept in items of one type.
#[derive(Debug, Clone)]
pub(crate) struct TargetCopy {
    pub(crate) rule: Arc<CopyRule>,
    pub(crate) item_type: ItemType,
    pub(crate) path: FieldPath,
    pub(crate) by: FieldPath,
    /// Whether items may lack the foreign key.
    pub(crate) is_optional: bool,
    /// The list by which the targets are found, for a copy in elements.
    pub(crate) through: Option<&'static str>,
    /// The name of the projection that compares the copies.
    pub(crate) catch_up: &'static str,
}

impl TargetCopy {
    /// The point read of the source of each copy in an item, in order.
    pub(crate) fn reads(&self, item: &Body) -> Result<Vec<ReadRequest>, ProjectionError> {
        let keyed = item.keyed(self.path, self.by);
        if keyed.is_empty() && self.by.array().is_none() && !self.is_optional {
            item.text(self.by.root())?;
        }
        Ok(keyed.into_iter().map(|(id, _)| read_source(&self.rule.source, id)).collect())
    }
}

/// The point read of a source by its id, shared by the changes of a page.
fn read_source(source: &ItemType, id: &str) -> ReadRequest {
    ReadRequest::shared_item(source.container, source_key(source, id), id)
}
