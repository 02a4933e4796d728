//! Charge basis: the parts of a request charge that depend on an assumption, so that a study can work out the
//! charge under another assumption without running the request again. Of a measured charge only the scope of
//! the query is known.

use std::ops::AddAssign;

/// The inputs of an operation's charge, summed up over operations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChargeBasis {
    /// Whether it was a query across logical partitions, which asks every physical partition of its
    /// container.
    pub is_across: bool,
    /// Items that physical partitions returned to queries across them, including items beyond the page.
    pub returned: u32,
    /// Whether such a query had more than its page, so that the number returned depends on the client's
    /// request.
    pub has_more: bool,
}

impl AddAssign for ChargeBasis {
    fn add_assign(&mut self, other: Self) {
        self.is_across |= other.is_across;
        self.returned += other.returned;
        self.has_more |= other.has_more;
    }
}
