//! Resolution of fields: the type in the API, the checks of input, and the kind by its role.

use super::authorization::field_authorization;
use super::combinations::{Owner, check_combination};
use super::literals::{compare, is_numeric, value_of};
use super::properties::{expect_type, stored_names};
use super::related::resolve_related;
use super::scope::{Role, Scope, within};
use super::stored::{resolve_reference, resolve_stored};
use crate::limits::{LENGTH_MAX, TTL_MAX};
use crate::problem::Problem;
use crate::syntax::{At, TypeSyntax};
use crate::typed::{Bounds, TypedField, TypedType};
use crate::value::{
    Checks, CountField, CountMode, Field, FieldKind, FieldType, Kept, ListElements, Literal, Name, Scalar,
    TypeOf,
};

/// The fields of a type. Fields with errors are left out.
pub(super) fn resolve_fields(scope: &Scope<'_>, owner: Owner, ty: &TypedType) -> Vec<Field> {
    ty.fields.iter().filter_map(|field| resolve_field(scope, owner, ty, field)).collect()
}

fn resolve_field(scope: &Scope<'_>, owner: Owner, ty: &TypedType, field: &TypedField) -> Option<Field> {
    if let Some(argument) = field.arguments.first() {
        scope.reports.add(argument.name.span, Problem::FieldArguments { field: field.name.value.clone() });
    }
    let field_type = resolve_type(scope, field);
    let place = format!("{}.{}", ty.name.value, field.name.value);
    let is_sound = check_combination(scope, owner, &place, field) && !field.directives.broken;
    let field_type = field_type.filter(|_| is_sound)?;
    Some(Field {
        kind: resolve_kind(scope, owner, ty, field, &field_type)?,
        checks: resolve_checks(scope, field, &field_type),
        authorization: field_authorization(scope, ty, field),
        name: Name::new(&field.name),
        description: field.description.clone(),
        hidden: field.directives.hidden.is_some(),
        ty: field_type,
    })
}

/// The type of a field: a named type or a list of it.
pub(super) fn resolve_type(scope: &Scope<'_>, field: &TypedField) -> Option<FieldType> {
    let of = scope.type_of(field.type_name(), field.type_span)?;
    let (inner, non_null) = match &field.ty.value {
        TypeSyntax::NonNull(inner) => (&**inner, true),
        ty => (ty, false),
    };
    let list = match inner {
        TypeSyntax::Named(_) => None,
        TypeSyntax::List(element) => match &**element {
            TypeSyntax::Named(_) => Some(ListElements::Nullable),
            TypeSyntax::NonNull(inner) if matches!(**inner, TypeSyntax::Named(_)) => {
                Some(ListElements::NonNull)
            }
            _ => {
                scope.reports.add(field.ty.span, Problem::NestedList { field: field.name.value.clone() });
                return None;
            }
        },
        TypeSyntax::NonNull(_) => return None,
    };
    Some(FieldType { of, list, non_null })
}

fn resolve_kind(
    scope: &Scope<'_>,
    owner: Owner,
    ty: &TypedType,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<FieldKind> {
    match field.role() {
        Role::Reference => resolve_reference(scope, ty, field, field_type).map(FieldKind::Reference),
        role if role.is_related() => {
            let projection = format!("{}.{}", ty.name.value, field.name.value);
            resolve_related(scope, Some(ty), field, field_type, &projection).map(FieldKind::Related)
        }
        Role::Count => resolve_count(scope, ty, field, field_type).map(FieldKind::Count),
        Role::HasCaller => resolve_has_caller(scope, ty, field, field_type),
        _ => resolve_stored(scope, owner, ty, field, field_type).map(FieldKind::Stored),
    }
}

/// The related field of the same type that a directive names.
fn related_field<'t>(scope: &Scope<'_>, ty: &'t TypedType, name: &At<String>) -> Option<&'t TypedField> {
    let related = scope.single(ty, name)?;
    if !related.role().is_related() {
        scope
            .reports
            .add(name.span, Problem::NotRelated { ty: ty.name.value.clone(), field: name.value.clone() });
        return None;
    }
    Some(related)
}

fn resolve_count(
    scope: &Scope<'_>,
    ty: &TypedType,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<CountField> {
    let count = field.directives.count.as_ref()?;
    let is_int = field_type.to_string() == "Int!";
    let is_sound = expect_type(scope, field, "count", is_int, "Int!");
    let related = related_field(scope, ty, &count.of)?;
    if related.directives.list.as_ref().is_some_and(|list| list.keep.is_some()) {
        let problem = Problem::CountOfBounded { field: count.of.value.clone() };
        scope.reports.add(count.of.span, problem);
        return None;
    }
    if let (Some(within), true) = (&count.within, count.kept.value != CountMode::Behind) {
        scope.reports.add(within.span, Problem::WithinOnlyBehind);
    }
    if let (CountMode::Query, Some(stored)) = (count.kept.value, &field.directives.stored) {
        scope.reports.add(stored.span, Problem::QueryCountStored { field: field.name.value.clone() });
    }
    let within_seconds = count.within.as_ref().and_then(|it| within(scope.reports, "within", it, 1, TTL_MAX));
    let (property, former) = stored_names(scope, field)?;
    let kept = match count.kept.value {
        CountMode::Batch => Kept::Batch { property, former },
        CountMode::Behind => Kept::Behind { property, former, within_seconds },
        CountMode::Query => Kept::Query,
    };
    is_sound.then(|| CountField { of: Name::new(&count.of), kept })
}

fn resolve_has_caller(
    scope: &Scope<'_>,
    ty: &TypedType,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<FieldKind> {
    let caller = field.directives.caller.as_ref()?;
    let Some(list) = &caller.list else {
        let problem = Problem::CallerWithout { field: field.name.value.clone() };
        scope.reports.add(caller.span, problem);
        return None;
    };
    let is_boolean = field_type.to_string() == "Boolean!";
    let is_sound = expect_type(scope, field, "caller", is_boolean, "Boolean!");
    let related = related_field(scope, ty, list)?;
    let target = scope.item(related.type_name())?;
    let is_caller = |it: &&TypedField| it.role() == Role::Reference && it.directives.caller.is_some();
    if !target.fields.iter().any(|it| is_caller(&it)) {
        let problem = Problem::NoCallerIn { list: list.value.clone(), ty: target.name.value.clone() };
        scope.reports.add(list.span, problem);
        return None;
    }
    is_sound.then(|| FieldKind::HasCaller(Name::new(list)))
}

fn resolve_checks(scope: &Scope<'_>, field: &TypedField, field_type: &FieldType) -> Checks {
    let mut checks = Checks::default();
    let is_text = matches!(field_type.of, TypeOf::Scalar(Scalar::String)) && field_type.list.is_none();
    if let Some(length) = &field.directives.length {
        let is_expected = is_text || field_type.list.is_some();
        if expect_type(scope, field, "length", is_expected, "String or a list") {
            (checks.length_min, checks.length_max) = length_bounds(scope, length);
        }
    }
    if let Some(range) = &field.directives.range {
        let is_number = matches!(field_type.of, TypeOf::Scalar(scalar) if is_numeric(scalar));
        let is_expected = is_number && field_type.list.is_none();
        if expect_type(scope, field, "range", is_expected, "Int, Float or Decimal") {
            (checks.range_min, checks.range_max) = range_bounds(scope, field, range);
        }
    }
    if let Some(pattern) = &field.directives.pattern
        && expect_type(scope, field, "pattern", is_text, "String")
    {
        if pattern.value.0.is_empty() {
            scope.reports.add(pattern.value.0.span, Problem::Empty { what: "the pattern" });
        }
        checks.pattern = Some(pattern.value.0.value.clone());
    }
    checks
}

fn check_bounds_given(scope: &Scope<'_>, directive: &'static str, bounds: &At<Bounds>) {
    if bounds.min.is_none() && bounds.max.is_none() {
        scope.reports.add(bounds.span, Problem::NoBounds { directive });
    }
}

fn length_bounds(scope: &Scope<'_>, bounds: &At<Bounds>) -> (Option<u32>, Option<u32>) {
    check_bounds_given(scope, "length", bounds);
    let bound = |argument, literal: &Option<At<Literal>>| {
        let literal = literal.as_ref()?;
        let Literal::Int(value) = literal.value else { return None };
        within(scope.reports, argument, &At::new(value, literal.span), 0, LENGTH_MAX)
    };
    let (min, max) = (bound("min", &bounds.min), bound("max", &bounds.max));
    if let (Some(low), Some(high), Some(literal)) = (min, max, &bounds.max)
        && low > high
    {
        scope.reports.add(literal.span, Problem::BoundsSwapped { directive: "length" });
    }
    (min, max)
}

fn range_bounds(
    scope: &Scope<'_>,
    field: &TypedField,
    bounds: &At<Bounds>,
) -> (Option<Literal>, Option<Literal>) {
    check_bounds_given(scope, "range", bounds);
    let bound = |literal: &Option<At<Literal>>| value_of(scope, field, literal.as_ref()?);
    let (min, max) = (bound(&bounds.min), bound(&bounds.max));
    if let (Some(low), Some(high), Some(literal)) = (&min, &max, &bounds.max)
        && compare(low, high) == Some(std::cmp::Ordering::Greater)
    {
        scope.reports.add(literal.span, Problem::BoundsSwapped { directive: "range" });
    }
    (min, max)
}
