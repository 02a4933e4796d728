//! Arguments of planned fields: given in the document, or taken from the request's variables. A value that
//! does not fit the argument is left to the general executor, which reports it.

use async_graphql::parser::types::{Field, OperationDefinition};
use async_graphql::{Name, Value, Variables};
use async_graphql_value::Value as InputValue;

use crate::blog::reads::{FIRST_MAX, PageRequest};
use crate::domain::cursor::{self, List};
use crate::graphql::ids::GlobalId;

/// The size of a page if the document gives no size.
const FIRST_DEFAULT: i64 = 20;
const _: () = assert!(FIRST_DEFAULT as usize <= FIRST_MAX);

/// An argument whose value is a variable.
#[derive(Debug)]
pub(super) struct VariableArgument {
    name: Name,
    default: Option<Value>,
}

impl VariableArgument {
    fn new(name: &Name, operation: &OperationDefinition) -> Self {
        let definition =
            operation.variable_definitions.iter().find(|definition| definition.node.name.node == *name);
        let default = definition.and_then(|definition| definition.node.default_value().cloned());
        Self { name: name.clone(), default }
    }

    fn value<'a>(&'a self, variables: &'a Variables) -> Option<&'a Value> {
        variables.get(&self.name).or(self.default.as_ref())
    }

    /// Whether its value is V3.
    pub(super) fn is_v3(&self, variables: &Variables) -> bool {
        matches!(self.value(variables), Some(Value::String(model)) if model == V3)
    }
}

/// The data model that plans read.
const V3: &str = "V3";

/// An argument of a planned field.
#[derive(Debug)]
enum Argument<T> {
    Given(T),
    Variable(VariableArgument),
}

impl<T: Clone> Argument<T> {
    fn of(
        value: &InputValue,
        operation: &OperationDefinition,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Option<Self> {
        match value {
            InputValue::Variable(name) => Some(Self::Variable(VariableArgument::new(name, operation))),
            value => parse(&value.clone().into_const()?).map(Self::Given),
        }
    }

    fn value(&self, variables: &Variables, parse: impl Fn(&Value) -> Option<T>) -> Option<T> {
        match self {
            Self::Given(value) => Some(value.clone()),
            Self::Variable(variable) => parse(variable.value(variables)?),
        }
    }
}

/// The argument `id`.
#[derive(Debug)]
pub(super) struct IdArgument(Argument<GlobalId>);

impl IdArgument {
    /// The id argument of a field; `None` if it is no id.
    pub(super) fn of(field: &Field, operation: &OperationDefinition) -> Option<Self> {
        Argument::of(&field.get_argument("id")?.node, operation, parse_id).map(Self)
    }

    /// The id.
    pub(super) fn value(&self, variables: &Variables) -> Option<GlobalId> {
        self.0.value(variables, parse_id)
    }
}

fn parse_id(value: &Value) -> Option<GlobalId> {
    match value {
        Value::String(id) => GlobalId::decode(id).ok(),
        _ => None,
    }
}

/// The arguments `first` and `after`.
#[derive(Debug)]
pub(super) struct PageVariables {
    first: Argument<i64>,
    after: Argument<Option<String>>,
}

impl PageVariables {
    /// The arguments of a field; `None` if they are invalid.
    pub(super) fn of(field: &Field, operation: &OperationDefinition) -> Option<Self> {
        let first = match field.get_argument("first") {
            Some(first) => Argument::of(&first.node, operation, parse_first)?,
            None => Argument::Given(FIRST_DEFAULT),
        };
        let after = match field.get_argument("after") {
            Some(after) => Argument::of(&after.node, operation, parse_after)?,
            None => Argument::Given(None),
        };
        Some(Self { first, after })
    }

    /// The page of a list.
    pub(super) fn value(&self, list: List, variables: &Variables) -> Option<PageRequest> {
        let first = self.first.value(variables, parse_first)?;
        let after = match self.after.value(variables, parse_after)? {
            Some(after) => Some(cursor::decode(list, &after).ok()?),
            None => None,
        };
        PageRequest::new(first, after)
    }
}

fn parse_first(value: &Value) -> Option<i64> {
    match value {
        Value::Number(first) => first.as_i64(),
        _ => None,
    }
}

fn parse_after(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::String(after) => Some(Some(after.clone())),
        _ => None,
    }
}

/// Whether a field has no other arguments than these.
pub(super) fn has_only(field: &Field, names: &[&str]) -> bool {
    field.arguments.iter().all(|(name, _)| names.contains(&name.node.as_str()))
}

/// The variable that names the data model of a field, if one does; `None` where it is another data model.
pub(super) fn model_of(field: &Field, operation: &OperationDefinition) -> Option<Option<VariableArgument>> {
    match field.get_argument("model").map(|model| &model.node) {
        None => Some(None),
        Some(InputValue::Enum(model)) if model == V3 => Some(None),
        Some(InputValue::Variable(name)) => Some(Some(VariableArgument::new(name, operation))),
        Some(_) => None,
    }
}
