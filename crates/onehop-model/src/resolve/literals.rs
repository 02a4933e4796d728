//! Check of literals against the type of a field: defaults, conditions and ranges.

use super::scope::Scope;
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::TypedField;
use crate::value::{Literal, Scalar, TypeOf};

/// Whether a literal is a value of the field's named type. `false` is already reported.
pub(super) fn check_literal(scope: &Scope<'_>, field: &TypedField, literal: &At<Literal>) -> bool {
    let Some(of) = scope.type_of(field.type_name(), field.type_span) else { return false };
    let expected = match (&of, &literal.value) {
        (TypeOf::Enum(name), Literal::Enum(value)) => return check_enum_value(scope, name, value, literal),
        (TypeOf::Enum(name), _) => format!("a value of {name} without quotes"),
        (TypeOf::Item(_), Literal::String(_)) => return true,
        (TypeOf::Item(_), _) => "an id in quotes".to_owned(),
        (TypeOf::Embedded(name), _) => format!("no literal, as {name} is an object"),
        (TypeOf::Scalar(scalar), value) => match scalar_mismatch(*scalar, value) {
            None => return true,
            Some(expected) => expected.to_owned(),
        },
    };
    let problem = Problem::WrongLiteral { field: field.name.value.clone(), expected };
    scope.reports.add(literal.span, problem);
    false
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
        (Scalar::Decimal, _) => Some("a decimal in quotes, such as \"12.50\""),
        (Scalar::Money, _) => Some("no literal, as Money has a currency"),
    }
}

/// Whether a text has the form `2026-01-31T12:00:00Z`, with or without a fraction.
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
    form(date, "0000-00-00") && form(time, "00:00:00") && is_fraction
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
