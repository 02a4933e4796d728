//! Arithmetic of computed fields: exact products and sums of numbers and amounts of money.

use onehop_model::{Computed, Field, FieldKind, Function, Model, Scalar, TypeOf, ValueSource};
use serde_json::{Value, json};

use super::decimal::ExactDecimal;
use super::formats::{decoded, format_of, is_currency_of_item, is_money};
use super::model::Body;
use super::properties::get;

/// The levels of computed fields of computed fields.
const DEPTH_MAX: usize = 8;
/// The decimals of a result.
const SCALE_MAX: u32 = 18;

/// A product or sum that has no value of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// More digits than a number may have.
    #[error("is too large")]
    TooLarge,
    /// Amounts of several currencies.
    #[error("needs amounts of one currency")]
    Currencies,
}

/// A number on its way through a computation.
#[derive(Debug, Clone, PartialEq)]
enum Amount {
    /// A whole number over a power of ten.
    Exact {
        mantissa: i128,
        scale: u32,
    },
    Float(f64),
}

/// A computed value with its currency, if it is an amount of money.
#[derive(Debug, Clone, PartialEq)]
pub struct ComputedAmount {
    amount: Amount,
    /// The code of the currency.
    pub currency: Option<String>,
}

/// The fields of a type with the properties of an object, and of the item that it is in.
#[derive(Clone, Copy)]
pub struct AmountContext<'a> {
    /// The model.
    pub model: &'a Model,
    /// The fields of the object's type.
    pub fields: &'a [Field],
    /// The properties of the object.
    pub object: &'a Body,
    /// The properties of the item, which has the currency of all.
    pub item: &'a Body,
    /// The value of a field of an object.
    pub value_of: fn(&Model, &[Field], &Field, &Body) -> Value,
}

/// The product or sum of a computed field; `None` where a value is absent, or an amount has no currency.
///
/// # Errors
/// The result is too large, or amounts have several currencies.
pub fn evaluated(within: AmountContext<'_>, rule: &Computed) -> Result<Option<ComputedAmount>, AmountError> {
    evaluate(within, rule, DEPTH_MAX)
}

/// The stored form of a computed amount as a value of a field.
///
/// # Errors
/// The field's type has no such number.
pub fn stored_form(field: &Field, computed: &ComputedAmount) -> Result<Value, AmountError> {
    let text = || match &computed.amount {
        Amount::Exact { mantissa, scale } => text_of(*mantissa, *scale),
        Amount::Float(number) => number.to_string(),
    };
    Ok(match &field.ty.of {
        TypeOf::Scalar(Scalar::Money) => json!(i64::try_from(rounded(&computed.amount)?).map_err(too_large)?),
        TypeOf::Scalar(Scalar::Int) => json!(i32::try_from(rounded(&computed.amount)?).map_err(too_large)?),
        TypeOf::Scalar(Scalar::Float) => json!(as_float(&computed.amount)),
        _ => super::formats::encoded(format_of(field), json!(text())),
    })
}

fn too_large(_: std::num::TryFromIntError) -> AmountError {
    AmountError::TooLarge
}

fn evaluate(
    within: AmountContext<'_>,
    rule: &Computed,
    depth: usize,
) -> Result<Option<ComputedAmount>, AmountError> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(None) };
    match rule.function {
        Function::Product => {
            let mut product =
                ComputedAmount { amount: Amount::Exact { mantissa: 1, scale: 0 }, currency: None };
            for path in &rule.from {
                let Some(factor) = operand(within, path.fields(), depth)? else { return Ok(None) };
                product.amount = times(&product.amount, &factor.amount)?;
                product.currency = product.currency.or(factor.currency);
            }
            Ok(Some(product))
        }
        Function::Sum => match rule.from.first() {
            Some(path) => sum(within, path.fields(), depth),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The sum over the elements of a list, along the rest of a path.
fn sum(
    within: AmountContext<'_>,
    path: &[onehop_model::Name],
    depth: usize,
) -> Result<Option<ComputedAmount>, AmountError> {
    let [list, rest @ ..] = path else { return Ok(None) };
    if rest.is_empty() {
        return operand(within, path, depth);
    }
    let Some(field) = within.fields.iter().find(|field| field.name == *list) else { return Ok(None) };
    let TypeOf::Embedded(of) = &field.ty.of else { return Ok(None) };
    let fields = within.model.embedded_type(of).map_or(&[][..], |embedded| &embedded.fields);
    let value = field.property().and_then(|property| get(within.object, property));
    let elements = match value {
        Some(Value::Array(elements)) => elements.as_slice(),
        Some(object) => std::slice::from_ref(object),
        None => &[],
    };
    let mut total: Option<ComputedAmount> = None;
    for element in elements {
        let Value::Object(object) = element else { continue };
        let Some(part) = sum(AmountContext { fields, object, ..within }, rest, depth)? else { continue };
        total = Some(match total {
            None => part,
            Some(total) if total.currency == part.currency => {
                ComputedAmount { amount: plus(&total.amount, &part.amount)?, ..total }
            }
            Some(_) => return Err(AmountError::Currencies),
        });
    }
    if total.is_some() {
        return Ok(total);
    }
    let summed = rest.last().and_then(|last| fields.iter().find(|field| field.name == *last));
    // The currency of an empty list is the item's, if amounts have one there.
    let currency = summed.filter(|field| is_currency_of_item(field)).and_then(Field::currency);
    let currency = currency.and_then(|path| get(within.item, path)?.as_str()).map(str::to_owned);
    if currency.is_none() && summed.is_some_and(is_money) {
        return Ok(None);
    }
    Ok(Some(ComputedAmount { amount: Amount::Exact { mantissa: 0, scale: 0 }, currency }))
}

/// The number in a field.
fn operand(
    within: AmountContext<'_>,
    path: &[onehop_model::Name],
    depth: usize,
) -> Result<Option<ComputedAmount>, AmountError> {
    let [name, rest @ ..] = path else { return Ok(None) };
    let Some(field) = within.fields.iter().find(|field| field.name == *name) else { return Ok(None) };
    if let (TypeOf::Embedded(of), [_, ..]) = (&field.ty.of, rest) {
        let fields = within.model.embedded_type(of).map_or(&[][..], |embedded| &embedded.fields);
        let value = field.property().and_then(|property| get(within.object, property));
        let Some(Value::Object(object)) = value else { return Ok(None) };
        return operand(AmountContext { fields, object, ..within }, rest, depth);
    }
    if let FieldKind::Stored(stored_field) = &field.kind
        && let ValueSource::Computed(rule) = &stored_field.source
        && matches!(rule.function, Function::Product | Function::Sum)
        && !rule.stored
    {
        return evaluate(within, rule, depth);
    }
    let value =
        decoded(format_of(field), (within.value_of)(within.model, within.fields, field, within.object));
    let amount = match (&value, &field.ty.of) {
        (Value::Number(number), TypeOf::Scalar(Scalar::Float)) => {
            Amount::Float(number.as_f64().unwrap_or_default())
        }
        (Value::Number(number), _) => match number.as_i64() {
            Some(whole) => Amount::Exact { mantissa: i128::from(whole), scale: 0 },
            None => Amount::Float(number.as_f64().unwrap_or_default()),
        },
        (Value::String(text), _) => match ExactDecimal::parse(text).map(|number| number.to_string()) {
            Some(text) => exact(&text)?,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let currency = if is_money(field) { currency_of(within, field) } else { None };
    Ok(Some(ComputedAmount { amount, currency }))
}

/// The code of the currency of an amount.
#[must_use]
pub fn currency_of(within: AmountContext<'_>, field: &Field) -> Option<String> {
    let path = field.currency()?;
    let body = if is_currency_of_item(field) { within.item } else { within.object };
    Some(get(body, path)?.as_str()?.to_owned())
}

fn exact(text: &str) -> Result<Amount, AmountError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mantissa = format!("{whole}{fraction}").parse().map_err(|_| AmountError::TooLarge)?;
    let scale = u32::try_from(fraction.len()).map_err(too_large)?;
    Ok(Amount::Exact { mantissa, scale })
}

fn text_of(mantissa: i128, scale: u32) -> String {
    if scale == 0 {
        return mantissa.to_string();
    }
    let (sign, width) = (if mantissa < 0 { "-" } else { "" }, scale as usize + 1);
    let digits = format!("{:0width$}", mantissa.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

fn times(one: &Amount, other: &Amount) -> Result<Amount, AmountError> {
    match (one, other) {
        (Amount::Exact { mantissa, scale }, Amount::Exact { mantissa: by, scale: by_scale }) => {
            let scale = scale + by_scale;
            let mantissa = mantissa.checked_mul(*by).filter(|_| scale <= SCALE_MAX * 2);
            Ok(Amount::Exact { mantissa: mantissa.ok_or(AmountError::TooLarge)?, scale })
        }
        (one, other) => Ok(Amount::Float(as_float(one) * as_float(other))),
    }
}

fn plus(one: &Amount, other: &Amount) -> Result<Amount, AmountError> {
    match (one, other) {
        (Amount::Exact { mantissa, scale }, Amount::Exact { mantissa: add, scale: add_scale }) => {
            let common = *scale.max(add_scale);
            let widened =
                |mantissa: i128, scale: u32| mantissa.checked_mul(10_i128.checked_pow(common - scale)?);
            let total = widened(*mantissa, *scale).zip(widened(*add, *add_scale));
            let total = total.and_then(|(one, other)| one.checked_add(other));
            Ok(Amount::Exact { mantissa: total.ok_or(AmountError::TooLarge)?, scale: common })
        }
        (one, other) => Ok(Amount::Float(as_float(one) + as_float(other))),
    }
}

fn as_float(amount: &Amount) -> f64 {
    match amount {
        Amount::Exact { mantissa, scale } => text_of(*mantissa, *scale).parse().unwrap_or(f64::NAN),
        Amount::Float(number) => *number,
    }
}

/// The nearest whole number; halves away from zero.
fn rounded(amount: &Amount) -> Result<i128, AmountError> {
    match amount {
        Amount::Exact { mantissa, scale } => {
            let unit = 10_i128.checked_pow(*scale).ok_or(AmountError::TooLarge)?;
            let (whole, rest) = (mantissa / unit, mantissa % unit);
            Ok(if rest.abs() * 2 >= unit { whole + mantissa.signum() } else { whole })
        }
        #[expect(clippy::cast_possible_truncation, reason = "the bounds are checked")]
        Amount::Float(number) if number.abs() < 1e18 => Ok(number.round() as i128),
        Amount::Float(_) => Err(AmountError::TooLarge),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_exact_and_round_half_away_from_zero() {
        let (price, quantity) = (exact("19.99").unwrap(), exact("3").unwrap());
        let total = times(&price, &quantity).unwrap();
        assert_eq!(total, Amount::Exact { mantissa: 5997, scale: 2 });
        for (text, whole) in [("2.5", 3), ("-2.5", -3), ("2.49", 2), ("-0.5", -1), ("7", 7)] {
            assert_eq!(rounded(&exact(text).unwrap()), Ok(whole), "{text}");
        }
        let large = Amount::Exact { mantissa: i128::MAX, scale: 0 };
        assert_eq!(times(&large, &quantity), Err(AmountError::TooLarge));
    }

    #[test]
    fn sums_have_the_decimals_of_their_parts() {
        let total = plus(&exact("0.1").unwrap(), &exact("-2.25").unwrap()).unwrap();
        assert_eq!(total, Amount::Exact { mantissa: -215, scale: 2 });
        assert_eq!(
            (text_of(-215, 2), text_of(100, 2), text_of(5, 3)),
            ("-2.15".into(), "1".into(), "0.005".into())
        );
    }
}
