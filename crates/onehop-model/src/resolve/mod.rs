//! Resolution: typed directives become the parts of a model. Each module reports unknown names and wrong
//! forms of its part; relations between parts are checked afterwards.

mod authorization;
mod combinations;
mod fields;
mod items;
mod keys;
mod literals;
mod operations;
mod plain_types;
mod properties;
mod related;
mod schema;
mod scope;
mod stored;

use crate::limits::{MEMBERS_MAX, TYPES_MAX};
use crate::problem::Problem;
use crate::reports::Reports;
use crate::syntax::At;
use crate::typed::TypedModel;
use crate::value::{ModelParts, Scalar};

pub(crate) use operations::generated_name;
pub(crate) use scope::Scope;

/// Types that the API has in every model.
const GENERATED_TYPES: [&str; 2] = ["Node", "PageInfo"];

/// The root field that finds an item of any type by its id. The API has it in every model.
const NODE_FIELD: &str = "node";

/// The parts of a model. Parts with errors are left out.
pub(crate) fn resolve(typed: &TypedModel, reports: &Reports) -> ModelParts {
    let mut parts = schema::resolve_schema(typed, reports);
    let containers = parts.containers.clone();
    let scope = Scope::new(typed, &containers, reports);
    check_names(&scope);
    parts.enums = plain_types::resolve_enums(&scope);
    parts.embedded = plain_types::resolve_embedded(&scope);
    parts.items = items::resolve_items(&scope);
    operations::resolve_operations(&scope, &mut parts);
    parts
}

/// Names that occur twice, names of the language, and limits of numbers.
fn check_names(scope: &Scope<'_>) {
    let types = scope.typed.types.iter().map(|ty| &ty.name);
    let names: Vec<&At<String>> = types.chain(scope.typed.enums.iter().map(|it| &it.name)).collect();
    check_duplicates(scope, "type", names.iter().copied());
    for name in &names {
        let is_scalar = Scalar::ALL.iter().any(|(known, _)| *known == name.value);
        if name.starts_with("__") || is_scalar || GENERATED_TYPES.contains(&name.as_str()) {
            scope.reports.add(name.span, Problem::ReservedName { name: name.value.clone() });
        }
    }
    if let Some(name) = names.get(TYPES_MAX) {
        scope.reports.add(name.span, Problem::TooLarge { what: "types", limit: TYPES_MAX });
    }
    for ty in &scope.typed.types {
        check_duplicates(scope, "field", ty.fields.iter().map(|field| &field.name));
        if let Some(field) = ty.fields.get(MEMBERS_MAX) {
            scope
                .reports
                .add(field.name.span, Problem::TooLarge { what: "fields of a type", limit: MEMBERS_MAX });
        }
        let is_reserved = |name: &str| name.starts_with("__") || (*ty.name == "Query" && name == NODE_FIELD);
        for field in ty.fields.iter().filter(|field| is_reserved(&field.name)) {
            scope.reports.add(field.name.span, Problem::ReservedName { name: field.name.value.clone() });
        }
    }
    for it in &scope.typed.enums {
        check_duplicates(scope, "enum value", it.values.iter().map(|value| &value.name));
        if let Some(value) = it.values.get(MEMBERS_MAX) {
            let problem = Problem::TooLarge { what: "values of an enum", limit: MEMBERS_MAX };
            scope.reports.add(value.name.span, problem);
        }
    }
}

fn check_duplicates<'a>(scope: &Scope<'_>, what: &'static str, names: impl Iterator<Item = &'a At<String>>) {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name.value.as_str()) {
            scope.reports.add(name.span, Problem::Duplicate { what, name: name.value.clone() });
        }
    }
}
