//! The texts that people write in a blog, checked once: titles and contents.

use crate::domain::text::{check_controls, text};

/// The most characters of a title.
pub const TITLE_CHARS_MAX: usize = 200;
/// The most characters of a post's content.
pub const POST_CONTENT_CHARS_MAX: usize = 100_000;
/// The most characters of a comment.
pub const COMMENT_CHARS_MAX: usize = 10_000;
/// The most characters of a reason in the moderation log.
pub const REASON_CHARS_MAX: usize = 500;

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
    /// A member of staff's reason for an act of moderation.
    Reason,
    "reason",
    REASON_CHARS_MAX,
    check_controls
);
text!(
    /// A comment's content.
    CommentContent,
    "content",
    COMMENT_CHARS_MAX
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::{IDEMPOTENCY_KEY_CHARS_MAX, IdempotencyKey};

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
        assert_eq!(refusal.message, "title must have 1 to 200 characters; this one has 201");
        let refusal = CommentContent::parse("a".repeat(COMMENT_CHARS_MAX + 1)).unwrap_err();
        assert_eq!(refusal.message, "content must have 1 to 10000 characters; this one has 10001");
        let refusal = PostContent::parse("a".repeat(POST_CONTENT_CHARS_MAX + 1)).unwrap_err();
        assert_eq!(refusal.message, "content must have 1 to 100000 characters; this one has 100001");
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
        assert_eq!(refusal.message, "title cannot contain control characters such as U+0007");
        assert!(PostContent::parse("bell\u{7}".to_owned()).is_ok());
    }
}
