//! The summary of a post: the start of its text. Short copies store it as Markdown, cut at a word boundary; readers get it as
//! plain text.

use super::plain_text::plain_text;

/// The length of a summary, in characters, without the mark of a cut.
pub const SUMMARY_CHARACTERS_MAX: usize = 160;

/// Ends a summary whose text goes on. Copies of an earlier version do not have it.
const CUT_MARK: &str = " …";

/// The stored start of the content: at most [`SUMMARY_CHARACTERS_MAX`] characters, cut at the last white space before
/// that, and then marked; a first word longer than that is cut within.
#[must_use]
pub fn summarise(content: &str) -> String {
    let content = content.trim_end();
    let Some((end, _)) = content.char_indices().nth(SUMMARY_CHARACTERS_MAX) else {
        return content.to_owned();
    };
    let start = &content[..end];
    let start = match start.rfind(char::is_whitespace) {
        _ if content[end..].starts_with(char::is_whitespace) => start.trim_end(),
        Some(boundary) if !start[..boundary].trim_end().is_empty() => start[..boundary].trim_end(),
        _ => start,
    };
    format!("{start}{CUT_MARK}")
}

/// A stored summary as readers get it: without the marks of Markdown. A text that goes on ends with an ellipsis, unless the
/// cut is at the end of a sentence. What is nothing but marks is returned unchanged.
#[must_use]
pub fn shown(stored: &str) -> String {
    let (start, is_cut) = uncut(stored).map_or((stored, false), |start| (start, true));
    let plain = plain_text(start, is_cut);
    if plain.is_empty() {
        return stored.trim().to_owned();
    }
    if is_cut && !plain.ends_with(['.', '!', '?', '…', ':', ';', ')', '"', '”', '’']) {
        return format!("{plain}{CUT_MARK}");
    }
    plain
}

/// Whether a stored summary is the one that is expected, or was written by a version that did not mark cuts.
#[must_use]
pub fn is_summary(stored: &str, expected: &str) -> bool {
    stored == expected || uncut(expected) == Some(stored)
}

fn uncut(stored: &str) -> Option<&str> {
    stored.strip_suffix(CUT_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_its_own_summary() {
        for text in ["x", "Body text", "A short text.", "To be continued …", "wait…"] {
            assert_eq!(summarise(text), text);
            assert_eq!(shown(&summarise(text)), text);
        }
        let longest = "ä".repeat(SUMMARY_CHARACTERS_MAX);
        assert_eq!(shown(&summarise(&format!("{longest}\n\n"))), longest);
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let summary = summarise(&"word ".repeat(100));
        assert!(summary.ends_with("word …") && summary.chars().count() <= SUMMARY_CHARACTERS_MAX + 2);
        assert_eq!(shown(&summary), summary);
    }

    #[test]
    fn a_single_long_word_is_cut_within() {
        assert_eq!(summarise(&"ä".repeat(500)).chars().count(), SUMMARY_CHARACTERS_MAX + 2);
    }

    #[test]
    fn a_cut_at_the_end_of_a_sentence_needs_no_ellipsis() {
        let text = format!("{}. {}", "word ".repeat(31).trim(), "long".repeat(20));
        assert_eq!(shown(&summarise(&text)), format!("{}.", "word ".repeat(31).trim()));
    }

    #[test]
    fn readers_get_no_marks() {
        assert_eq!(shown("```rust\nfn main() {}\n```\nSee [it](https://exam …"), "fn main() {} See it …");
        assert_eq!(shown("---"), "---");
    }

    #[test]
    fn a_summary_of_an_earlier_version_is_still_one() {
        let expected = summarise(&"word ".repeat(100));
        assert!(is_summary(&expected, &expected));
        assert!(is_summary(expected.trim_end_matches(" …"), &expected));
        assert!(!is_summary("word", &expected) && !is_summary(&expected, "word"));
    }
}
