//! The summary of a post: the start of its text as plain text, cut at a word boundary. Short copies store it,
//! so that a list costs no parsing of Markdown.

use super::plain_text::plain_text;

/// The length of a summary, in characters, without the mark of a cut. A page of the feed reads a hundred of
/// them, and each costs by its size.
pub const SUMMARY_CHARACTERS_MAX: usize = 88;

/// The length of the Markdown that is read for a summary, in characters: its marks and the addresses of its
/// links are left out.
const MARKDOWN_CHARACTERS_MAX: usize = 3 * SUMMARY_CHARACTERS_MAX;

/// Ends a summary whose text goes on.
const CUT_MARK: &str = " …";

/// The start of the content without the marks of Markdown: at most [`SUMMARY_CHARACTERS_MAX`] characters, cut
/// at the last white space before that; a first word longer than that is cut within. A text that goes on ends
/// with an ellipsis, unless the cut is at the end of a sentence. A text of nothing but marks is left as it
/// was typed.
#[must_use]
pub fn summarise(content: &str) -> String {
    let content = content.trim();
    let (start, is_cut) = cut(content, MARKDOWN_CHARACTERS_MAX);
    let plain = plain_text(start, is_cut);
    let plain = if plain.is_empty() { start } else { &plain };
    let (start, is_short) = cut(plain, SUMMARY_CHARACTERS_MAX);
    marked(start, is_cut || is_short)
}

/// The summary of a short copy of an earlier version, which stored Markdown.
#[must_use]
pub fn of_former_copy(stored: &str) -> String {
    let (start, is_cut) = stored.strip_suffix(CUT_MARK).map_or((stored, false), |start| (start, true));
    let plain = plain_text(start, is_cut);
    if plain.is_empty() { stored.trim().to_owned() } else { marked(&plain, is_cut) }
}

/// Whether the stored text of a short copy of an earlier version has the expected summary: one of both begins
/// with the other.
#[must_use]
pub fn is_former_copy_of(stored: &str, expected: &str) -> bool {
    let former = of_former_copy(stored);
    let start = |summary: &str| summary.strip_suffix(CUT_MARK).unwrap_or(summary).to_owned();
    let (former, expected) = (start(&former), start(expected));
    former.starts_with(&expected) || expected.starts_with(&former)
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

    #[test]
    fn a_short_text_is_its_own_summary() {
        for text in ["x", "Body text", "A short text.", "To be continued …", "wait…"] {
            assert_eq!(summarise(text), text);
        }
        let longest = "ä".repeat(SUMMARY_CHARACTERS_MAX);
        assert_eq!(summarise(&format!("{longest}\n\n")), longest);
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let summary = summarise(&"word ".repeat(100));
        assert!(summary.ends_with("word …") && summary.chars().count() <= SUMMARY_CHARACTERS_MAX + 2);
        let of_much = summarise(&"word ".repeat(100_000));
        assert_eq!(of_much, summary);
    }

    #[test]
    fn a_single_long_word_is_cut_within() {
        assert_eq!(summarise(&"ä".repeat(500)).chars().count(), SUMMARY_CHARACTERS_MAX + 2);
    }

    #[test]
    fn a_cut_at_the_end_of_a_sentence_needs_no_ellipsis() {
        let text = format!("{}. {}", "word ".repeat(17).trim(), "long".repeat(20));
        assert_eq!(summarise(&text), format!("{}.", "word ".repeat(17).trim()));
    }

    #[test]
    fn readers_get_no_marks() {
        let text = format!("# Title\n\nSee [it](https://example.org/{}), **now**.", "long/".repeat(40));
        assert_eq!(summarise(&text), "Title See it, now.");
        assert_eq!(summarise("---"), "---");
        assert_eq!(
            of_former_copy("```rust\nfn main() {}\n```\nSee [it](https://exam …"),
            "fn main() {} See it …"
        );
    }

    #[test]
    fn a_copy_of_an_earlier_version_is_recognised() {
        let expected = summarise(&"**word** ".repeat(100));
        for former in
            ["**word** ".repeat(17).trim().to_owned(), format!("{} …", "**word** ".repeat(17).trim())]
        {
            assert!(is_former_copy_of(&former, &expected), "{former}");
        }
        assert!(!is_former_copy_of("other words", &expected) && !is_former_copy_of(&expected, "other words"));
    }
}
