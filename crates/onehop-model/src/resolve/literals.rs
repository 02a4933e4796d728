//! Check of literals against the type of a field: defaults, conditions and ranges.

use super::scope::Scope;
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::TypedField;
use crate::value::{Literal, Scalar, TypeOf};

/// The digits of a second's fraction in stored times.
const FRACTION_DIGITS: usize = 3;

/// The literal as a value of the field's named type, in its normal form. `None` is already reported.
pub(super) fn value_of(scope: &Scope<'_>, field: &TypedField, literal: &At<Literal>) -> Option<Literal> {
    let of = scope.type_of(field.type_name(), field.type_span)?;
    let expected = match (&of, &literal.value) {
        (TypeOf::Enum(name), Literal::Enum(value)) => {
            return check_enum_value(scope, name, value, literal).then(|| literal.value.clone());
        }
        (TypeOf::Enum(name), _) => format!("a value of {name} without quotes"),
        (TypeOf::Item(_), Literal::String(_)) => return Some(literal.value.clone()),
        (TypeOf::Item(_), _) => "an id in quotes".to_owned(),
        (TypeOf::Embedded(name), _) => format!("no literal, as {name} is an object"),
        (TypeOf::Scalar(scalar), value) => match scalar_mismatch(*scalar, value) {
            None => return Some(normalized(*scalar, value)),
            Some(expected) => expected.to_owned(),
        },
    };
    let problem = Problem::WrongLiteral { field: field.name.value.clone(), expected };
    scope.reports.add(literal.span, problem);
    None
}

/// A default: of a list, its elements. One value stands for a list of it, as in inputs of GraphQL.
pub(super) fn default_of(scope: &Scope<'_>, field: &TypedField, literal: &At<Literal>) -> Option<Literal> {
    if !field.is_list() {
        return value_of(scope, field, literal);
    }
    let elements = match &literal.value {
        Literal::List(elements) => elements.clone(),
        element => vec![element.clone()],
    };
    let element = |element| value_of(scope, field, &At::new(element, literal.span));
    Some(Literal::List(elements.into_iter().map(element).collect::<Option<_>>()?))
}

/// Times have milliseconds, as stored ones do, and decimals are texts.
fn normalized(scalar: Scalar, literal: &Literal) -> Literal {
    match (scalar, literal) {
        (Scalar::Decimal, Literal::Int(value)) => Literal::String(value.to_string()),
        (Scalar::DateTime, Literal::String(text)) => {
            let text = text.trim_end_matches('Z');
            let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
            let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
            Literal::String(format!("{seconds}.{fraction:0<FRACTION_DIGITS$}Z"))
        }
        _ => literal.clone(),
    }
}

/// The expected form where a literal is no value of the scalar.
fn scalar_mismatch(scalar: Scalar, literal: &Literal) -> Option<&'static str> {
    let is_int = |value: &i64| i32::try_from(*value).is_ok();
    match (scalar, literal) {
        (Scalar::Id | Scalar::String, Literal::String(_)) => None,
        (Scalar::Id | Scalar::String, _) => Some("a text in quotes"),
        (Scalar::Int, Literal::Int(value)) if is_int(value) => None,
        (Scalar::Int, _) => Some("a whole number of 32 bits"),
        (Scalar::Float, Literal::Int(_) | Literal::Float(_)) => None,
        (Scalar::Float, _) => Some("a number"),
        (Scalar::Boolean, Literal::Boolean(_)) => None,
        (Scalar::Boolean, _) => Some("true or false"),
        (Scalar::DateTime, Literal::String(text)) if is_date_time(text) => None,
        (Scalar::DateTime, _) => Some("a time in UTC in quotes, such as \"2026-01-31T12:00:00Z\""),
        (Scalar::Decimal, Literal::String(text)) if is_decimal(text) => None,
        (Scalar::Decimal, Literal::Int(_)) => None,
        (Scalar::Decimal, _) => Some("a whole number, or a decimal in quotes, such as \"12.50\""),
        (Scalar::Money, _) => Some("no literal, as Money has a currency"),
    }
}

/// Whether a text is an instant in the form `2026-01-31T12:00:00Z`, with or without a fraction.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.strip_suffix('Z').and_then(|text| text.split_once('T')) else {
        return false;
    };
    let form = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(found, expected)| match expected {
                b'0' => found.is_ascii_digit(),
                _ => found == expected,
            })
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let has_form = form(date, "0000-00-00") && form(time, "00:00:00") && is_fraction;
    has_form && is_day(date) && time < "24" && &time[3..4] < "6" && &time[6..7] < "6"
}

/// Whether a date in the form `2026-01-31` is in the calendar.
fn is_day(date: &str) -> bool {
    let number = |range| date.get(range).and_then(|digits: &str| digits.parse::<u32>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    [whole, fraction].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn check_enum_value(scope: &Scope<'_>, name: &str, value: &str, literal: &At<Literal>) -> bool {
    let Some(it) = scope.get_enum(name) else { return false };
    if it.values.iter().any(|known| known.name.value == value) {
        return true;
    }
    let problem = Problem::UnknownEnumValue { name: name.to_owned(), value: value.to_owned() };
    let known = it.values.iter().map(|known| known.name.as_str());
    scope.reports.add_near(literal.span, problem, value, known);
    false
}

/// Whether values of a field are numbers that a range can bound.
pub(super) fn is_numeric(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int | Scalar::Float | Scalar::Decimal)
}

/// The order of two literals of one scalar; `None` where they cannot be compared.
pub(super) fn compare(left: &Literal, right: &Literal) -> Option<std::cmp::Ordering> {
    number(left)?.partial_cmp(&number(right)?)
}

fn number(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Int(value) => Some(*value as f64),
        Literal::Float(value) => Some(*value),
        Literal::String(text) => text.parse().ok(),
        _ => None,
    }
}
