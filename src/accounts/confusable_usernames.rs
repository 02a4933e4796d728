//! Confusable usernames: the rules of UTS 39 that keep a new name from looking like another one, and the
//! skeleton by which names that look alike are found. Stored names are not checked here.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_security::confusable_detection::skeleton as uts39_skeleton;
use unicode_security::{RestrictionLevel, RestrictionLevelDetection as _};

use super::username_rules::{UsernameError, fold, is_letter_or_digit, is_mark};

/// The most combining marks in a row: a vowel and a tone, or a dot and a vowel.
const MARKS_IN_A_ROW_MAX: usize = 2;

/// Names of the service and of accounts that speak for it; separators do not make other names of them.
const RESERVED: [&str; 44] = [
    "abuse",
    "account",
    "accounts",
    "admin",
    "administrator",
    "anonymous",
    "api",
    "billing",
    "contact",
    "deleted",
    "everybody",
    "everyone",
    "graphiql",
    "graphql",
    "help",
    "helpdesk",
    "hostmaster",
    "info",
    "legal",
    "login",
    "mail",
    "moderator",
    "moderators",
    "noreply",
    "null",
    "official",
    "onehop",
    "operator",
    "owner",
    "postmaster",
    "privacy",
    "root",
    "security",
    "server",
    "service",
    "signin",
    "signup",
    "staff",
    "superuser",
    "support",
    "system",
    "undefined",
    "verified",
    "webmaster",
];

static RESERVED_KEYS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    // They are in lower case, so that each is its own normalised form.
    RESERVED.iter().flat_map(|name| [(*name).to_owned(), skeleton(name)]).collect()
});

/// Checks a new name: its display form, and the keys under which it is to be reserved.
pub(super) fn check<'a>(display: &str, keys: impl IntoIterator<Item = &'a str>) -> Result<(), UsernameError> {
    if !display.chars().any(is_letter_or_digit) {
        return Err(UsernameError::NoLetter);
    }
    if !has_few_marks(display) {
        return Err(UsernameError::Marks { max: MARKS_IN_A_ROW_MAX });
    }
    if display.detect_restriction_level() > RestrictionLevel::HighlyRestrictive {
        return Err(UsernameError::Script);
    }
    if keys.into_iter().map(without_separators).any(|key| RESERVED_KEYS.contains(&key)) {
        return Err(UsernameError::Reserved);
    }
    Ok(())
}

/// The skeleton of UTS 39, section 4, folded. Two forms have the same skeleton if they look alike in some
/// font. `m` stands for `rn` here, and not the other way round, so that the skeletons of most names are the
/// names themselves.
///
/// Only reservations are kept under skeletons, and no name is found by them: newer tables may change them.
pub(super) fn skeleton(form: &str) -> String {
    let skeleton: String = uts39_skeleton(form).collect();
    // A key is an item's id, which has none of these.
    fold(&skeleton).replace("rn", "m").replace(['/', '\\', '?', '#'], "=")
}

fn has_few_marks(display: &str) -> bool {
    let mut in_a_row = 0;
    let mut longest = 0;
    for found in display.chars() {
        in_a_row = if is_mark(found) { in_a_row + 1 } else { 0 };
        longest = longest.max(in_a_row);
    }
    let marks = display.chars().filter(|found| is_mark(*found)).count();
    longest <= MARKS_IN_A_ROW_MAX && marks <= display.chars().count() - marks
}

fn without_separators(key: &str) -> String {
    key.replace(['.', '_', '-'], "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::username::Username;
    use super::*;

    fn refusal(typed: &str) -> UsernameError {
        Username::choose(typed).expect_err(typed)
    }

    fn keys(typed: &str) -> Vec<String> {
        Username::parse(typed).unwrap().keys().iter().map(|key| key.as_str().to_owned()).collect()
    }

    fn look_alike(one: &str, other: &str) -> bool {
        keys(one).iter().any(|key| keys(other).contains(key))
    }

    #[test]
    fn names_of_one_script_are_taken() {
        for typed in [
            "Ada_Lovelace",
            "j.-b.",
            "Zoë",
            "Łukasz",
            "北京人",
            "한국말",
            "Ωμέγα",
            "राजेश",
            "42x",
            "山田たろう",
            "Зоя-1",
            "שלום",
            "مُحَمَّد",
            "Nguyễn",
            "ที่รัก",
        ] {
            assert_eq!(Username::choose(typed).map(|name| name.to_string()), Ok(typed.to_owned()));
        }
    }

    #[test]
    fn names_of_mixed_scripts_are_refused() {
        for typed in ["gr\u{430}ce", "\u{430}da", "αda", "ada\u{2c7}\u{433}", "aːb", "adaпетя"] {
            assert_eq!(refusal(typed), UsernameError::Script, "{typed}");
        }
        assert!(Username::parse("gr\u{430}ce").is_ok(), "an old name stays one");
    }

    #[test]
    fn a_name_without_a_letter_is_refused() {
        for typed in ["...", "___", "-.-"] {
            assert_eq!(refusal(typed), UsernameError::NoLetter, "{typed}");
        }
    }

    #[test]
    fn stacked_marks_are_refused() {
        assert!(Username::choose("x\u{323}\u{301}yz").is_ok());
        let many = format!("a{}", "\u{316}".repeat(28));
        assert_eq!(refusal(&many), UsernameError::Marks { max: 2 });
        assert_eq!(refusal("xa\u{316}\u{317}\u{318}"), UsernameError::Marks { max: 2 });
        assert_eq!(refusal("a\u{316}\u{317}b\u{316}\u{317}"), UsernameError::Marks { max: 2 }, "in sum");
    }

    #[test]
    fn reserved_names_are_refused_in_every_disguise() {
        for typed in [
            "admin",
            "Admin",
            "ADMIN",
            "ad-min",
            "a.d.m.i.n",
            "adrnin",
            "supp0rt",
            "r00t",
            "onehop",
            "ＡＤＭＩＮ",
        ] {
            assert_eq!(refusal(typed), UsernameError::Reserved, "{typed}");
        }
        for typed in ["admiral", "rooth", "ada"] {
            assert!(Username::choose(typed).is_ok(), "{typed}");
        }
    }

    #[test]
    fn names_that_look_alike_share_a_key() {
        for (one, other) in [
            ("lena", "Iena"),
            ("lena", "1ena"),
            ("LENA", "Iena"),
            ("mira", "rnira"),
            ("Mira", "rnira"),
            ("ada", "\u{430}d\u{430}"),
            ("otto", "0tt0"),
            ("omar", "\u{3bf}mar"),
            ("ххх", "xxx"),
        ] {
            assert!(look_alike(one, other), "{one} {other}: {:?} {:?}", keys(one), keys(other));
        }
        for (one, other) in [("lena", "iena"), ("ada", "ida"), ("ella", "elia"), ("ian", "lan")] {
            assert!(!look_alike(one, other), "{one} {other}");
        }
    }

    #[test]
    fn most_names_have_one_key() {
        for typed in ["ada", "mira", "omar", "marta.lindqvist", "Grace", "Zoë", "北京人"] {
            assert_eq!(keys(typed).len(), 1, "{typed}: {:?}", keys(typed));
        }
        assert_eq!(keys("arne"), ["arne", "ame"]);
        assert_eq!(keys("Iena"), ["iena", "lena"]);
    }

    proptest! {
        #[test]
        fn keys_are_ids_of_items(typed in "[\\p{L}\\p{M}\\p{Nd}._-]{3,30}") {
            if let Ok(name) = Username::parse(&typed) {
                for key in name.keys() {
                    prop_assert!(key.as_str().chars().count() <= 255, "{:?}", key);
                    prop_assert!(!key.as_str().contains(['/', '\\', '?', '#']), "{:?}", key);
                    prop_assert!(!key.as_str().is_empty());
                }
            }
        }

        #[test]
        fn a_name_shares_its_keys_with_all_its_forms(typed in "[a-zA-Z0-9._-]{3,30}") {
            prop_assert!(look_alike(&typed, &typed.to_uppercase()));
        }
    }
}
