//! Order value: the value of an item's order property as a text. Texts are themselves; numbers are written so
//! that their texts are in the order of the numbers, and before all other texts.

use serde_json::Value;

/// Begins the text of a number.
const NUMBER: char = '\u{1}';
/// Hexadecimal digits of a number.
const DIGITS: usize = 16;
/// The sign of a number of 64 bits.
const SIGN: u64 = 1 << 63;

/// The text by which a value is ordered; `None` for a value that is no text and no number.
#[must_use]
pub fn order_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => number.as_f64().map(order_number),
        _ => None,
    }
}

/// The text of a number: its bits, so that a larger number has a larger text.
pub(crate) fn order_number(number: f64) -> String {
    let bits = (number + 0.0).to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    format!("{NUMBER}{ordered:0DIGITS$x}")
}

/// The value behind an order value.
#[must_use]
pub fn value_in_order(order_value: &str) -> Value {
    let digits = order_value.strip_prefix(NUMBER).filter(|digits| digits.len() == DIGITS);
    let ordered = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let number =
        ordered.map(|ordered| f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN }));
    match number {
        // A whole number without its fraction: as clients write it.
        Some(number) if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 => {
            Value::from(number as i64)
        }
        Some(number) => Value::from(number),
        None => Value::from(order_value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_of_numbers_are_in_their_order(one in -1e12_f64..1e12, other in -1e12_f64..1e12) {
            let texts = [one, other].map(order_number);
            prop_assert_eq!(texts[0].cmp(&texts[1]), one.total_cmp(&other));
            prop_assert_eq!(value_in_order(&texts[0]).as_f64(), Some(one));
        }
    }

    #[test]
    fn numbers_are_before_texts_and_zero_has_one_text() {
        assert_eq!(order_number(0.0), order_number(-0.0));
        assert!(order_number(f64::MAX).as_str() < " ");
        assert_eq!(value_in_order(&order_number(7.0)), Value::from(7));
        assert_eq!(value_in_order("\u{1}text"), Value::from("\u{1}text"));
    }
}
