//! Resolution of stored fields: values, computed values, copies and references.

use super::combinations::Owner;
use super::literals::default_of;
use super::properties::{expect_type, property_of, stored_names};
use super::schema::property_path;
use super::scope::{Role, Scope};
use crate::defaults::CURRENCY_PROPERTY;
use crate::limits::LENGTH_MAX;
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::{ComputedDirective, TypedField, TypedType};
use crate::value::stem;
use crate::value::{
    Computed, CopiedField, CopyOrigin, CopySource, CurrencyProperty, DefaultValue, FieldType, Format,
    Function, Keyword, Name, Normalize, PropertyPath, ReferenceField, Scalar, StoredField, TypeOf,
    ValueSource,
};

/// A stored value.
pub(super) fn resolve_stored(
    scope: &Scope<'_>,
    owner: Owner,
    ty: &TypedType,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<StoredField> {
    if let TypeOf::Item(name) = &field_type.of {
        let problem = Problem::ItemWithoutRelation { field: field.name.value.clone(), ty: name.to_string() };
        scope.reports.add(field.ty.span, problem);
        return None;
    }
    let (property, former) = stored_names(scope, field)?;
    let default = field.directives.default.as_ref();
    let default = default.and_then(|it| {
        Some(DefaultValue { value: default_of(scope, field, &it.value.value)?, sparse: it.value.sparse })
    });
    if let Some(unique) = &field.directives.unique {
        let has_form = match field_type.of {
            TypeOf::Scalar(Scalar::String | Scalar::Id) => true,
            TypeOf::Scalar(Scalar::Int) => unique.normalize == Normalize::Exact,
            _ => false,
        };
        if field_type.list.is_some() || !has_form {
            scope.reports.add(unique.span, Problem::UniqueType { field: field.name.value.clone() });
        }
    }
    Some(StoredField {
        format: format(scope, field, field_type),
        default,
        source: source(scope, owner, ty, field, field_type)?,
        immutable: field.directives.immutable.is_some(),
        unique: field.directives.unique.as_ref().map(|unique| unique.normalize),
        currency: currency(scope, owner, field, field_type),
        property,
        former,
    })
}

fn format(scope: &Scope<'_>, field: &TypedField, field_type: &FieldType) -> Format {
    let given = field.directives.stored.as_ref().and_then(|stored| stored.format.as_ref());
    let Some(format) = given else { return Format::Iso };
    let needed = match format.value {
        Format::Iso | Format::EpochSeconds | Format::EpochMillis => Scalar::DateTime,
        Format::Number => Scalar::Decimal,
    };
    if field_type.of != TypeOf::Scalar(needed) {
        let problem = Problem::WrongFormat { format: format.name(), needed: needed.name() };
        scope.reports.add(format.span, problem);
    }
    format.value
}

fn source(
    scope: &Scope<'_>,
    owner: Owner,
    ty: &TypedType,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<ValueSource> {
    let directives = &field.directives;
    let ty_text = field_type.to_string();
    match field.role() {
        Role::Id if owner == Owner::Item => Some(ValueSource::Id),
        Role::Created => {
            let is_time = ty_text == "DateTime!";
            expect_type(scope, field, "created", is_time, "DateTime!").then_some(ValueSource::Created)
        }
        Role::Updated => {
            let of = watched(scope, ty, field, &directives.updated.as_ref()?.value.0);
            let is_time = ty_text == "DateTime";
            expect_type(scope, field, "updated", is_time, "DateTime, which is null before the first change")
                .then_some(ValueSource::Updated(of))
        }
        Role::Version => {
            let of = watched(scope, ty, field, &directives.version.as_ref()?.value.0);
            let is_int = ty_text == "Int!";
            expect_type(scope, field, "version", is_int, "Int!").then_some(ValueSource::Version(of))
        }
        Role::Computed => {
            computed(scope, ty, field_type, directives.computed.as_ref()?).map(ValueSource::Computed)
        }
        Role::Copied => copied(scope, ty, field).map(ValueSource::Copied),
        _ => Some(ValueSource::Input),
    }
}

/// The fields whose changes are counted: input of the same type.
fn watched(scope: &Scope<'_>, ty: &TypedType, field: &TypedField, names: &[At<String>]) -> Vec<Name> {
    let mut watched = Vec::new();
    for name in names {
        let Some(found) = scope.single(ty, name) else { continue };
        if matches!(found.role(), Role::Input | Role::Reference) {
            watched.push(Name::new(name));
        } else {
            let problem = Problem::NotWatchable { field: name.value.clone(), by: field.name.value.clone() };
            scope.reports.add(name.span, problem);
        }
    }
    watched
}

fn computed(
    scope: &Scope<'_>,
    ty: &TypedType,
    field_type: &FieldType,
    directive: &At<ComputedDirective>,
) -> Option<Computed> {
    let function = directive.by.value;
    let mut from = Vec::new();
    let mut types = Vec::new();
    for path in &directive.from {
        let found = scope.stored_path(ty, path)?;
        if found.last.role().is_related() {
            scope.reports.add(path.span, Problem::NotStored { path: path.value.clone() });
            return None;
        }
        let path_text = path.value.clone();
        let problem = match (function, found.crosses_list) {
            (Function::Sum, false) => Some(Problem::SumWithoutList { path: path_text }),
            (Function::Sum, true) | (_, false) => None,
            (_, true) => Some(Problem::ComputedThroughList { function: function.name(), path: path_text }),
        };
        if let Some(problem) = problem {
            scope.reports.add(path.span, problem);
            return None;
        }
        types.push(found.last.type_name());
        from.push(found.path);
    }
    let (count, inputs, output): (_, &[&str], &[&str]) = match function {
        Function::Excerpt | Function::Lower => (1..=1, &["String"], &["String"]),
        Function::Padded => (1..=1, &["Int"], &["String"]),
        Function::Same => (1..=1, &[], &[]),
        Function::Product => {
            (2..=8, &["Int", "Float", "Decimal", "Money"], &["Int", "Float", "Decimal", "Money"])
        }
        Function::Sum => {
            (1..=1, &["Int", "Float", "Decimal", "Money"], &["Int", "Float", "Decimal", "Money"])
        }
    };
    if !count.contains(&from.len()) {
        let problem = Problem::ComputedArguments {
            function: function.name(),
            min: *count.start(),
            max: *count.end(),
            found: from.len(),
        };
        scope.reports.add(directive.span, problem);
        return None;
    }
    let own = field_type.of.name();
    let is_input = inputs.is_empty() || types.iter().all(|ty| inputs.contains(ty));
    let is_output = match function {
        Function::Same => own == "String" || types.contains(&own),
        _ => output.contains(&own),
    };
    if !is_input || !is_output || field_type.list.is_some() {
        let problem = Problem::ComputedTypes { function: function.name(), form: signature(function) };
        scope.reports.add(directive.span, problem);
        return None;
    }
    let needs_length = matches!(function, Function::Excerpt | Function::Padded);
    let length = match (&directive.length, needs_length) {
        (Some(length), true) => scope.within("length", length, 1, LENGTH_MAX),
        (None, true) => {
            scope.reports.add(directive.span, Problem::ComputedLength { function: function.name() });
            return None;
        }
        (Some(length), false) => {
            scope.reports.add(length.span, Problem::ComputedWithoutLength { function: function.name() });
            None
        }
        (None, false) => None,
    };
    Some(Computed { function, from, length, stored: directive.stored })
}

/// The types of a function, for messages.
fn signature(function: Function) -> &'static str {
    match function {
        Function::Excerpt | Function::Lower => "a String from a String",
        Function::Padded => "a String from an Int",
        Function::Same => "the type of its field, or String",
        Function::Product => "a number or Money from numbers or Money",
        Function::Sum => "a number or Money from numbers or Money in a list, such as \"lines.total\"",
    }
}

/// The origin of a copied scalar: a field behind a reference, or frozen, of an item type.
fn copied(scope: &Scope<'_>, ty: &TypedType, field: &TypedField) -> Option<CopySource> {
    let copy = field.directives.copy.as_ref()?;
    let from = copy.from.as_ref()?;
    if let Some(given) = copy.fields.first() {
        scope.reports.add(given.span, Problem::CopyFieldsAndFrom);
        return None;
    }
    let Some((first, name)) = from.split_once('.').filter(|(_, name)| !name.contains('.')) else {
        scope.reports.add(from.span, Problem::CopyForm { from: from.value.clone() });
        return None;
    };
    let (origin, target) = match scope.item(first) {
        Some(target) if copy.frozen => {
            (CopyOrigin::Type { item_type: Name::new(first), field: Name::new(name) }, target)
        }
        Some(_) => {
            scope.reports.add(from.span, Problem::CopyNotFrozen { from: from.value.clone() });
            return None;
        }
        None => {
            let reference = scope.field(ty, first, from.span)?;
            if reference.role() != Role::Reference || reference.is_list() {
                let problem = Problem::NotAReference { ty: ty.name.value.clone(), field: first.to_owned() };
                scope.reports.add(from.span, problem);
                return None;
            }
            let origin = CopyOrigin::Reference { reference: Name::new(first), field: Name::new(name) };
            (origin, scope.item(reference.type_name())?)
        }
    };
    let source = copyable(scope, target, name, from)?;
    if source.type_name() != field.type_name() || source.is_list() != field.is_list() {
        let problem = Problem::CopyType {
            field: field.name.value.clone(),
            ty: field.type_name().to_owned(),
            origin: format!("{}.{name}", target.name.value),
            origin_type: source.ty.to_string(),
        };
        scope.reports.add(field.ty.span, problem);
        return None;
    }
    Some(CopySource { from: origin, frozen: copy.frozen })
}

/// The problem of a copy that a type stores beside a reference, without a field for it.
fn undeclared_copy(target: &TypedType, name: &str) -> Option<Problem> {
    let of_reference = |field: &TypedField| {
        let copied = &field.directives.copy.as_ref()?.fields;
        let named = |source: &&At<String>| {
            format!("{}{}", field.name.as_str(), Name::new(&source.value).pascal_case()) == name
        };
        let source = copied.iter().find(named)?;
        Some(Problem::CopyOfUndeclaredCopy {
            ty: target.name.value.clone(),
            field: name.to_owned(),
            reference: field.name.value.clone(),
            source_field: source.value.clone(),
        })
    };
    target.fields.iter().find_map(of_reference)
}

/// A field of a target that can be copied, because its items store it.
fn copyable<'t>(
    scope: &Scope<'_>,
    target: &'t TypedType,
    name: &str,
    at: &At<String>,
) -> Option<&'t TypedField> {
    let Some(source) = target.field(name) else {
        if let Some(problem) = undeclared_copy(target, name) {
            scope.reports.add(at.span, problem);
            return None;
        }
        let problem = Problem::CopyLacks { ty: target.name.value.clone(), field: name.to_owned() };
        scope.reports.add_near(at.span, problem, name, target.fields.iter().map(|field| field.name.as_str()));
        return None;
    };
    let is_unstored_count =
        source.directives.count.as_ref().is_some_and(|count| count.kept.name() == "QUERY");
    let is_relation = property_of(source).is_none() || source.role() == Role::Reference;
    if is_relation || is_unstored_count || source.role() == Role::Id {
        let problem = Problem::CopyUnstored { ty: target.name.value.clone(), field: name.to_owned() };
        scope.reports.add(at.span, problem);
        return None;
    }
    Some(source)
}

/// A reference, with the copies beside it.
pub(super) fn resolve_reference(
    scope: &Scope<'_>,
    ty: &TypedType,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<ReferenceField> {
    let directives = &field.directives;
    let target = scope.item_type(field.type_name(), field.type_span)?;
    let (property, former) = stored_names(scope, field)?;
    if let Some(list) = directives.caller.as_ref().and_then(|caller| caller.list.as_ref()) {
        scope.reports.add(list.span, Problem::CallerInOnReference { field: field.name.value.clone() });
    }
    if let (Some(caller), true) = (&directives.caller, target.directives.account.is_none()) {
        let problem =
            Problem::CallerNotAccount { field: field.name.value.clone(), ty: target.name.value.clone() };
        scope.reports.add(caller.span, problem);
    } else if let (Some(caller), true) = (&directives.caller, field.is_list()) {
        scope.reports.add(caller.span, Problem::CallerList { field: field.name.value.clone() });
    }
    let partition = directives.reference.as_ref()?.partition.as_slice();
    for name in partition {
        if let Some(found) = scope.single(ty, name)
            && property_of(found).is_none()
        {
            scope.reports.add(name.span, Problem::NotStored { path: name.value.clone() });
        }
    }
    let frozen = directives.copy.as_ref().is_some_and(|copy| copy.frozen);
    Some(ReferenceField {
        target: Name::new(&target.name),
        partition: partition.iter().map(|name| Name::new(name)).collect(),
        caller: directives.caller.is_some(),
        immutable: directives.immutable.is_some(),
        copies: copies(scope, field, field_type, target, &property),
        frozen,
        property,
        former,
    })
}

/// The copied fields of a reference with their properties.
fn copies(
    scope: &Scope<'_>,
    field: &TypedField,
    field_type: &FieldType,
    target: &TypedType,
    property: &PropertyPath,
) -> Vec<CopiedField> {
    let Some(copy) = &field.directives.copy else { return Vec::new() };
    if let Some(from) = &copy.from {
        scope.reports.add(from.span, Problem::CopyFromOnReference { field: field.name.value.clone() });
        return Vec::new();
    }
    if copy.fields.is_empty() {
        scope.reports.add(copy.span, Problem::CopyNothing { field: field.name.value.clone() });
    }
    let mut copies: Vec<CopiedField> = Vec::new();
    for name in &copy.fields {
        if copyable(scope, target, name, name).is_none() {
            continue;
        }
        let copied = Name::new(name);
        let property = match field_type.list {
            Some(_) => PropertyPath::property(name),
            None => property.beside(&format!("{}{}", stem(property.last()), copied.pascal_case())),
        };
        if copies.iter().any(|known| known.field == copied) {
            let problem = Problem::Duplicate { what: "copied field", name: name.value.clone() };
            scope.reports.add(name.span, problem);
        } else {
            copies.push(CopiedField { field: copied, property, currency: None });
        }
    }
    copies
}

/// The property of an amount's currency.
fn currency(
    scope: &Scope<'_>,
    owner: Owner,
    field: &TypedField,
    field_type: &FieldType,
) -> Option<CurrencyProperty> {
    let is_money = field_type.of == TypeOf::Scalar(Scalar::Money);
    let Some(money) = &field.directives.money else {
        return is_money.then(|| CurrencyProperty::Beside(PropertyPath::property(CURRENCY_PROPERTY)));
    };
    let text = &money.value.0;
    if !expect_type(scope, field, "money", is_money, "Money") {
        return None;
    }
    let path = property_path(text, scope.reports)?;
    if text.starts_with('/') && owner == Owner::Embedded {
        return Some(CurrencyProperty::OfItem(path));
    }
    Some(CurrencyProperty::Beside(path))
}
