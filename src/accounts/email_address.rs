//! E-mail addresses: their form, the rules against look-alikes, and the key that is equal for all forms of
//! one address. Whether mail reaches an address is not checked.
//!
//! [`EmailAddress::parse`] accepts every stored address, for signing in. [`EmailAddress::choose`] accepts a
//! new one: without invisible characters, the part before the `@` in one script (UTS 39), the domain valid by
//! UTS 46 (IDNA) and of scripts that belong together, as browsers have it. Neither part is a whole-script
//! confusable of ASCII letters. An internationalised domain is stored in Unicode, in either typed form.
//! Letters of one script that look alike, such as `l` and `I`, stay different addresses: both may exist.

use std::fmt;

use icu_normalizer::ComposingNormalizerBorrowed;
use thiserror::Error;
use unicode_security::confusable_detection::skeleton;
use unicode_security::{RestrictionLevel, RestrictionLevelDetection as _};

use super::username_rules::{is_allowed, is_invisible, is_mark};

/// The most characters of an address, by RFC 5321.
pub const EMAIL_ADDRESS_CHARS_MAX: usize = 254;
/// The most bytes of the part before the `@`, by RFC 5321.
const LOCAL_BYTES_MAX: usize = 64;
/// Permitted characters of a new address before the `@` beside letters and digits: the characters of a
/// dot-atom (RFC 5322).
const LOCAL_SYMBOLS: &str = "!#$%&'*+-/=?^_`{|}~.";
/// The prefix of domain labels in ASCII form.
const ASCII_PREFIX: &str = "xn--";

/// Why a text is no e-mail address. The text states the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EmailAddressError {
    #[error("must have at most {EMAIL_ADDRESS_CHARS_MAX} characters, has {actual}")]
    Length { actual: usize },
    #[error("must have the form name@example.com")]
    Form,
    #[error("must not have invisible characters, has U+{:04X}", u32::from(*found))]
    Invisible { found: char },
    #[error("must have letters of one script, digits and {LOCAL_SYMBOLS} before the @")]
    Local,
    #[error("must have a valid domain after the @, with letters of one script")]
    Domain,
    #[error("must not look like an address in Latin letters")]
    LookAlike,
}

/// An e-mail address as typed, without white space around it, and with its domain in Unicode.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// An address that may be stored.
    ///
    /// # Errors
    /// The rule it breaks.
    pub fn parse(typed: &str) -> Result<Self, EmailAddressError> {
        let address = typed.trim();
        // A text of four bytes for each character is over the limit without being counted.
        let actual = address.chars().take(4 * EMAIL_ADDRESS_CHARS_MAX).count();
        if actual > EMAIL_ADDRESS_CHARS_MAX {
            return Err(EmailAddressError::Length { actual });
        }
        let (local, domain) = address.rsplit_once('@').ok_or(EmailAddressError::Form)?;
        let is_refused = |found: char| found.is_whitespace() || found.is_control() || found == '@';
        let is_label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
        let is_valid = !local.is_empty()
            && local.len() <= LOCAL_BYTES_MAX
            && !address.replacen('@', "", 1).contains(is_refused)
            && domain.contains('.')
            && domain.split('.').all(is_label);
        if !is_valid {
            return Err(EmailAddressError::Form);
        }
        match unicode_domain(domain) {
            Some(domain) => Ok(Self(format!("{local}@{domain}"))),
            None => Ok(Self(address.to_owned())),
        }
    }

    /// A new address.
    ///
    /// # Errors
    /// The first rule that is broken: form, invisible characters, the part before the `@`, the domain, then
    /// look-alikes.
    pub fn choose(typed: &str) -> Result<Self, EmailAddressError> {
        let address = Self::parse(typed)?;
        if let Some(found) = typed.trim().chars().find(|found| is_invisible(*found)) {
            return Err(EmailAddressError::Invisible { found });
        }
        let (local, domain) = address.0.rsplit_once('@').ok_or(EmailAddressError::Form)?;
        if !is_local(local) {
            return Err(EmailAddressError::Local);
        }
        let is_label = |label: &str| label.detect_restriction_level() <= RestrictionLevel::HighlyRestrictive;
        if idna::domain_to_ascii_strict(domain).is_err() || !domain.split('.').all(is_label) {
            return Err(EmailAddressError::Domain);
        }
        if looks_ascii(local) || looks_ascii(domain) {
            return Err(EmailAddressError::LookAlike);
        }
        Ok(address)
    }

    /// The address as typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key: equal for addresses that differ in case, or in the form of their domain, only.
    #[must_use]
    pub fn key(&self) -> String {
        ComposingNormalizerBorrowed::new_nfc().normalize(&self.0.to_lowercase()).into_owned()
    }
}

/// An internationalised domain in Unicode; `None` for any other domain, and for a domain that IDNA refuses.
fn unicode_domain(domain: &str) -> Option<String> {
    let lower = domain.to_ascii_lowercase();
    if lower.is_ascii() && !lower.split('.').any(|label| label.starts_with(ASCII_PREFIX)) {
        return None;
    }
    let ascii = idna::domain_to_ascii_strict(&lower).ok()?;
    let (unicode, valid) = idna::domain_to_unicode(&ascii);
    valid.ok().map(|()| unicode)
}

/// The part before the `@` of a new address.
fn is_local(local: &str) -> bool {
    let is_character = |found: char| match found.is_ascii() {
        true => found.is_ascii_alphanumeric() || LOCAL_SYMBOLS.contains(found),
        false => is_allowed(found),
    };
    // Symbols are of no script, and unknown to the detection.
    let letters: String = local.chars().filter(|found| found.is_alphanumeric() || is_mark(*found)).collect();
    local.chars().all(is_character)
        && !local.split('.').any(str::is_empty)
        && !local.starts_with(is_mark)
        && letters.detect_restriction_level() <= RestrictionLevel::SingleScript
}

/// Whether a part of an address is a whole-script confusable (UTS 39, section 4): letters of another script,
/// in this case or in lower case, that all look like ASCII.
fn looks_ascii(part: &str) -> bool {
    let is_confusable = |form: &str| skeleton(form).all(|found| found.is_ascii());
    !part.is_ascii() && (is_confusable(part) || is_confusable(&part.to_lowercase()))
}

impl fmt::Debug for EmailAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EmailAddress(..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(typed: &str) -> String {
        EmailAddress::parse(typed).unwrap().key()
    }

    #[test]
    fn addresses_that_differ_in_case_have_one_key() {
        assert_eq!(key(" Ada@Example.COM "), key("ada@example.com"));
        assert_eq!(key("E\u{301}va@example.com"), key("éva@example.com"));
        assert_ne!(key("ada@example.com"), key("ada@example.org"));
    }

    #[test]
    fn the_forms_of_an_international_domain_are_one_address() {
        let forms = ["ada@münchen.example", "ada@MÜNCHEN.example", "Ada@xn--mnchen-3ya.example"];
        for form in forms {
            assert_eq!(key(form), "ada@münchen.example", "{form}");
            assert!(EmailAddress::choose(form).unwrap().as_str().ends_with("@münchen.example"), "{form}");
        }
        assert_eq!(EmailAddress::choose("Ada@Example.COM").unwrap().as_str(), "Ada@Example.COM");
        assert_eq!(key("ada@xn--0.example"), "ada@xn--0.example", "a stored one stays as it is");
    }

    #[test]
    fn addresses_in_use_are_accepted() {
        for typed in [
            "ada@example.com",
            "ada.lovelace+shop@mail.example.co.uk",
            "o'brien_1@example.org",
            "用户@例子.广告",
            "зоя.иванова@почта.рф",
            "света@москва.рус",
            "δοκιμή@παράδειγμα.gr",
            "josé@correo.example",
            "山田たろう@例え.テスト",
        ] {
            assert!(EmailAddress::choose(typed).is_ok(), "{typed}");
        }
    }

    #[test]
    fn invisible_and_look_alike_characters_are_refused() {
        for typed in ["a@b.com\u{200b}", "a\u{200d}b@b.com", "a@B.com\u{202e}", "a\u{ad}b@c.com"] {
            let refused = EmailAddress::choose(typed).unwrap_err();
            assert!(matches!(refused, EmailAddressError::Invisible { .. }), "{typed:?}: {refused}");
        }
        for typed in [
            "\u{430}da@b.com",
            "ad\u{3b1}@b.com",
            "\u{fb01}n@b.com",
            "a\u{2024}b@c.com",
            ".a@b.com",
            "a..b@c.com",
            "a(b@c.com",
            "\u{301}a@b.com",
        ] {
            assert_eq!(EmailAddress::choose(typed), Err(EmailAddressError::Local), "{typed:?}");
        }
        for typed in [
            "\u{430}@b.com",
            "\u{430}\u{441}\u{435}@почта.рф",
            "СВЕТА@почта.рф",
            "ada@\u{430}\u{440}\u{440}\u{4cf}\u{435}.com",
            "ada@xn--80ak6aa92e.com",
        ] {
            assert_eq!(EmailAddress::choose(typed), Err(EmailAddressError::LookAlike), "{typed:?}");
        }
        for typed in ["a@\u{430}pple.com", "a@xn--0.com", "a@b_c.com", "a@ex\u{3b1}mple.com"] {
            assert_eq!(EmailAddress::choose(typed), Err(EmailAddressError::Domain), "{typed:?}");
        }
    }

    #[test]
    fn a_stored_address_that_breaks_later_rules_is_still_read() {
        for typed in ["\u{430}da@b.com", "a(b@c.com", "a@b_c.com"] {
            assert!(EmailAddress::parse(typed).is_ok() && EmailAddress::choose(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for typed in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "ada@example",
            "a b@example.com",
            "a@b@example.com",
            "a@.com",
            "a@-b.com",
        ] {
            assert_eq!(EmailAddress::parse(typed), Err(EmailAddressError::Form), "{typed}");
        }
        let long = format!("{}@example.com", "a".repeat(LOCAL_BYTES_MAX + 1));
        assert_eq!(EmailAddress::parse(&long), Err(EmailAddressError::Form));
        let longer = format!("a@{}.com", "b".repeat(300));
        assert_eq!(EmailAddress::parse(&longer), Err(EmailAddressError::Length { actual: 306 }));
    }

    #[test]
    fn no_address_is_shown_by_debug() {
        assert!(!format!("{:?}", EmailAddress::parse("ada@example.com").unwrap()).contains("ada"));
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_a_panic(typed in any::<String>()) {
            let _ = EmailAddress::choose(&typed);
        }

        #[test]
        fn a_stored_form_is_its_own_form(typed in "[a-zA-Zéа]{1,8}@[a-zA-ZüαА]{1,8}\\.[a-z]{2,5}") {
            if let Ok(address) = EmailAddress::parse(&typed) {
                prop_assert_eq!(EmailAddress::parse(address.as_str()), Ok(address));
            }
        }
    }
}
