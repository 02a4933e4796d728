//! Checks of owners, counts, followed containers and hidden types.

use super::checked::Checked;
use crate::problem::Problem;
use crate::value::{Container, Field, FieldKind, ItemType, Kept, RelatedSource, TypeOf, ValueSource};

/// Checks the relations between item types.
pub(super) fn check_relations(checked: &Checked<'_>) {
    for item in &checked.parts.items {
        check_owner(checked, item);
        let container = checked.container(&item.container);
        if let Some(container) = container.filter(|container| container.followed) {
            item.fields.iter().for_each(|field| check_followed(checked, container, item, field));
        }
    }
    for (item, field) in checked.item_fields() {
        check_count(checked, item, field);
        let TypeOf::Item(name) = &field.ty.of else { continue };
        let is_hidden = checked.parts.item(name).is_some_and(|target| target.hidden);
        if is_hidden && !field.hidden && !item.hidden {
            let problem = Problem::HiddenServed { ty: name.to_string() };
            checked.reports.add(checked.field_span(&item.name, &field.name), problem);
        }
    }
}

/// An owned item lies in the logical partition of its owner: its key is the reference, or both have the same
/// fields as key.
fn check_owner(checked: &Checked<'_>, item: &ItemType) {
    let Some(by) = &item.owned_by else { return };
    let Some(FieldKind::Reference(reference)) = item.field(by).map(|field| &field.kind) else { return };
    let Some(owner) = checked.parts.item(&reference.target) else { return };
    if !item.shares_partition(by, owner) {
        let directives = checked.typed.types.iter().find(|ty| *ty.name.value == *item.name);
        let span = directives.and_then(|ty| ty.directives.owned.as_ref()).map(|owned| owned.value.0.span);
        let problem = Problem::OwnedElsewhere { ty: item.name.to_string(), owner: owner.name.to_string() };
        checked.reports.add(span.unwrap_or_default(), problem);
    }
}

/// A count in the command's batch counts items of the same logical partition.
fn check_count(checked: &Checked<'_>, item: &ItemType, field: &Field) {
    let FieldKind::Count(count) = &field.kind else { return };
    let Some(FieldKind::Related(related)) = item.field(&count.of).map(|field| &field.kind) else { return };
    let Some(target) = checked.parts.item(&related.item_type) else { return };
    let is_batch = matches!(count.kept, Kept::Batch { .. });
    let refers_here = |by: &&crate::value::Name| {
        let kind = target.field(by).map(|field| &field.kind);
        matches!(kind, Some(FieldKind::Reference(reference)) if reference.target == item.name)
    };
    let is_near = match &related.source {
        RelatedSource::Partition { by } => {
            by.iter().find(refers_here).is_some_and(|by| target.shares_partition(by, item))
        }
        RelatedSource::Find { .. } | RelatedSource::List(_) => false,
    };
    if is_batch && !is_near {
        let problem = Problem::BatchAcross { ty: item.name.to_string(), of: count.of.to_string() };
        checked.reports.add(checked.directive_span(&item.name, &field.name, "count"), problem);
    }
}

/// In a followed container copies and counts are the application's.
fn check_followed(checked: &Checked<'_>, container: &Container, item: &ItemType, field: &Field) {
    let directive = match &field.kind {
        FieldKind::Reference(reference) if !reference.copies.is_empty() => "copy",
        FieldKind::Count(count) if count.kept != Kept::Query => "count",
        FieldKind::Stored(stored) => match &stored.source {
            ValueSource::Copied(_) => "copy",
            ValueSource::Computed(computed) if computed.stored => "computed",
            _ => return,
        },
        _ => return,
    };
    let problem = Problem::FollowedField { container: container.name.to_string(), directive };
    checked.reports.add(checked.directive_span(&item.name, &field.name, directive), problem);
}
