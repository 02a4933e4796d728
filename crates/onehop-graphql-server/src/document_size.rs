//! The size of a parsed document with all fragments expanded. Every fragment is measured once, so that a
//! document whose fragments multiply is refused without being written out.

use std::collections::HashMap;

use async_graphql::parser::types::{
    Directive, ExecutableDocument, OperationDefinition, OperationType, Selection, SelectionSet,
};
use async_graphql::{Name, Positioned};
use async_graphql_value::Value;

use super::document_limits::{DocumentLimits, LEVELS_MAX, at_most};
use super::limit_exceeded::LimitExceeded;

/// Why a document has no size within the limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    #[error(transparent)]
    OverLimit(#[from] LimitExceeded),
    #[error("The fragment \"{0}\" spreads itself.")]
    FragmentCycle(Name),
}

/// The size of a document: of all its operations together, and of the fragments that none of them spreads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DocumentSize {
    pub bytes: usize,
    /// Names and values.
    pub tokens: usize,
    /// Selection sets of fields within one another.
    pub depth: usize,
    /// Fields and fragments.
    pub selections: usize,
    pub aliases: usize,
    pub directives: usize,
    /// Fields at the root of the query or subscription that has most of them.
    pub query_root_fields: usize,
    /// Fields at the root of the mutation that has most of them.
    pub mutation_root_fields: usize,
    /// Whether it asks for the schema.
    pub introspects: bool,
    /// Whether a list or an object in it has a variable within.
    pub nests_variables: bool,
}

impl DocumentSize {
    /// The size of a document and another one together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            tokens: self.tokens.saturating_add(other.tokens),
            depth: self.depth.max(other.depth),
            selections: self.selections.saturating_add(other.selections),
            aliases: self.aliases.saturating_add(other.aliases),
            directives: self.directives.saturating_add(other.directives),
            query_root_fields: self.query_root_fields.saturating_add(other.query_root_fields),
            mutation_root_fields: self.mutation_root_fields.saturating_add(other.mutation_root_fields),
            introspects: self.introspects || other.introspects,
            nests_variables: self.nests_variables || other.nests_variables,
        }
    }
}

impl DocumentLimits {
    /// Measures a document of this many bytes.
    ///
    /// # Errors
    /// It exceeds a limit, or a fragment of it spreads itself.
    pub fn measure(&self, document: &ExecutableDocument, bytes: usize) -> Result<DocumentSize, SizeError> {
        let mut survey =
            Survey { document, fragments: HashMap::new(), introspects: false, nests_variables: false };
        let mut size = DocumentSize { bytes, ..DocumentSize::default() };
        let mut total = Part::default();
        for (_, operation) in document.operations.iter() {
            let part = survey.operation(&operation.node)?;
            let root_fields = match operation.node.ty {
                OperationType::Mutation => &mut size.mutation_root_fields,
                OperationType::Query | OperationType::Subscription => &mut size.query_root_fields,
            };
            *root_fields = part.fields_here.max(*root_fields);
            total = total.beside(part);
        }
        for name in document.fragments.keys() {
            if !survey.fragments.contains_key(name) {
                total = total.beside(survey.fragment(name, 0)?);
            }
        }
        size = DocumentSize {
            tokens: total.tokens.max(total.merged.saturating_mul(TOKENS_OF_MERGED_FIELD)),
            depth: total.depth,
            selections: total.selections,
            aliases: total.aliases,
            directives: total.directives,
            introspects: survey.introspects,
            nests_variables: survey.nests_variables,
            ..size
        };
        at_most(LEVELS_MAX, total.levels, LEVELS, LEVELS_UNIT)?;
        self.check(&size)?;
        Ok(size)
    }

    /// Compares a size with the limits.
    ///
    /// # Errors
    /// The first limit that the size exceeds.
    pub fn check(&self, size: &DocumentSize) -> Result<(), LimitExceeded> {
        self.check_bytes(size.bytes)?;
        self.check_tokens(size.tokens)?;
        at_most(self.depth_max, size.depth, "document-depth-max", "levels of nested selections")?;
        at_most(
            self.selections_max,
            size.selections,
            "document-selections-max",
            "selected fields and fragments, with its fragments written out",
        )?;
        at_most(self.aliases_max, size.aliases, "document-aliases-max", "aliases")?;
        at_most(self.directives_max, size.directives, "document-directives-max", "directives")?;
        at_most(
            self.query_root_fields_max,
            size.query_root_fields,
            "query-root-fields-max",
            "fields at the root of a query",
        )?;
        at_most(
            self.mutation_root_fields_max,
            size.mutation_root_fields,
            "mutation-root-fields-max",
            "commands in one mutation",
        )
    }
}

/// The tokens counted for a field in each selection set in which the validator compares it with others: a
/// conflict is an error there.
const TOKENS_OF_MERGED_FIELD: usize = 2;

const LEVELS: &str = "document-levels";
const LEVELS_UNIT: &str = "levels of nested selections and fragments";

/// The size of a part of a document.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Selection sets of fields within one another.
    depth: usize,
    /// The same, with fragments counted.
    levels: usize,
    tokens: usize,
    selections: usize,
    aliases: usize,
    directives: usize,
    /// Fields of this selection set itself, with fragments written out.
    fields_here: usize,
    /// The same, summed over this selection set and all within: this many fields the validator looks at to
    /// find out whether they can be merged.
    merged: usize,
}

impl Part {
    fn beside(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            levels: self.levels.max(other.levels),
            tokens: self.tokens.saturating_add(other.tokens),
            selections: self.selections.saturating_add(other.selections),
            aliases: self.aliases.saturating_add(other.aliases),
            directives: self.directives.saturating_add(other.directives),
            fields_here: self.fields_here.saturating_add(other.fields_here),
            merged: self.merged.saturating_add(other.merged),
        }
    }

    /// The same with a token of its own and these directives.
    fn named(self, directives: &[Positioned<Directive>]) -> Self {
        let arguments = directives.iter().map(|directive| tokens_of_arguments(&directive.node.arguments));
        let tokens = arguments.fold(1 + directives.len(), usize::saturating_add);
        Self {
            tokens: self.tokens.saturating_add(tokens),
            directives: self.directives.saturating_add(directives.len()),
            ..self
        }
    }
}

struct Survey<'a> {
    document: &'a ExecutableDocument,
    /// The fragments measured so far; `None` while one is being measured.
    fragments: HashMap<&'a Name, Option<Part>>,
    introspects: bool,
    nests_variables: bool,
}

impl<'a> Survey<'a> {
    fn operation(&mut self, operation: &'a OperationDefinition) -> Result<Part, SizeError> {
        let mut part = self.selection_set(&operation.selection_set.node, 0)?.named(&operation.directives);
        for variable in &operation.variable_definitions {
            part = part.named(&variable.node.directives);
        }
        Ok(part)
    }

    /// Measures a selection set that stands within this many others.
    fn selection_set(&mut self, selections: &'a SelectionSet, within: usize) -> Result<Part, SizeError> {
        at_most(LEVELS_MAX, within, LEVELS, LEVELS_UNIT)?;
        let mut part = Part::default();
        for selection in &selections.items {
            part = part.beside(self.selection(&selection.node, within + 1)?);
        }
        Ok(Part { merged: part.merged.saturating_add(part.fields_here), ..part })
    }

    fn selection(&mut self, selection: &'a Selection, within: usize) -> Result<Part, SizeError> {
        let part = match selection {
            Selection::Field(field) => {
                let field = &field.node;
                self.introspects |= matches!(field.name.node.as_str(), "__schema" | "__type");
                self.nests_variables |= field.arguments.iter().any(|(_, value)| nests_variables(&value.node));
                let inner = self.selection_set(&field.selection_set.node, within)?.named(&field.directives);
                let aliases = usize::from(field.alias.is_some());
                Part {
                    depth: inner.depth + 1,
                    aliases: inner.aliases.saturating_add(aliases),
                    tokens: inner.tokens.saturating_add(aliases + tokens_of_arguments(&field.arguments)),
                    fields_here: 1,
                    ..inner
                }
            }
            Selection::InlineFragment(inline) => {
                self.selection_set(&inline.node.selection_set.node, within)?.named(&inline.node.directives)
            }
            Selection::FragmentSpread(spread) => {
                self.fragment(&spread.node.fragment_name.node, within)?.named(&spread.node.directives)
            }
        };
        Ok(Part { levels: part.levels + 1, selections: part.selections.saturating_add(1), ..part })
    }

    /// Unknown fragments have no size here: validation reports them.
    fn fragment(&mut self, name: &'a Name, within: usize) -> Result<Part, SizeError> {
        match self.fragments.get(name) {
            Some(Some(part)) => return Ok(*part),
            Some(None) => return Err(SizeError::FragmentCycle(name.clone())),
            None => {}
        }
        let Some(fragment) = self.document.fragments.get(name) else { return Ok(Part::default()) };
        self.fragments.insert(name, None);
        let part = self.selection_set(&fragment.node.selection_set.node, within)?;
        let part = part.named(&fragment.node.directives);
        self.fragments.insert(name, Some(part));
        Ok(part)
    }
}

fn tokens_of_arguments(arguments: &[(Positioned<Name>, Positioned<Value>)]) -> usize {
    arguments.iter().fold(0, |tokens, (_, value)| tokens.saturating_add(1 + tokens_of(&value.node)))
}

/// The parser bounds how deep a value nests.
fn tokens_of(value: &Value) -> usize {
    match value {
        Value::List(values) => values.iter().fold(1, |tokens, value| tokens.saturating_add(tokens_of(value))),
        Value::Object(values) => {
            values.values().fold(1, |tokens, value| tokens.saturating_add(1 + tokens_of(value)))
        }
        _ => 1,
    }
}

/// Whether a value is no variable and has one within.
pub(crate) fn nests_variables(value: &Value) -> bool {
    let is_or_nests = |value: &Value| matches!(value, Value::Variable(_)) || nests_variables(value);
    match value {
        Value::List(values) => values.iter().any(is_or_nests),
        Value::Object(values) => values.values().any(is_or_nests),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    const LIMITS: DocumentLimits = DocumentLimits {
        bytes_max: 1_000_000,
        depth_max: 5,
        tokens_max: 600,
        selections_max: 100,
        aliases_max: 7,
        directives_max: 6,
        query_root_fields_max: 4,
        mutation_root_fields_max: 3,
    };

    fn measure(document: &str) -> Result<DocumentSize, SizeError> {
        LIMITS.measure(&parse_query(document).unwrap(), document.len())
    }

    /// The limit that a document exceeds.
    #[track_caller]
    fn exceeded(document: &str) -> Option<&'static str> {
        match measure(document) {
            Ok(_) => None,
            Err(SizeError::OverLimit(exceeded)) => Some(exceeded.limit),
            Err(SizeError::FragmentCycle(name)) => panic!("a cycle of {name}"),
        }
    }

    #[test]
    fn a_document_is_measured_with_its_fragments_written_out() {
        let document =
            "query A($a: Int @d) @d { a: b(c: [1, $a]) @d(e: { f: 1 }) { ...F } ... on Q { g { ...F } } }
                        fragment F on B { h: i j { __type } }";
        let size = measure(document).unwrap();
        assert_eq!((size.depth, size.selections, size.aliases, size.directives), (3, 11, 3, 3));
        assert_eq!((size.query_root_fields, size.mutation_root_fields), (2, 0));
        assert!(size.introspects);
    }

    #[test]
    fn each_limit_is_kept_by_what_is_at_it_and_exceeded_by_one_more() {
        type Shape = fn(usize) -> String;
        let shapes: [(Shape, &str, usize); 8] = [
            (|n| format!("{}a{}", "{a".repeat(n - 1) + "{", "}".repeat(n)), "document-depth-max", 5),
            (|n| format!("{{ a {{ {} }} }}", "b ".repeat(n - 1)), "document-selections-max", 100),
            (|n| format!("{{ a {{ {} }} }}", "b: c ".repeat(n)), "document-aliases-max", 7),
            (|n| format!("{{ a {} }}", "@b ".repeat(n)), "document-directives-max", 6),
            (|n| format!("query({}) {{ a }}", "$a: B @b ".repeat(n)), "document-directives-max", 6),
            (|n| format!("{{ a(b: [{}]) }}", "1 ".repeat(n - 4)), "document-tokens-max", 600),
            (|n| format!("{{ {} }}", "a ".repeat(n)), "query-root-fields-max", 4),
            (|n| format!("mutation {{ {} }}", "a ".repeat(n)), "mutation-root-fields-max", 3),
        ];
        for (shape, limit, max) in shapes {
            assert_eq!(exceeded(&shape(max)), None, "{limit}: {}", shape(max));
            assert_eq!(exceeded(&shape(max + 1)), Some(limit), "{}", shape(max + 1));
        }
    }

    #[test]
    fn what_fragments_multiply_counts_as_often_as_it_is_spread() {
        let spread = |what: &str| format!("{{ r {{ {} }} }} fragment F on A {{ {what} }}", "...F ".repeat(5));
        assert_eq!(exceeded(&spread(&"a ".repeat(20))), Some("document-selections-max"));
        assert_eq!(exceeded(&spread("a: b c: d")), Some("document-aliases-max"));
        assert_eq!(exceeded(&spread("b @c @d")), Some("document-directives-max"));
        let values = "1 ".repeat(200);
        assert_eq!(exceeded(&spread(&format!("b(c: [{values}])"))), Some("document-tokens-max"));
        assert_eq!(exceeded("{ ...F ...F } fragment F on A { a b c }"), Some("query-root-fields-max"));
        assert_eq!(
            exceeded("mutation { ...F ...F } fragment F on A { a b }"),
            Some("mutation-root-fields-max")
        );
    }

    #[test]
    fn unused_operations_and_fragments_count_too() {
        let fields = "a ".repeat(60);
        let operations = format!("query A {{ r {{ {fields} }} }} query B {{ r {{ {fields} }} }}");
        assert_eq!(exceeded(&operations), Some("document-selections-max"));
        let fragments = format!("{{ a }} fragment A on T {{ {fields} }} fragment B on T {{ {fields} }}");
        assert_eq!(exceeded(&fragments), Some("document-selections-max"));
    }

    #[test]
    fn shared_fields_count_once_per_comparison() {
        let nested = |levels: usize| {
            format!("{{ r {{ {} {} {} }} }}", "... { ".repeat(levels), "a ".repeat(60), "} ".repeat(levels))
        };
        assert_eq!(exceeded(&nested(3)), None);
        assert_eq!(exceeded(&nested(4)), Some("document-tokens-max"));
    }

    #[test]
    fn fragments_that_multiply_are_refused_without_being_expanded() {
        let mut document = "{ ...F0 } fragment F24 on A { a }".to_owned();
        for number in 0..24 {
            let next = number + 1;
            document += &format!(" fragment F{number} on A {{ ...F{next} ...F{next} }}");
        }
        assert_eq!(exceeded(&document), Some("document-tokens-max"));
    }

    #[test]
    fn a_long_chain_of_fragments_is_refused_in_either_order() {
        for order in [["...F0", ""], ["", "...F0"], ["a", ""]] {
            let chain: String =
                (0..2_000).map(|n| format!(" fragment F{n} on A {{ ...F{} }}", n + 1)).collect();
            let all: String = if order[0] == "a" {
                String::new()
            } else {
                (0..2_000).rev().map(|n| format!("...F{n} ")).collect()
            };
            let document =
                format!("{{ {} {all} {} }} {chain} fragment F2000 on A {{ a }}", order[0], order[1]);
            assert_eq!(exceeded(&document), Some(LEVELS), "{order:?}");
        }
    }

    #[test]
    fn fragments_that_spread_themselves_are_refused() {
        for document in [
            "{ ...A } fragment A on T { a ...B } fragment B on T { b { ...A } }",
            "{ a } fragment A on T { ...A }",
        ] {
            assert!(matches!(measure(document), Err(SizeError::FragmentCycle(_))), "{document}");
        }
    }

    #[test]
    fn nested_variables_are_distinguished_from_whole_values() {
        let nests =
            |text: &str| LIMITS.measure(&parse_query(text).unwrap(), text.len()).unwrap().nests_variables;
        for alone in ["query($a: A) { f(a: $a, b: [1], c: { d: 2 }) }", "{ f(a: [[1]]) }"] {
            assert!(!nests(alone), "{alone}");
        }
        for within in [
            "query($a: A) { f(a: [$a]) }",
            "query($a: A) { f(a: { b: $a }) }",
            "query($a: A) { f { g(a: { b: [{ c: $a }] }) } }",
            "query($a: A) { f { ...F } } fragment F on T { g(a: [$a]) }",
            "query($a: A) { f { ... on T { g(a: [$a]) } } }",
        ] {
            assert!(nests(within), "{within}");
        }
    }
}
