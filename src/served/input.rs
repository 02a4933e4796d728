//! Input of generated mutations: its fields, and the checks of their values. All invalid fields of an input
//! are reported at once, nested ones with their paths.

mod checks;
mod object_keys;

use std::borrow::Cow;

use onehop_model::{
    Action, Checks, Field, FieldKind, FieldType, Format, PropertyPath, ReferenceField, Scalar, TypeOf,
    ValueSource,
};
use onehop_runtime::clock::{format_timestamp, parse_timestamp};
use serde_json::{Map, Value, json};

use super::decimal::{DIGITS_MAX, ExactDecimal};
use super::formats::{NUMBER_DIGITS_MAX, encoded, fits_number, format_of, is_currency_of_item, is_money};
use super::ids::ItemPlace;
pub use super::input_names::{input_name, input_name_of};
use super::model::{ServedModel, ServedType};
use super::names::interned;
use super::stored;
use crate::domain::error::{InputStep, InvalidField};
use crate::domain::money::Money;

/// The most characters of a text whose field has no `@length`.
pub const TEXT_CHARS_MAX: u32 = 10_000;
/// The most elements of a list whose field has no `@length`.
pub const LIST_ELEMENTS_MAX: u32 = 100;
/// The levels of objects within objects.
const DEPTH_MAX: usize = 16;

/// A field of a mutation's input.
#[derive(Debug, Clone, Copy)]
pub struct InputField<'a> {
    /// Its name in the input: of a reference, the field's with `Id` or `Ids` after it.
    pub name: &'static str,
    /// The field of the item.
    pub field: &'a Field,
    /// Whether the input needs a value.
    pub is_required: bool,
}

/// The fields that the input of a mutation has, in the order of the model. `only` names the fields of a
/// mutation that writes some.
#[must_use]
pub fn input_fields<'a>(
    ty: &'a ServedType,
    action: Action,
    only: &[onehop_model::Name],
) -> Vec<InputField<'a>> {
    let is_wanted = |field: &&Field| only.is_empty() || only.contains(&field.name);
    let fields = ty.item.fields.iter().filter(is_wanted);
    fields.filter_map(|field| input_field(ty, field, action)).collect()
}

fn input_field<'a>(ty: &ServedType, field: &'a Field, action: Action) -> Option<InputField<'a>> {
    let (is_input, is_immutable, has_default) = match &field.kind {
        FieldKind::Stored(stored) => {
            let is_input = matches!(stored.source, ValueSource::Input);
            (is_input, stored.immutable, stored.default.is_some())
        }
        FieldKind::Reference(reference) => (!reference.caller, reference.immutable, false),
        _ => return None,
    };
    let is_update = action == Action::Update;
    if !is_input || field.hidden || (is_update && (is_immutable || ty.is_fixed(&field.name))) {
        return None;
    }
    Some(InputField {
        name: input_name(field),
        field,
        is_required: !is_update
            && field.ty.non_null
            && !has_default
            && !follows_reference(&ty.item.fields, &field.name),
    })
}

/// Whether a field is part of the partition key of a needed reference's target, from which it is filled.
#[must_use]
pub fn follows_reference(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| match &field.kind {
        FieldKind::Reference(reference) => {
            let is_given = field.ty.non_null && field.ty.list.is_none();
            is_given && *field.name != *name && reference.partition.iter().any(|by| **by == *name)
        }
        _ => false,
    })
}

/// The rule of a field's values, for descriptions.
#[must_use]
pub fn rule_of(field: &Field) -> Option<String> {
    let Checks { length_min, length_max, range_min, range_max, pattern } = &field.checks;
    let mut rules = Vec::new();
    let unit = if field.ty.list.is_some() { "elements" } else { "characters" };
    match (length_min, length_max) {
        (Some(min), Some(max)) if min == max => rules.push(format!("{min} {unit}")),
        (Some(min), Some(max)) => rules.push(format!("{min} to {max} {unit}")),
        (Some(min), None) => rules.push(format!("at least {min} {unit}")),
        (None, Some(max)) => rules.push(format!("at most {max} {unit}")),
        (None, None) => {}
    }
    match (range_min, range_max) {
        (Some(min), Some(max)) => rules.push(format!("{min} to {max}")),
        (Some(min), None) => rules.push(format!("at least {min}")),
        (None, Some(max)) => rules.push(format!("at most {max}")),
        (None, None) => {}
    }
    rules.extend(pattern.as_ref().map(|pattern| format!("matches {pattern}")));
    (!rules.is_empty()).then(|| format!("{}.", rules.join("; ")))
}

/// The member of an amount with the code of its currency.
pub const CURRENCY_CODE: &str = "currencyCode";
/// The member of an amount with its minor units, once it is checked.
pub const AMOUNT: &str = "amount";

/// The currency of an amount of an input, which is a property of the item.
#[derive(Debug, Clone)]
pub struct InputCurrency {
    /// The property.
    pub path: PropertyPath,
    /// The code.
    pub code: String,
    /// The input with the amount.
    pub name: &'static str,
}

/// Checks values, and collects the invalid fields.
#[derive(Debug)]
pub struct InputCheck<'a> {
    model: &'a ServedModel,
    currencies: Vec<InputCurrency>,
    /// The invalid fields so far.
    pub invalid: Vec<InvalidField>,
}

impl<'a> InputCheck<'a> {
    /// A check without findings.
    #[must_use]
    pub fn new(model: &'a ServedModel) -> Self {
        Self { model, currencies: Vec::new(), invalid: Vec::new() }
    }

    /// The stored form of a field's value; `None` where it is invalid.
    pub fn value(
        &mut self,
        name: &'static str,
        field: &Field,
        typed: &Value,
        within: &[InputStep],
    ) -> Option<Value> {
        let before = self.invalid.len();
        let stored = self.formatted(name, field, typed, within);
        (self.invalid.len() == before).then_some(stored)
    }

    /// A value in the stored format of its field.
    fn formatted(&mut self, name: &'static str, field: &Field, typed: &Value, within: &[InputStep]) -> Value {
        let value = self.typed(name, &field.ty, &field.checks, typed, within);
        let format = format_of(field);
        let values = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
        let is_long = |value: &Value| value.as_str().is_some_and(|text| !fits_number(text));
        if format == Format::Number && values.iter().any(is_long) {
            self.refuse(name, within, format_args!("must have at most {NUMBER_DIGITS_MAX} digits"));
        }
        if is_money(field)
            && let (Some(path), Some(code)) =
                (field.currency(), value.get(CURRENCY_CODE).and_then(Value::as_str))
        {
            let is_of_item = within.is_empty() || is_currency_of_item(field);
            if is_of_item {
                self.currencies.push(InputCurrency { path: path.clone(), code: code.to_owned(), name });
            }
        }
        encoded(format, value)
    }

    /// The currencies of the item: one for each of their properties.
    pub fn take_currencies(&mut self) -> Vec<InputCurrency> {
        let mut currencies: Vec<InputCurrency> = Vec::new();
        for found in std::mem::take(&mut self.currencies) {
            match currencies.iter().find(|known| known.path == found.path) {
                Some(known) if known.code == found.code => {}
                Some(known) => {
                    let rule = format!("must be in {}, as the other amounts of the item", known.code);
                    self.refuse(found.name, &[], rule);
                }
                None => currencies.push(found),
            }
        }
        currencies
    }

    /// Reports a field.
    pub fn refuse(&mut self, name: &'static str, within: &[InputStep], rule: impl std::fmt::Display) {
        self.invalid.push(InvalidField::new(name, rule).within(within));
    }

    fn typed(
        &mut self,
        name: &'static str,
        ty: &FieldType,
        checks: &Checks,
        typed: &Value,
        within: &[InputStep],
    ) -> Value {
        match (typed, ty.list) {
            (Value::Null, _) => {
                if ty.non_null {
                    self.refuse(name, within, "cannot be null");
                }
                Value::Null
            }
            (Value::Array(values), Some(_)) => {
                self.length(name, checks, values.len(), "elements", LIST_ELEMENTS_MAX, within);
                let limit = checks.length_max.unwrap_or(LIST_ELEMENTS_MAX) as usize;
                let element_checks = Checks { length_min: None, length_max: None, ..checks.clone() };
                let elements = values.iter().take(limit).enumerate().map(|(index, value)| {
                    let found = self.invalid.len();
                    let stored = self.single(name, &ty.of, &element_checks, value, &[]);
                    for invalid in &mut self.invalid[found..] {
                        let steps = std::mem::take(&mut invalid.path);
                        let rest =
                            if steps.first() == Some(&InputStep::Field(name)) { &steps[1..] } else { &steps };
                        invalid.path = within.to_vec();
                        invalid.path.extend([InputStep::Field(name), InputStep::Index(index)]);
                        invalid.path.extend_from_slice(rest);
                    }
                    stored
                });
                Value::Array(elements.collect())
            }
            (_, Some(_)) => {
                self.refuse(name, within, "must be a list");
                Value::Null
            }
            (value, None) => self.single(name, &ty.of, checks, value, within),
        }
    }

    fn single(
        &mut self,
        name: &'static str,
        of: &TypeOf,
        checks: &Checks,
        value: &Value,
        within: &[InputStep],
    ) -> Value {
        match of {
            TypeOf::Scalar(scalar) => self.scalar(name, *scalar, checks, value, within),
            TypeOf::Enum(of) => {
                let known = self.model.model().enum_type(of);
                let text = value.as_str().and_then(|value| stored::stored_text(known?, value));
                match text {
                    Some(text) => json!(text),
                    None => self.refused(name, within, format_args!("is no value of {of}")),
                }
            }
            TypeOf::Embedded(of) => self.object(name, of, value, within),
            TypeOf::Item(_) => self.refused(name, within, "is no value"),
        }
    }

    fn object(&mut self, name: &'static str, of: &str, value: &Value, within: &[InputStep]) -> Value {
        let (Some(embedded), Value::Object(values)) = (self.model.embedded(of), value) else {
            return self.refused(name, within, format_args!("must be an object of {of}"));
        };
        if within.len() >= DEPTH_MAX {
            return self.refused(name, within, format_args!("has more than {DEPTH_MAX} levels of objects"));
        }
        let inner: Vec<InputStep> = [within, &[InputStep::Field(name)]].concat();
        let mut object = Map::new();
        for field in &embedded.fields {
            if let FieldKind::Reference(reference) = &field.kind {
                let typed = values.get(input_name(field));
                let given = typed.is_some() || !follows_reference(&embedded.fields, &field.name);
                let id = if given { self.reference(field, reference, typed, &inner) } else { Value::Null };
                stored::set(&mut object, &reference.property, id);
                continue;
            }
            let FieldKind::Stored(stored_field) = &field.kind else { continue };
            if stored_field.source != ValueSource::Input {
                continue;
            }
            let inner_name = interned(&field.name);
            let value = match (values.get(inner_name), &stored_field.default) {
                (Some(value), _) => self.formatted(inner_name, field, value, &inner),
                (None, Some(default)) if !default.sparse => {
                    stored::literal_of(self.model.model(), field, &default.value)
                }
                (None, None) if follows_reference(&embedded.fields, inner_name) => Value::Null,
                (None, None) if field.ty.non_null => self.refused(inner_name, &inner, "is needed"),
                (None, _) => Value::Null,
            };
            match is_money(field) {
                true => self.set_amount(field, value, &mut object, &inner),
                false => stored::set(&mut object, &stored_field.property, value),
            }
        }
        self.set_keys(embedded, values, &mut object, &inner);
        Value::Object(object)
    }

    /// Writes an amount into an embedded object, with its currency where that is beside it.
    fn set_amount(
        &mut self,
        field: &Field,
        value: Value,
        object: &mut Map<String, Value>,
        within: &[InputStep],
    ) {
        let (Some(property), Some(path)) = (field.property(), field.currency()) else { return };
        let code = value.get(CURRENCY_CODE).cloned();
        stored::set(object, property, value.get(AMOUNT).cloned().unwrap_or_default());
        let Some(code) = code.filter(|_| !is_currency_of_item(field)) else { return };
        if stored::get(object, path).is_some_and(|known| *known != code) {
            self.refuse(interned(&field.name), within, "must be in one currency with the amounts beside it");
        }
        stored::set(object, path, code);
    }

    /// The stored id of a reference in an embedded object, or the ids of a list of references.
    fn reference(
        &mut self,
        field: &Field,
        reference: &ReferenceField,
        typed: Option<&Value>,
        within: &[InputStep],
    ) -> Value {
        let name = input_name(field);
        let Some(typed) = typed.filter(|typed| !typed.is_null()) else {
            return match field.ty.non_null {
                true => self.refused(name, within, "is needed"),
                false => Value::Null,
            };
        };
        if field.ty.list.is_none() {
            return self.target_id(name, reference, typed, within);
        }
        let ids = typed.as_array().map_or(std::slice::from_ref(typed), Vec::as_slice);
        self.length(name, &field.checks, ids.len(), "elements", LIST_ELEMENTS_MAX, within);
        let mut targets: Vec<Value> = Vec::new();
        for id in ids.iter().take(LIST_ELEMENTS_MAX as usize) {
            let target = self.target_id(name, reference, id, within);
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Value::Array(targets)
    }

    /// The stored id of one target.
    fn target_id(
        &mut self,
        name: &'static str,
        reference: &ReferenceField,
        typed: &Value,
        within: &[InputStep],
    ) -> Value {
        let place = typed.as_str().and_then(|typed| ItemPlace::decode(self.model, typed).ok());
        match place.filter(|place| self.model.ty(place.ty).name == &*reference.target) {
            Some(place) => json!(place.id),
            None => self.refused(name, within, format_args!("is not the id of {}", reference.target)),
        }
    }

    fn scalar(
        &mut self,
        name: &'static str,
        scalar: Scalar,
        checks: &Checks,
        value: &Value,
        within: &[InputStep],
    ) -> Value {
        match (scalar, value) {
            (Scalar::String | Scalar::Id, Value::String(text)) => {
                let text = with_line_feeds(text);
                self.text(name, checks, &text, within);
                json!(text)
            }
            (Scalar::Int, Value::Number(number))
                if number.as_i64().is_some_and(|whole| i32::try_from(whole).is_ok()) =>
            {
                self.range(name, checks, number.as_f64().unwrap_or_default(), value, within);
                value.clone()
            }
            (Scalar::Float, Value::Number(number)) => {
                self.range(name, checks, number.as_f64().unwrap_or_default(), value, within);
                value.clone()
            }
            (Scalar::Boolean, Value::Bool(_)) => value.clone(),
            (Scalar::Decimal, Value::String(text)) => match ExactDecimal::parse(text) {
                Some(number) => {
                    self.decimal_range(name, checks, &number, within);
                    json!(number.to_string())
                }
                None => {
                    let rule = format_args!(
                        "must be digits with an optional point, such as \"12.50\", at most {DIGITS_MAX}"
                    );
                    self.refused(name, within, rule)
                }
            },
            (Scalar::Money, Value::Object(amount)) => self.money(name, amount, within),
            (Scalar::DateTime, Value::String(text)) => match parse_timestamp(text) {
                Some(instant) => json!(format_timestamp(instant)),
                None => self.refused(name, within, "must be an instant such as 2026-11-20T09:30:00.125Z"),
            },
            _ => self.refused(name, within, format_args!("must be a value of {}", scalar.name())),
        }
    }

    /// An amount in minor units with its currency.
    fn money(&mut self, name: &'static str, amount: &Map<String, Value>, within: &[InputStep]) -> Value {
        let text = |member: &str| amount.get(member).and_then(Value::as_str).unwrap_or_default();
        let (sign, digits) = match text(AMOUNT).strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text(AMOUNT)),
        };
        match Money::parse(digits, text(CURRENCY_CODE)) {
            Ok(money) => json!({ AMOUNT: money.minor_units * sign, CURRENCY_CODE: money.currency.as_str() }),
            Err(rule) => self.refused(name, within, rule),
        }
    }

    fn refused(&mut self, name: &'static str, within: &[InputStep], rule: impl std::fmt::Display) -> Value {
        self.refuse(name, within, rule);
        Value::Null
    }
}

/// A text whose line breaks are line feeds, as forms and files of other systems do not send them.
fn with_line_feeds(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests;
