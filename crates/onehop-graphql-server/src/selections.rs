//! Fragment expansion: visits the selections of a selection set, with the selections of fragments in their
//! place.
//!
//! The document is within the limits of documents, which count selections with all fragments expanded and
//! refuse fragments that spread themselves. That bounds every visit.

use std::ops::ControlFlow;

use async_graphql::Positioned;
use async_graphql::parser::types::{ExecutableDocument, Field, Selection, SelectionSet};

use crate::document_limits::LEVELS_MAX;

/// The work of a visit at each selection, in the order of the document. It may break with a value.
pub trait SelectionVisitor<'a> {
    /// The value of a visit that breaks.
    type Break;

    /// A field, and the type that the innermost fragment around it is on, or the type that the visit began
    /// with.
    fn field(&mut self, field: &'a Positioned<Field>, on: &'a str) -> ControlFlow<Self::Break>;

    /// A fragment, before its selections.
    fn fragment(&mut self, _fragment: &'a Selection) -> ControlFlow<Self::Break> {
        ControlFlow::Continue(())
    }
}

/// Visits the selections of a selection set on a type. A spread of a fragment that is not in the document
/// selects nothing, and fragments within more than [`LEVELS_MAX`] others are left out.
pub fn visit<'a, V: SelectionVisitor<'a>>(
    document: &'a ExecutableDocument,
    selections: &'a SelectionSet,
    on: &'a str,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    visit_levels(document, selections, on, visitor, LEVELS_MAX)
}

fn visit_levels<'a, V: SelectionVisitor<'a>>(
    document: &'a ExecutableDocument,
    selections: &'a SelectionSet,
    on: &'a str,
    visitor: &mut V,
    levels: usize,
) -> ControlFlow<V::Break> {
    let Some(levels) = levels.checked_sub(1) else { return ControlFlow::Continue(()) };
    for selection in &selections.items {
        let (condition, selections) = match &selection.node {
            Selection::Field(field) => {
                visitor.field(field, on)?;
                continue;
            }
            Selection::InlineFragment(inline) => {
                (inline.node.type_condition.as_ref(), &inline.node.selection_set)
            }
            Selection::FragmentSpread(spread) => {
                let Some(fragment) = document.fragments.get(&spread.node.fragment_name.node) else {
                    continue;
                };
                (Some(&fragment.node.type_condition), &fragment.node.selection_set)
            }
        };
        visitor.fragment(&selection.node)?;
        let on = condition.map_or(on, |condition| condition.node.on.node.as_str());
        visit_levels(document, &selections.node, on, visitor, levels)?;
    }
    ControlFlow::Continue(())
}

/// The fields of a selection set on a type, with fragments expanded, each with the type that it is selected
/// on.
pub fn fields<'a>(
    document: &'a ExecutableDocument,
    selections: &'a SelectionSet,
    on: &'a str,
) -> Vec<(&'a Positioned<Field>, &'a str)> {
    let mut fields = Fields(Vec::new());
    let _: ControlFlow<std::convert::Infallible> = visit(document, selections, on, &mut fields);
    fields.0
}

struct Fields<'a>(Vec<(&'a Positioned<Field>, &'a str)>);

impl<'a> SelectionVisitor<'a> for Fields<'a> {
    type Break = std::convert::Infallible;

    fn field(&mut self, field: &'a Positioned<Field>, on: &'a str) -> ControlFlow<Self::Break> {
        self.0.push((field, on));
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;
    use crate::document::select_operation;

    #[test]
    fn fields_come_in_order_with_the_type_they_are_selected_on() {
        let document = parse_query(
            "{ a ...F ... on Post { c ... { d } } ...Missing e } fragment F on Node { b ... on User { x } }",
        )
        .unwrap();
        let operation = select_operation(&document, None).unwrap();
        let fields = fields(&document, &operation.selection_set.node, "Query");
        let named: Vec<_> = fields.iter().map(|(field, on)| (field.node.name.node.as_str(), *on)).collect();
        let expected =
            [("a", "Query"), ("b", "Node"), ("x", "User"), ("c", "Post"), ("d", "Post"), ("e", "Query")];
        assert_eq!(named, expected);
    }

    #[test]
    fn a_fragment_that_spreads_itself_ends_the_visit() {
        let document = parse_query("{ a ...F } fragment F on Query { ...F b }").unwrap();
        let operation = select_operation(&document, None).unwrap();
        let fields = fields(&document, &operation.selection_set.node, "Query");
        assert_eq!(fields.len(), LEVELS_MAX);
    }
}
