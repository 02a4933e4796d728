//! The normal form of a document's text: without comments, and with white space only where two tokens would
//! become one. Texts with one normal form are one document. Limits are counted on the way, before anything is
//! built from a text.
//!
//! Documents are parsed from their normal form, so positions in errors are moved to the text that the client
//! sent.

use async_graphql::{Pos, ServerError};

use super::document_limits::{BRACKETS_MAX, DocumentLimits, at_most};
use super::limit_exceeded::LimitExceeded;

/// The byte order mark, which is white space between tokens.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The normal form of a text within the limits of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalText {
    text: String,
    tokens: usize,
}

impl NormalText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The number of its tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    pub(crate) fn into_text(self) -> Box<str> {
        self.text.into_boxed_str()
    }
}

impl DocumentLimits {
    /// Looks at the length of a text, then walks over it once: counts tokens and open brackets, and writes
    /// the normal form.
    ///
    /// # Errors
    /// The first limit that the text exceeds.
    pub fn normalize(&self, text: &str) -> Result<NormalText, LimitExceeded> {
        self.check_bytes(text.len())?;
        let mut normal = String::with_capacity(text.len());
        let (mut tokens, mut brackets) = (0_usize, 0_usize);
        for token in Tokens::of(text) {
            tokens += 1;
            match text.as_bytes()[token.start] {
                b'{' | b'(' | b'[' => brackets += 1,
                b'}' | b')' | b']' => brackets = brackets.saturating_sub(1),
                _ => {}
            }
            at_most(BRACKETS_MAX, brackets, "document-brackets", "nested brackets")?;
            self.check_tokens(tokens)?;
            if token.is_after_space {
                normal.push(' ');
            }
            normal.push_str(&text[token.start..token.end]);
        }
        Ok(NormalText { text: normal, tokens })
    }
}

/// Moves the positions of an error from the normal form of a text to the text itself.
pub(crate) fn move_to_original(error: &mut ServerError, original: &str) {
    for position in &mut error.locations {
        *position = original_position(original, *position);
    }
}

/// Where a position of the normal form is in the text.
fn original_position(original: &str, position: Pos) -> Pos {
    // Between two tokens there is at most one byte of white space, and lines end only within block strings.
    let (mut line, mut column) = (1, 1);
    for token in Tokens::of(original) {
        column += usize::from(token.is_after_space);
        for (offset, character) in original[token.start..token.end].char_indices() {
            if (line, column) >= (position.line, position.column) {
                return position_of(original, token.start + offset);
            }
            match character {
                '\n' => (line, column) = (line + 1, 1),
                _ => column += 1,
            }
        }
    }
    position_of(original, original.trim_end().len())
}

/// The line and the column of a byte, both from 1 on. Columns count characters.
fn position_of(text: &str, offset: usize) -> Pos {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    Pos { line, column: before[line_start..].chars().count() + 1 }
}

/// The tokens of a text. A string literal is one token, closed or not.
struct Tokens<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether the last token is a punctuator, next to which white space means nothing.
    is_after_punctuator: bool,
}

struct Token {
    start: usize,
    end: usize,
    /// Whether the normal form has a space before it.
    is_after_space: bool,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), position: 0, is_after_punctuator: true }
    }

    /// Passes over white space, commas and comments.
    fn skip_ignored(&mut self) {
        loop {
            let rest = &self.bytes[self.position..];
            self.position += match rest.first() {
                Some(b' ' | b'\t' | b'\n' | b'\r' | b',') => 1,
                Some(b'#') => length_until(rest, |byte| matches!(byte, b'\n' | b'\r')),
                _ if rest.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
                _ => return,
            };
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let after_last = self.position;
        self.skip_ignored();
        let (start, rest) = (self.position, &self.bytes[self.position..]);
        let first = *rest.first()?;
        let (length, is_punctuator) = match first {
            b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'!' | b'$' | b':' | b'=' | b'@' => (1, true),
            b'.' if rest.starts_with(b"...") => (3, true),
            b'"' => (string_length(rest), false),
            _ if is_word(first) => (word_length(rest), false),
            _ => (1, false),
        };
        let is_after_space = start > after_last && !is_punctuator && !self.is_after_punctuator;
        self.position += length;
        self.is_after_punctuator = is_punctuator;
        Some(Token { start, end: self.position, is_after_space })
    }
}

/// Names and numbers; a byte of a character beyond ASCII counts as one so that it is one step.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The length of the word that starts here. A byte order mark ends it.
fn word_length(bytes: &[u8]) -> usize {
    let length = length_until(bytes, |byte| !is_word(byte));
    let marks = bytes[..length].windows(BYTE_ORDER_MARK.len());
    marks.into_iter().position(|window| window == BYTE_ORDER_MARK).unwrap_or(length)
}

fn length_until(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| is_end(byte)).unwrap_or(bytes.len())
}

/// The length of the string literal that starts here, closed or not.
fn string_length(bytes: &[u8]) -> usize {
    let (delimiter, escape): (&[u8], &[u8]) =
        if bytes.starts_with(b"\"\"\"") { (b"\"\"\"", b"\\\"\"\"") } else { (b"\"", b"\\\"") };
    let mut position = delimiter.len();
    while position < bytes.len() {
        let rest = &bytes[position..];
        if rest.starts_with(delimiter) {
            return position + delimiter.len();
        }
        // In an ordinary string a backslash may itself be escaped; in a block string it is plain text.
        position += if rest.starts_with(escape) {
            escape.len()
        } else if delimiter.len() == 1 && rest[0] == b'\\' {
            2
        } else {
            1
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn normal(text: &str) -> String {
        DocumentLimits::default().normalize(text).expect(text).text
    }

    #[test]
    fn comments_and_white_space_make_no_other_document() {
        let same =
            "query A($n:Int=1){feed(first:$n after:\"x\"){nodes{id...on Post@include(if:true){title}}}}";
        for text in [
            same,
            "# a comment\nquery A ( $n : Int = 1 ) {\r\n\tfeed(first: $n, after: \"x\") { nodes { id, ... on Post \
             @include(if: true) { title } } } } # {",
            "\u{feff}query A($n:Int=1){feed(first:$n,,,after:\"x\")#{\n{nodes{id\u{feff}...on Post@include(if:true)\
             {title}}}}",
        ] {
            assert_eq!(normal(text), same, "{text}");
        }
    }

    #[test]
    fn strings_stay_as_they_are() {
        for text in [
            "{a(b:\"# no, comment \\\" {\")}",
            "{a(b:\"\"\"\n # still\n  text \\\"\"\" , \"\"\")}",
            "{a(b:[\"\" \"x\"])}",
            "{a(b:\"\"c:\"\\\\\")}",
        ] {
            assert_eq!(normal(text), text);
        }
        assert_eq!(normal("{a(b:[\"\"  ,  \"x\"])}"), "{a(b:[\"\" \"x\"])}", "no block string comes of it");
    }

    #[test]
    fn tokens_never_grow_together_and_never_fall_apart() {
        for (text, expected) in [
            ("{ a b }", "{a b}"),
            ("{ a(b: - 1) }", "{a(b:- 1)}"),
            ("{ a(b: -1.5e+3) }", "{a(b:-1.5e+3)}"),
            ("{ a(b: 1 .5) }", "{a(b:1 .5)}"),
            ("{ a(b: 1 1) }", "{a(b:1 1)}"),
            (". . . on", ". . . on"),
            ("{ é\u{feff}é }", "{é é}"),
        ] {
            assert_eq!(normal(text), expected, "{text}");
        }
    }

    #[test]
    fn the_normal_form_of_a_normal_form_is_itself() {
        for text in ["{ a(b: - 1 c: \"x\" \"y\") }", ". . . . ..", "\" # \n", "{é}", "1a -\"\"\" \"", ""] {
            let once = normal(text);
            assert_eq!(normal(&once), once, "{text}");
        }
    }

    #[test]
    fn a_valid_document_and_its_normal_form_parse_to_the_same() {
        let text = "query A($n: [Int!]! = [1, -2.5e3]) @skip(if: false) {\n  # comment\n  a: feed(first: $n, \
                    s: \"\"\"block \\\"\"\" \"\"\", o: {k: E, l: null}) { ...F, ... on X { id } }\n}\n\
                    fragment F on User { id }";
        let without_positions = |text: &str| {
            let shown = format!("{:?}", parse_query(text).expect(text));
            let mut parts = shown.split("Pos(");
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| all + part.split_once(')').map_or("", |(_, rest)| rest))
        };
        assert_eq!(without_positions(text), without_positions(&normal(text)));
    }

    #[test]
    fn positions_are_those_of_the_text_that_was_sent() {
        let text = "# first\n{\n  feed(after: \"é\", first: 1)   {\n    nodes { nothing }\n  }\n}\n";
        let normal = normal(text);
        for name in ["feed", "after", "first:", "nodes", "nothing", "}"] {
            let column = normal[..normal.find(name).expect(name)].chars().count() + 1;
            let skipped = if name == "first:" { text.find("first:") } else { None };
            let offset = skipped.or_else(|| text.find(name)).expect(name);
            let found = original_position(text, Pos { line: 1, column });
            assert_eq!(found, position_of(text, offset), "{name}");
        }
        let end = original_position(text, Pos { line: 1, column: 1_000 });
        assert_eq!((end.line, end.column), (6, 2), "the end of the text");
    }

    #[test]
    fn lines_of_a_block_string_are_counted() {
        let text = "{\n a(b: \"\"\"x\ny\"\"\")\n c }";
        let found = original_position(text, Pos { line: 2, column: 6 });
        assert_eq!((found.line, found.column), (4, 2), "{}", normal(text));
    }
}
