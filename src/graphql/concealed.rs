//! Information disclosure: takes the names and types of the schema that a client did not write out of the
//! messages of validation, for servers that give no suggestions. Knows the messages of async-graphql.

/// The beginning of a message, its kept part, and the text after that.
struct Concealing {
    start: &'static str,
    /// The kept part ends where this begins.
    kept_until: &'static str,
    then: &'static str,
}

const CONCEALING: [Concealing; 8] = [
    Concealing { start: "Invalid value for argument \"", kept_until: "\", ", then: "\"" },
    Concealing { start: "Invalid default value for argument: \"", kept_until: "\", ", then: "\"" },
    Concealing { start: "Directive \"", kept_until: "\" argument \"", then: "\" lacks a required argument" },
    Concealing { start: "Field \"", kept_until: "\" argument \"", then: "\" lacks a required argument" },
    Concealing {
        start: "Field \"",
        kept_until: "\" of type \"",
        then: "\" must have a selection of subfields",
    },
    Concealing {
        start: "Field \"",
        kept_until: "\" must not have a selection since type",
        then: "\" must not have a selection",
    },
    Concealing {
        start: "Variable \"",
        kept_until: "\" of type \"",
        then: "\" does not fit where it is used",
    },
    Concealing {
        start: "Fragment ",
        kept_until: "cannot be spread here as objects",
        then: "cannot be spread here",
    },
];

/// The message without names of the schema; `None` where it may stay unchanged.
pub(super) fn concealed(message: &str) -> Option<String> {
    CONCEALING.iter().find_map(|Concealing { start, kept_until, then }| {
        let rest = message.strip_prefix(start)?;
        let (kept, _) = rest.split_once(kept_until)?;
        Some(format!("{start}{kept}{then}"))
    })
}

#[cfg(test)]
mod tests {
    use async_graphql::Variables;
    use async_graphql::parser::parse_query;

    use super::*;
    use crate::graphql::{SchemaOptions, validation::Validator};

    #[test]
    fn a_variable_of_another_type_is_named_without_both_types() {
        let message = "Variable \"first\" of type \"Boolean\" used in position expecting type \"Int!\"";
        assert_eq!(concealed(message).as_deref(), Some("Variable \"first\" does not fit where it is used"));
    }

    #[test]
    fn no_message_of_validation_tells_what_the_client_did_not_write() {
        let validator = Validator::new(SchemaOptions { suggestions: false, ..SchemaOptions::default() });
        for (text, message) in [
            (
                "mutation { createPost(input: { title: \"x\" }) { __typename } }",
                "Invalid value for argument \"input\"",
            ),
            (
                "mutation { createPost(input: { title: 1, content: \"x\" }) { __typename } }",
                "Invalid value for argument \"input.title\"",
            ),
            ("{ user { id } }", "Field \"user\" lacks a required argument"),
            ("{ feed }", "Field \"feed\" must have a selection of subfields"),
            ("{ feed { nodes { title { x } } } }", "Field \"title\" must not have a selection"),
            ("query($first: Int = \"x\") { feed(first: $first) { nodes { id } } }", ""),
            ("{ viewer @include { id } }", "Directive \"@include\" lacks a required argument"),
            ("{ viewer { ... on Comment { id } } }", "Fragment cannot be spread here"),
        ] {
            let checked = validator.check(&parse_query(text).unwrap(), None, &Variables::default());
            let error = &checked.expect_err(text)[0];
            let concealed = concealed(&error.message);
            let shown = concealed.as_deref().unwrap_or_default();
            assert!(
                !shown.is_empty() && (message.is_empty() || shown == message),
                "{}: {shown}",
                error.message
            );
            for told in
                ["String", "CreatePostInput", "PostConnection", "content", "\"Int", "ID!", "User", "Boolean"]
            {
                assert!(!shown.contains(told), "{shown}");
            }
        }
    }
}
