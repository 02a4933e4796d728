//! Text of operations: `Query`, `Mutation` and `Subscription`.

use super::authorization::of_operation;
use super::directive::{DirectiveText, description};
use super::related::{conditions, related};
use crate::value::{
    FieldType, Keyword, LiveSource, Model, Mutation, Name, Query, QueryKind, RelatedField, RelatedSource,
    Scalar, Subscription, TypeOf,
};

/// The types of operations that are not empty.
pub(super) fn operations(model: &Model) -> Vec<String> {
    let mut types = Vec::new();
    let queries = model.queries().iter().map(|it| query(model, it)).collect();
    types.extend(root("Query", queries));
    types.extend(root("Mutation", model.mutations().iter().map(mutation).collect()));
    types.extend(root("Subscription", model.subscriptions().iter().map(subscription).collect()));
    types
}

fn root(name: &str, fields: Vec<String>) -> Option<String> {
    (!fields.is_empty()).then(|| format!("type {name} {{\n{}}}\n", fields.concat()))
}

/// A root field on one line, after its description.
fn line(text: Option<&str>, head: &str, directives: &[String]) -> String {
    let directives: String = directives.iter().map(|directive| format!(" {directive}")).collect();
    format!("{}  {head}{directives}\n", description(text, "  "))
}

fn query(model: &Model, query: &Query) -> String {
    let (argument, mut directives) = match &query.kind {
        QueryKind::ById => ("(id: ID!)".to_owned(), Vec::new()),
        QueryKind::ByUnique(field) => {
            let ty = model.item(&query.item_type).and_then(|item| item.field(field));
            let of = ty.map_or(TypeOf::Scalar(Scalar::String), |field| field.ty.of.clone());
            let ty = FieldType { of, list: None, non_null: true };
            (format!("({field}: {ty})"), Vec::new())
        }
        QueryKind::Caller => (String::new(), vec!["@caller".to_owned()]),
        QueryKind::Related(it) => {
            let target = model.item(&it.item_type).map_or("", |item| &item.type_value);
            (list_arguments(model, it), related(it, target, &format!("Query.{}", query.name)))
        }
    };
    directives.extend(of_operation(query.authorization.as_ref()));
    let head = format!("{}{argument}: {}", query.name, query.ty);
    line(query.description.as_deref(), &head, &directives)
}

/// The arguments of a list by values.
fn list_arguments(model: &Model, related: &RelatedField) -> String {
    let RelatedSource::List(list) = &related.source else { return String::new() };
    let argument = |(argument, by): (&Name, &Name)| {
        let field = model.item(&related.item_type).and_then(|item| item.field(by));
        let of = field.map_or(TypeOf::Scalar(Scalar::String), |field| field.ty.of.clone());
        format!("{argument}: {}", FieldType { of, list: None, non_null: true })
    };
    let arguments: Vec<String> = list.arguments.iter().zip(&list.by).map(argument).collect();
    if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) }
}

fn mutation(mutation: &Mutation) -> String {
    let writes = DirectiveText::new("writes")
        .raw("action", mutation.action.name())
        .texts("fields", &mutation.fields)
        .flag("rust", mutation.rust);
    let mut directives = vec![writes.build()];
    directives.extend(conditions(&mutation.conditions));
    directives.extend(of_operation(mutation.authorization.as_ref()));
    let head = format!("{}: {}", mutation.name, mutation.item_type);
    line(mutation.description.as_deref(), &head, &directives)
}

fn subscription(subscription: &Subscription) -> String {
    let (argument, of) = match &subscription.source {
        LiveSource::Item => ("(id: ID!)".to_owned(), None),
        LiveSource::Query(field) => (String::new(), Some(format!("Query.{field}"))),
        LiveSource::Field { item_type, field, argument } => {
            (format!("({argument}: ID!)"), Some(format!("{item_type}.{field}")))
        }
    };
    let live = DirectiveText::new("live").optional_text("of", of).keywords("on", &subscription.on);
    let mut directives = vec![live.build()];
    directives.extend(of_operation(subscription.authorization.as_ref()));
    let head = format!("{}{argument}: {}!", subscription.name, subscription.item_type);
    line(subscription.description.as_deref(), &head, &directives)
}
