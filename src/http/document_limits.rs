//! Bounds on documents, checked before anything expensive is done with them. The parser, the validator and
//! the executor recurse, and walk through a fragment again wherever it is spread.

use std::collections::HashMap;

use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};

/// How deep brackets of all kinds may nest in a document. The parser and the executor recurse.
pub const DOCUMENT_NESTING_MAX: usize = 128;

/// How many tokens a document may have. GraphiQL's introspection query has about 250.
pub const DOCUMENT_TOKENS_MAX: usize = 10_000;

/// How many selections a document may have once every fragment is put where it is spread. Fragments that
/// spread others twice would otherwise double the work with every level.
pub const EXPANDED_SELECTIONS_MAX: usize = 10_000;

/// Which bound a document exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverLimit {
    #[error("The document nests deeper than {DOCUMENT_NESTING_MAX} levels.")]
    Nesting,
    #[error("The document has more than {DOCUMENT_TOKENS_MAX} tokens.")]
    Tokens,
    #[error("The document selects more than {EXPANDED_SELECTIONS_MAX} fields through its fragments.")]
    Selections,
}

/// Walks over the text once, counting tokens and open brackets, without building anything.
pub fn check_size(text: &str) -> Result<(), OverLimit> {
    let bytes = text.as_bytes();
    let (mut position, mut tokens, mut nesting) = (0, 0_usize, 0_usize);
    while let Some(&byte) = bytes.get(position) {
        let length = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                position += 1;
                continue;
            }
            b'#' => {
                position += length_until(&bytes[position..], |byte| matches!(byte, b'\n' | b'\r'));
                continue;
            }
            b'{' | b'(' | b'[' => {
                nesting += 1;
                1
            }
            b'}' | b')' | b']' => {
                nesting = nesting.saturating_sub(1);
                1
            }
            b'"' => string_length(&bytes[position..]),
            _ if is_word(byte) => length_until(&bytes[position..], |byte| !is_word(byte)),
            _ => 1,
        };
        position += length;
        tokens += 1;
        if nesting > DOCUMENT_NESTING_MAX {
            return Err(OverLimit::Nesting);
        }
        if tokens > DOCUMENT_TOKENS_MAX {
            return Err(OverLimit::Tokens);
        }
    }
    Ok(())
}

/// Counts what the operations select with all fragments expanded, looking at each fragment once.
pub fn check_expansion(document: &ExecutableDocument) -> Result<(), OverLimit> {
    let mut expansion = Expansion { document, fragments: HashMap::new() };
    let mut selections = 0_usize;
    for (_, operation) in document.operations.iter() {
        selections = selections.saturating_add(expansion.count(&operation.node.selection_set.node, 0)?);
    }
    if selections > EXPANDED_SELECTIONS_MAX { Err(OverLimit::Selections) } else { Ok(()) }
}

struct Expansion<'a> {
    document: &'a ExecutableDocument,
    /// The selections of the fragments counted so far.
    fragments: HashMap<&'a str, usize>,
}

impl<'a> Expansion<'a> {
    /// The depth also ends the walk through a fragment that spreads itself.
    fn count(&mut self, selections: &'a SelectionSet, depth: usize) -> Result<usize, OverLimit> {
        if depth > DOCUMENT_NESTING_MAX {
            return Err(OverLimit::Nesting);
        }
        let mut sum = selections.items.len();
        for selection in &selections.items {
            let inner = match &selection.node {
                Selection::Field(field) => self.count(&field.node.selection_set.node, depth + 1)?,
                Selection::InlineFragment(fragment) => {
                    self.count(&fragment.node.selection_set.node, depth + 1)?
                }
                Selection::FragmentSpread(spread) => {
                    self.count_fragment(spread.node.fragment_name.node.as_str(), depth + 1)?
                }
            };
            sum = sum.saturating_add(inner);
        }
        Ok(sum)
    }

    fn count_fragment(&mut self, name: &'a str, depth: usize) -> Result<usize, OverLimit> {
        if let Some(&counted) = self.fragments.get(name) {
            return Ok(counted);
        }
        let Some(fragment) = self.document.fragments.get(name) else { return Ok(0) };
        let counted = self.count(&fragment.node.selection_set.node, depth)?;
        self.fragments.insert(name, counted);
        Ok(counted)
    }
}

/// Names and numbers; a byte of a character beyond ASCII counts as one so that it is one step.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
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
    use super::*;
    use crate::http::document::{DocumentError, Documents};

    fn parse(text: &str) -> Result<(), DocumentError> {
        Documents::new().parse(text).map(drop)
    }

    #[test]
    fn document_at_the_nesting_limit_is_parsed_and_one_beyond_is_refused() {
        let nested = |depth: usize| format!("{}a{}", "{a".repeat(depth - 1) + "{", "}".repeat(depth));
        assert!(!matches!(
            parse(&nested(DOCUMENT_NESTING_MAX)),
            Err(DocumentError::OverLimit(OverLimit::Nesting))
        ));
        assert!(matches!(
            parse(&nested(DOCUMENT_NESTING_MAX + 1)),
            Err(DocumentError::OverLimit(OverLimit::Nesting))
        ));
    }

    #[test]
    fn nested_lists_and_objects_are_bounded_like_selections() {
        for (open, close) in [("[", "]"), ("{a:", "}")] {
            let value = open.repeat(100_000) + "1" + &close.repeat(100_000);
            assert!(matches!(
                parse(&format!("{{a(b:{value})}}")),
                Err(DocumentError::OverLimit(OverLimit::Nesting))
            ));
            assert!(matches!(
                parse(&format!("{{a(b:{}", open.repeat(100_000))),
                Err(DocumentError::OverLimit(OverLimit::Nesting))
            ));
        }
        let variable_type = "[".repeat(100_000);
        assert!(matches!(
            parse(&format!("query($a: {variable_type}")),
            Err(DocumentError::OverLimit(OverLimit::Nesting))
        ));
    }

    #[test]
    fn document_with_too_many_tokens_is_refused_before_it_is_parsed() {
        let long = format!("{{{}}}", "a ".repeat(DOCUMENT_TOKENS_MAX));
        assert!(matches!(parse(&long), Err(DocumentError::OverLimit(OverLimit::Tokens))));
        assert!(parse(&format!("{{{}}}", "a ".repeat(DOCUMENT_TOKENS_MAX - 2))).is_ok());
    }

    #[test]
    fn brackets_in_strings_and_comments_count_for_nothing() {
        let brackets = "{[(".repeat(1_000);
        assert!(parse(&format!("{{ a(b: \"{brackets}\") }} # {brackets}")).is_ok());
        assert!(parse(&format!(r#"{{ a(b: """ {brackets} \""" " {brackets} """) }}"#)).is_ok());
        assert!(parse(&format!(r#"{{ a(b: "\\\" {brackets}") }}"#)).is_ok());
        assert!(parse(r#"{ a(b: "\\") { c(d: "") { e } } }"#).is_ok());
    }

    #[test]
    fn fragments_that_double_with_every_level_are_refused_without_walking_them() {
        let doubling = |levels: usize| {
            let fragments: String = (0..levels)
                .map(|level| format!(" fragment F{level} on A {{ ...F{} ...F{} }}", level + 1, level + 1))
                .collect();
            format!("{{ ...F0 }} {fragments} fragment F{levels} on A {{ a }}")
        };
        assert!(parse(&doubling(8)).is_ok());
        for levels in [20, 100] {
            let refused = parse(&doubling(levels));
            assert!(matches!(refused, Err(DocumentError::OverLimit(OverLimit::Selections))), "{levels}");
        }
        assert!(matches!(parse(&doubling(400)), Err(DocumentError::OverLimit(OverLimit::Nesting))));
    }

    #[test]
    fn fragment_that_spreads_itself_is_refused() {
        for text in [
            "{ ...A } fragment A on Q { ...A ...A }",
            "{ ...A } fragment A on Q { ...B } fragment B on Q { a { ...A } }",
        ] {
            assert!(matches!(parse(text), Err(DocumentError::OverLimit(OverLimit::Nesting))), "{text}");
        }
    }
}
