//! Search words: the words of a search, and whether a text has them. Words are compared in lower case, and a
//! word of the search is found at the beginning of a word of the text.

/// The most characters of a search.
pub const SEARCH_CHARS_MAX: usize = 100;
/// The most items that one search looks at.
pub const LOOKED_AT_MAX: usize = 1_000;
/// The items of the first query of a search.
pub const FIRST_QUERY_ITEMS: usize = 100;

/// The words of a search, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// The words of a text, at least one; `None` for a text without a word, or a longer one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().count() > SEARCH_CHARS_MAX {
            return None;
        }
        let words: Vec<String> = words_of(&text.to_lowercase()).map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// Whether each word is the beginning of a word of a text.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().all(|wanted| words_of(&text).any(|word| word.starts_with(wanted.as_str())))
    }

    /// The words with a space between them: searches with the same words are the same search.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.join(" ")
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_needs_a_letter_or_a_digit_and_has_a_limit() {
        for none in ["", "  ", "-- !", &"a".repeat(SEARCH_CHARS_MAX + 1)] {
            assert_eq!(SearchWords::parse(none), None, "{none:?}");
        }
        assert_eq!(SearchWords::parse(" The  Cat's ").unwrap().text(), "the cat s");
        assert!(SearchWords::parse(&"ä".repeat(SEARCH_CHARS_MAX)).is_some());
    }

    #[test]
    fn each_word_begins_a_word_of_the_text() {
        for (search, text, is_found) in [
            ("oak", "An Oak table", true),
            ("TAB oa", "An oak table", true),
            ("ble", "An oak table", false),
            ("oak chair", "An oak table", false),
            ("Straße", "STRASSE", false),
            ("übung", "Die Übung", true),
            ("日本", "日本語の本", true),
        ] {
            assert_eq!(SearchWords::parse(search).unwrap().are_in(text), is_found, "{search} in {text}");
        }
    }
}
