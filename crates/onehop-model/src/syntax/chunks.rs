//! Recovery from syntax errors: each definition of a broken file is read alone, and a broken line of it is
//! left out, so that one mistake hides no other.

use std::ops::Range;

/// Most lines of one definition that are left out.
const LEFT_OUT_MAX: usize = 20;

/// The ranges of a text that each start with a definition.
pub(super) fn chunks(text: &str, starts: &[usize]) -> Vec<Range<usize>> {
    let mut bounds = vec![0];
    bounds.extend(starts.iter().copied().filter(|start| *start > 0));
    bounds.push(text.len());
    let ranges = bounds.windows(2).map(|pair| pair[0]..pair[1]);
    ranges.filter(|range| !is_blank(&text[range.clone()])).collect()
}

/// Whether a text has nothing but comments and spaces.
fn is_blank(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

/// The first error of a text, then the errors of the text without the broken lines, each by its offset. The
/// function `next_error` finds the first error of a changed text.
pub(super) fn errors_by_line<E>(
    text: &str,
    first: Option<(usize, E)>,
    mut next_error: impl FnMut(&str) -> Option<(usize, E)>,
) -> Vec<(usize, E)> {
    let mut errors = Vec::new();
    let mut text = text.to_owned();
    let mut from = 0;
    let mut next = first;
    while let Some((offset, error)) = next {
        let offset = text.floor_char_boundary(offset);
        // An error that follows from a replaced line is not reported.
        if errors.len() > LEFT_OUT_MAX || offset < from || (!errors.is_empty() && is_closing(&text, offset)) {
            break;
        }
        errors.push((offset, error));
        let Some(line) = broken_line(&text, offset).filter(|line| is_member(&text[line.clone()])) else {
            break;
        };
        from = line.end;
        let sound = sound_line(&text, line.len());
        text.replace_range(line, &sound);
        next = next_error(&text);
    }
    errors
}

/// A line of the same length in place of a broken one: a field, so that a type keeps at least one. Other
/// definitions and short lines get spaces.
fn sound_line(text: &str, length: usize) -> String {
    let is_type = text.lines().any(|line| line.starts_with("type "));
    let field = if is_type { "a:A" } else { "" };
    match length.checked_sub(field.len()) {
        Some(rest) => field.to_owned() + &" ".repeat(rest),
        None => " ".repeat(length),
    }
}

/// Whether a bracket closes at the offset, or the text ends there.
fn is_closing(text: &str, offset: usize) -> bool {
    text[offset..].trim_start().chars().next().is_none_or(|character| matches!(character, '}' | ')' | ']'))
}

/// The line to which an error belongs: the line of its token, or the line before it where the token is the
/// first of its line.
fn broken_line(text: &str, offset: usize) -> Option<Range<usize>> {
    let line_start = |place: usize| text[..place].rfind('\n').map_or(0, |newline| newline + 1);
    let mut start = line_start(offset);
    while text[start..offset].trim().is_empty() && start > 0 {
        let before = line_start(start - 1);
        if !text[before..start].trim().is_empty() {
            return Some(before..start - 1);
        }
        start = before;
    }
    let end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    Some(start..end)
}

/// Whether a line holds one field alone, so that a definition is complete without it.
fn is_member(line: &str) -> bool {
    let line = line.trim_start();
    let starts_with_name =
        line.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_');
    let is_definition = super::scan::KEYWORDS
        .iter()
        .any(|keyword| line.strip_prefix(keyword).is_some_and(|rest| rest.starts_with(' ')));
    starts_with_name && !is_definition && !line.contains(['{', '}'])
}
