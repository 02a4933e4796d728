//! Verification: compares every copy, list, count and owned item with its rule, and reports each drift.
//!
//! One pass over the change feed of each container finds suspects. As the store may be in use meanwhile, each
//! suspect is looked at again after the read models have caught up; a remaining difference, with the same
//! ETags, is a drift. A repair writes by the rules of every other writer: it compares versions, and each of
//! its writes is refused if another writer has written since (optimistic concurrency). Memory: some 200 bytes
//! for each item that is a source, an entry or a parent.

mod exact;
mod feed_scan;
mod findings;
mod invariant;
mod repair;
mod repair_bounded;
mod report;
mod settle;
mod verifier;

pub use feed_scan::for_each_change;
pub use invariant::{Invariant, VerifyProgress, Violation};
pub use report::{Drift, ItemCount, Unreadable, VerificationReport};
pub use settle::Settle;
pub use verifier::Verifier;
