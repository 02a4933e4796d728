//! The summary of a post: the start of its text, cut at a word boundary.

/// The length of a summary, in characters.
pub const SUMMARY_CHARACTERS_MAX: usize = 160;

/// The start of the content, at most [`SUMMARY_CHARACTERS_MAX`] characters, cut at the last white space before
/// that; a first word longer than that is cut within.
#[must_use]
pub fn summarise(content: &str) -> &str {
    let Some((end, _)) = content.char_indices().nth(SUMMARY_CHARACTERS_MAX) else {
        return content.trim_end();
    };
    let start = &content[..end];
    if content[end..].starts_with(char::is_whitespace) {
        return start.trim_end();
    }
    match start.rfind(char::is_whitespace) {
        Some(boundary) if !start[..boundary].trim_end().is_empty() => start[..boundary].trim_end(),
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_its_own_summary() {
        assert_eq!(summarise("A short text."), "A short text.");
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let text = "word ".repeat(100);
        let summary = summarise(&text);
        assert!(summary.ends_with("word") && summary.chars().count() <= SUMMARY_CHARACTERS_MAX);
    }

    #[test]
    fn a_single_long_word_is_cut_within() {
        assert_eq!(summarise(&"ä".repeat(500)).chars().count(), SUMMARY_CHARACTERS_MAX);
    }
}
