//! Texts that people write, checked once: lengths, blank texts, control characters. Lengths count Unicode
//! scalar values. Accepted text is stored as it was typed. Each domain declares its own texts.

use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

use super::error::Refusal;

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();

const BIDI_CONTROLS: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<BidiControl>();

/// A symbol without a dot: no white space by its category, and nothing to see.
const BRAILLE_BLANK: char = '\u{2800}';

/// The most characters of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 200;

/// A text of a field, with the most characters that it may have, as a newtype.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $max:expr $(, $check:path)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) struct $name(String);

        impl $name {
            pub(crate) fn parse(typed: String) -> Result<Self, $crate::domain::error::Refusal> {
                $crate::domain::text::check_length($field, &typed, $max)?;
                $($check($field, &typed)?;)?
                Ok(Self(typed))
            }

            pub(crate) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    };
}

pub(crate) use text;

text!(
    /// A client's name for one command, by which a repeat is recognised.
    IdempotencyKey,
    "idempotencyKey",
    IDEMPOTENCY_KEY_CHARS_MAX
);

pub(crate) fn check_length(field: &'static str, typed: &str, max: usize) -> Result<(), Refusal> {
    if typed.chars().all(is_invisible) {
        return Err(Refusal::bad_input(
            field,
            format_args!("must have 1 to {max} characters and not be blank"),
        ));
    }
    let actual = typed.chars().count();
    if actual > max {
        return Err(Refusal::bad_input(
            field,
            format_args!("must have 1 to {max} characters; this one has {actual}"),
        ));
    }
    Ok(())
}

/// Whether a character shows nothing by itself: white space, format characters such as U+200B, fillers.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || character == BRAILLE_BLANK
        || IGNORABLE.contains(character)
        || CATEGORY.get(character) == GeneralCategory::Format
}

/// Checks a text of one line, such as a name: it has neither control characters nor bidirectional controls.
/// The latter change the direction of the following text, so that a name shows as another one.
pub(crate) fn check_line(field: &'static str, typed: &str) -> Result<(), Refusal> {
    check_controls(field, typed)?;
    match typed.chars().find(|found| BIDI_CONTROLS.contains(*found)) {
        None => Ok(()),
        Some(found) => {
            let code = u32::from(found);
            Err(Refusal::bad_input(field, format_args!("must have no direction controls, has U+{code:04X}")))
        }
    }
}

pub(crate) fn check_controls(field: &'static str, typed: &str) -> Result<(), Refusal> {
    let refused = |found: &char| found.is_control() && !matches!(found, '\n' | '\t');
    match typed.chars().find(refused) {
        None => Ok(()),
        Some(found) => {
            let code = u32::from(found);
            Err(Refusal::bad_input(
                field,
                format_args!("cannot contain control characters such as U+{code:04X}"),
            ))
        }
    }
}
