//! Syntax errors of documents, in the words of GraphQL's specification and without a part of the document,
//! which may hold a password. Knows the names in the parser's grammar.

use async_graphql::parser::Error;
use async_graphql::{Pos, ServerError};

/// The grammar's names of the parts of a document, and their readable names.
const PARTS: [(&str, &str); 46] = [
    ("EOI", "the end of the document"),
    ("alias", "an alias"),
    ("argument", "an argument"),
    ("arguments", "arguments in parentheses"),
    ("boolean", "`true` or `false`"),
    ("const_argument", "an argument"),
    ("const_arguments", "arguments in parentheses"),
    ("const_directive", "a directive"),
    ("const_directives", "a directive"),
    ("const_list", "a list"),
    ("const_object", "an object"),
    ("const_object_field", "a field of an object"),
    ("const_value", "a value without variables"),
    ("default_value", "a default value after `=`"),
    ("directive", "a directive"),
    ("directives", "a directive"),
    ("enum_value", "an enum value"),
    ("executable_definition", "an operation or a fragment"),
    ("executable_document", "an operation or a fragment"),
    ("exponent", "a number"),
    ("field", "a field"),
    ("float", "a number"),
    ("fractional", "a number"),
    ("fragment_definition", "a fragment"),
    ("fragment_spread", "a fragment spread after `...`"),
    ("inline_fragment", "an inline fragment after `...`"),
    ("int", "a number"),
    ("list", "a list"),
    ("name", "a name"),
    ("named_operation_definition", "an operation"),
    ("null", "`null`"),
    ("number", "a number"),
    ("object", "an object"),
    ("object_field", "a field of an object"),
    ("operation_definition", "an operation"),
    ("operation_type", "an operation"),
    ("selection", "a field or a fragment"),
    ("selection_set", "a selection in braces"),
    ("string", "a string"),
    ("type_", "a type"),
    ("type_condition", "a type condition such as `on User`"),
    ("value", "a value"),
    ("variable", "a variable such as `$name`"),
    ("variable_definition", "a variable such as `$name: Type`"),
    ("variable_definitions", "variables in parentheses"),
    ("string_content", "a string"),
];

/// The error of a document that does not parse.
pub(super) fn syntax_error(error: &Error) -> ServerError {
    let locations: Vec<Pos> = error.positions().collect();
    ServerError { locations, ..ServerError::new(message(error), None) }
}

fn message(error: &Error) -> String {
    match error {
        // The parser draws the faulty line, and names its expectation after the drawing.
        Error::Syntax { message, start, .. } => {
            let Pos { line, column } = *start;
            let expected = message.rsplit_once("\n  = ").and_then(|(_, reason)| expectation(reason));
            match expected {
                Some(expected) => format!("Syntax error: expected {expected}."),
                None => format!("Syntax error at line {line}, column {column}."),
            }
        }
        Error::MultipleOperations { .. } => {
            "A document with an operation without a name may have no other operation.".to_owned()
        }
        Error::OperationDuplicated { operation, .. } => {
            format!("The document has two operations named \"{operation}\".")
        }
        Error::FragmentDuplicated { fragment, .. } => {
            format!("The document has two fragments named \"{fragment}\".")
        }
        Error::MissingOperation => "The document has no operation.".to_owned(),
        _ => "The document cannot be parsed.".to_owned(),
    }
}

/// The parts that the parser expected, as a reader calls them: `expected a, b, or c` in the parser's words.
fn expectation(reason: &str) -> Option<String> {
    let names = reason.strip_prefix("expected ")?;
    let names = names.split([',', ' ']).filter(|name| !name.is_empty() && *name != "or");
    let mut parts = Vec::new();
    for name in names {
        let (_, part) = PARTS.iter().find(|(known, _)| *known == name)?;
        if !parts.contains(part) {
            parts.push(*part);
        }
    }
    let (last, others) = parts.split_last()?;
    Some(if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) })
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn of(text: &str) -> (String, Vec<(usize, usize)>) {
        let error = syntax_error(&parse_query(text).expect_err(text));
        (error.message, error.locations.iter().map(|place| (place.line, place.column)).collect())
    }

    #[test]
    fn a_syntax_error_reads_like_a_sentence() {
        for (text, message) in [
            ("", "expected an operation or a fragment."),
            ("{ feed {", "expected a field or a fragment."),
            ("{ feed(first: ) { id } }", "expected a value."),
            ("query($a Int) { a }", ""),
            ("{ a } }", ""),
            ("{ a(b: \"", "expected a value."),
            ("{ ... }", ""),
            ("query A($a: Int = $b) { a }", "expected a value without variables."),
            ("fragment F { a }", ""),
            ("{ a @ }", ""),
        ] {
            let (shown, places) = of(text);
            assert!(shown.starts_with("Syntax error"), "{text}: {shown}");
            assert!(shown.ends_with(message), "{text}: {shown}");
            assert!(!shown.contains('_'), "{text}: {shown}");
            assert_eq!(places.len(), 1, "{text}");
        }
    }

    #[test]
    fn every_name_in_the_grammar_has_words() {
        // However a document is cut or changed, no name of the grammar is shown.
        let document = "query A($a: [Int!]! = [1, {b: E}]) @d(e: true) { f: g(h: $a, i: {j: null}) @k { ...F ... on T { l } } } \
                        fragment F on T @m { n }";
        for cut in 0..document.len() {
            for put in ["", "}", ")", "$", "!", "\"", "1", "...", "@", ":"] {
                let text = format!("{}{put}", &document[..cut]);
                if let Err(error) = parse_query(&text) {
                    let shown = syntax_error(&error).message;
                    assert!(!shown.contains('_') && !shown.contains(" at line"), "{text}: {error}");
                }
            }
        }
    }

    #[test]
    fn repeated_definitions_are_named() {
        assert_eq!(of("query A { a } query A { b }").0, "The document has two operations named \"A\".");
        assert_eq!(
            of("{ a } fragment F on T { a } fragment F on T { b }").0,
            "The document has two fragments named \"F\"."
        );
        assert_eq!(of("{ a } { b }").1.len(), 2);
        assert_eq!(of("fragment F on T { a }").0, "The document has no operation.");
    }
}
