//! The summary of a post: its excerpt. Short copies store it.

use onehop_read_models::excerpt;

/// The length of a summary, in characters, without the mark of a cut. A page of the feed reads a hundred of
/// them, and each costs by its size.
pub const SUMMARY_CHARACTERS_MAX: usize = 88;

/// The start of the content as plain text.
#[must_use]
pub fn summarise(content: &str) -> String {
    excerpt(content, SUMMARY_CHARACTERS_MAX)
}
