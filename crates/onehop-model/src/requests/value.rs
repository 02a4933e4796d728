//! Request set: the owned, checked value of a request document.

use crate::syntax::Span;
use crate::value::{Action, Literal, Name};

/// The requests of a study, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestSet {
    pub(crate) requests: Vec<Request>,
}

/// A named operation with its rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its name.
    pub name: Name,
    /// Whether it is a mutation.
    pub is_write: bool,
    /// Requests a second, in the mean.
    pub per_second: f64,
    /// The peak as a multiple of the mean, at least 1.
    pub peak: f64,
    /// The distribution over ids; `None` where it is not known.
    pub skew: Option<Skew>,
    /// The designs that make it; empty for all. Work that one design alone needs, such as a job that fills a
    /// summary, is a request of that design.
    pub designs: Vec<Name>,
    /// Its root fields.
    pub fields: Vec<Selection>,
}

/// A distribution of requests over ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skew {
    /// Each id as often as any other.
    Uniform,
    /// Zipf's law: the k-th id a k-th as often as the first.
    Zipf,
}

/// A selected field.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The field.
    pub field: Name,
    /// Its arguments, in the order of the file.
    pub arguments: Vec<SelectionArgument>,
    /// The selected fields of its type. The levels `nodes`, `edges` and `node` of a connection are left out.
    pub selections: Vec<Selection>,
    pub(crate) span: Span,
}

/// An argument of a selected field.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectionArgument {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: ArgumentValue,
}

/// The value of an argument, as far as a plan depends on it.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentValue {
    /// A variable.
    Variable(Name),
    /// A constant, without variables inside.
    Constant(Literal),
    /// An object with variables inside: the names of its fields.
    Object(Vec<Name>),
}

/// The write of a mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteTarget {
    /// The item type.
    pub item_type: Name,
    /// The write.
    pub action: Action,
    /// The fields that it writes; empty for all writable fields.
    pub fields: Vec<Name>,
}

impl RequestSet {
    /// The requests, in the order of the file.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The same requests at the rates that `per_second` has for their names; without one, none are sent.
    #[must_use]
    pub fn at(mut self, per_second: impl Fn(&str) -> Option<f64>) -> Self {
        for request in &mut self.requests {
            request.per_second = per_second(&request.name).unwrap_or(0.0);
        }
        self
    }

    /// The same requests at this multiple of their rates.
    #[must_use]
    pub fn times(mut self, multiple: f64) -> Self {
        self.requests.iter_mut().for_each(|request| request.per_second *= multiple);
        self
    }
}

impl Request {
    /// Whether a design makes it.
    #[must_use]
    pub fn is_of(&self, design: &str) -> bool {
        self.designs.is_empty() || self.designs.iter().any(|name| &**name == design)
    }
}

impl Selection {
    /// The value of an argument.
    pub fn argument(&self, name: &str) -> Option<&ArgumentValue> {
        self.arguments.iter().find(|argument| &*argument.name == name).map(|argument| &argument.value)
    }

    /// A constant whole number, such as `first: 20`.
    pub fn number(&self, name: &str) -> Option<u32> {
        match self.argument(name)? {
            ArgumentValue::Constant(Literal::Int(number)) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The fields of the object `input`, or the arguments themselves where there is no such object. Empty
    /// where `input` is a variable.
    pub fn input_fields(&self) -> Vec<Name> {
        match self.argument("input") {
            None => self.arguments.iter().map(|argument| argument.name.clone()).collect(),
            Some(ArgumentValue::Object(fields)) => fields.clone(),
            Some(ArgumentValue::Constant(Literal::Object(fields))) => {
                fields.iter().map(|(name, _)| Name::new(name)).collect()
            }
            Some(_) => Vec::new(),
        }
    }
}
