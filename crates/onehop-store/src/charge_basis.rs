//! Charge basis: the parts of an estimated request charge that depend on an assumption, so that a study can work out
//! the charge under another assumption without running the request again. A measured charge has none.

use std::ops::AddAssign;

/// What the estimate of one operation was made from, summed up over operations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChargeBasis {
    /// What its replaces are charged for the indexed properties that change, RU.
    pub changes: f64,
    /// What inserting the same items is charged, RU.
    pub insertions: f64,
    /// Items that physical partitions returned to queries across them, those beyond the page included.
    pub returned: u32,
    /// Whether such a query had more than its page, so that the number returned depends on what the client asks for.
    pub has_more: bool,
}

impl ChargeBasis {
    /// What came in since an earlier sum.
    #[must_use]
    pub fn since(self, earlier: &Self) -> Self {
        Self {
            changes: self.changes - earlier.changes,
            insertions: self.insertions - earlier.insertions,
            returned: self.returned.saturating_sub(earlier.returned),
            has_more: self.has_more,
        }
    }

    /// An equal part of what can be divided.
    #[must_use]
    pub fn part(self, parts: u32) -> Self {
        let parts = f64::from(parts.max(1));
        Self { changes: self.changes / parts, insertions: self.insertions / parts, ..self }
    }
}

impl AddAssign for ChargeBasis {
    fn add_assign(&mut self, other: Self) {
        self.changes += other.changes;
        self.insertions += other.insertions;
        self.returned += other.returned;
        self.has_more |= other.has_more;
    }
}
