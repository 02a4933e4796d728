//! Keys: every field by which a request finds items, and pairs of them as hierarchical keys, as partition key
//! of each item type, graded with reasons and figures.
//!
//! A good partition key has many values, no hot spot, several items under each value, and is known to the
//! requests that look for several items.

mod candidates;
mod finds;
mod grade;
mod report;
#[cfg(test)]
mod tests;

pub use candidates::{KeyCandidate, add_candidates};
pub use grade::{GradedKey, KeyGrade};
pub use report::{KeyReport, TypeKeys, key_table};
