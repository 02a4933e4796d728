//! E-mail addresses: their form, and the key that is equal for all addresses that differ in case only. Whether mail reaches an
//! address is not checked.

use std::fmt;

use icu_normalizer::ComposingNormalizerBorrowed;
use thiserror::Error;

/// The most characters of an address, by RFC 5321.
pub const EMAIL_ADDRESS_CHARS_MAX: usize = 254;
/// The most bytes of the part before the `@`, by RFC 5321.
const LOCAL_BYTES_MAX: usize = 64;

/// Why a text is no e-mail address. The text says what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EmailAddressError {
    #[error("must have at most {EMAIL_ADDRESS_CHARS_MAX} characters, has {actual}")]
    Length { actual: usize },
    #[error("must have the form name@example.com")]
    Form,
}

/// An e-mail address as typed, without white space around it.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// An address.
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
        if is_valid { Ok(Self(address.to_owned())) } else { Err(EmailAddressError::Form) }
    }

    /// The address as typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key: equal for addresses that differ in case only.
    #[must_use]
    pub fn key(&self) -> String {
        ComposingNormalizerBorrowed::new_nfc().normalize(&self.0.to_lowercase()).into_owned()
    }
}

impl fmt::Debug for EmailAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EmailAddress(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_differ_in_case_have_one_key() {
        let key = |typed: &str| EmailAddress::parse(typed).unwrap().key();
        assert_eq!(key(" Ada@Example.COM "), key("ada@example.com"));
        assert_eq!(key("E\u{301}va@example.com"), key("éva@example.com"));
        assert_ne!(key("ada@example.com"), key("ada@example.org"));
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
}
