//! Selections: the selected fields of an object, with fragments expanded, directives decided, and fields with
//! the same response key merged.

use async_graphql::parser::types::{Directive, ExecutableDocument, Field, Selection, SelectionSet};
use async_graphql::{Name, Positioned};
use async_graphql_value::Value as InputValue;

/// The interface of all objects with an id.
const NODE: &str = "Node";

/// All selections under one response key.
pub(super) struct Selected<'d> {
    pub(super) key: &'d str,
    /// One for each time that it is selected.
    pub(super) fields: Vec<&'d Field>,
}

impl<'d> Selected<'d> {
    pub(super) fn name(&self) -> &'d str {
        self.fields.first().map_or("", |field| field.name.node.as_str())
    }

    /// The only field; one with arguments that is selected twice may take two reads.
    pub(super) fn only(&self) -> Option<&'d Field> {
        match self.fields.as_slice() {
            [field] => Some(field),
            _ => None,
        }
    }

    pub(super) fn sets(&self) -> Vec<&'d SelectionSet> {
        self.fields.iter().map(|field| &field.selection_set.node).collect()
    }
}

/// A document, with the values that its directives' variables have.
#[derive(Clone, Copy)]
pub(super) struct Selections<'d> {
    pub(super) document: &'d ExecutableDocument,
    pub(super) is_set: &'d dyn Fn(&Name) -> Option<bool>,
}

impl<'d> Selections<'d> {
    /// The fields that selection sets select of an object of a type, in order; `None` for an unknown
    /// directive.
    pub(super) fn select(
        &self,
        sets: &[&'d SelectionSet],
        type_name: &str,
        is_node: bool,
    ) -> Option<Vec<Selected<'d>>> {
        let mut selected = Vec::new();
        for set in sets {
            self.add(set, type_name, is_node, &mut selected)?;
        }
        Some(selected)
    }

    /// The types that fragments at this level are on.
    pub(super) fn conditions(&self, sets: &[&'d SelectionSet]) -> Vec<&'d str> {
        let mut named = Vec::new();
        for selection in sets.iter().flat_map(|set| &set.items) {
            let (condition, within) = match &selection.node {
                Selection::Field(_) => continue,
                Selection::InlineFragment(inline) => {
                    (inline.node.type_condition.as_ref(), &inline.node.selection_set)
                }
                Selection::FragmentSpread(spread) => {
                    let Some(fragment) = self.document.fragments.get(&spread.node.fragment_name.node) else {
                        continue;
                    };
                    (Some(&fragment.node.type_condition), &fragment.node.selection_set)
                }
            };
            named.extend(condition.map(|condition| condition.node.on.node.as_str()));
            named.extend(self.conditions(&[&within.node]));
        }
        named
    }

    fn add(
        &self,
        set: &'d SelectionSet,
        type_name: &str,
        is_node: bool,
        selected: &mut Vec<Selected<'d>>,
    ) -> Option<()> {
        for selection in &set.items {
            if !self.is_included(selection.node.directives())? {
                continue;
            }
            let (condition, within) = match &selection.node {
                Selection::Field(field) => {
                    add_field(&field.node, selected)?;
                    continue;
                }
                Selection::InlineFragment(inline) => {
                    (inline.node.type_condition.as_ref(), &inline.node.selection_set)
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = self.document.fragments.get(&spread.node.fragment_name.node)?;
                    if !fragment.node.directives.is_empty() {
                        return None;
                    }
                    (Some(&fragment.node.type_condition), &fragment.node.selection_set)
                }
            };
            let on = condition.map_or(type_name, |condition| condition.node.on.node.as_str());
            if on == type_name || (is_node && on == NODE) {
                self.add(&within.node, type_name, is_node, selected)?;
            }
        }
        Some(())
    }

    fn is_included(&self, directives: &[Positioned<Directive>]) -> Option<bool> {
        let mut is_included = true;
        for directive in directives {
            let includes = match directive.node.name.node.as_str() {
                "include" => true,
                "skip" => false,
                _ => return None,
            };
            let is_set = match &directive.node.get_argument("if")?.node {
                InputValue::Boolean(is_set) => *is_set,
                InputValue::Variable(name) => (self.is_set)(name)?,
                _ => return None,
            };
            is_included &= is_set == includes;
        }
        Some(is_included)
    }
}

/// Adds a field under its response key; `None` where another field has it, or this one with other arguments.
fn add_field<'d>(field: &'d Field, selected: &mut Vec<Selected<'d>>) -> Option<()> {
    let key = field.response_key().node.as_str();
    match selected.iter_mut().find(|selected| selected.key == key) {
        Some(before) if before.name() != field.name.node.as_str() => return None,
        Some(before) => before.fields.push(field),
        None => selected.push(Selected { key, fields: vec![field] }),
    }
    Some(())
}
