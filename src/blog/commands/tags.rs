//! Tags of a post: the words of its subjects, by which its readers find other posts.

use std::collections::BTreeSet;

use crate::domain::error::Refusal;

/// The most tags of a post.
pub const TAGS_MAX: usize = 5;
/// The most characters of a tag.
pub const TAG_CHARS_MAX: usize = 30;

const FIELD: &str = "tags";
/// The marks in tags such as `c++`, `c#`, `node.js` and `open-source`.
const MARKS: [char; 4] = ['+', '#', '.', '-'];

/// The tags of a post: in lower case, each once, in the order in which they were typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tags(Vec<String>);

impl Tags {
    /// Checks tags as they were typed, in any case.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `tags`: too many, or one with other characters or of another length.
    pub(crate) fn parse(typed: Vec<String>) -> Result<Self, Refusal> {
        if typed.len() > TAGS_MAX {
            let rule = format_args!("must have at most {TAGS_MAX} elements, has {}", typed.len());
            return Err(Refusal::bad_input(FIELD, rule));
        }
        let mut known = BTreeSet::new();
        let mut tags = Vec::new();
        for tag in typed {
            let tag = normalised_tag(&tag).ok_or_else(|| {
                Refusal::bad_input(
                    FIELD,
                    format_args!(
                        "must have 1 to {TAG_CHARS_MAX} letters, digits and + # . - in each element, which begins \
                         with a letter or digit"
                    ),
                )
            })?;
            if known.insert(tag.clone()) {
                tags.push(tag);
            }
        }
        Ok(Self(tags))
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl From<Tags> for Vec<String> {
    fn from(tags: Tags) -> Self {
        tags.0
    }
}

/// The stored form of a tag: in lower case. `None` for a text that is no tag.
#[must_use]
pub fn normalised_tag(typed: &str) -> Option<String> {
    let tag = typed.trim().to_lowercase();
    let has_mark = |character: char| character.is_alphanumeric() || MARKS.contains(&character);
    let is_tag = tag.starts_with(char::is_alphanumeric)
        && tag.chars().all(has_mark)
        && tag.chars().count() <= TAG_CHARS_MAX;
    is_tag.then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(typed: &[&str]) -> Result<Vec<String>, String> {
        let tags = Tags::parse(typed.iter().map(|tag| (*tag).to_owned()).collect());
        tags.map(Vec::from).map_err(|refusal| refusal.message)
    }

    #[test]
    fn tags_are_in_lower_case_and_each_once() {
        assert_eq!(parsed(&["Rust", " c++ ", "rust", "Node.js"]).unwrap(), ["rust", "c++", "node.js"]);
        assert_eq!(parsed(&["Öl", "日本"]).unwrap(), ["öl", "日本"]);
        assert!(parsed(&[]).unwrap().is_empty());
    }

    #[test]
    fn other_texts_are_refused() {
        let long = "a".repeat(TAG_CHARS_MAX + 1);
        for text in ["", " ", "-a", "a b", "a/b", "a\u{200b}", "a\n b", &long] {
            let message = parsed(&[text]).unwrap_err();
            assert!(message.starts_with("tags must have 1 to 30 letters, digits"), "{text:?}: {message}");
        }
        assert_eq!(parsed(&["a"; 6]).unwrap_err(), "tags must have at most 5 elements, has 6");
    }
}
