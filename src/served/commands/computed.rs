//! Computed values and currencies of the amounts of an item.

use onehop_model::{Computed, Field, ItemType};
use serde_json::{Value, json};

use super::ServedCommands;
use super::embedded::FilledValues;
use crate::domain::error::Refusal;
use crate::served::amounts::{AmountError, evaluated, stored_form};
use crate::served::computed_values::{computed_rule, write_computed};
use crate::served::formats::{currency_roots, is_money};
use crate::served::input::InputCurrency;
use crate::served::model::{Body, ServedType, TypeIndex};
use crate::served::names::interned;
use crate::served::stored;

impl ServedCommands {
    /// Writes the currencies of an input. An amount that the input does not change keeps its currency.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on an amount in another currency than amounts that stay.
    pub(super) fn set_currencies(
        &self,
        ty: &ServedType,
        currencies: &[InputCurrency],
        filled: &FilledValues,
        body: &mut Body,
    ) -> Result<(), Refusal> {
        let mut all = currencies.to_vec();
        all.extend(filled.currencies.iter().cloned());
        for InputCurrency { path, code, name } in &all {
            let other = all.iter().find(|other| other.path == *path && other.code != *code);
            // Computed amounts follow the others.
            let is_computed = |field: &Field| computed_rule(field).is_some();
            let stays = |field: &&Field| {
                let is_written = filled.values.iter().any(|(written, _)| *written == *field.name);
                let roots = currency_roots(self.model.model(), field);
                let is_there = field.property().is_some_and(|property| stored::get(body, property).is_some());
                !is_written
                    && !is_computed(field)
                    && is_there
                    && roots.iter().any(|root| path.properties().first().is_some_and(|first| first == root))
            };
            let present = stored::get(body, path).and_then(Value::as_str).map(str::to_owned);
            let kept =
                present.filter(|present| present != code && ty.item.fields.iter().any(|field| stays(&field)));
            if let Some(wanted) = kept.or_else(|| other.map(|other| other.code.clone())) {
                let rule = format!("must be in {wanted}, as the other amounts of the item");
                return Err(Refusal::bad_input(name, rule));
            }
            stored::set(body, path, json!(code));
        }
        Ok(())
    }

    /// Writes the computed values that items store.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on a product or sum that is too large, or has several currencies.
    pub(super) fn compute(&self, ty: TypeIndex, body: &mut Body) -> Result<(), Refusal> {
        let ItemType { fields, .. } = &self.ty(ty).item;
        for field in fields {
            if let Some((_, rule)) = computed_rule(field)
                && (rule.stored || (is_money(field) && field.ty.non_null))
            {
                self.check_amount(fields, field, rule, (body, body))?;
                let within = stored::within(self.model.model(), fields, body, body);
                let found = evaluated(within, rule).ok().flatten();
                if is_money(field)
                    && field.ty.non_null
                    && found.is_none()
                    && let Some(from) = rule.from.first()
                {
                    let reason = format!("has no amount, which {} needs", field.name);
                    return Err(Refusal::bad_input(interned(from.first()), reason));
                }
                if rule.stored {
                    write_computed(self.model.model(), fields, (field, rule), field.currency(), body);
                }
            }
        }
        Ok(())
    }

    /// # Errors
    /// `BAD_USER_INPUT` on a product or sum that is too large, or has several currencies.
    pub(super) fn check_amount(
        &self,
        fields: &[Field],
        field: &Field,
        rule: &Computed,
        (object, item): (&Body, &Body),
    ) -> Result<(), Refusal> {
        let refused = |error: AmountError| Refusal::bad_input(interned(&field.name), error);
        let within = stored::within(self.model.model(), fields, object, item);
        let Some(amount) = evaluated(within, rule).map_err(refused)? else { return Ok(()) };
        stored_form(field, &amount).map_err(refused)?;
        // Another amount beside it has the same property for its currency.
        let present = field.currency().and_then(|path| stored::get(item, path)).and_then(Value::as_str);
        let is_other = |present: &str| amount.currency.as_deref().is_some_and(|code| code != present);
        let shares = |other: &&Field| {
            other.name != field.name
                && is_money(other)
                && other.currency() == field.currency()
                && other.property().is_some_and(|property| stored::get(item, property).is_some())
        };
        if present.is_some_and(is_other) && fields.iter().any(|other| shares(&other)) {
            return Err(refused(AmountError::Currencies));
        }
        Ok(())
    }
}
