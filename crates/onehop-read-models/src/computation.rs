//! Computed values: functions of stored fields whose result depends on nothing else.

use crate::excerpt::excerpt;

/// A function of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Computation {
    /// The start of the text as plain text, of at most so many characters; see [`excerpt`].
    Excerpt {
        /// The characters.
        characters_max: usize,
    },
    /// The text in lower case.
    Lower,
    /// The text itself.
    Same,
}

/// A number as a text with leading zeros, so that texts are ordered as their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// The digits. A number with more of them is not cut.
    pub digits: usize,
}

impl Computation {
    /// The value for a text.
    #[must_use]
    pub fn of(self, text: &str) -> String {
        match self {
            Self::Excerpt { characters_max } => excerpt(text, characters_max),
            Self::Lower => text.to_lowercase(),
            Self::Same => text.to_owned(),
        }
    }
}

impl Padding {
    /// The text of a number.
    #[must_use]
    pub fn of(self, number: u64) -> String {
        format!("{number:0digits$}", digits = self.digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padded_numbers_sort_as_numbers() {
        let numbers = [0, 1, 9, 10, 28, 999, u64::from(u32::MAX)];
        assert!(numbers.map(|number| Padding { digits: 10 }.of(number)).is_sorted());
        assert_eq!(Padding { digits: 2 }.of(123), "123");
    }

    #[test]
    fn texts_are_computed_by_their_function() {
        assert_eq!(Computation::Lower.of("ÄB c"), "äb c");
        assert_eq!(Computation::Same.of("As it is"), "As it is");
        assert_eq!(Computation::Excerpt { characters_max: 5 }.of("# Some words"), "Some …");
    }
}
