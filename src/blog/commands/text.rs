//! The texts that people write, checked once: titles, contents and idempotency keys. Lengths count Unicode scalar
//! values. What is accepted is stored as it was typed.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

use super::error::Refusal;

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();

/// A symbol without a dot: no white space by its category, and nothing to see.
const BRAILLE_BLANK: char = '\u{2800}';

/// The most characters of a title.
pub const TITLE_CHARS_MAX: usize = 200;
/// The most characters of a post's content.
pub const POST_CONTENT_CHARS_MAX: usize = 100_000;
/// The most characters of a comment.
pub const COMMENT_CHARS_MAX: usize = 10_000;
/// The most characters of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 200;

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $max:expr $(, $check:path)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) struct $name(String);

        impl $name {
            pub(super) fn parse(typed: String) -> Result<Self, Refusal> {
                check_length($field, &typed, $max)?;
                $($check($field, &typed)?;)?
                Ok(Self(typed))
            }

            pub(super) fn as_str(&self) -> &str {
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

text!(
    /// A post's title: no control characters save line feed and tab.
    Title,
    "title",
    TITLE_CHARS_MAX,
    check_controls
);
text!(
    /// A post's content.
    PostContent,
    "content",
    POST_CONTENT_CHARS_MAX
);
text!(
    /// A comment's content.
    CommentContent,
    "content",
    COMMENT_CHARS_MAX
);
text!(
    /// A client's name for one command, by which a repeat is recognised.
    IdempotencyKey,
    "idempotencyKey",
    IDEMPOTENCY_KEY_CHARS_MAX
);

fn check_length(field: &'static str, typed: &str, max: usize) -> Result<(), Refusal> {
    if typed.chars().all(is_invisible) {
        return Err(Refusal::bad_input(
            field,
            format_args!("must have 1 to {max} characters and not be blank"),
        ));
    }
    let actual = typed.chars().count();
    if actual > max {
        return Err(Refusal::bad_input(field, format_args!("must have 1 to {max} characters, has {actual}")));
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

fn check_controls(field: &'static str, typed: &str) -> Result<(), Refusal> {
    let refused = |found: &char| found.is_control() && !matches!(found, '\n' | '\t');
    match typed.chars().find(refused) {
        None => Ok(()),
        Some(found) => {
            let code = u32::from(found);
            Err(Refusal::bad_input(field, format_args!("must have no control characters, has U+{code:04X}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_at_its_limit_is_accepted_and_kept_as_typed() {
        let longest = "😀".repeat(TITLE_CHARS_MAX);
        assert_eq!(String::from(Title::parse(longest.clone()).unwrap()), longest);
        assert_eq!(Title::parse(" a\tb\n".to_owned()).unwrap().as_str(), " a\tb\n");
        assert!(PostContent::parse("é".repeat(POST_CONTENT_CHARS_MAX)).is_ok());
        assert!(CommentContent::parse("é".repeat(COMMENT_CHARS_MAX)).is_ok());
        assert!(IdempotencyKey::parse("k".repeat(IDEMPOTENCY_KEY_CHARS_MAX)).is_ok());
    }

    #[test]
    fn a_text_beyond_its_limit_is_refused_with_field_and_limit() {
        let refusal = Title::parse("a".repeat(TITLE_CHARS_MAX + 1)).unwrap_err();
        assert_eq!(refusal.field, Some("title"));
        assert_eq!(refusal.message, "title must have 1 to 200 characters, has 201");
        let refusal = CommentContent::parse("a".repeat(COMMENT_CHARS_MAX + 1)).unwrap_err();
        assert_eq!(refusal.message, "content must have 1 to 10000 characters, has 10001");
        let refusal = PostContent::parse("a".repeat(POST_CONTENT_CHARS_MAX + 1)).unwrap_err();
        assert_eq!(refusal.message, "content must have 1 to 100000 characters, has 100001");
        let refusal = IdempotencyKey::parse("a".repeat(201)).unwrap_err();
        assert_eq!(refusal.field, Some("idempotencyKey"));
    }

    #[test]
    fn white_space_alone_is_no_text() {
        for blank in ["", " ", "\n\t", "\u{3000}"] {
            let refusal = CommentContent::parse(blank.to_owned()).unwrap_err();
            assert_eq!(refusal.message, "content must have 1 to 10000 characters and not be blank");
        }
    }

    #[test]
    fn format_characters_alone_are_no_text() {
        for invisible in
            ["\u{200b}", "\u{202e} \u{2069}", "\u{ad}\n\u{feff}", "\u{e0041}", "\u{3164}", "\u{2800}\u{fe0f}"]
        {
            let refusal = Title::parse(invisible.to_owned()).unwrap_err();
            assert_eq!(
                refusal.message, "title must have 1 to 200 characters and not be blank",
                "{invisible:?}"
            );
            assert!(PostContent::parse(invisible.to_owned()).is_err(), "{invisible:?}");
            assert!(CommentContent::parse(invisible.to_owned()).is_err(), "{invisible:?}");
        }
        for visible in ["\u{200b}a", "\u{1f468}\u{200d}\u{1f469}", "می\u{200c}خواهم"] {
            assert!(Title::parse(visible.to_owned()).is_ok(), "{visible:?}");
        }
    }

    #[test]
    fn a_title_has_no_control_characters() {
        let refusal = Title::parse("bell\u{7}".to_owned()).unwrap_err();
        assert_eq!(refusal.message, "title must have no control characters, has U+0007");
        assert!(PostContent::parse("bell\u{7}".to_owned()).is_ok());
    }
}
