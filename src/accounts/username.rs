//! Usernames: permitted names, and when two names are one name. A name is checked once, here; it keeps the
//! form its owner typed beside the keys under which it is reserved. The holder of a name is unknown here.
//!
//! [`Username::parse`] accepts every valid name. [`Username::choose`] accepts a new name, with
//! stricter rules against confusable names ([`confusable_usernames`](super::confusable_usernames)).
//!
//! The rules are in [`username_rules`](super::username_rules).

use std::fmt;

use super::confusable_usernames;
pub use super::username_rules::{USERNAME_CHARS_MAX, USERNAME_CHARS_MIN, UsernameError};
use super::username_rules::{check_characters, fold, is_mark, keeps_bidi_rule, map_width, nfc};

/// The most bytes that are normalised at all; longer input cannot shrink to [`USERNAME_CHARS_MAX`]
/// characters.
const INPUT_BYTES_MAX: usize = 1024;

/// A valid username: as its owner wrote it, except that full and half width forms are mapped and the text is
/// NFC.
///
/// Two usernames are the same name when their [`NormalizedUsername`] is equal, even if they look different.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Username {
    display: String,
    normalized: NormalizedUsername,
}

impl Username {
    /// Validates a typed name.
    ///
    /// # Errors
    /// The first rule that is broken: characters, then length, then leading mark, then direction.
    pub fn parse(typed: &str) -> Result<Self, UsernameError> {
        if typed.len() > INPUT_BYTES_MAX {
            return Err(UsernameError::length(typed));
        }
        let display = nfc(&map_width(typed));
        check_characters(&display)?;
        if !(USERNAME_CHARS_MIN..=USERNAME_CHARS_MAX).contains(&display.chars().count()) {
            return Err(UsernameError::length(&display));
        }
        if display.chars().next().is_some_and(is_mark) {
            return Err(UsernameError::LeadingMark);
        }
        if !keeps_bidi_rule(&display) {
            return Err(UsernameError::Direction);
        }
        let normalized = NormalizedUsername(fold(&display));
        Ok(Self { display, normalized })
    }

    /// Validates a new name.
    ///
    /// # Errors
    /// The first rule that is broken: first the rules of [`parse`](Self::parse), then the rules against
    /// imitation.
    pub fn choose(typed: &str) -> Result<Self, UsernameError> {
        let name = Self::parse(typed)?;
        let keys = name.keys();
        confusable_usernames::check(name.as_str(), keys.iter().map(NameKey::as_str))?;
        Ok(name)
    }

    /// The keys under which the name is reserved: first its normalised form, then its skeletons where they
    /// differ. Two names look alike if they share a key.
    #[must_use]
    pub fn keys(&self) -> Vec<NameKey> {
        let mut keys = vec![NameKey(self.normalized.0.clone())];
        for form in [&self.display, &self.normalized.0] {
            let skeleton = NameKey(confusable_usernames::skeleton(form));
            if !keys.contains(&skeleton) {
                keys.push(skeleton);
            }
        }
        keys
    }

    /// The display form.
    pub fn as_str(&self) -> &str {
        &self.display
    }

    pub fn normalized(&self) -> &NormalizedUsername {
        &self.normalized
    }
}

impl fmt::Display for Username {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.display)
    }
}

/// The key of a name: equal for all forms that differ in case or width only. It is made to be compared and to
/// be an item's id (at most 90 characters, none of them `/`, `\`, `?` or `#`), not to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NormalizedUsername(String);

impl NormalizedUsername {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for NormalizedUsername {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A key under which a name is reserved in the store: a normalised name, or a skeleton.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NameKey(String);

impl NameKey {
    /// A key, in its stored form. It keeps none of the rules of a name: folding and skeletons change the
    /// number of characters.
    #[must_use]
    pub fn from_stored(key: &str) -> Self {
        Self(key.to_owned())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<NormalizedUsername> for NameKey {
    fn from(name: NormalizedUsername) -> Self {
        Self(name.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::username_rules::is_allowed;
    use super::*;

    fn key(typed: &str) -> String {
        Username::parse(typed).unwrap().normalized().as_str().to_owned()
    }

    fn refusal(typed: &str) -> UsernameError {
        Username::parse(typed).unwrap_err()
    }

    #[test]
    fn the_display_form_is_what_was_typed() {
        for typed in
            ["Ada_Lovelace", "j.-b.", "Zoë", "Łukasz", "北京人", "한국말", "Ωμέγα", "राजेश", "42x", "..."]
        {
            assert_eq!(Username::parse(typed).unwrap().as_str(), typed);
        }
    }

    #[test]
    fn case_makes_no_other_name() {
        assert_eq!(key("ADA"), key("ada"));
        assert_eq!(key("ÉMILE"), key("émile"));
        assert_eq!(key("ИВАН"), key("иван"));
    }

    #[test]
    fn width_makes_no_other_name_and_does_not_show() {
        let wide = Username::parse("Ａｄａ＿１").unwrap();
        assert_eq!(wide.as_str(), "Ada_1");
        assert_eq!(wide.normalized().as_str(), "ada_1");
        assert_eq!(key("ﾊﾟｿｺﾝ"), key("パソコン"));
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same_name() {
        let decomposed = Username::parse("Zoe\u{308}").unwrap();
        assert_eq!(decomposed, Username::parse("Zo\u{eb}").unwrap());
        assert_eq!(decomposed.as_str().chars().count(), 3);
        assert_eq!(key("\u{212B}ke"), key("\u{e5}ke"));
    }

    #[test]
    fn the_final_sigma_is_a_sigma() {
        assert_eq!(key("ΟΔΥΣΣΕΥΣ"), key("οδυσσευς"));
        assert_eq!(key("οδυσσευς"), key("οδυσσευσ"));
    }

    #[test]
    fn the_four_turkish_i_are_one_letter() {
        for typed in ["I\u{307}lk", "İLK", "ilk", "ILK", "ılk"] {
            assert_eq!(key(typed), "ilk", "{typed}");
        }
    }

    #[test]
    fn sharp_s_is_two_s() {
        assert_eq!(key("Straße"), "strasse");
        assert_eq!(key("STRAẞE"), "strasse");
        assert_eq!(key("STRASSE"), "strasse");
    }

    #[test]
    fn length_counts_characters_and_not_bytes() {
        assert!(Username::parse("éàü").is_ok());
        assert!(Username::parse(&"é".repeat(30)).is_ok());
        assert_eq!(refusal("ab"), UsernameError::Length { min: 3, max: 30, actual: 2 });
        assert_eq!(refusal("ab").to_string(), "Usernames must have 3 to 30 characters; this one has 2");
        assert_eq!(refusal(&"a".repeat(31)), UsernameError::Length { min: 3, max: 30, actual: 31 });
        assert_eq!(refusal(&"a".repeat(5000)), UsernameError::Length { min: 3, max: 30, actual: 5000 });
        assert_eq!(refusal(""), UsernameError::Length { min: 3, max: 30, actual: 0 });
    }

    #[test]
    fn characters_that_are_no_letter_mark_or_digit_are_refused() {
        let cases = [
            ("space", ' '),
            ("ideographic space", '\u{3000}'),
            ("no-break space", '\u{a0}'),
            ("control", '\u{7}'),
            ("NUL", '\0'),
            ("line break", '\n'),
            ("emoji", '😀'),
            ("at", '@'),
            ("slash", '/'),
            ("full width slash", '\u{FF0F}'),
            ("zero width joiner", '\u{200D}'),
            ("zero width non-joiner", '\u{200C}'),
            ("zero width space", '\u{200B}'),
            ("right-to-left override", '\u{202E}'),
            ("soft hyphen", '\u{AD}'),
            ("variation selector", '\u{FE0F}'),
            ("grapheme joiner", '\u{34F}'),
            ("hangul filler", '\u{3164}'),
            ("half width hangul filler", '\u{FFA0}'),
            ("conjoining jamo", '\u{1100}'),
            ("tatweel", '\u{640}'),
            ("ligature", '\u{FB01}'),
            ("styled letter", '\u{1D400}'),
            ("superscript", '²'),
            ("roman numeral", 'Ⅳ'),
            ("enclosing mark", '\u{20DD}'),
            ("middle dot", '·'),
            ("private use", '\u{E000}'),
            ("unassigned", '\u{378}'),
        ];
        for (name, found) in cases {
            let refused = refusal(&format!("ab{found}cd"));
            assert!(matches!(refused, UsernameError::Character { position: 3, .. }), "{name}: {refused}");
        }
    }

    #[test]
    fn a_refused_character_is_named_for_users() {
        for (typed, message) in [
            ("two words", "Usernames cannot contain spaces"),
            ("two\u{3000}words", "Usernames cannot contain spaces"),
            ("ab\u{7}", "Usernames cannot contain invisible characters; character 3 is U+0007"),
            ("ab\u{200B}", "Usernames cannot contain invisible characters; character 3 is U+200B"),
            ("ab\u{202E}cd", "Usernames cannot contain invisible characters; character 3 is U+202E"),
            ("ab/cd", "Usernames can contain letters, digits, '_', '-' and '.', but not '/'"),
        ] {
            assert_eq!(refusal(typed).to_string(), message);
        }
    }

    #[test]
    fn marks_follow_a_letter() {
        assert!(Username::parse("x\u{301}yz").is_ok());
        assert_eq!(refusal("\u{301}xyz"), UsernameError::LeadingMark);
    }

    #[test]
    fn right_to_left_names_keep_one_direction() {
        for typed in ["שלום", "שָׁלוֹם", "محمد", "مُحَمَّد", "שלום_12", "محمد٣"]
        {
            assert!(Username::parse(typed).is_ok(), "{typed}");
        }
        for typed in ["שלוםabc", "abcשלום", "1שלום", "שלום_", "محمد1٣", "abc٣"] {
            assert_eq!(refusal(typed), UsernameError::Direction, "{typed}");
        }
    }

    #[test]
    fn folding_any_character_twice_changes_nothing_more() {
        for found in (char::MIN..=char::MAX).filter(|found| is_allowed(*found)) {
            let once = fold(&nfc(&found.to_string()));
            assert_eq!(fold(&once), once, "U+{:04X}", u32::from(found));
            for variant in [found.to_uppercase().to_string(), found.to_lowercase().to_string()] {
                assert_eq!(fold(&nfc(&variant)), once, "U+{:04X}", u32::from(found));
            }
        }
    }

    fn names() -> impl Strategy<Value = String> {
        let greek_latin = "[a-zA-Z0-9_.ßẞİıàéñŁøσςΣᾳΐΌǰ\u{300}-\u{30a}\u{323}\u{345}-]{3,12}";
        prop_oneof![greek_latin, "\\PC{3,12}", "[\\p{Latin}\\p{Greek}\\p{Cyrillic}]{3,12}"]
    }

    proptest! {
        #[test]
        fn a_display_form_is_its_own_display_form(typed in names()) {
            if let Ok(name) = Username::parse(&typed) {
                let again = Username::parse(name.as_str());
                prop_assert_eq!(again, Ok(name));
            }
        }

        #[test]
        fn normalising_twice_changes_nothing_more(typed in names()) {
            if let Ok(name) = Username::parse(&typed) {
                prop_assert_eq!(fold(name.normalized().as_str()), name.normalized().as_str());
            }
        }

        #[test]
        fn case_variants_are_the_same_name(typed in names()) {
            if let Ok(name) = Username::parse(&typed) {
                let shown = name.as_str();
                for variant in [shown.to_uppercase(), shown.to_lowercase()] {
                    if let Ok(variant) = Username::parse(&variant) {
                        prop_assert_eq!(variant.normalized(), name.normalized());
                    }
                }
            }
        }

        #[test]
        fn width_variants_are_the_same_name(typed in "[!-~]{3,30}") {
            let wide: String = typed
                .chars()
                .map(|narrow| char::from_u32(u32::from(narrow) - 0x21 + 0xFF01).unwrap())
                .collect();
            prop_assert_eq!(Username::parse(&wide), Username::parse(&typed));
        }

        #[test]
        fn any_text_is_judged_without_a_panic(typed in any::<String>()) {
            if let Ok(name) = Username::parse(&typed) {
                prop_assert!(name.normalized().as_str().chars().count() <= 3 * USERNAME_CHARS_MAX);
            }
        }
    }
}
