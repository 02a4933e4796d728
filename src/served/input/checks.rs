//! Checks of scalars and lists: lengths, patterns and bounds.

use onehop_model::{Checks, Literal};
use serde_json::Value;

use super::{InputCheck, TEXT_CHARS_MAX};
use crate::domain::error::InputStep;
use crate::served::decimal::ExactDecimal;

impl InputCheck<'_> {
    pub(super) fn text(&mut self, name: &'static str, checks: &Checks, text: &str, within: &[InputStep]) {
        self.length(name, checks, text.chars().count(), "characters", TEXT_CHARS_MAX, within);
        if let Err(refusal) = crate::domain::text::check_controls(name, text) {
            self.invalid.extend(refusal.invalid_fields.into_iter().map(|field| field.within(within)));
        }
        if let Some(pattern) = &checks.pattern
            && !self.model.pattern(pattern).is_some_and(|regex| regex.is_match(text))
        {
            self.refuse(name, within, format_args!("must match {pattern}"));
        }
    }

    pub(super) fn length(
        &mut self,
        name: &'static str,
        checks: &Checks,
        actual: usize,
        unit: &str,
        max_default: u32,
        within: &[InputStep],
    ) {
        let (min, max) = (checks.length_min.unwrap_or(0), checks.length_max.unwrap_or(max_default));
        if actual < min as usize || actual > max as usize {
            let bounds = if min == max { min.to_string() } else { format!("{min} to {max}") };
            self.refuse(name, within, format_args!("must have {bounds} {unit}; this one has {actual}"));
        }
    }

    pub(super) fn range(
        &mut self,
        name: &'static str,
        checks: &Checks,
        number: f64,
        shown: &Value,
        within: &[InputStep],
    ) {
        let bound = |literal: &Option<Literal>| match literal {
            Some(Literal::Int(bound)) => Some(*bound as f64),
            Some(Literal::Float(bound)) => Some(*bound),
            _ => None,
        };
        let (min, max) = (bound(&checks.range_min), bound(&checks.range_max));
        let is_outside = min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max);
        if is_outside {
            let rule = match (min, max) {
                (Some(min), Some(max)) => format!("must be {min} to {max}, is {shown}"),
                (Some(min), None) => format!("must be at least {min}, is {shown}"),
                (None, max) => format!("must be at most {}, is {shown}", max.unwrap_or_default()),
            };
            self.refuse(name, within, rule);
        }
    }

    pub(super) fn decimal_range(
        &mut self,
        name: &'static str,
        checks: &Checks,
        number: &ExactDecimal,
        within: &[InputStep],
    ) {
        let bound = |literal: &Option<Literal>| match literal {
            Some(Literal::String(bound)) => ExactDecimal::parse(bound),
            Some(Literal::Int(bound)) => ExactDecimal::parse(&bound.to_string()),
            _ => None,
        };
        if let Some(min) = bound(&checks.range_min).filter(|min| number < min) {
            self.refuse(name, within, format_args!("must be at least {min}, is {number}"));
        }
        if let Some(max) = bound(&checks.range_max).filter(|max| number > max) {
            self.refuse(name, within, format_args!("must be at most {max}, is {number}"));
        }
    }
}
