//! Limits of a request's document, checked before anything else looks at it. Fragments are counted where they are
//! spread, each once: a document whose fragments multiply is refused without being expanded.

use std::collections::HashMap;

use async_graphql::parser::types::{
    ExecutableDocument, OperationDefinition, OperationType, Selection, SelectionSet,
};
use async_graphql::{Name, ServerError};

use super::comparison::ReadRequest;
use super::errors::{Code, document_error};
use crate::compare::plan::ReadPlan;

/// How deep selections may nest. The introspection query of `GraphiQL` takes 15.
pub const DEPTH_MAX: usize = 16;
/// How deep selections and fragments may nest together: whatever walks a document recurses so deep.
const LEVELS_MAX: usize = 32;
/// The largest sum of fields, where a list counts its fields as often as `first` says.
pub const COMPLEXITY_MAX: usize = 10_000;
/// What reading a list adds to its fields: nested lists are one read for each of their parents.
const LIST_READ_COMPLEXITY: usize = 10;
/// What each operation of a comparison adds to its fields. All six requests with their largest pages fit into one
/// document.
const COMPARED_OPERATION_COMPLEXITY: usize = 5;
/// How many fields a document may select, with every fragment written out.
pub const FIELDS_MAX: usize = 1_000;
/// How many fields of a document may be renamed.
pub const ALIASES_MAX: usize = 50;
/// How many fields a query may select at its root.
pub const QUERY_ROOT_FIELDS_MAX: usize = 20;
/// How many commands one mutation may issue.
pub const MUTATION_ROOT_FIELDS_MAX: usize = 10;

/// The complexity of a list: its fields for each of the items asked for, and the read. It never overflows, whatever is
/// asked.
pub(super) fn list(first: i32, fields: usize) -> usize {
    let items = usize::try_from(first).unwrap_or(0).clamp(1, crate::blog::reads::FIRST_MAX);
    // One more than the limit is as much too much as any larger number.
    fields.saturating_mul(items).saturating_add(LIST_READ_COMPLEXITY).min(COMPLEXITY_MAX + 1)
}

/// The complexity of a comparison: its fields for each of its plans, and every operation that these may take.
pub(super) fn comparison(request: ReadRequest, first: i32, fields: usize) -> usize {
    let items = usize::try_from(first).unwrap_or(0).clamp(1, crate::blog::reads::FIRST_MAX);
    let operations = request.operations_max(items) * COMPARED_OPERATION_COMPLEXITY;
    fields.saturating_mul(ReadPlan::ALL.len()).saturating_add(operations).min(COMPLEXITY_MAX + 1)
}

/// Checks a document against the limits of this module, save complexity.
///
/// # Errors
/// `LIMIT_EXCEEDED`, or `GRAPHQL_VALIDATION_FAILED` for fragments that spread themselves.
pub(super) fn check(document: &ExecutableDocument) -> Result<(), ServerError> {
    let mut survey = Survey { document, fragments: HashMap::new() };
    let mut total = Size::default();
    for (_, operation) in document.operations.iter() {
        total = total.beside(survey.size_of(&operation.node.selection_set.node, 0)?);
    }
    at_most(LEVELS_MAX, total.levels, "levels of nested selections and fragments")?;
    at_most(DEPTH_MAX, total.depth, "levels of nested selections")?;
    at_most(FIELDS_MAX, total.fields, "selected fields")?;
    at_most(ALIASES_MAX, total.aliases, "aliases")?;
    for (_, operation) in document.operations.iter() {
        let root = root_keys(document, &operation.node).len();
        let (limit, what) = match operation.node.ty {
            OperationType::Mutation => (MUTATION_ROOT_FIELDS_MAX, "commands in one mutation"),
            OperationType::Query | OperationType::Subscription => {
                (QUERY_ROOT_FIELDS_MAX, "fields at the root of a query")
            }
        };
        at_most(limit, root, what)?;
    }
    Ok(())
}

/// The response keys that an operation selects at its root, in order, with fragments written out. At most one more
/// than the limit for queries.
pub(super) fn root_keys(document: &ExecutableDocument, operation: &OperationDefinition) -> Vec<Name> {
    let mut keys = Vec::new();
    collect(document, &operation.selection_set.node, &mut keys);
    keys
}

fn collect(document: &ExecutableDocument, selections: &SelectionSet, keys: &mut Vec<Name>) {
    for selection in &selections.items {
        if keys.len() > QUERY_ROOT_FIELDS_MAX {
            return;
        }
        match &selection.node {
            Selection::Field(field) => keys.push(field.node.response_key().node.clone()),
            Selection::InlineFragment(inline) => {
                collect(document, &inline.node.selection_set.node, keys);
            }
            Selection::FragmentSpread(spread) => {
                if let Some(fragment) = document.fragments.get(&spread.node.fragment_name.node) {
                    collect(document, &fragment.node.selection_set.node, keys);
                }
            }
        }
    }
}

fn at_most(limit: usize, actual: usize, what: &str) -> Result<(), ServerError> {
    if actual <= limit {
        return Ok(());
    }
    Err(document_error(Code::LimitExceeded, format!("The document has more than {limit} {what}.")))
}

/// What a selection set amounts to.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// Selection sets of fields within one another.
    depth: usize,
    /// The same, with fragments counted.
    levels: usize,
    fields: usize,
    aliases: usize,
}

impl Size {
    fn beside(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            levels: self.levels.max(other.levels),
            fields: self.fields.saturating_add(other.fields),
            aliases: self.aliases.saturating_add(other.aliases),
        }
    }
}

struct Survey<'a> {
    document: &'a ExecutableDocument,
    /// Sizes of fragments; `None` while a fragment is being measured.
    fragments: HashMap<&'a Name, Option<Size>>,
}

impl<'a> Survey<'a> {
    /// Measures a selection set that stands within so many others.
    fn size_of(&mut self, selections: &'a SelectionSet, within: usize) -> Result<Size, ServerError> {
        at_most(LEVELS_MAX, within, "levels of nested selections and fragments")?;
        let mut size = Size::default();
        for selection in &selections.items {
            let inner = match &selection.node {
                Selection::Field(field) => {
                    let inner = self.size_of(&field.node.selection_set.node, within + 1)?;
                    Size {
                        depth: inner.depth + 1,
                        fields: inner.fields.saturating_add(1),
                        aliases: inner.aliases.saturating_add(usize::from(field.node.alias.is_some())),
                        ..inner
                    }
                }
                Selection::InlineFragment(inline) => {
                    self.size_of(&inline.node.selection_set.node, within + 1)?
                }
                Selection::FragmentSpread(spread) => {
                    self.size_of_fragment(&spread.node.fragment_name.node, within + 1)?
                }
            };
            size = size.beside(Size { levels: inner.levels + 1, ..inner });
        }
        Ok(size)
    }

    /// Unknown fragments have no size here: validation says what is wrong with them.
    fn size_of_fragment(&mut self, name: &'a Name, within: usize) -> Result<Size, ServerError> {
        match self.fragments.get(name) {
            Some(Some(size)) => return Ok(*size),
            Some(None) => {
                let message = format!("The fragment \"{name}\" spreads itself.");
                return Err(document_error(Code::ValidationFailed, message));
            }
            None => {}
        }
        let Some(fragment) = self.document.fragments.get(name) else {
            return Ok(Size::default());
        };
        self.fragments.insert(name, None);
        let size = self.size_of(&fragment.node.selection_set.node, within)?;
        self.fragments.insert(name, Some(size));
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn code(document: &str) -> Option<String> {
        let error = check(&parse_query(document).unwrap()).err()?;
        Some(error.extensions?.get("code")?.to_string())
    }

    #[test]
    fn a_document_within_the_limits_passes() {
        assert_eq!(code("query A { a: b { ...F } } fragment F on B { c { d } }"), None);
    }

    #[test]
    fn each_limit_is_refused_one_beyond_it() {
        let nested = |depth: usize| format!("{}a{}", "{a".repeat(depth - 1) + "{", "}".repeat(depth));
        assert_eq!(code(&nested(DEPTH_MAX)), None);
        for document in [
            nested(DEPTH_MAX + 1),
            format!("{{ a {{ {} }} }}", "b ".repeat(FIELDS_MAX)),
            format!("{{ a {{ {} }} }}", "b: c ".repeat(ALIASES_MAX + 1)),
            format!("{{ {} }}", "a ".repeat(QUERY_ROOT_FIELDS_MAX + 1)),
            format!("mutation {{ {} }}", "a ".repeat(MUTATION_ROOT_FIELDS_MAX + 1)),
        ] {
            assert_eq!(code(&document).as_deref(), Some("\"LIMIT_EXCEEDED\""), "{document}");
        }
    }

    #[test]
    fn fragments_that_multiply_are_refused_without_being_expanded() {
        let mut document = "{ ...F0 } fragment F30 on A { a }".to_owned();
        for number in 0..30 {
            let next = number + 1;
            document += &format!(" fragment F{number} on A {{ ...F{next} ...F{next} }}");
        }
        assert_eq!(code(&document).as_deref(), Some("\"LIMIT_EXCEEDED\""));
    }

    #[test]
    fn a_long_chain_of_fragments_is_refused_in_either_order() {
        for order in [["...F0", ""], ["", "...F0"]] {
            let chain: String =
                (0..2_000).map(|n| format!(" fragment F{n} on A {{ ...F{} }}", n + 1)).collect();
            let all: String = (0..2_000).rev().map(|n| format!("...F{n} ")).collect();
            let document =
                format!("{{ {} {all} {} }} {chain} fragment F2000 on A {{ a }}", order[0], order[1]);
            assert_eq!(code(&document).as_deref(), Some("\"LIMIT_EXCEEDED\""));
        }
    }

    #[test]
    fn fragments_that_spread_themselves_are_refused() {
        let document = "{ ...A } fragment A on T { a ...B } fragment B on T { b ...A }";
        assert_eq!(code(document).as_deref(), Some("\"GRAPHQL_VALIDATION_FAILED\""));
    }

    #[test]
    fn the_complexity_of_a_list_does_not_overflow() {
        assert_eq!(list(20, 3), 70);
        assert_eq!(list(i32::MIN, 3), 13);
        assert_eq!(list(i32::MAX, usize::MAX), COMPLEXITY_MAX + 1);
    }
}
