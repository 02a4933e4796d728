//! Resolution of the schema: the domain, its design and its containers.

use std::collections::BTreeSet;

use super::scope::within;
use crate::limits::{COMPOSITE_PATHS_MAX, CONTAINER_NAME_MAX, KEY_PATHS_MAX, MEMBERS_MAX, TTL_MAX};
use crate::problem::Problem;
use crate::reports::Reports;
use crate::syntax::{At, Span};
use crate::typed::{ContainerDirective, TypedModel};
use crate::value::{Container, ContainerName, ModelParts, Place, PropertyPath};

/// The largest version of a model.
const VERSION_MAX: i64 = i32::MAX as i64;

/// The domain and its containers.
pub(super) fn resolve_schema(typed: &TypedModel, reports: &Reports) -> ModelParts {
    let mut parts = ModelParts { version: 1, ..ModelParts::default() };
    match &typed.model {
        Some(model) => {
            if model.name.trim().is_empty() {
                reports.add(model.name.span, Problem::Empty { what: "the name of the model" });
            }
            parts.name = model.name.value.clone();
            parts.design = model.design.as_ref().map(|design| design.value.clone());
            parts.version = within(reports, "version", &model.version, 1, VERSION_MAX).unwrap_or(1);
            parts.description = model.description.clone();
        }
        None if typed.broken => {}
        None => reports.add(typed.schema, Problem::NoModel),
    }
    let mut names = BTreeSet::new();
    for container in &typed.containers {
        if !names.insert(container.name.value.as_str()) {
            let problem = Problem::Duplicate { what: "container", name: container.name.value.clone() };
            reports.add(container.name.span, problem);
            continue;
        }
        parts.containers.push(resolve_container(container, reports));
    }
    if parts.containers.len() > MEMBERS_MAX {
        reports.add(typed.schema, Problem::TooLarge { what: "containers", limit: MEMBERS_MAX });
    }
    parts
}

fn resolve_container(directive: &At<ContainerDirective>, reports: &Reports) -> Container {
    check_name(&directive.name, reports);
    let key = paths(&directive.key, reports);
    if directive.key.is_empty() || directive.key.len() > KEY_PATHS_MAX {
        let span = directive.key.get(KEY_PATHS_MAX).map_or(directive.span, |path| path.span);
        reports.add(span, Problem::KeyPaths { found: directive.key.len(), max: KEY_PATHS_MAX });
    }
    let composite = directive.composite.as_ref().map(|indexes| {
        let indexes = indexes.iter().map(|index| {
            if !(2..=COMPOSITE_PATHS_MAX).contains(&index.len()) {
                let span = index.first().map_or(directive.span, |path| path.span);
                reports.add(span, Problem::CompositePaths { found: index.len(), max: COMPOSITE_PATHS_MAX });
            }
            paths(index, reports)
        });
        indexes.collect()
    });
    if directive.followed && directive.place == Place::Process {
        reports.add(directive.span, Problem::FollowedInProcess);
    }
    Container {
        name: ContainerName::new(&directive.name),
        key,
        place: directive.place,
        followed: directive.followed,
        ttl_seconds: directive.ttl.as_ref().and_then(|ttl| within(reports, "ttl", ttl, 1, TTL_MAX)),
        exclude: paths(&directive.exclude, reports),
        composite,
    }
}

fn check_name(name: &At<String>, reports: &Reports) {
    let is_bad = |character: char| character.is_control() || "/\\#?\"".contains(character);
    let length = name.chars().count();
    if length == 0 || length > CONTAINER_NAME_MAX || name.contains(is_bad) {
        reports.add(name.span, Problem::ContainerName { name: name.value.clone(), max: CONTAINER_NAME_MAX });
    }
}

/// Paths of properties, without the reported ones.
fn paths(texts: &[At<String>], reports: &Reports) -> Vec<PropertyPath> {
    texts.iter().filter_map(|text| property_path(text, reports)).collect()
}

/// The path of a property. `None` is already reported.
pub(super) fn property_path(text: &At<String>, reports: &Reports) -> Option<PropertyPath> {
    let path = PropertyPath::parse(text);
    if path.is_none() {
        let span: Span = text.span;
        reports.add(span, Problem::PropertyPath { path: text.value.clone() });
    }
    path
}
