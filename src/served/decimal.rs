//! Decimal: an exact number as a text, with its normal form and its order.

use std::cmp::Ordering;

/// The most digits of a decimal number, before and after the point.
pub const DIGITS_MAX: usize = 38;

/// An exact decimal number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactDecimal {
    is_negative: bool,
    /// Without leading zeros.
    whole: String,
    /// As it was written.
    fraction: String,
}

impl ExactDecimal {
    /// Reads digits with an optional sign and point; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || whole.len() + fraction.len() > DIGITS_MAX {
            return None;
        }
        let fraction = if digits.contains('.') { fraction } else { "" };
        let whole = whole.trim_start_matches('0').to_owned();
        let is_zero = whole.is_empty() && fraction.bytes().all(|byte| byte == b'0');
        Some(Self { is_negative: is_negative && !is_zero, whole, fraction: fraction.to_owned() })
    }

    fn compare_sizes(&self, other: &Self) -> Ordering {
        let fraction = |number: &Self| number.fraction.trim_end_matches('0').to_owned();
        (self.whole.len(), &self.whole, fraction(self)).cmp(&(
            other.whole.len(),
            &other.whole,
            fraction(other),
        ))
    }
}

impl std::fmt::Display for ExactDecimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let whole = if self.whole.is_empty() { "0" } else { &self.whole };
        let point = if self.fraction.is_empty() { "" } else { "." };
        write!(formatter, "{sign}{whole}{point}{}", self.fraction)
    }
}

impl PartialOrd for ExactDecimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(match (self.is_negative, other.is_negative) {
            (false, false) => self.compare_sizes(other),
            (true, true) => other.compare_sizes(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_has_one_form_and_its_exact_order() {
        for (text, form) in [("007.50", "7.50"), ("-0.0", "0.0"), ("12", "12"), ("-3.25", "-3.25")] {
            assert_eq!(
                ExactDecimal::parse(text).map(|number| number.to_string()).as_deref(),
                Some(form),
                "{text}"
            );
        }
        for text in ["", "-", "1.", ".5", "1e3", "1,5", "+1", &"9".repeat(39)] {
            assert_eq!(ExactDecimal::parse(text), None, "{text}");
        }
        let ordered = ["-10", "-9.5", "-0.1", "0", "0.09", "0.1", "9", "10", "10.000000000000000000001"];
        for pair in ordered.windows(2) {
            assert!(ExactDecimal::parse(pair[0]) < ExactDecimal::parse(pair[1]), "{pair:?}");
        }
    }
}
