//! Excerpt: the start of a text as plain text, cut at a word boundary. Entries store it, so that a list costs
//! no parsing of Markdown.

use crate::plain_text::plain_text;

/// The length of the Markdown that is read for an excerpt, in lengths of the excerpt: its marks and the
/// addresses of its links are left out.
const MARKDOWN_FACTOR: usize = 3;

/// Ends an excerpt whose text goes on.
const CUT_MARK: &str = " …";

/// The start of a text without the marks of Markdown: at most `characters_max` characters beside the mark of
/// a cut, cut at the last white space before that; a first word longer than that is cut within. A text that
/// goes on ends with an ellipsis, unless the cut is at the end of a sentence. A text of nothing but marks is
/// left as it was typed.
#[must_use]
pub fn excerpt(text: &str, characters_max: usize) -> String {
    let text = text.trim();
    let (start, is_cut) = cut(text, MARKDOWN_FACTOR * characters_max);
    let plain = plain_text(start, is_cut);
    let plain = if plain.is_empty() { start } else { &plain };
    let (start, is_short) = cut(plain, characters_max);
    marked(start, is_cut || is_short)
}

/// At most so many characters of a text, cut at white space where there is some, and whether it was cut.
fn cut(text: &str, characters_max: usize) -> (&str, bool) {
    let Some((end, _)) = text.char_indices().nth(characters_max) else { return (text, false) };
    let start = &text[..end];
    let at_a_word = match start.rfind(char::is_whitespace) {
        _ if text[end..].starts_with(char::is_whitespace) => start.trim_end(),
        Some(boundary) if !start[..boundary].trim_end().is_empty() => start[..boundary].trim_end(),
        _ => start,
    };
    (at_a_word, true)
}

fn marked(start: &str, is_cut: bool) -> String {
    if is_cut && !start.ends_with(['.', '!', '?', '…', ':', ';', ')', '"', '”', '’']) {
        return format!("{start}{CUT_MARK}");
    }
    start.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHARACTERS_MAX: usize = 88;

    fn excerpt_of(text: &str) -> String {
        excerpt(text, CHARACTERS_MAX)
    }

    #[test]
    fn a_short_text_is_its_own_excerpt() {
        for text in ["x", "Body text", "A short text.", "To be continued …", "wait…"] {
            assert_eq!(excerpt_of(text), text);
        }
        let longest = "ä".repeat(CHARACTERS_MAX);
        assert_eq!(excerpt_of(&format!("{longest}\n\n")), longest);
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let start = excerpt_of(&"word ".repeat(100));
        assert!(start.ends_with("word …") && start.chars().count() <= CHARACTERS_MAX + 2);
        let of_much = excerpt_of(&"word ".repeat(100_000));
        assert_eq!(of_much, start);
    }

    #[test]
    fn a_single_long_word_is_cut_within() {
        assert_eq!(excerpt_of(&"ä".repeat(500)).chars().count(), CHARACTERS_MAX + 2);
    }

    #[test]
    fn a_cut_at_the_end_of_a_sentence_needs_no_ellipsis() {
        let text = format!("{}. {}", "word ".repeat(17).trim(), "long".repeat(20));
        assert_eq!(excerpt_of(&text), format!("{}.", "word ".repeat(17).trim()));
    }

    #[test]
    fn readers_get_no_marks() {
        let text = format!("# Title\n\nSee [it](https://example.org/{}), **now**.", "long/".repeat(40));
        assert_eq!(excerpt_of(&text), "Title See it, now.");
        assert_eq!(excerpt_of("---"), "---");
    }
}
