//! Personal fields: whether two callers may get different answers to a document. Otherwise one execution
//! serves all of them.

use std::collections::HashSet;

use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use onehop_model::{FieldKind, Grants, Model, QueryKind};

/// The fields of a model whose values depend on the caller, by their names alone.
pub(super) struct PersonalFields {
    /// Whether the items of some type are not for everybody: then every document is personal.
    all: bool,
    names: HashSet<String>,
}

impl PersonalFields {
    /// The personal fields of a model.
    pub(super) fn of(model: &Model) -> Self {
        let is_closed = |grants: &Option<Grants>| grants.as_ref().is_some_and(|grants| !grants.public);
        let mut names = HashSet::new();
        let of_items = model.items().iter().flat_map(|item| &item.fields);
        let of_embedded = model.embedded().iter().flat_map(|embedded| &embedded.fields);
        for field in of_items.chain(of_embedded) {
            if is_closed(&field.authorization.read) || matches!(field.kind, FieldKind::HasCaller(_)) {
                names.insert(field.name.to_string());
            }
        }
        for query in model.queries() {
            if is_closed(&query.authorization) || query.kind == QueryKind::Caller {
                names.insert(query.name.to_string());
            }
        }
        let closed = model.subscriptions().iter().filter(|found| is_closed(&found.authorization));
        names.extend(closed.map(|subscription| subscription.name.to_string()));
        Self { all: model.items().iter().any(|item| !item.authorization.read.public), names }
    }

    /// Whether a document selects a personal field.
    pub(super) fn are_selected(&self, document: &ExecutableDocument) -> bool {
        let operations = document.operations.iter().map(|(_, found)| &found.node.selection_set.node);
        let fragments = document.fragments.values().map(|found| &found.node.selection_set.node);
        self.all || operations.chain(fragments).any(|selections| self.are_in(selections))
    }

    fn are_in(&self, selections: &SelectionSet) -> bool {
        selections.items.iter().any(|selection| match &selection.node {
            Selection::Field(field) => {
                self.names.contains(field.node.name.node.as_str())
                    || self.are_in(&field.node.selection_set.node)
            }
            Selection::InlineFragment(inline) => self.are_in(&inline.node.selection_set.node),
            Selection::FragmentSpread(_) => false,
        })
    }
}
