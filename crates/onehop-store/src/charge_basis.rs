//! Charge basis: the parts of an estimated request charge that depend on an assumption, so that a study can work out
//! the charge under another assumption without running the request again. A measured charge has none.

use std::ops::AddAssign;

/// What the estimate of one operation was made from, summed up over operations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChargeBasis {
    /// Items that physical partitions returned to queries across them, those beyond the page included.
    pub returned: u32,
    /// Whether such a query had more than its page, so that the number returned depends on what the client asks for.
    pub has_more: bool,
}

impl ChargeBasis {
    /// What came in since an earlier sum.
    #[must_use]
    pub fn since(self, earlier: &Self) -> Self {
        Self { returned: self.returned.saturating_sub(earlier.returned), has_more: self.has_more }
    }
}

impl AddAssign for ChargeBasis {
    fn add_assign(&mut self, other: Self) {
        self.returned += other.returned;
        self.has_more |= other.has_more;
    }
}
