//! Resolution of related items: partitions, queries across partitions and lists, with conditions, order and
//! pages.

use super::literals::value_of;
use super::scope::{Role, Scope};
use crate::defaults::PAGE;
use crate::limits::{KEEP_MAX, PAGE_MAX};
use crate::problem::Problem;
use crate::syntax::{At, Span};
use crate::typed::{
    FindDirective, ListDirective, PageDirective, PartitionDirective, TypedField, TypedType, WhereDirective,
};
use crate::value::{
    Condition, CountMode, FieldPath, FieldTest, FieldType, Link, ListElements, ListSource, Name, OrderBy,
    Page, RelatedField, RelatedSource, Scalar,
};

/// The arguments of a connection, which no argument of a list may have as its name.
const PAGE_ARGUMENTS: [&str; 4] = ["first", "after", "last", "before"];

/// Related items of a type, or of `Query` where there is no parent. `projection` is the default name of a
/// list.
pub(super) fn resolve_related(
    scope: &Scope<'_>,
    parent: Option<&TypedType>,
    field: &TypedField,
    field_type: &FieldType,
    projection: &str,
) -> Option<RelatedField> {
    if field_type.list != Some(ListElements::NonNull) {
        scope.reports.add(field.ty.span, Problem::RelatedType { field: field.name.value.clone() });
        return None;
    }
    let target = scope.item_type(field.type_name(), field.type_span)?;
    let directives = &field.directives;
    let conditions: Vec<Condition> =
        directives.conditions.iter().flat_map(|it| field_conditions(scope, target, it)).collect();
    let is_list = directives.list.is_some();
    let order = resolve_order(scope, target, field, is_list);
    let source = match (&directives.list, &directives.partition, &directives.find) {
        (Some(list), _, _) => list_source(scope, (parent, field), target, list, &order, projection)?,
        (_, Some(partition), _) => partition_source(scope, parent, target, partition)?,
        (_, _, find) => find_source(scope, parent, target, find.as_ref()?)?,
    };
    Some(RelatedField {
        item_type: Name::new(&target.name),
        source,
        conditions,
        order,
        page: directives.page.as_ref().map_or(Some(PAGE), |page| resolve_page(scope, page))?,
    })
}

/// The conditions of one `@where` on a field.
pub(super) fn field_conditions(
    scope: &Scope<'_>,
    target: &TypedType,
    condition: &At<WhereDirective>,
) -> Vec<Condition> {
    let refused = [
        ("path", condition.path.as_ref().map(|it| it.span)),
        ("prefix", condition.prefix.as_ref().map(|it| it.span)),
    ];
    for (argument, span) in refused {
        if let Some(span) = span {
            scope.reports.add(span, Problem::WhereOfField { argument });
        }
    }
    let Some(name) = &condition.field else {
        if condition.path.is_none() {
            scope.reports.add(condition.span, Problem::WhereWithout { needed: "field" });
        }
        return Vec::new();
    };
    let Some(found) = scope.stored_path(target, name) else { return Vec::new() };
    let problem = match is_stored(found.last) {
        true if !found.crosses_list && !found.last.is_list() => None,
        true => Some(Problem::WhereOfList { path: name.value.clone() }),
        false => Some(Problem::NotStored { path: name.value.clone() }),
    };
    if let Some(problem) = problem {
        scope.reports.add(name.span, problem);
        return Vec::new();
    }
    let tests = field_tests(scope, found.last, condition);
    if tests.is_empty() {
        scope
            .reports
            .add(condition.span, Problem::WhereWithout { needed: "is, in, exists, atLeast or below" });
    }
    tests.into_iter().flatten().map(|test| Condition { field: found.path.clone(), test }).collect()
}

/// The tests of a condition; `None` for a test whose literal is already reported.
fn field_tests(scope: &Scope<'_>, field: &TypedField, condition: &WhereDirective) -> Vec<Option<FieldTest>> {
    let check = |literal: &At<_>| value_of(scope, field, literal);
    let mut tests = Vec::new();
    tests.extend(condition.is.as_ref().map(|it| check(it).map(FieldTest::Is)));
    if let Some(values) = &condition.one_of {
        let values: Option<Vec<_>> = values.iter().map(check).collect();
        tests.push(values.map(FieldTest::In));
    }
    tests.extend(condition.exists.map(|exists| Some(FieldTest::Exists(exists))));
    for (argument, literal) in [("atLeast", &condition.at_least), ("below", &condition.below)] {
        let Some(literal) = literal else { continue };
        if !is_orderable(scope, field, true) {
            let problem = Problem::NotOrderable { field: field.name.value.clone(), ty: field.ty.to_string() };
            scope.reports.add(literal.span, problem);
            tests.push(None);
            continue;
        }
        let test = if argument == "below" { FieldTest::Below } else { FieldTest::AtLeast };
        tests.push(check(literal).map(test));
    }
    tests
}

/// Whether items store the field.
pub(super) fn is_stored(field: &TypedField) -> bool {
    match field.role() {
        Role::Partition | Role::Find | Role::List | Role::HasCaller => false,
        Role::Count => field.directives.count.as_ref().is_none_or(|it| it.kept.value != CountMode::Query),
        Role::Computed => field.directives.computed.as_ref().is_none_or(|it| it.stored),
        _ => true,
    }
}

/// Whether the stored values of a field are in the order of its values. Entries of lists store computed
/// values, too.
fn is_orderable(scope: &Scope<'_>, field: &TypedField, in_entries: bool) -> bool {
    let is_computed = in_entries && field.role() == Role::Computed;
    let is_number = || {
        let stored = field.directives.stored.as_ref();
        let format = stored.and_then(|stored| stored.format.as_ref());
        format.is_some_and(|format| format.value == crate::value::Format::Number)
    };
    // An unknown type is already reported.
    let is_declared = scope.get(field.type_name()).is_none() && scope.get_enum(field.type_name()).is_none();
    let scalar = Scalar::ALL.iter().find(|(name, _)| *name == field.type_name()).map(|(_, scalar)| *scalar);
    let is_orderable_type = match scalar {
        Some(Scalar::Id | Scalar::String | Scalar::Int | Scalar::Float | Scalar::DateTime) => true,
        Some(Scalar::Decimal) => is_number(),
        // By the minor units, whatever the currency.
        Some(Scalar::Money) => is_stored(field),
        Some(Scalar::Boolean) => false,
        None => is_declared,
    };
    is_orderable_type && !field.is_list() && (is_stored(field) || is_computed)
}

fn resolve_order(scope: &Scope<'_>, target: &TypedType, field: &TypedField, is_list: bool) -> Vec<OrderBy> {
    let mut order: Vec<OrderBy> = Vec::new();
    for directive in &field.directives.order {
        let Some(found) = scope.single(target, &directive.by) else { continue };
        let name = Name::new(&directive.by);
        if order.iter().any(|known| known.field == name) {
            let problem = Problem::Duplicate { what: "order", name: name.to_string() };
            scope.reports.add(directive.by.span, problem);
        } else if !is_orderable(scope, found, is_list) {
            let problem = Problem::NotOrderable { field: name.to_string(), ty: found.ty.to_string() };
            scope.reports.add(directive.by.span, problem);
        } else {
            order.push(OrderBy { field: name, descending: directive.descending });
        }
    }
    order
}

fn resolve_page(scope: &Scope<'_>, page: &At<PageDirective>) -> Option<Page> {
    let max = scope.within("max", &page.max, 1, PAGE_MAX)?;
    let first = match page.has_first {
        true => scope.within("first", &page.first, 1, i64::from(max))?,
        false => PAGE.first.min(max),
    };
    Some(Page { first, max, connection: page.connection })
}

/// The fields of the target that are the partition key, where one refers to the parent and the others have
/// the same name in it.
fn key_fields(
    scope: &Scope<'_>,
    parent: Option<&TypedType>,
    target: &TypedType,
    by: &[At<String>],
    directive: &'static str,
    span: Span,
) -> Option<Vec<Name>> {
    let Some(parent) = parent else {
        if let Some(first) = by.first() {
            scope.reports.add(first.span, Problem::ByUnderQuery { directive });
            return None;
        }
        return Some(Vec::new());
    };
    if by.is_empty() {
        let problem = Problem::ByMissing {
            directive,
            parent: parent.name.value.clone(),
            ty: target.name.value.clone(),
        };
        scope.reports.add(span, problem);
        return None;
    }
    let mut names = Vec::new();
    let mut refers = false;
    for name in by {
        let found = scope.single(target, name)?;
        if found.role() == Role::Reference && found.type_name() == parent.name.value {
            refers = true;
            names.push(Name::new(name));
            continue;
        }
        let (ty, field) = (target.name.value.clone(), name.value.clone());
        let parent_name = parent.name.value.clone();
        let problem = match parent.field(name) {
            Some(own) if own.ty.to_string() == found.ty.to_string() => {
                names.push(Name::new(name));
                continue;
            }
            Some(own) => Problem::OtherTypeInParent {
                ty,
                field,
                found: found.ty.to_string(),
                parent: parent_name,
                own: own.ty.to_string(),
            },
            None => Problem::NotAReferenceTo { ty, field, parent: parent_name },
        };
        scope.reports.add(name.span, problem);
        return None;
    }
    if !refers {
        let problem =
            Problem::NoReferenceTo { ty: target.name.value.clone(), parent: parent.name.value.clone() };
        scope.reports.add(by[0].span, problem);
        return None;
    }
    Some(names)
}

fn partition_source(
    scope: &Scope<'_>,
    parent: Option<&TypedType>,
    target: &TypedType,
    directive: &At<PartitionDirective>,
) -> Option<RelatedSource> {
    let by = key_fields(scope, parent, target, &directive.by, "partition", directive.span)?;
    Some(RelatedSource::Partition { by })
}

fn find_source(
    scope: &Scope<'_>,
    parent: Option<&TypedType>,
    target: &TypedType,
    directive: &At<FindDirective>,
) -> Option<RelatedSource> {
    let Some(through) = &directive.through else {
        let by = directive.by.as_slice();
        let by = key_fields(scope, parent, target, by, "find", directive.span)?;
        return Some(RelatedSource::Find { by: by.into_iter().next(), through: None });
    };
    let link = scope.item_type(through, through.span)?;
    let Some(parent) = parent else {
        scope.reports.add(through.span, Problem::ByUnderQuery { directive: "find" });
        return None;
    };
    let by = directive.by.as_slice();
    let by = key_fields(scope, Some(parent), link, by, "find", directive.span)?;
    let is_link = |field: &&TypedField| {
        field.role() == Role::Reference && !field.is_list() && field.type_name() == target.name.value
    };
    let mut references = link
        .fields
        .iter()
        .filter(is_link)
        .filter(|field| by.first().is_none_or(|by| **by != *field.name.value));
    match (references.next(), references.next()) {
        (Some(to), None) => Some(RelatedSource::Find {
            by: by.into_iter().next(),
            through: Some(Link { item_type: Name::new(through), to: Name::new(&to.name) }),
        }),
        _ => {
            let problem = Problem::NoLink { link: through.value.clone(), ty: target.name.value.clone() };
            scope.reports.add(through.span, problem);
            None
        }
    }
}

/// The fields of the items that name the logical partitions of a list under `Query`, each with the argument
/// that holds its value. An array has an entry for each element, so its argument is one of them.
fn argument_fields(
    scope: &Scope<'_>,
    field: &TypedField,
    target: &TypedType,
    directive: &At<ListDirective>,
) -> Option<Vec<(Name, Name)>> {
    if directive.by.len() != field.arguments.len() {
        let (by, arguments) = (directive.by.len(), field.arguments.len());
        scope.reports.add(directive.span, Problem::ListArguments { by, arguments });
        return None;
    }
    let mut pairs = Vec::new();
    for (by, argument) in directive.by.iter().zip(&field.arguments) {
        let found = scope.single(target, by)?;
        if !is_key_value(scope, found) {
            let (ty, field) = (target.name.value.clone(), by.value.clone());
            scope.reports.add(by.span, Problem::NotAListKey { ty, field });
            return None;
        }
        let expected = format!("{}!", found.type_name());
        if argument.ty.to_string() != expected || argument.default.is_some() {
            let problem = Problem::ArgumentType { argument: argument.name.value.clone(), expected };
            scope.reports.add(argument.ty.span, problem);
            return None;
        }
        if PAGE_ARGUMENTS.contains(&&*argument.name.value) {
            let name = argument.name.value.clone();
            scope.reports.add(argument.name.span, Problem::ReservedName { name });
            return None;
        }
        pairs.push((Name::new(by), Name::new(&argument.name)));
    }
    Some(pairs)
}

/// Whether the values of a field can be a partition key that a client names: stored texts, whole numbers,
/// truth values and values of an enum, and arrays of them. Computed values that items store are among them.
fn is_key_value(scope: &Scope<'_>, field: &TypedField) -> bool {
    let is_value = match Scalar::ALL.iter().find(|(name, _)| *name == field.type_name()) {
        Some((_, scalar)) => matches!(scalar, Scalar::String | Scalar::Int | Scalar::Boolean),
        None => scope.get_enum(field.type_name()).is_some(),
    };
    is_value && matches!(field.role(), Role::Input | Role::Computed) && is_stored(field)
}

fn list_source(
    scope: &Scope<'_>,
    (parent, field): (Option<&TypedType>, &TypedField),
    target: &TypedType,
    directive: &At<ListDirective>,
    order: &[OrderBy],
    projection: &str,
) -> Option<RelatedSource> {
    let container = scope.container(&directive.into)?;
    if container.followed {
        scope
            .reports
            .add(directive.into.span, Problem::ListIntoFollowed { container: container.name.to_string() });
    }
    let (by, arguments): (_, Vec<Name>) = if parent.is_none() && !directive.by.is_empty() {
        argument_fields(scope, field, target, directive)?.into_iter().unzip()
    } else {
        (key_fields(scope, parent, target, &directive.by, "list", directive.span)?, Vec::new())
    };
    let keep = directive.keep.as_ref().and_then(|keep| scope.within("keep", keep, 1, KEEP_MAX));
    if let (Some(keep), true) = (&directive.keep, order.is_empty()) {
        scope.reports.add(keep.span, Problem::KeepWithoutOrder);
    }
    for (what, text) in
        [("the entry's `type`", &directive.entry_type), ("the name of the list", &directive.name)]
    {
        if let Some(text) = text.as_ref().filter(|text| text.trim().is_empty()) {
            scope.reports.add(text.span, Problem::Empty { what });
        }
    }
    let item = target.directives.item.as_ref();
    let item_type = item.and_then(|item| item.type_value.as_ref()).map(|value| value.value.clone());
    let default_type = || item_type.unwrap_or_else(|| Name::new(&target.name).camel_case().to_string());
    Some(RelatedSource::List(ListSource {
        projection: directive.name.as_ref().map_or_else(|| projection.to_owned(), |name| name.value.clone()),
        container: container.name.clone(),
        by,
        arguments: arguments.into(),
        fields: entry_fields(scope, target, directive.fields.as_deref(), order),
        keep,
        entry_type: directive.entry_type.as_ref().map_or_else(default_type, |value| value.value.clone()),
    }))
}

/// The fields of entries: the named ones, or all storable fields; then the fields of the order.
fn entry_fields(
    scope: &Scope<'_>,
    target: &TypedType,
    fields: Option<&[At<String>]>,
    order: &[OrderBy],
) -> Vec<FieldPath> {
    let mut paths: Vec<FieldPath> = Vec::new();
    match fields {
        None => paths = all_entry_fields(target),
        Some(fields) => {
            for field in fields {
                let Some(found) = scope.stored_path(target, field) else { continue };
                if !is_listable(found.last) || found.crosses_list {
                    let problem =
                        Problem::NotListable { ty: target.name.value.clone(), path: field.value.clone() };
                    scope.reports.add(field.span, problem);
                } else if found.last.role() == Role::Id {
                    // Entries have the id of their item anyway.
                } else if paths.contains(&found.path) {
                    let problem = Problem::Duplicate { what: "listed field", name: field.value.clone() };
                    scope.reports.add(field.span, problem);
                } else {
                    paths.push(found.path);
                }
            }
        }
    }
    for order in order {
        let path = FieldPath::from(order.field.clone());
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Whether an entry can have a field: stored, computed, or a reference.
fn is_listable(field: &TypedField) -> bool {
    is_stored(field) || field.role() == Role::Computed
}

/// All fields that entries can have.
fn all_entry_fields(target: &TypedType) -> Vec<FieldPath> {
    let fields = target.fields.iter().filter(|field| is_listable(field) && field.role() != Role::Id);
    fields.map(|field| FieldPath::from(Name::new(&field.name))).collect()
}
