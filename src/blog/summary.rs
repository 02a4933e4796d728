//! The summary of a post: the start of its text. Short copies store it as Markdown, cut at a word boundary; readers get it as
//! plain text.
//!
//! A summary without any marks, as most have none, is also found in the JSON of the stored text, without decoding it.

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
    if is_cut && !ends_in_mark(&plain) {
        return format!("{plain}{CUT_MARK}");
    }
    plain
}

/// The JSON text of what readers get of a stored summary, from its JSON text, both with their quotes. `None` where the text has
/// something that may be a mark: [`shown`] of the decoded text is it then.
#[must_use]
pub fn shown_json(stored: &str) -> Option<ShownJson<'_>> {
    shown_of(within_quotes(stored)?)
}

/// As [`shown_json`], from the JSON text of the whole content.
#[must_use]
pub fn summarised_json(content: &str) -> Option<ShownJson<'_>> {
    let content = within_quotes(content)?;
    // What ends in white space is trimmed first.
    if !content.ends_with(|last: char| last.is_ascii_graphic()) {
        return None;
    }
    let mut characters = 0;
    let mut end = 0;
    let mut bytes = content.char_indices().peekable();
    while let Some((at, character)) = bytes.next() {
        if characters == SUMMARY_CHARACTERS_MAX {
            end = at;
            break;
        }
        if character == '\\' {
            bytes.next_if(|(_, next)| matches!(next, '"' | 'n'))?;
        }
        characters += 1;
    }
    if end == 0 {
        return shown_of(content);
    }
    let (start, rest) = content.split_at(end);
    let is_at_boundary = match rest.as_bytes() {
        [b' ', ..] | [b'\\', b'n', ..] => true,
        // Another escape, and what is not ASCII, may be white space.
        [b'\\', next, ..] if *next != b'"' => return None,
        [byte, ..] if !byte.is_ascii() => return None,
        _ => false,
    };
    let words = trimmed(start);
    if !is_plain(words) {
        return None;
    }
    let is_whole = is_at_boundary || words.len() < start.len();
    let boundary = words.rfind(' ').max(words.rfind(LINE_END)).filter(|_| !is_whole);
    Some(ShownJson::cut(trimmed(&words[..boundary.unwrap_or(words.len())])))
}

/// The end of a line in a JSON text in which no backslash is escaped.
const LINE_END: &str = "\\n";

/// A part of a JSON text without white space at its end.
fn trimmed(mut json: &str) -> &str {
    while let Some(before) = json.strip_suffix(' ').or_else(|| json.strip_suffix(LINE_END)) {
        json = before;
    }
    json
}

/// The JSON text of a summary for readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownJson<'a> {
    start: &'a str,
    mark: &'static str,
}

impl<'a> ShownJson<'a> {
    fn cut(start: &'a str) -> Self {
        Self { start, mark: if ends_in_mark(start) { "" } else { CUT_MARK } }
    }

    /// Writes it with its quotes behind what is in a buffer: its lines, with a space between them.
    pub fn write_to(self, out: &mut Vec<u8>) {
        let mut before = "\"";
        for line in self.start.split(LINE_END).filter(|line| !line.is_empty()) {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(line.as_bytes());
            before = " ";
        }
        out.extend_from_slice(self.mark.as_bytes());
        out.push(b'"');
    }
}

fn within_quotes(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"')
}

fn shown_of(stored: &str) -> Option<ShownJson<'_>> {
    match uncut(stored) {
        Some(start) => is_plain(start).then(|| ShownJson::cut(start)),
        None => is_plain(stored).then_some(ShownJson { start: stored, mark: "" }),
    }
}

/// Whether a part of a JSON text is its own plain text, but for the ends of its lines: each line begins with a letter, has one
/// space between its words, and no character that formats.
fn is_plain(json: &str) -> bool {
    let bytes = json.as_bytes();
    let (mut at, mut begins_line) = (0, true);
    while let Some(byte) = bytes.get(at) {
        if begins_line && !byte.is_ascii_alphabetic() && !bytes[at..].starts_with(LINE_END.as_bytes()) {
            return false;
        }
        begins_line = false;
        at += match PLAIN[*byte as usize] {
            ByteKind::Plain => 1,
            // A quotation mark may follow, and is an escape, too.
            ByteKind::Space if !matches!(&bytes[at + 1..], [] | [b' ', ..] | [b'\\', b'n', ..]) => 1,
            ByteKind::Escape if bytes.get(at + 1) == Some(&b'"') => 2,
            ByteKind::Escape if bytes.get(at + 1) == Some(&b'n') => {
                begins_line = true;
                2
            }
            // The dashes, quotation marks and dots of typography, among which is no white space.
            ByteKind::Punctuation if matches!(&bytes[at..], [_, 0x80, 0x90..=0xa7, ..]) => 3,
            _ => return false,
        };
    }
    !begins_line
}

/// What a byte of a JSON text may be to Markdown.
#[derive(Clone, Copy)]
enum ByteKind {
    Plain,
    Space,
    Escape,
    /// The first byte of general punctuation, and of white space.
    Punctuation,
    /// A mark, or the first byte of characters of which some are white space.
    Other,
}

const PLAIN: [ByteKind; 256] = {
    let mut kinds = [ByteKind::Plain; 256];
    let others = b"`~*_[]<>&\xc2\xe1\xe3";
    let mut place = 0;
    while place < others.len() {
        kinds[others[place] as usize] = ByteKind::Other;
        place += 1;
    }
    kinds[b' ' as usize] = ByteKind::Space;
    kinds[b'\\' as usize] = ByteKind::Escape;
    kinds[0xe2] = ByteKind::Punctuation;
    kinds
};

/// Whether a summary ends where a sentence or a part of one does.
fn ends_in_mark(plain: &str) -> bool {
    plain.ends_with(['.', '!', '?', '…', ':', ';', ')', '"', '”', '’'])
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
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> String {
        serde_json::to_string(text).unwrap()
    }

    fn written(found: ShownJson<'_>) -> String {
        let mut out = Vec::new();
        found.write_to(&mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn a_summary_in_json_is_the_summary(
            words in "[a-zé\"\\\\*_\\[`#>.!…’\u{a0}\u{2003}\n-]{0,3}([a-z,.!?\"’é-]{1,12}[ \n]{1,2}){0,40}[a-z *.\"]{0,2}",
            mark in "( …)?",
        ) {
            let text = words + &mark;
            if let Some(found) = shown_json(&json(&text)) {
                prop_assert_eq!(written(found), json(&shown(&text)));
            }
            if let Some(found) = summarised_json(&json(&text)) {
                prop_assert_eq!(written(found), json(&shown(&summarise(&text))));
            }
        }

        #[test]
        fn plain_words_are_summarised_in_json(text in "[A-Z]([a-z,\"]{0,9}(?:, |\\.\n\n|\n| )[a-z]){0,40}[a-z]{1,9}\\.?") {
            let stored = summarise(&text);
            let found = shown_json(&json(&stored)).map(written);
            prop_assert_eq!(found, Some(json(&shown(&stored))));
            let found = summarised_json(&json(&text)).map(written);
            prop_assert_eq!(found, Some(json(&shown(&stored))));
        }
    }

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
