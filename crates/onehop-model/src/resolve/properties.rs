//! Stored properties of fields, and the expected types of fields with a directive.

use super::schema::property_path;
use super::scope::{Role, Scope};
use crate::defaults::stored_property;
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::TypedField;
use crate::value::PropertyPath;

/// Reports a field whose type is not the expected one.
pub(super) fn expect_type(
    scope: &Scope<'_>,
    field: &TypedField,
    directive: &'static str,
    is_expected: bool,
    expected: &str,
) -> bool {
    if !is_expected {
        let expected = expected.to_owned();
        let problem = Problem::WrongFieldType { directive, field: field.name.value.clone(), expected };
        scope.reports.add(field.ty.span, problem);
    }
    is_expected
}

/// The stored property of a field, without reports: `None` where it stores nothing or the path is broken.
pub(crate) fn property_of(field: &TypedField) -> Option<PropertyPath> {
    let role = field.role();
    if role.is_related() || role == Role::HasCaller {
        return None;
    }
    let given = field.directives.stored.as_ref().and_then(|stored| stored.property.as_ref());
    match given {
        Some(text) => PropertyPath::parse(text),
        None => Some(default_property(field)),
    }
}

fn default_property(field: &TypedField) -> PropertyPath {
    stored_property(&field.name, field.role() == Role::Reference && !field.is_list())
}

/// The property of a field and its former properties.
pub(super) fn stored_names(
    scope: &Scope<'_>,
    field: &TypedField,
) -> Option<(PropertyPath, Vec<PropertyPath>)> {
    let parse = |text: &At<String>| property_path(text, scope.reports);
    let Some(stored) = &field.directives.stored else {
        return Some((default_property(field), Vec::new()));
    };
    let property = match &stored.property {
        Some(text) => parse(text)?,
        None => default_property(field),
    };
    let mut former = Vec::new();
    for text in &stored.former {
        let Some(path) = parse(text) else { continue };
        if path == property || former.contains(&path) {
            scope.reports.add(text.span, Problem::FormerTwice { path: path.to_string() });
        } else {
            former.push(path);
        }
    }
    Some((property, former))
}
