//! Rules of usernames: characters, width mapping, direction and case folding, with the errors of names that
//! break them. They follow PRECIS UsernameCaseMapped (RFC 8265, section 3.3) on current Unicode tables,
//! narrowed to letters, marks, decimal digits, `_`, `-` and `.`, and with full case folding in place of
//! lower-casing.

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::props::{BidiClass, DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

/// The fewest characters of a username, counted as Unicode scalar values of the display form.
pub const USERNAME_CHARS_MIN: usize = 3;
/// The most characters of a username, counted as Unicode scalar values of the display form.
pub const USERNAME_CHARS_MAX: usize = 30;

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const DIRECTION: CodePointMapDataBorrowed<'static, BidiClass> = CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();

/// The rule a name breaks, as a sentence for users without its full stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UsernameError {
    #[error("Usernames must have {min} to {max} characters; this one has {actual}")]
    Length { min: usize, max: usize, actual: usize },
    /// `position` counts characters of the display form from 1.
    #[error("{}", character_rule(*found, *position))]
    Character { found: char, position: usize },
    #[error("Usernames cannot begin with a combining mark")]
    LeadingMark,
    /// The Bidi Rule (RFC 5893, section 2), which keeps a name readable in one order only.
    #[error("Usernames cannot mix left-to-right and right-to-left characters")]
    Direction,
    #[error("Usernames must have a letter or a digit")]
    NoLetter,
    #[error(
        "Usernames can have at most {max} combining marks in a row, and not more of them than other characters"
    )]
    Marks { max: usize },
    /// UTS 39, highly restrictive.
    #[error("Usernames must be written in one script, with characters in common use")]
    Script,
    #[error("Usernames such as this one are reserved")]
    Reserved,
}

impl UsernameError {
    pub(super) fn length(text: &str) -> Self {
        Self::Length { min: USERNAME_CHARS_MIN, max: USERNAME_CHARS_MAX, actual: text.chars().count() }
    }
}

/// Spaces and invisible characters are named: their own sign shows nothing.
fn character_rule(found: char, position: usize) -> String {
    if found.is_whitespace() {
        "Usernames cannot contain spaces".to_owned()
    } else if found.is_control()
        || IGNORABLE.contains(found)
        || CATEGORY.get(found) == GeneralCategory::Format
    {
        let code = u32::from(found);
        format!("Usernames cannot contain invisible characters; character {position} is U+{code:04X}")
    } else {
        format!("Usernames can contain letters, digits, '_', '-' and '.', but not '{found}'")
    }
}

/// Normalization form C.
pub(super) fn nfc(text: &str) -> String {
    NFC.normalize(text).into_owned()
}

/// The width mapping rule: full and half width forms become the characters they stand for.
pub(super) fn map_width(typed: &str) -> String {
    let mut mapped = String::with_capacity(typed.len());
    for found in typed.chars() {
        match found {
            '\u{FF01}'..='\u{FFEE}' => {
                mapped.extend(NFKC.normalize_iter(std::iter::once(found)));
            }
            _ => mapped.push(found),
        }
    }
    mapped
}

pub(super) fn check_characters(display: &str) -> Result<(), UsernameError> {
    match display.chars().enumerate().find(|(_, found)| !is_allowed(*found)) {
        None => Ok(()),
        Some((index, found)) => Err(UsernameError::Character { found, position: index + 1 }),
    }
}

/// The IdentifierClass (RFC 8264, section 8) without its symbols and without characters that need a context.
pub(super) fn is_allowed(found: char) -> bool {
    if found.is_ascii() {
        return found.is_ascii_alphanumeric() || matches!(found, '_' | '-' | '.');
    }
    is_letter_mark_or_digit(found)
        && !IGNORABLE.contains(found)
        && !is_conjoining_jamo(found)
        && !is_disallowed_by_exception(found)
        && !has_compatibility_form(found)
}

fn is_letter_mark_or_digit(found: char) -> bool {
    matches!(
        CATEGORY.get(found),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::NonspacingMark
            | GeneralCategory::SpacingMark
            | GeneralCategory::DecimalNumber
    )
}

pub(super) fn is_letter_or_digit(found: char) -> bool {
    is_letter_mark_or_digit(found) && !is_mark(found)
}

/// Whether a character shows nothing: a format character, or a default-ignorable one.
pub(super) fn is_invisible(found: char) -> bool {
    IGNORABLE.contains(found) || CATEGORY.get(found) == GeneralCategory::Format
}

pub(super) fn is_mark(found: char) -> bool {
    matches!(CATEGORY.get(found), GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark)
}

/// RFC 8264, section 9.9.
fn is_conjoining_jamo(found: char) -> bool {
    matches!(found, '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97C}' | '\u{D7B0}'..='\u{D7FB}')
}

/// The letters and marks that RFC 8264, section 9.6, disallows one by one.
fn is_disallowed_by_exception(found: char) -> bool {
    matches!(found, '\u{0640}' | '\u{07FA}' | '\u{302E}' | '\u{302F}' | '\u{3031}'..='\u{3035}' | '\u{303B}')
}

/// RFC 8264, section 9.17: a ligature or a styled letter would look like the plain one.
fn has_compatibility_form(found: char) -> bool {
    !NFKC.is_normalized(found.encode_utf8(&mut [0; 4]))
}

/// The Bidi Rule for names with a right-to-left character; other names are free of it.
pub(super) fn keeps_bidi_rule(display: &str) -> bool {
    let right_to_left = [BidiClass::RightToLeft, BidiClass::ArabicLetter];
    let classes: Vec<BidiClass> = display.chars().map(|found| DIRECTION.get(found)).collect();
    let has = |class: BidiClass| classes.contains(&class);
    if !right_to_left.into_iter().any(has) && !has(BidiClass::ArabicNumber) {
        return true;
    }
    // A name that has such a character keeps the rule only as a right-to-left label.
    let begins_right_to_left = classes.first().is_some_and(|class| right_to_left.contains(class));
    let ends_well = classes.iter().rfind(|class| **class != BidiClass::NonspacingMark).is_some_and(|class| {
        right_to_left.contains(class) || [BidiClass::EuropeanNumber, BidiClass::ArabicNumber].contains(class)
    });
    let mixes_numbers = has(BidiClass::EuropeanNumber) && has(BidiClass::ArabicNumber);
    begins_right_to_left && ends_well && !mixes_numbers && !has(BidiClass::LeftToRight)
}

/// Full case folding, built from the case mappings: lower, upper and lower again bring every case variant of
/// a text to one, also where a letter's upper case is two letters (ß) or its lower case depends on its place
/// (ς). All four Turkish i are one letter here, as either upper or lower case of some language makes them so.
pub(super) fn fold(display: &str) -> String {
    let mut folded = String::with_capacity(display.len());
    let cased = display.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    for found in cased.flat_map(char::to_lowercase) {
        if !(found == '\u{307}' && folded.ends_with('i')) {
            folded.push(found);
        }
    }
    nfc(&folded)
}
