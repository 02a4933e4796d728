//! Directive definitions: the one source of argument names, types, defaults, locations, repeatability and
//! enum values. They are read from the SDL that `onehop model directives` prints.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::reports::Reports;
use crate::syntax::{ArgumentSyntax, Body, parse};

/// The definitions as SDL, for editors and other checkers of GraphQL.
pub const DIRECTIVES: &str = include_str!("directives.graphql");

/// The definitions as values.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub directives: BTreeMap<String, DirectiveDefinition>,
    pub enums: BTreeMap<String, Vec<String>>,
}

/// The definition of a directive.
#[derive(Debug)]
pub(crate) struct DirectiveDefinition {
    pub arguments: Vec<ArgumentSyntax>,
    pub repeatable: bool,
    pub locations: Vec<String>,
}

/// The definitions, read once in a process.
pub(crate) fn definitions() -> &'static Definitions {
    static DEFINITIONS: OnceLock<Definitions> = OnceLock::new();
    DEFINITIONS.get_or_init(|| read(DIRECTIVES))
}

/// Reads definitions. A test proves that the embedded text has no error.
fn read(text: &str) -> Definitions {
    let mut definitions = Definitions::default();
    for definition in parse(text, &Reports::default()) {
        let Some(name) = definition.name else { continue };
        match definition.body {
            Body::Directive { arguments, repeatable, locations } => {
                let directive = DirectiveDefinition { arguments, repeatable, locations };
                definitions.directives.insert(name.value, directive);
            }
            Body::Enum { values } => {
                let values = values.into_iter().map(|value| value.name.value).collect();
                definitions.enums.insert(name.value, values);
            }
            _ => {}
        }
    }
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{
        Action, CountMode, DeletionMode, Event, Format, Function, Keyword, Normalize, Place, Who,
    };

    #[test]
    fn the_embedded_definitions_have_no_error() {
        let reports = Reports::default();
        let definitions = parse(DIRECTIVES, &reports);
        assert_eq!(reports.len(), 0, "{reports:?}");
        assert!(definitions.len() > 40, "{}", definitions.len());
    }

    fn names<K: Keyword>() -> (&'static str, Vec<&'static str>) {
        (K::ENUM, K::ALL.iter().map(|(name, _)| *name).collect())
    }

    #[test]
    fn the_enums_of_rust_are_those_of_the_definitions() {
        let known = [
            names::<Place>(),
            names::<Action>(),
            names::<Who>(),
            names::<DeletionMode>(),
            names::<Format>(),
            names::<CountMode>(),
            names::<Function>(),
            names::<Normalize>(),
            names::<Event>(),
        ];
        for (name, values) in known {
            assert_eq!(definitions().enums[name], values, "{name}");
        }
        // The values of `Skew` belong to requests, which are no part of a model.
        assert_eq!(definitions().enums.len(), known_count() + 1);
    }

    fn known_count() -> usize {
        9
    }
}
