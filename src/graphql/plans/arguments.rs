//! Arguments of planned fields: given in the document, or taken from the request's variables. A value that
//! does not fit the argument is left to the general executor, which reports it.

use async_graphql::parser::types::{Field, OperationDefinition};
use async_graphql::{Name, Value, Variables};
use async_graphql_value::Value as InputValue;

use super::schema::CursorFormat;
use crate::domain::cursor;
use crate::served::{self, ItemPlace, ListPosition};
use uuid::Uuid;

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
}

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

/// An argument that is one id, or a list of ids.
#[derive(Debug)]
pub(super) struct IdsArgument(Argument<Vec<String>>);

impl IdsArgument {
    /// The argument of a field; `None` for values of other types.
    pub(super) fn of(field: &Field, name: &str, operation: &OperationDefinition) -> Option<Self> {
        Argument::of(&field.get_argument(name)?.node, operation, parse_ids).map(Self)
    }

    /// The ids.
    pub(super) fn value(&self, variables: &Variables) -> Option<Vec<String>> {
        self.0.value(variables, parse_ids)
    }
}

fn parse_ids(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(id) => Some(vec![id.clone()]),
        Value::List(ids) => ids.iter().map(parse_text).collect(),
        _ => None,
    }
}

fn parse_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// The argument with the design of the model that answers.
#[derive(Debug)]
pub(super) struct DesignArgument {
    variable: VariableArgument,
    design: Box<str>,
}

impl DesignArgument {
    /// The argument of a field, if it is a variable; `None` inside where it names another design.
    pub(super) fn of(
        field: &Field,
        name: &str,
        design: &str,
        operation: &OperationDefinition,
    ) -> Option<Option<Self>> {
        match field.get_argument(name).map(|value| &value.node) {
            None => Some(None),
            Some(InputValue::Enum(value)) if value == design => Some(None),
            Some(InputValue::Variable(name)) => {
                Some(Some(Self { variable: VariableArgument::new(name, operation), design: design.into() }))
            }
            Some(_) => None,
        }
    }

    /// Whether its value is the design.
    pub(super) fn fits(&self, variables: &Variables) -> bool {
        matches!(self.variable.value(variables), Some(Value::String(design)) if **design == *self.design)
    }
}

/// The arguments of a connection; without values for a plain list, which has its first items.
#[derive(Debug)]
pub(super) struct RangeArguments {
    first: Option<Argument<Option<i64>>>,
    last: Option<Argument<Option<i64>>>,
    after: Option<Argument<Option<String>>>,
    before: Option<Argument<Option<String>>>,
}

/// The range that arguments name.
#[derive(Debug)]
pub(super) struct PlannedRange {
    pub(super) items_max: usize,
    pub(super) is_backward: bool,
    pub(super) after: Option<ListPosition>,
    pub(super) before: Option<ListPosition>,
}

impl RangeArguments {
    /// The arguments of a field; `None` if they are of other types.
    pub(super) fn of(field: &Field, operation: &OperationDefinition) -> Option<Self> {
        let number = |name: &str| match field.get_argument(name) {
            Some(value) => Argument::of(&value.node, operation, parse_number).map(Some),
            None => Some(None),
        };
        let text = |name: &str| match field.get_argument(name) {
            Some(value) => Argument::of(&value.node, operation, parse_optional_text).map(Some),
            None => Some(None),
        };
        Some(Self {
            first: number("first")?,
            last: number("last")?,
            after: text("after")?,
            before: text("before")?,
        })
    }

    /// The range of a list with this default and maximum of items, below an owner.
    pub(super) fn value(
        &self,
        (first, max): (usize, usize),
        cursors: Option<(&CursorFormat, Option<&ItemPlace>)>,
        variables: &Variables,
    ) -> Option<PlannedRange> {
        let number = |argument: &Option<Argument<Option<i64>>>| match argument {
            Some(argument) => argument.value(variables, parse_number),
            None => Some(None),
        };
        let position = |argument: &Option<Argument<Option<String>>>| {
            let given = match argument {
                None => None,
                Some(Argument::Variable(variable)) if variable.value(variables).is_none() => None,
                Some(argument) => argument.value(variables, parse_optional_text)?,
            };
            match given {
                Some(cursor) => {
                    let (format, owner) = cursors?;
                    format.decode(owner, &cursor).map(Some)
                }
                None => Some(None),
            }
        };
        let (given, last) = (number(&self.first)?, number(&self.last)?);
        if given.is_some() && last.is_some() {
            return None;
        }
        let items = match given.or(last) {
            Some(items) => usize::try_from(items).ok().filter(|items| (1..=max).contains(items))?,
            None => first,
        };
        Some(PlannedRange {
            items_max: items,
            is_backward: last.is_some(),
            after: position(&self.after)?,
            before: position(&self.before)?,
        })
    }
}

fn parse_number(value: &Value) -> Option<Option<i64>> {
    match value {
        Value::Null => Some(None),
        Value::Number(number) => number.as_i64().map(Some),
        _ => None,
    }
}

fn parse_optional_text(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        value => parse_text(value).map(Some),
    }
}

impl CursorFormat {
    /// The position behind a cursor of the list below an owner.
    fn decode(&self, owner: Option<&ItemPlace>, cursor: &str) -> Option<ListPosition> {
        match self {
            Self::Kind(kind) => {
                let list = match owner {
                    Some(owner) => kind.of(Uuid::try_parse(&owner.id).ok()?),
                    None => kind.single(),
                };
                let keyset = cursor::decode(list, cursor).ok()?;
                Some(ListPosition { keyset, seen: 0 })
            }
            Self::Label(label) => served::cursor::decode(&label_of(label, owner), cursor).ok(),
        }
    }

    /// The cursor of a position in the list below an owner.
    pub(super) fn encode(&self, owner: Option<&ItemPlace>, position: &ListPosition) -> Option<String> {
        match self {
            Self::Kind(kind) => {
                let list = match owner {
                    Some(owner) => kind.of(Uuid::try_parse(&owner.id).ok()?),
                    None => kind.single(),
                };
                let id = Uuid::try_parse(&position.keyset.id).ok()?;
                Some(cursor::encode(list, &position.keyset.order_value, id))
            }
            Self::Label(label) => Some(served::cursor::encode(&label_of(label, owner), position)),
        }
    }
}

fn label_of(label: &str, owner: Option<&ItemPlace>) -> String {
    match owner {
        Some(owner) => format!("{label} {}", owner.id),
        None => label.to_owned(),
    }
}

/// Whether a field has no other arguments than these.
pub(super) fn has_only(field: &Field, names: &[&str]) -> bool {
    field.arguments.iter().all(|(name, _)| names.contains(&name.node.as_str()))
}
