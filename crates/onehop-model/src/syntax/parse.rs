//! Parser of SDL: the text of a file becomes definitions, or syntax errors with the expected form.

use std::ops::Range;

use apollo_parser::{Parser, SyntaxTree};

use super::chunks::{chunks, errors_by_line};
use super::convert::convert;
use super::expected::{expected_form, found_token};
use super::scan::{KEYWORDS, scan};
use super::tree::{Definition, Span};
use crate::limits::{FILE_BYTES_MAX, NESTING_MAX};
use crate::nearest::nearest;
use crate::problem::Problem;
use crate::reports::Reports;

/// A bound for the parser that the scan of brackets keeps it below: each bracket takes at most three levels.
const RECURSION_MAX: usize = NESTING_MAX * 4;

/// Most bytes that are parsed again to find further errors of broken definitions.
const REPARSED_BYTES_MAX: usize = 2 * FILE_BYTES_MAX;

/// The definitions of a text. Broken definitions are left out and reported.
pub(crate) fn parse(text: &str, reports: &Reports) -> Vec<Definition> {
    let too_large = |place: usize, what, limit| {
        reports.add(Span { start: place, end: place }, Problem::TooLarge { what, limit });
        Vec::new()
    };
    if text.len() > FILE_BYTES_MAX {
        return too_large(0, "bytes", FILE_BYTES_MAX);
    }
    let scanned = scan(text, NESTING_MAX);
    if let Some(place) = scanned.too_deep {
        return too_large(place, "levels of brackets", NESTING_MAX);
    }
    let tree = parser(text).parse();
    if tree.errors().len() == 0 {
        return convert(&tree.document(), 0, reports);
    }
    let ranges = chunks(text, &scanned.starts);
    let before = reports.len();
    let mut budget = REPARSED_BYTES_MAX;
    let definitions =
        ranges.into_iter().flat_map(|range| parse_chunk(text, range, &mut budget, reports)).collect();
    if reports.len() == before {
        // The file has nothing to read.
        add(reports, text, text.len(), tree.errors().next().map_or("", |error| error.message()));
    }
    definitions
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new(text).recursion_limit(RECURSION_MAX)
}

/// The definitions of one part of a text, unless it has a syntax error.
fn parse_chunk(text: &str, range: Range<usize>, budget: &mut usize, reports: &Reports) -> Vec<Definition> {
    let tree = parser(&text[range.clone()]).parse();
    if tree.errors().len() == 0 {
        return convert(&tree.document(), range.start, reports);
    }
    let first = first_error(&tree);
    let errors = errors_by_line(&text[range.clone()], first, |text| {
        *budget = budget.checked_sub(text.len())?;
        first_error(&parser(text).parse())
    });
    for (offset, message) in errors {
        add(reports, text, range.start + offset, &message);
    }
    Vec::new()
}

/// The offset and message of the first error.
fn first_error(tree: &SyntaxTree) -> Option<(usize, String)> {
    let first = tree.errors().min_by_key(|error| error.index());
    first.map(|error| (error.index(), error.message().to_owned()))
}

/// Reports a syntax error.
fn add(reports: &Reports, text: &str, place: usize, message: &str) {
    let place = text.floor_char_boundary(place);
    let (before, after) = text.split_at(place);
    let expected = expected_form(message, before, after);
    let found = found_token(after);
    let suggestion = if expected.starts_with("a definition") {
        nearest(found.trim_matches('`'), KEYWORDS[..3].iter().copied()).map(str::to_owned)
    } else {
        None
    };
    let end = place + after.chars().next().map_or(0, char::len_utf8);
    reports.add_with(Span { start: place, end }, Problem::Syntax { expected, found }, suggestion);
}
