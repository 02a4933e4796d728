//! Values of sample data: texts, numbers and times within the checks of a field.

use onehop_model::{Checks, Field, Literal, Normalize, StoredField};
use onehop_runtime::clock::format_timestamp;
use onehop_study::rng::StreamRng;
use regex_syntax::hir::{Class, Hir, HirKind};

/// The characters of a text whose field has no `@length`.
const TEXT_CHARS: u32 = 200;
/// The characters of a name or a title.
const NAME_CHARS: u32 = 40;
/// The ends of names of fields with short texts.
const SHORT: [&str; 6] = ["name", "title", "subject", "label", "city", "code"];
/// Repetitions beyond the least of a pattern.
const REPETITIONS: u32 = 4;
/// 2026-01-01T00:00:00Z, in milliseconds since 1970: all times are in the year before.
const END_MS: i64 = 1_767_225_600_000;
const YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

#[rustfmt::skip]
const WORDS: [&str; 60] = [
    "amber", "apple", "arrow", "autumn", "basket", "bell", "birch", "bridge", "candle", "cedar", "cloud", "copper", "coral",
    "dawn", "delta", "ember", "evening", "fern", "field", "garden", "glass", "harbour", "hazel", "hill", "island", "ivory",
    "juniper", "kettle", "lake", "lantern", "leaf", "lemon", "linen", "maple", "market", "meadow", "mill", "moss", "north",
    "oak", "ocean", "olive", "orchard", "paper", "pebble", "pine", "plum", "quiet", "rain", "river", "saffron", "shore",
    "silver", "stone", "summer", "thistle", "valley", "violet", "willow", "window",
];

/// A text, which differs from the other rows where the field is unique.
pub(super) fn text(
    field: &Field,
    checks: &Checks,
    (stored, number): (&StoredField, u64),
    rng: &mut StreamRng,
) -> String {
    if let Some(pattern) = &checks.pattern
        && let Ok(pattern) = regex_syntax::parse(pattern)
    {
        let mut text = String::new();
        sample(&pattern, rng, &mut text);
        // Few texts may match, so a unique one has the number of its row where that matches, too.
        let numbered = format!("{text}{number}");
        let is_match = |text: &str| is_whole_match(checks.pattern.as_deref().unwrap_or_default(), text);
        let is_short = checks.length_max.is_none_or(|max| numbered.chars().count() <= max as usize);
        return if stored.unique.is_some() && is_short && is_match(&numbered) { numbered } else { text };
    }
    let word = *rng.pick(&WORDS);
    match stored.unique {
        Some(Normalize::Email) => return format!("{word}{number}@example.com"),
        Some(Normalize::Username) => {
            // Zeros fill a short name.
            let width = (checks.length_min.unwrap_or(0) as usize).saturating_sub(word.len());
            return format!("{word}{number:0width$}");
        }
        _ => {}
    }
    let is_short = SHORT.iter().any(|name| field.name.to_ascii_lowercase().ends_with(name));
    let usual = if is_short { NAME_CHARS } else { TEXT_CHARS };
    let max = checks.length_max.unwrap_or(usual).min(usual.max(checks.length_min.unwrap_or(0))) as usize;
    let min = (checks.length_min.unwrap_or(1) as usize).max(max / 4);
    let wanted = min + rng.below((max - min + 1) as u32) as usize;
    let mut text = capitalised(word);
    while text.len() < wanted {
        text.push(' ');
        text.push_str(rng.pick::<&str>(&WORDS));
    }
    let suffix = stored.unique.map(|_| format!(" {number}")).unwrap_or_default();
    text.truncate(max.saturating_sub(suffix.len()));
    let text = text.trim_end().to_owned() + &suffix;
    // A cut before a space can be too short.
    format!("{text:x<min$}", min = checks.length_min.unwrap_or(0) as usize)
}

fn is_whole_match(pattern: &str, text: &str) -> bool {
    regex::Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|pattern| pattern.is_match(text))
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(characters).collect()
}

/// A text that a regular expression accepts.
fn sample(hir: &Hir, rng: &mut StreamRng, text: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            // Readable characters where the class has some.
            let ascii: Vec<_> = ranges.iter().filter(|range| range.start().is_ascii_graphic()).collect();
            let range = if ascii.is_empty() { ranges.first() } else { Some(*rng.pick(&ascii)) };
            let Some(range) = range else { return };
            let (start, end) = (u32::from(range.start()), u32::from(range.end()).min(u32::from('~')));
            let code = start + rng.below(end.saturating_sub(start) + 1);
            text.extend(char::from_u32(code));
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.extend(class.ranges().first().map(|range| char::from(range.start())));
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.min.saturating_add(REPETITIONS);
            let max = repetition.max.map_or(most, |max| max.min(most));
            for _ in 0..repetition.min + rng.below(max - repetition.min + 1) {
                sample(&repetition.sub, rng, text);
            }
        }
        HirKind::Capture(capture) => sample(&capture.sub, rng, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| sample(part, rng, text)),
        HirKind::Alternation(parts) => sample(rng.pick(parts), rng, text),
    }
}

/// The least and the largest number of a field, by its check, or 0 and a usual end.
fn range(checks: &Checks, usual: i64) -> (f64, f64) {
    let number = |literal: &Literal| match literal {
        Literal::Int(whole) => Some(*whole as f64),
        Literal::Float(float) => Some(*float),
        Literal::String(text) => text.parse().ok(),
        _ => None,
    };
    let min = checks.range_min.as_ref().and_then(number);
    let max = checks.range_max.as_ref().and_then(number);
    match (min, max) {
        (Some(min), Some(max)) => (min, max.max(min)),
        (Some(min), None) => (min, min + usual as f64),
        (None, Some(max)) => ((max - usual as f64).max(0.0).min(max), max),
        (None, None) => (0.0, usual as f64),
    }
}

pub(super) fn whole(checks: &Checks, usual: i64, rng: &mut StreamRng) -> i64 {
    let (min, max) = range(checks, usual);
    let (min, max) = (min.ceil() as i64, max.floor() as i64);
    min + rng.below_u64((max - min).unsigned_abs() + 1) as i64
}

/// A whole number that no other row has.
pub(super) fn numbered(checks: &Checks, number: u64) -> i64 {
    let (min, _) = range(checks, 1_000);
    (min.ceil() as i64).saturating_add_unsigned(number)
}

/// A number in hundredths.
pub(super) fn hundredths(checks: &Checks, usual: i64, rng: &mut StreamRng) -> i64 {
    let (min, max) = range(checks, usual);
    let (min, max) = ((min * 100.0).ceil() as i64, (max * 100.0).floor() as i64);
    min + rng.below_u64((max - min).unsigned_abs() + 1) as i64
}

pub(super) fn decimal(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let hundredths = hundredths.unsigned_abs();
    format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
}

pub(super) fn instant(rng: &mut StreamRng) -> String {
    format_timestamp(END_MS - rng.below_u64(YEAR_MS) as i64)
}

#[cfg(test)]
mod tests {
    use onehop_study::rng::Stream;
    use regex::Regex;

    use super::*;

    #[test]
    fn texts_match_their_patterns() {
        let mut rng = StreamRng::new(1, Stream(1_000), 0);
        for pattern in ["[A-Z]{2}[0-9]{3}", "(red|green)-\\d+", "a?b*c+", "[^x]", "\\p{L}{1,3}", "^x$"] {
            let (parsed, regex) =
                (regex_syntax::parse(pattern).unwrap(), Regex::new(&format!("^(?:{pattern})$")).unwrap());
            for _ in 0..100 {
                let mut text = String::new();
                sample(&parsed, &mut rng, &mut text);
                assert!(regex.is_match(&text), "{pattern}: {text:?}");
            }
        }
    }
}
