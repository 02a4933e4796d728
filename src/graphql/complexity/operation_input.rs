//! The input of an operation: the arguments of its fields, with the values of its variables.

use async_graphql::parser::types::{ExecutableDocument, Field, VariableDefinition};
use async_graphql::{InputType as _, Positioned, ServerResult, Value, Variables};

use crate::blog::reads::FIRST_MAX;
use crate::graphql::query::NODES_MAX;

/// The argument of a list that says how many items.
pub(super) const FIRST: &str = "first";

/// The argument of a list that is read from either end, in place of [`FIRST`].
pub(super) const LAST: &str = "last";

/// The argument that names all items.
pub(super) const IDS: &str = "ids";

/// The input of an operation.
pub(super) struct OperationInput<'a> {
    pub(super) document: &'a ExecutableDocument,
    pub(super) definitions: &'a [Positioned<VariableDefinition>],
    pub(super) variables: &'a Variables,
}

impl OperationInput<'_> {
    /// The limit of items in a list.
    pub(super) fn items(&self, field: &Field, default: usize) -> ServerResult<usize> {
        Ok(self.number(field, FIRST)?.unwrap_or(default))
    }

    /// The limit of items in a list that is read from either end; the larger one of two, which the list's
    /// resolver refuses.
    pub(super) fn items_of_range(&self, field: &Field, default: usize) -> ServerResult<usize> {
        let mut items = None;
        for name in [FIRST, LAST] {
            if self.argument(field, name).is_some_and(|value| value != Value::Null) {
                items = items.max(self.number(field, name)?);
            }
        }
        Ok(items.unwrap_or(default))
    }

    /// The page size that an argument states.
    fn number(&self, field: &Field, name: &str) -> ServerResult<Option<usize>> {
        let Some(value) = self.argument(field, name) else { return Ok(None) };
        let pos = field.arguments.iter().find(|(own, _)| own.node == name).map(|(_, value)| value.pos);
        let number =
            i32::parse(Some(value)).map_err(|error| error.into_server_error(pos.unwrap_or_default()))?;
        // A page size out of bounds is refused by its resolver.
        Ok(Some(usize::try_from(number).unwrap_or(0).clamp(1, FIRST_MAX)))
    }

    /// The number of ids that a field names, and at least one.
    pub(super) fn ids(&self, field: &Field) -> usize {
        match self.argument(field, IDS) {
            // More are refused by the resolver.
            Some(Value::List(ids)) => ids.len().clamp(1, NODES_MAX),
            _ => 1,
        }
    }

    /// The value of an argument, if it was given one.
    pub(super) fn argument(&self, field: &Field, name: &str) -> Option<Value> {
        let value = field.get_argument(name)?.node.clone();
        let value = value.into_const_with(|name| {
            let given = self.variables.get(&name);
            let default = || {
                let mut definitions = self.definitions.iter().map(|definition| &definition.node);
                definitions.find(|definition| definition.name.node == name)?.default_value.as_ref()
            };
            given.or_else(|| default().map(|default| &default.node)).cloned().ok_or(())
        });
        value.ok()
    }
}
