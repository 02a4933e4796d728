//! Checks of lists: their sources show deletions, and their names are unique.

use std::collections::BTreeSet;

use super::checked::Checked;
use crate::problem::Problem;
use crate::value::{Deletion, RelatedSource};

/// Checks the lists of a model.
pub(super) fn check_lists(checked: &Checked<'_>) {
    let mut names = BTreeSet::new();
    for place in checked.related() {
        let RelatedSource::List(list) = &place.related.source else { continue };
        let span = checked.directive_span(place.parent, place.field, "list");
        let target = checked.parts.item(&place.related.item_type);
        if target.is_some_and(|target| target.deletion == Deletion::Hard) {
            let ty = place.related.item_type.to_string();
            checked.reports.add(span, Problem::ListOverHard { ty });
        }
        if !names.insert(list.projection.as_str()) {
            let typed = checked.typed_field(place.parent, place.field);
            let name = typed.and_then(|(_, directives)| directives.list.as_ref()?.name.as_ref());
            let problem = Problem::Duplicate { what: "projection", name: list.projection.clone() };
            checked.reports.add(name.map_or(span, |name| name.span), problem);
        }
    }
}
