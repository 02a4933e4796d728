//! Check of a directive where it is used, against its definition: name, location, arguments, their types and
//! enum values.

use std::collections::BTreeMap;

use crate::definitions::{DirectiveDefinition, definitions};
use crate::problem::Problem;
use crate::reports::Reports;
use crate::syntax::{At, DirectiveUse, Span, TypeSyntax, ValueSyntax};
use crate::value::{Keyword, Literal};

/// The location of a directive in a model, as the definitions name it, with the name of the place for
/// messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location<'a> {
    pub kind: &'static str,
    pub place: &'a str,
}

/// The arguments of a directive after the check: given values and defaults, with single values in lists.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    values: BTreeMap<String, At<ValueSyntax>>,
    /// The names of the arguments that the file gives.
    given: Vec<String>,
    /// Whether an argument was refused. Its directive is not resolved.
    pub broken: bool,
}

/// The checked uses of directives at one place, with their positions. A directive without a definition, at a
/// wrong location or repeated is left out.
pub(crate) fn check_uses(
    uses: &[DirectiveUse],
    location: Location<'_>,
    reports: &Reports,
) -> Vec<(String, At<Arguments>)> {
    let mut checked: Vec<(String, At<Arguments>)> = Vec::new();
    for directive in uses {
        let name = &directive.name.value;
        let Some(definition) = definitions().directives.get(name) else {
            let known = definitions().directives.iter().filter(|(_, it)| it.is_allowed(location.kind));
            let problem =
                Problem::UnknownDirective { directive: name.clone(), place: location.place.to_owned() };
            let nearest = crate::nearest::nearest(name, known.map(|(known, _)| known.as_str()));
            reports.add_with(directive.name.span, problem, nearest.map(|known| format!("@{known}")));
            continue;
        };
        if !definition.is_allowed(location.kind) {
            let mut expected: Vec<_> = definition.locations.iter().map(|it| location_words(it)).collect();
            expected.dedup();
            let problem = Problem::WrongLocation { directive: name.clone(), expected: expected.join(" or ") };
            reports.add(directive.name.span, problem);
            continue;
        }
        if !definition.repeatable && checked.iter().any(|(known, _)| known == name) {
            let problem =
                Problem::RepeatedDirective { directive: name.clone(), place: location.place.to_owned() };
            reports.add(directive.name.span, problem);
            continue;
        }
        let arguments = check_arguments(directive, definition, reports);
        checked.push((name.clone(), At::new(arguments, directive.name.span)));
    }
    checked
}

impl DirectiveDefinition {
    fn is_allowed(&self, location: &str) -> bool {
        self.locations.iter().any(|known| known == location)
    }
}

/// The words for a location of a directive.
fn location_words(location: &str) -> &'static str {
    match location {
        "SCHEMA" => "`extend schema`",
        "OBJECT" => "a type",
        "FIELD_DEFINITION" => "a field",
        "ENUM_VALUE" => "a value of an enum",
        _ => "an operation of a request",
    }
}

fn check_arguments(
    directive: &DirectiveUse,
    definition: &DirectiveDefinition,
    reports: &Reports,
) -> Arguments {
    let name = &directive.name.value;
    let given = directive.arguments.iter().map(|(argument, _)| argument.value.clone()).collect();
    let mut arguments = Arguments { values: BTreeMap::new(), given, broken: false };
    for (argument, value) in &directive.arguments {
        let Some(known) = definition.arguments.iter().find(|known| known.name.value == argument.value) else {
            let names = definition.arguments.iter().map(|known| known.name.as_str());
            let problem =
                Problem::UnknownArgument { directive: name.clone(), argument: argument.value.clone() };
            reports.add_near(argument.span, problem, argument, names);
            arguments.broken = true;
            continue;
        };
        if arguments.values.contains_key(&argument.value) {
            let problem =
                Problem::RepeatedArgument { directive: name.clone(), argument: argument.value.clone() };
            reports.add(argument.span, problem);
            continue;
        }
        match coerce(value, &known.ty, reports) {
            Ok(value) => {
                arguments.values.insert(argument.value.clone(), value);
            }
            Err(refused) => {
                arguments.broken = true;
                if let Some(span) = refused {
                    let problem = Problem::WrongArgumentType {
                        directive: name.clone(),
                        argument: argument.value.clone(),
                        expected: form(&known.ty),
                    };
                    reports.add(span, problem);
                }
            }
        }
    }
    for known in &definition.arguments {
        let is_given = arguments.is_given(&known.name.value);
        match (&known.default, &*known.ty) {
            _ if is_given => {}
            (Some(default), ty) => {
                let default = At::new(default.value.clone(), directive.name.span);
                let value = coerce(&default, ty, reports).unwrap_or(default);
                arguments.values.insert(known.name.value.clone(), value);
            }
            (None, TypeSyntax::NonNull(_)) => {
                let problem = Problem::MissingArgument {
                    directive: name.clone(),
                    argument: known.name.value.clone(),
                    expected: form(&known.ty),
                };
                reports.add(directive.name.span, problem);
                arguments.broken = true;
            }
            (None, _) => {}
        }
    }
    arguments
}

/// The value as its type, with single values in lists. The error is the position of a value of another type,
/// or `None` where the value of an enum is already reported.
fn coerce(
    value: &At<ValueSyntax>,
    ty: &TypeSyntax,
    reports: &Reports,
) -> Result<At<ValueSyntax>, Option<Span>> {
    let refused = Err(Some(value.span));
    match (ty, &value.value) {
        (TypeSyntax::NonNull(inner), _) if matches!(&**inner, TypeSyntax::Named(name) if name == "Any") => {
            Ok(value.clone())
        }
        (TypeSyntax::NonNull(_), ValueSyntax::Null) => refused,
        (TypeSyntax::NonNull(inner), _) => coerce(value, inner, reports),
        (_, ValueSyntax::Null) => refused,
        (TypeSyntax::List(element), ValueSyntax::List(values)) => {
            let values: Result<Vec<_>, _> =
                values.iter().map(|value| coerce(value, element, reports)).collect();
            Ok(At::new(ValueSyntax::List(values?), value.span))
        }
        (TypeSyntax::List(element), _) => {
            Ok(At::new(ValueSyntax::List(vec![coerce(value, element, reports)?]), value.span))
        }
        (TypeSyntax::Named(name), found) => match (name.as_str(), found) {
            ("Any", _)
            | ("String", ValueSyntax::String(_))
            | ("Boolean", ValueSyntax::Boolean(_))
            | ("Float", ValueSyntax::Int(_) | ValueSyntax::Float(_)) => Ok(value.clone()),
            ("Int", ValueSyntax::Int(number)) if i32::try_from(*number).is_ok() => Ok(value.clone()),
            (name, ValueSyntax::Enum(given)) => match definitions().enums.get(name) {
                Some(known) if known.contains(given) => Ok(value.clone()),
                Some(known) => {
                    let problem = Problem::UnknownKeyword { value: given.clone(), known: known.join(", ") };
                    reports.add_near(value.span, problem, given, known.iter().map(String::as_str));
                    Err(None)
                }
                None => refused,
            },
            _ => refused,
        },
    }
}

/// The expected form of a type, in words.
fn form(ty: &TypeSyntax) -> String {
    match ty {
        TypeSyntax::NonNull(inner) => form(inner),
        TypeSyntax::List(element) => format!("{}, or a list of them in brackets", form(element)),
        TypeSyntax::Named(name) => match name.as_str() {
            "String" => "a text in quotes".to_owned(),
            "Int" => "a whole number of 32 bits".to_owned(),
            "Float" => "a number".to_owned(),
            "Boolean" => "true or false".to_owned(),
            "Any" => "a value".to_owned(),
            name => match definitions().enums.get(name) {
                Some(values) => format!("one of {} without quotes", values.join(", ")),
                None => name.to_owned(),
            },
        },
    }
}

impl Arguments {
    fn get(&self, name: &str) -> Option<&At<ValueSyntax>> {
        self.values.get(name)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<At<String>> {
        self.get(name).and_then(text)
    }

    /// A list of texts; empty where the argument is absent.
    pub fn texts(&self, name: &str) -> Vec<At<String>> {
        self.elements(name).iter().filter_map(text).collect()
    }

    /// A list of lists of texts.
    pub fn text_lists(&self, name: &str) -> Option<Vec<Vec<At<String>>>> {
        self.get(name)?;
        let lists = self.elements(name).iter();
        Some(lists.map(|list| elements(list).iter().filter_map(text).collect()).collect())
    }

    /// A whole number.
    pub fn int(&self, name: &str) -> Option<At<i64>> {
        match self.get(name)? {
            At { value: ValueSyntax::Int(number), span } => Some(At::new(*number, *span)),
            _ => None,
        }
    }

    /// Whether a boolean is true.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(At { value: ValueSyntax::Boolean(true), .. }))
    }

    /// A boolean; `None` where the argument is absent.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match self.get(name)?.value {
            ValueSyntax::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// Any value.
    pub fn literal(&self, name: &str) -> Option<At<Literal>> {
        self.get(name).map(|value| At::new(value.literal(), value.span))
    }

    /// A list of any values; `None` where the argument is absent.
    pub fn literals(&self, name: &str) -> Option<Vec<At<Literal>>> {
        self.get(name)?;
        Some(self.elements(name).iter().map(|value| At::new(value.literal(), value.span)).collect())
    }

    /// A value of an enum.
    pub fn keyword<K: Keyword>(&self, name: &str) -> Option<At<K>> {
        self.get(name).and_then(keyword)
    }

    /// A list of values of an enum; empty where the argument is absent.
    pub fn keywords<K: Keyword>(&self, name: &str) -> Vec<At<K>> {
        self.elements(name).iter().filter_map(keyword).collect()
    }

    /// Whether the file gives an argument.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    fn elements(&self, name: &str) -> &[At<ValueSyntax>] {
        self.get(name).map_or(&[], elements)
    }
}

fn elements(value: &At<ValueSyntax>) -> &[At<ValueSyntax>] {
    match &value.value {
        ValueSyntax::List(values) => values,
        _ => &[],
    }
}

fn text(value: &At<ValueSyntax>) -> Option<At<String>> {
    match &value.value {
        ValueSyntax::String(text) => Some(At::new(text.clone(), value.span)),
        _ => None,
    }
}

fn keyword<K: Keyword>(value: &At<ValueSyntax>) -> Option<At<K>> {
    match &value.value {
        ValueSyntax::Enum(name) => Some(At::new(K::of_name(name)?, value.span)),
        _ => None,
    }
}
