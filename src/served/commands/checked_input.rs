//! Checked input of a generated command: the values and references of an input object, with every invalid
//! field at once.

use onehop_model::FieldKind;
use onehop_store::limits::PARTITION_KEY_BYTES_MAX;
use serde_json::Value;

use super::{ServedCommand, ServedCommands};
use crate::domain::error::{InputStep, Refusal};
use crate::served::ids::ItemPlace;
use crate::served::input::{InputCheck, InputCurrency, InputField, LIST_ELEMENTS_MAX};
use crate::served::model::TypeIndex;
use crate::served::names::interned;
use crate::served::unique::{check_chosen, reservation_keys, unique_text};

/// The bytes of a text that names a list. A partition key has up to three of them.
const LIST_KEY_BYTES_MAX: usize = PARTITION_KEY_BYTES_MAX / 3;

/// The values of an input, checked.
pub(super) struct CheckedInput {
    /// The stored form of the values, with the place of each field.
    pub(super) values: Vec<(String, Value)>,
    /// The references, each with the places of its targets.
    pub(super) references: Vec<(String, Vec<ItemPlace>)>,
    /// The currencies of the amounts.
    pub(super) currencies: Vec<InputCurrency>,
}

impl ServedCommands {
    /// Checks the values of an input. All invalid fields are reported at once.
    pub(super) fn check(
        &self,
        command: &ServedCommand<'_>,
        fields: &[InputField<'_>],
    ) -> Result<CheckedInput, Refusal> {
        let mut check = InputCheck::new(&self.model);
        let mut checked = CheckedInput { values: Vec::new(), references: Vec::new(), currencies: Vec::new() };
        for input in fields {
            let Some(typed) = command.input.get(input.name) else {
                if input.is_required {
                    check.refuse(input.name, &[], "is needed");
                }
                continue;
            };
            match &input.field.kind {
                FieldKind::Reference(reference) => {
                    let places = self.check_reference(&mut check, input, &reference.target, typed);
                    checked.references.push((input.field.name.to_string(), places));
                }
                _ => {
                    if let Some(value) = check.value(input.name, input.field, typed, &[]) {
                        self.check_unique(&mut check, command.mutation.ty, input, &value);
                        self.check_list_key(&mut check, command.mutation.ty, input, typed);
                        checked.values.push((input.field.name.to_string(), value));
                    }
                }
            }
        }
        checked.currencies = check.take_currencies();
        match check.invalid.is_empty() {
            true => Ok(checked),
            false => Err(Refusal::invalid(check.invalid)),
        }
    }

    fn check_unique(&self, check: &mut InputCheck<'_>, ty: TypeIndex, input: &InputField<'_>, value: &Value) {
        let unique = self.ty(ty).unique.iter().find(|unique| *unique.name == *input.field.name);
        if let (Some(unique), Some(text)) = (unique, unique_text(value)) {
            let keys = reservation_keys(&self.model, ty, unique, &text).map(drop);
            if let Err(rule) = keys.and_then(|()| check_chosen(unique.normalize, &text)) {
                check.refuse(input.name, &[], rule);
            }
        }
    }

    /// A value by which a list is read fits in a partition key.
    fn check_list_key(
        &self,
        check: &mut InputCheck<'_>,
        ty: TypeIndex,
        input: &InputField<'_>,
        typed: &Value,
    ) {
        let paths = self.ty(ty).argument_paths.iter();
        for path in paths.filter(|path| *path.first() == input.field.name) {
            let below = &path.fields()[1..];
            let Some(value) = below.iter().try_fold(typed, |value, field| value.get(&**field)) else {
                continue;
            };
            let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            let is_key = |text: &str| (1..=LIST_KEY_BYTES_MAX).contains(&text.len());
            if let Some(text) = values.iter().filter_map(Value::as_str).find(|text| !is_key(text)) {
                let rule = format!(
                    "names a list: must have 1 to {LIST_KEY_BYTES_MAX} bytes; this has {}",
                    text.len()
                );
                let within: Vec<InputStep> =
                    below.iter().map(|field| InputStep::Field(interned(field))).collect();
                check.refuse(input.name, &within, rule);
            }
        }
    }

    fn check_reference(
        &self,
        check: &mut InputCheck<'_>,
        input: &InputField<'_>,
        target: &str,
        typed: &Value,
    ) -> Vec<ItemPlace> {
        let ids: Vec<&Value> = match typed {
            Value::Null => Vec::new(),
            Value::Array(ids) => ids.iter().collect(),
            id => vec![id],
        };
        let max = input.field.checks.length_max.unwrap_or(LIST_ELEMENTS_MAX) as usize;
        let min = input.field.checks.length_min.unwrap_or(0) as usize;
        if input.field.ty.list.is_some() && !(min..=max).contains(&ids.len()) {
            check.refuse(
                input.name,
                &[],
                format_args!("must have {min} to {max} elements; this one has {}", ids.len()),
            );
            return Vec::new();
        }
        if ids.is_empty() && input.field.ty.non_null && input.field.ty.list.is_none() {
            check.refuse(input.name, &[], "cannot be null");
        }
        let mut places = Vec::new();
        for id in ids {
            let place = id.as_str().and_then(|id| ItemPlace::decode(&self.model, id).ok());
            match place.filter(|place| self.ty(place.ty).name == target) {
                Some(place) if !places.contains(&place) => places.push(place),
                Some(_) => {}
                None => check.refuse(input.name, &[], format_args!("is not the id of {target}")),
            }
        }
        places
    }
}
