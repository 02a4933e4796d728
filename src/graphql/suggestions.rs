//! Suggestions for misspelt names in errors of validation, beside the suggestions of the library: two letters
//! in the wrong order, and pages that a client asks for from the end.

use std::collections::HashMap;

use async_graphql::ServerError;
use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{TypeKind, TypeSystemDefinition};

/// The most changed letters between a name and its suggestion.
const CHANGES_MAX: usize = 2;

/// The names of fields by the names of their types.
#[derive(Debug, Default)]
pub(super) struct FieldNames(HashMap<String, Vec<String>>);

impl FieldNames {
    /// The fields of a schema; empty where its SDL cannot be read.
    pub(super) fn of_sdl(sdl: &str) -> Self {
        let Ok(document) = parse_schema(sdl) else { return Self::default() };
        let types = document.definitions.into_iter().filter_map(|definition| {
            let TypeSystemDefinition::Type(definition) = definition else { return None };
            let TypeKind::Object(object) = definition.node.kind else { return None };
            let fields = object.fields.into_iter().map(|field| field.node.name.node.to_string());
            Some((definition.node.name.node.to_string(), fields.collect()))
        });
        Self(types.collect())
    }

    /// Adds a suggestion to an error about an unknown name without a suggestion.
    pub(super) fn complete(&self, error: &mut ServerError) {
        if error.message.contains("Did you mean") {
            return;
        }
        let quoted: Vec<&str> = error.message.split('"').skip(1).step_by(2).collect();
        let suggestion = match quoted[..] {
            [name, on] if error.message.starts_with("Unknown field") => {
                self.similar(name, on).map(|field| format!(" Did you mean \"{field}\"?"))
            }
            [name, _, _]
                if error.message.starts_with("Unknown argument") && matches!(name, "last" | "before") =>
            {
                Some(" Lists are read from their beginning, by \"first\" and \"after\".".to_owned())
            }
            _ => None,
        };
        error.message.extend(suggestion);
    }

    /// The field of a type that is most like a name.
    fn similar(&self, name: &str, on: &str) -> Option<&str> {
        // Each letter more or less is a change: a long name is compared with no field.
        let may_be_similar = |field: &&String| name.len().abs_diff(field.len()) <= CHANGES_MAX;
        let fields = self.0.get(on)?.iter().filter(may_be_similar);
        fields
            .map(|field| (changes(name, field), field.as_str()))
            .filter(|(changes, _)| *changes <= CHANGES_MAX.min(name.len() / 2))
            .min()
            .map(|(_, field)| field)
    }
}

/// The least number of letters to add, to leave out, to replace or to exchange with the next, so that one
/// name becomes another (optimal string alignment).
fn changes(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, wanted) in other.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(!letter.eq_ignore_ascii_case(wanted));
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && one[i - 1] == *wanted && other[j - 1] == *letter {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDL: &str = "type Query { post: Post } type Post { title: String! content: String! id: ID! }";

    fn completed(message: &str) -> String {
        let mut error = ServerError::new(message, None);
        FieldNames::of_sdl(SDL).complete(&mut error);
        error.message
    }

    #[test]
    fn letters_in_the_wrong_order_get_a_suggestion() {
        let unknown = "Unknown field \"titel\" on type \"Post\".";
        assert_eq!(completed(unknown), format!("{unknown} Did you mean \"title\"?"));
        let other_case = "Unknown field \"Title\" on type \"Post\".";
        assert_eq!(completed(other_case), format!("{other_case} Did you mean \"title\"?"));
    }

    #[test]
    fn names_like_no_other_get_no_suggestion() {
        for unknown in [
            "Unknown field \"author\" on type \"Post\".",
            "Unknown field \"x\" on type \"Post\".",
            "Unknown field \"titel\" on type \"Nothing\".",
            "Unknown field \"tittle\" on type \"Post\". Did you mean \"title\"?",
            "Unknown argument \"size\" on field \"feed\" of type \"Query\".",
        ] {
            assert_eq!(completed(unknown), unknown);
        }
    }

    #[test]
    fn a_page_from_the_end_is_explained() {
        let unknown = "Unknown argument \"last\" on field \"feed\" of type \"Query\".";
        assert!(completed(unknown).ends_with("by \"first\" and \"after\"."), "{}", completed(unknown));
    }
}
