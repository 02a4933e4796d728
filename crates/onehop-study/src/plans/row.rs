//! Rows: the items that a plan has read so far.

use serde_json::Value;

/// An item that a plan has read; `null` where its values are not known.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub value: Value,
    /// Where a sampled item stands for several: the number of this one.
    pub number: usize,
}

impl Row {
    pub fn of(value: Value) -> Self {
        Self { value, number: 0 }
    }
}
