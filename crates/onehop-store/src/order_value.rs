//! Order value: the value of an item's order as a text. Texts are themselves; numbers are written so that
//! their texts are in the order of the numbers, and before all other texts.
//!
//! An order has one property, such as `createdAt`, or several: `-priority,createdAt`. A minus reverses a
//! property against the direction of a query. The last property is never reversed. The order value of several
//! properties has all of their values, so that it is compared as any other text.

use serde_json::Value;

/// Begins the text of a number.
const NUMBER: char = '\u{1}';
/// Separates the properties of an order.
const SEPARATOR: char = ',';
/// Begins a property that is reversed.
const REVERSED: char = '-';
/// Ends the value of a property that is followed by another one: before every other character.
const END: char = '\0';
/// Escapes itself and [`END`].
const ESCAPE: char = '\u{1}';
/// The character of the lowest byte of a reversed value; the highest byte has 255 less.
const REVERSED_ZERO: u32 = 0x1ff;
/// Ends a reversed value: behind every other character of it.
const REVERSED_END: char = '\u{200}';
/// Hexadecimal digits of a number.
const DIGITS: usize = 16;
/// The sign of a number of 64 bits.
const SIGN: u64 = 1 << 63;

/// A property of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderProperty<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether its values come in the reverse of the direction of a query.
    pub is_reversed: bool,
}

/// The order by these properties, of which the last one is not reversed.
#[must_use]
pub fn joined_order<'a>(properties: impl IntoIterator<Item = OrderProperty<'a>>) -> String {
    let mut order = String::new();
    for OrderProperty { name, is_reversed } in properties {
        if !order.is_empty() {
            order.push(SEPARATOR);
        }
        order.extend(is_reversed.then_some(REVERSED));
        order.push_str(name);
    }
    order
}

/// The properties of an order.
pub fn properties_of_order(order: &str) -> impl Iterator<Item = OrderProperty<'_>> {
    order.split(SEPARATOR).map(|part| match part.strip_prefix(REVERSED) {
        Some(name) => OrderProperty { name, is_reversed: true },
        None => OrderProperty { name: part, is_reversed: false },
    })
}

/// The order value of an item, with its properties; empty for an item without any property of the order.
pub fn order_value_of<'v>(order: &str, get: impl Fn(&str) -> Option<&'v Value>) -> String {
    order_value_by(order, |name| get(name).and_then(order_value))
}

/// The same with the order values of the properties.
pub(crate) fn order_value_by(order: &str, get: impl Fn(&str) -> Option<String>) -> String {
    if !order.contains(SEPARATOR) {
        return get(order).unwrap_or_default();
    }
    let mut text = String::new();
    let mut properties = properties_of_order(order).peekable();
    while let Some(OrderProperty { name, is_reversed }) = properties.next() {
        let value = get(name).unwrap_or_default();
        match (is_reversed, properties.peek()) {
            (true, _) => {
                let reversed = |byte| char::from_u32(REVERSED_ZERO - u32::from(byte));
                text.extend(value.bytes().filter_map(reversed).chain([REVERSED_END]));
            }
            (false, Some(_)) => {
                for character in value.chars() {
                    match character {
                        END => text.extend([ESCAPE, '\u{1}']),
                        ESCAPE => text.extend([ESCAPE, '\u{2}']),
                        other => text.push(other),
                    }
                }
                text.push(END);
            }
            (false, None) => text.push_str(&value),
        }
    }
    text
}

/// The order values of the properties of an order, from the order value of an item. Empty ones stand for
/// absent properties.
#[must_use]
pub fn split_order_value(order: &str, order_value: &str) -> Vec<String> {
    let mut rest = order_value;
    let mut values = Vec::new();
    let mut properties = properties_of_order(order).peekable();
    while let Some(OrderProperty { is_reversed, .. }) = properties.next() {
        let end = match (is_reversed, properties.peek()) {
            (true, _) => Some(REVERSED_END),
            (false, Some(_)) => Some(END),
            (false, None) => None,
        };
        let (value, left) = end.map_or((rest, ""), |end| rest.split_once(end).unwrap_or((rest, "")));
        values.push(match (is_reversed, end) {
            (true, _) => {
                let byte = |character| u8::try_from(REVERSED_ZERO.saturating_sub(u32::from(character)));
                let bytes = value.chars().filter_map(|character| byte(character).ok()).collect();
                String::from_utf8(bytes).unwrap_or_default()
            }
            (false, Some(_)) => unescaped(value),
            (false, None) => value.to_owned(),
        });
        rest = left;
    }
    values
}

fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            ESCAPE if characters.next() == Some('\u{1}') => END,
            other => other,
        });
    }
    text
}

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

    /// The values of two properties: absent, a number or a text.
    fn value() -> impl Strategy<Value = Option<Value>> {
        let text = proptest::collection::vec(
            prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), Just('b'), Just('ß'), Just('\u{10000}')],
            1..4,
        );
        prop_oneof![
            Just(None),
            (-3_i32..3).prop_map(|number| Some(Value::from(number))),
            text.prop_map(|text| Some(Value::from(text.into_iter().collect::<String>()))),
        ]
    }

    proptest! {
        #[test]
        fn orders_of_several_properties_are_lexicographic(
            one in [value(), value(), value()],
            other in [value(), value(), value()],
        ) {
            let single = |value: &Option<Value>| value.as_ref().and_then(order_value).unwrap_or_default();
            for order in ["a,b,c", "-a,b,c", "a,-b,c", "-a,-b,c"] {
                let text = |values: &[Option<Value>; 3]| {
                    order_value_of(order, |name| values["abc".find(name).unwrap()].as_ref())
                };
                let expected = properties_of_order(order).zip(one.iter().zip(&other)).map(
                    |(property, (one, other))| {
                        let ordering = single(one).cmp(&single(other));
                        if property.is_reversed { ordering.reverse() } else { ordering }
                    },
                );
                let expected = expected.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then);
                prop_assert_eq!(text(&one).cmp(&text(&other)), expected, "{}", order);
                let values: Vec<String> = one.iter().map(single).collect();
                prop_assert_eq!(split_order_value(order, &text(&one)), values, "{}", order);
            }
        }
    }

    #[test]
    fn an_order_names_its_properties_and_their_directions() {
        let property = |name, is_reversed| OrderProperty { name, is_reversed };
        let order = joined_order([property("priority", true), property("createdAt", false)]);
        assert_eq!(order, "-priority,createdAt");
        let properties: Vec<_> = properties_of_order(&order).collect();
        assert_eq!(properties, [property("priority", true), property("createdAt", false)]);
        assert_eq!(order_value_of("createdAt", |_| None), "");
    }

    #[test]
    fn numbers_are_before_texts_and_zero_has_one_text() {
        assert_eq!(order_number(0.0), order_number(-0.0));
        assert!(order_number(f64::MAX).as_str() < " ");
        assert_eq!(value_in_order(&order_number(7.0)), Value::from(7));
        assert_eq!(value_in_order("\u{1}text"), Value::from("\u{1}text"));
    }
}
