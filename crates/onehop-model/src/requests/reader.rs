//! Reader of request documents: GraphQL operations become requests, with all errors of the file at once.

use std::collections::BTreeSet;

use apollo_parser::cst::{self, CstNode};
use apollo_parser::{Parser, SyntaxNode};

use super::check::check;
use super::connections::leave_out_levels;
use super::problem::{RequestProblem, RequestReports};
use super::value::{ArgumentValue, Request, RequestSet, Selection, SelectionArgument, Skew};
use crate::errors::Errors;
use crate::limits::{FILE_BYTES_MAX, NESTING_MAX, REQUESTS_MAX};
use crate::nearest::nearest;
use crate::syntax::Span;
use crate::value::{Literal, Model, Name};

impl RequestSet {
    /// Reads a request document and checks it against each design. The file's name occurs in errors only.
    ///
    /// # Errors
    /// All mistakes of the file.
    pub fn read(file: &str, text: &str, designs: &[&Model]) -> Result<Self, Errors> {
        let mut reports = RequestReports::default();
        let names: Vec<&str> = designs.iter().map(|it| it.design().unwrap_or(it.name())).collect();
        let mut set = parse(text, &names, &mut reports);
        leave_out_levels(&mut set, designs);
        if reports.0.is_empty() {
            designs.iter().for_each(|design| check(&set, design, &mut reports));
        }
        match Errors::located(file, text, reports.0) {
            Some(errors) => Err(errors),
            None => Ok(set),
        }
    }
}

fn parse(text: &str, designs: &[&str], reports: &mut RequestReports) -> RequestSet {
    let end = Span { start: text.len(), end: text.len() };
    if text.len() > FILE_BYTES_MAX {
        reports.add(end, &RequestProblem::Syntax(format!("at most {FILE_BYTES_MAX} bytes")), None);
        return RequestSet::default();
    }
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_empty) {
        return RequestSet::default();
    }
    let tree = Parser::new(text).recursion_limit(NESTING_MAX * 4).parse();
    for error in tree.errors() {
        let start = error.index();
        let problem = RequestProblem::Syntax(error.message().to_owned());
        reports.add(Span { start, end: start + error.data().len() }, &problem, None);
    }
    if !reports.0.is_empty() {
        return RequestSet::default();
    }
    let (mut requests, mut names) = (Vec::new(), BTreeSet::new());
    for definition in tree.document().definitions() {
        let at = span(definition.syntax());
        let cst::Definition::OperationDefinition(operation) = definition else {
            reports.add(at, &RequestProblem::Unsupported("fragments and type definitions"), None);
            continue;
        };
        let Some(request) = request(&operation, designs, reports) else { continue };
        if !names.insert(request.name.to_string()) {
            reports.add(at, &RequestProblem::Duplicate(request.name.to_string()), None);
        }
        if requests.len() == REQUESTS_MAX {
            reports.add(at, &RequestProblem::TooMany, None);
            break;
        }
        requests.push(request);
    }
    RequestSet { requests }
}

fn request(
    operation: &cst::OperationDefinition,
    designs: &[&str],
    reports: &mut RequestReports,
) -> Option<Request> {
    let at = span(operation.syntax());
    let kind = operation.operation_type();
    if kind.as_ref().is_some_and(|kind| kind.subscription_token().is_some()) {
        reports.add(at, &RequestProblem::Unsupported("subscriptions"), None);
        return None;
    }
    let Some(name) = operation.name() else {
        reports.add(first_line(at, operation.syntax()), &RequestProblem::NotNamed, None);
        return None;
    };
    let place = span(name.syntax());
    let mut request = Request {
        name: Name::new(&name.text()),
        is_write: kind.is_some_and(|kind| kind.mutation_token().is_some()),
        per_second: 0.0,
        peak: 1.0,
        skew: None,
        designs: Vec::new(),
        fields: operation.selection_set().map(|set| selections(&set, reports)).unwrap_or_default(),
    };
    let directives = operation.directives().into_iter().flat_map(|it| it.directives());
    let named = |it: &cst::Directive| it.name().is_some_and(|name| name.text() == "request");
    let Some(directive) = { directives }.find(named) else {
        reports.add(place, &RequestProblem::NoRate(request.name.to_string()), None);
        return None;
    };
    rate(&directive, &mut request, designs, reports);
    Some(request)
}

/// The arguments of `@request`.
fn rate(directive: &cst::Directive, request: &mut Request, designs: &[&str], reports: &mut RequestReports) {
    let mut has_rate = false;
    for argument in directive.arguments().into_iter().flat_map(|it| it.arguments()) {
        let name = argument.name().map(|name| name.text().to_string()).unwrap_or_default();
        let value = argument.value().map(|value| value.syntax().text().to_string()).unwrap_or_default();
        let number = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        if let Some(names) = argument.value().as_ref().and_then(texts).filter(|_| name == "designs") {
            for unknown in names.iter().filter(|name| !designs.contains(&&***name)) {
                let problem = RequestProblem::UnknownDesign(unknown.to_string());
                reports.add(span(argument.syntax()), &problem, nearest(unknown, designs.iter().copied()));
            }
            request.designs = names;
            continue;
        }
        match (name.as_str(), value.trim(), number) {
            ("perSecond", _, Some(number)) if number >= 0.0 => {
                request.per_second = number;
                has_rate = true;
            }
            ("peak", _, Some(number)) if number >= 1.0 => request.peak = number,
            ("skew", "UNIFORM", _) => request.skew = Some(Skew::Uniform),
            ("skew", "ZIPF", _) => request.skew = Some(Skew::Zipf),
            _ => {
                let found = argument.syntax().text().to_string().trim().to_owned();
                return reports.add(span(argument.syntax()), &RequestProblem::Rate(found), None);
            }
        }
    }
    if !has_rate {
        let problem = RequestProblem::NoRate(request.name.to_string());
        reports.add(span(directive.syntax()), &problem, None);
    }
}

/// One text, or a list of texts with at least one.
fn texts(value: &cst::Value) -> Option<Vec<Name>> {
    let text = |value: &cst::Value| match value {
        cst::Value::StringValue(text) => Some(Name::new(&String::from(text))),
        _ => None,
    };
    match value {
        cst::Value::ListValue(list) => {
            let names: Option<Vec<_>> = list.values().map(|value| text(&value)).collect();
            names.filter(|names| !names.is_empty())
        }
        value => Some(vec![text(value)?]),
    }
}

fn selections(set: &cst::SelectionSet, reports: &mut RequestReports) -> Vec<Selection> {
    let mut found = Vec::new();
    for selection in set.selections() {
        let cst::Selection::Field(field) = selection else {
            reports.add(span(selection.syntax()), &RequestProblem::Unsupported("fragments"), None);
            continue;
        };
        let Some(name) = field.name() else { continue };
        let inner = field.selection_set().map(|set| selections(&set, reports)).unwrap_or_default();
        let arguments = field.arguments().into_iter().flat_map(|it| it.arguments());
        found.push(Selection {
            field: Name::new(&name.text()),
            arguments: arguments.filter_map(|argument| argument_of(&argument)).collect(),
            selections: inner,
            span: span(name.syntax()),
        });
    }
    found
}

fn argument_of(argument: &cst::Argument) -> Option<SelectionArgument> {
    let name = Name::new(&argument.name()?.text());
    let value = match argument.value()? {
        cst::Value::Variable(variable) => ArgumentValue::Variable(Name::new(&variable.name()?.text())),
        cst::Value::ObjectValue(object) => {
            let fields = object.object_fields().filter_map(|field| field.name());
            ArgumentValue::Object(fields.map(|name| Name::new(&name.text())).collect())
        }
        other => ArgumentValue::Constant(literal(&other)),
    };
    Some(SelectionArgument { name, value })
}

/// A constant of an argument; a plan reads whole numbers of it, and texts otherwise.
fn literal(value: &cst::Value) -> Literal {
    let text = value.syntax().text().to_string().trim().to_owned();
    match value {
        cst::Value::IntValue(_) => text.parse().map_or(Literal::String(text), Literal::Int),
        cst::Value::BooleanValue(_) => Literal::Boolean(text == "true"),
        cst::Value::EnumValue(_) => Literal::Enum(text),
        _ => Literal::String(text.trim_matches('"').to_owned()),
    }
}

fn span(node: &SyntaxNode) -> Span {
    let range = node.text_range();
    let text = node.text().to_string();
    let trimmed = text.trim_end_matches([' ', ',', '\n', '\r', '\t']).len();
    let start = usize::from(range.start());
    Span { start, end: start + trimmed }
}

/// The first line of a definition.
fn first_line(at: Span, node: &SyntaxNode) -> Span {
    let text = node.text().to_string();
    Span { start: at.start, end: at.start + text.find('\n').unwrap_or(at.end - at.start) }
}
