//! Subject of an access token: the user or the customer whom it names. The two have different forms, so that a token of one never
//! acts as the other, whatever their ids are.

use std::fmt;

use uuid::Uuid;

/// What the subject of a customer begins with. That of a user is a UUID alone.
const CUSTOMER_PREFIX: &str = "customer:";

/// Whom an access token names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenSubject {
    User(Uuid),
    Customer(Uuid),
}

impl TokenSubject {
    /// Reads a subject; `None` for a text that is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(CUSTOMER_PREFIX) {
            Some(id) => Uuid::try_parse(id).ok().map(Self::Customer),
            None => Uuid::try_parse(text).ok().map(Self::User),
        }
    }
}

impl fmt::Display for TokenSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(id) => write!(formatter, "{}", id.as_hyphenated()),
            Self::Customer(id) => write!(formatter, "{CUSTOMER_PREFIX}{}", id.as_hyphenated()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_customer_with_one_id_are_two_subjects() {
        let id = Uuid::from_u128(7);
        for subject in [TokenSubject::User(id), TokenSubject::Customer(id)] {
            assert_eq!(TokenSubject::parse(&subject.to_string()), Some(subject));
        }
        assert_ne!(TokenSubject::User(id).to_string(), TokenSubject::Customer(id).to_string());
    }

    #[test]
    fn another_text_is_no_subject() {
        for text in ["", "customer:", "user:", "customer:customer:", "ada"] {
            assert_eq!(TokenSubject::parse(text), None, "{text}");
        }
    }
}
