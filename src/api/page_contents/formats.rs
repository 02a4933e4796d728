//! Dates, counts, prices and reading times in words, and texts in addresses, as the application writes them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

/// Everything but letters, digits, and the marks of tags.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.');

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Words that a person reads in a minute.
const WORDS_PER_MINUTE: usize = 230;
/// Currencies with a sign of their own; others are written by their code.
const SIGNS: [(&str, &str); 4] = [("EUR", "€"), ("USD", "$"), ("GBP", "£"), ("JPY", "¥")];

/// A text in the percent-encoding of an address (RFC 3986).
pub(super) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// An amount of money, as the API writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Price {
    pub(super) amount: String,
    pub(super) currency_code: String,
}

impl Price {
    /// `€1,012.50`, `CHF 12.50`.
    pub(super) fn in_words(&self) -> String {
        let (whole, fraction) = match self.amount.split_once('.') {
            Some((whole, fraction)) => (whole, format!(".{fraction}")),
            None => (self.amount.as_str(), String::new()),
        };
        let amount = format!("{}{fraction}", grouped(whole));
        match SIGNS.iter().find(|(code, _)| *code == self.currency_code) {
            Some((_, sign)) => format!("{sign}{amount}"),
            None => format!("{}\u{a0}{amount}", self.currency_code),
        }
    }
}

/// `December 31, 2025`, of an instant in RFC 3339.
pub(super) fn day(instant: &str) -> String {
    let mut parts = instant.get(..10).unwrap_or_default().split('-');
    let year = parts.next().unwrap_or_default();
    let month = parts.next().and_then(|month| month.parse::<usize>().ok()).unwrap_or_default();
    let day = parts.next().unwrap_or_default().trim_start_matches('0');
    match month.checked_sub(1).and_then(|index| MONTHS.get(index)) {
        Some(month) => format!("{month} {day}, {year}"),
        None => instant.to_owned(),
    }
}

/// `1 like`, `1,024 likes`.
pub(super) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(&count.to_string()), if count == 1 { "" } else { "s" })
}

/// `3 min read`, and at least one minute.
pub(super) fn reading_time(text: &str) -> String {
    let words = text.split_whitespace().count();
    let minutes = (words + WORDS_PER_MINUTE / 2) / WORDS_PER_MINUTE;
    format!("{} min read", minutes.max(1))
}

/// Digits with a comma before each three from the right.
fn grouped(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_signs_and_commas() {
        let price = |amount: &str, code: &str| {
            Price { amount: amount.to_owned(), currency_code: code.to_owned() }.in_words()
        };
        assert_eq!(price("9.95", "EUR"), "€9.95");
        assert_eq!(price("1234567.50", "USD"), "$1,234,567.50");
        assert_eq!(price("1200", "JPY"), "¥1,200");
        assert_eq!(price("100.00", "CHF"), "CHF\u{a0}100.00");
    }

    #[test]
    fn days_counts_and_reading_times_are_in_words() {
        assert_eq!(day("2025-12-01T10:00:00.000Z"), "December 1, 2025");
        assert_eq!(day("never"), "never");
        assert_eq!(counted(1, "like"), "1 like");
        assert_eq!(counted(1024, "comment"), "1,024 comments");
        assert_eq!(reading_time("a few words"), "1 min read");
        assert_eq!(reading_time(&"word ".repeat(700)), "3 min read");
    }
}
