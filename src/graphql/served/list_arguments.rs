//! Arguments of a list under `Query` by values: they name the logical partition of its entries.

use async_graphql::dynamic::{InputValue, ResolverContext, TypeRef};
use async_graphql::{Error, Result};
use onehop_model::{Checks, Field, ItemType, RelatedField, RelatedSource};
use serde_json::Value;

use crate::graphql::errors;
use crate::served::input::InputCheck;
use crate::served::{ServedModel, interned};

/// An argument of a list.
#[derive(Debug, Clone)]
pub(super) struct ListArgument {
    name: &'static str,
    /// The field of the items, as the argument has its values: an element of an array.
    field: Field,
}

impl ListArgument {
    /// The arguments of a list, in the order of its partition key.
    pub(super) fn all_of(model: &ServedModel, related: &RelatedField) -> Vec<Self> {
        let RelatedSource::List(list) = &related.source else { return Vec::new() };
        let Some(item) = model.model().item(&related.item_type) else { return Vec::new() };
        let pairs = list.arguments.iter().zip(&list.by);
        pairs
            .filter_map(|(name, by)| Some(Self { name: interned(name), field: value_field(item, by)? }))
            .collect()
    }

    /// The argument in the schema.
    pub(super) fn declared(&self) -> InputValue {
        let value = InputValue::new(self.name, TypeRef::named_nn(self.field.ty.of.name()));
        value.description(format!("The value of `{}` by which the list is read.", self.field.name))
    }

    /// The stored forms of the given values.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on each argument that is no value of its field.
    pub(super) fn values(
        arguments: &[Self],
        model: &ServedModel,
        ctx: &ResolverContext<'_>,
    ) -> Result<Vec<Value>, Error> {
        let mut check = InputCheck::new(model);
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let typed = ctx.args.try_get(argument.name)?.as_value().clone().into_json()?;
            values.extend(check.value(argument.name, &argument.field, &typed, &[]));
        }
        if check.invalid.is_empty() { Ok(values) } else { Err(errors::invalid(&check.invalid)) }
    }
}

/// A field with one of its values as its type. The length of an array is no length of its elements.
fn value_field(item: &ItemType, name: &str) -> Option<Field> {
    let mut field = item.field(name)?.clone();
    if field.ty.list.take().is_some() {
        field.checks = Checks { length_min: None, length_max: None, ..field.checks };
    }
    field.ty.non_null = true;
    Some(field)
}
