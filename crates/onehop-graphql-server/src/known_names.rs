//! Names of fields and arguments that a schema does not have. They are counted before validation, which
//! compares each unknown name with all known ones and does not stop at any number of errors.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{
    BaseType, ExecutableDocument, Field, FieldDefinition, OperationType, Selection, SelectionSet, Type,
    TypeKind, TypeSystemDefinition,
};
use async_graphql::{Positioned, ServerError};

/// The types of introspection, which an SDL does not have.
const INTROSPECTION_SDL: &str = "
    type __Schema { description: String types: __Type queryType: __Type mutationType: __Type subscriptionType: __Type directives: __Directive }
    type __Type { kind: String name: String description: String specifiedByURL: String isOneOf: Boolean
        fields(includeDeprecated: Boolean): __Field interfaces: __Type possibleTypes: __Type
        enumValues(includeDeprecated: Boolean): __EnumValue inputFields(includeDeprecated: Boolean): __InputValue ofType: __Type }
    type __Field { name: String description: String args(includeDeprecated: Boolean): __InputValue type: __Type
        isDeprecated: Boolean deprecationReason: String }
    type __InputValue { name: String description: String type: __Type defaultValue: String isDeprecated: Boolean deprecationReason: String }
    type __EnumValue { name: String description: String isDeprecated: Boolean deprecationReason: String }
    type __Directive { name: String description: String locations: String args(includeDeprecated: Boolean): __InputValue isRepeatable: Boolean }
";

/// The fields of each type, and their arguments.
#[derive(Debug, Clone)]
pub(crate) struct KnownNames {
    roots: [String; 3],
    types: HashMap<String, HashMap<String, KnownField>>,
}

#[derive(Debug, Clone)]
struct KnownField {
    returns: String,
    arguments: HashSet<String>,
}

impl KnownNames {
    /// The names of objects and interfaces among these definitions.
    pub(crate) fn of(definitions: &[TypeSystemDefinition]) -> Self {
        let mut names =
            Self { roots: ["Query", "Mutation", "Subscription"].map(str::to_owned), types: HashMap::new() };
        let introspection = parse_schema(INTROSPECTION_SDL).expect("the constant is an SDL").definitions;
        for definition in definitions.iter().chain(&introspection) {
            match definition {
                TypeSystemDefinition::Schema(schema) => {
                    let roots = [&schema.node.query, &schema.node.mutation, &schema.node.subscription];
                    for (name, root) in names.roots.iter_mut().zip(roots) {
                        if let Some(root) = root {
                            *name = root.node.to_string();
                        }
                    }
                }
                TypeSystemDefinition::Type(definition) => {
                    let fields = match &definition.node.kind {
                        TypeKind::Object(object) => &object.fields,
                        TypeKind::Interface(interface) => &interface.fields,
                        _ => continue,
                    };
                    let fields = fields.iter().map(|field| known_field(&field.node)).collect();
                    names.types.insert(definition.node.name.node.to_string(), fields);
                }
                TypeSystemDefinition::Directive(_) => {}
            }
        }
        names
    }

    /// An error for each name that there is not, up to this many. Fragments are looked at where they are
    /// defined.
    pub(crate) fn unknown(&self, document: &ExecutableDocument, errors_max: usize) -> Vec<ServerError> {
        let mut unknown = Unknown { names: self, errors: Vec::new(), errors_max };
        let mut collected = ControlFlow::Continue(());
        for (_, operation) in document.operations.iter() {
            let root = match operation.node.ty {
                OperationType::Query => 0,
                OperationType::Mutation => 1,
                OperationType::Subscription => 2,
            };
            if collected.is_continue() {
                collected = unknown.selections(&operation.node.selection_set.node, &self.roots[root]);
            }
        }
        for fragment in document.fragments.values() {
            if collected.is_continue() {
                let on = fragment.node.type_condition.node.on.node.as_str();
                collected = unknown.selections(&fragment.node.selection_set.node, on);
            }
        }
        unknown.errors
    }

    fn field(&self, on: &str, name: &str) -> Option<&KnownField> {
        self.types.get(on)?.get(name)
    }

    /// The return type of a field of the root of queries that an SDL does not have.
    fn introspected(&self, on: &str, name: &str) -> Option<&'static str> {
        match name {
            "__schema" if on == self.roots[0] => Some("__Schema"),
            "__type" if on == self.roots[0] => Some("__Type"),
            _ => None,
        }
    }
}

/// The unknown names that were found.
struct Unknown<'a> {
    names: &'a KnownNames,
    errors: Vec<ServerError>,
    errors_max: usize,
}

impl Unknown<'_> {
    /// The document is within the limits of documents, which bound how deep this recurses.
    fn selections(&mut self, selections: &SelectionSet, on: &str) -> ControlFlow<()> {
        for selection in &selections.items {
            match &selection.node {
                Selection::Field(field) => self.field(field, on)?,
                Selection::InlineFragment(fragment) => {
                    let condition = fragment.node.type_condition.as_ref();
                    let on = condition.map_or(on, |condition| condition.node.on.node.as_str());
                    self.selections(&fragment.node.selection_set.node, on)?;
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn field(&mut self, field: &Positioned<Field>, on: &str) -> ControlFlow<()> {
        let (name, selections) = (field.node.name.node.as_str(), &field.node.selection_set.node);
        if name == "__typename" {
            return ControlFlow::Continue(());
        }
        if let Some(returns) = self.names.introspected(on, name) {
            return self.selections(selections, returns);
        }
        let Some(known) = self.names.field(on, name) else {
            // Validation reports a type that does not exist or has no fields.
            if self.names.types.contains_key(on) {
                let message = format!("Unknown field \"{name}\" on type \"{on}\".");
                self.errors.push(ServerError::new(message, Some(field.pos)));
                return self.full();
            }
            return ControlFlow::Continue(());
        };
        for (argument, _) in &field.node.arguments {
            if !known.arguments.contains(argument.node.as_str()) {
                let argument_name = &argument.node;
                let message =
                    format!("Unknown argument \"{argument_name}\" on field \"{name}\" of type \"{on}\".");
                self.errors.push(ServerError::new(message, Some(argument.pos)));
                self.full()?;
            }
        }
        self.selections(selections, &known.returns)
    }

    fn full(&self) -> ControlFlow<()> {
        if self.errors.len() >= self.errors_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn known_field(field: &FieldDefinition) -> (String, KnownField) {
    let arguments = field.arguments.iter().map(|argument| argument.node.name.node.to_string()).collect();
    let returns = named_type(&field.ty.node).to_owned();
    (field.name.node.to_string(), KnownField { returns, arguments })
}

/// The type's name without lists.
fn named_type(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => named_type(item),
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    const SDL: &str = "
        type Query { node(id: ID!): Node feed(first: Int): [Post!]! }
        interface Node { id: ID! }
        type Post implements Node { id: ID! title: String! author: User! }
        type User implements Node { id: ID! }
        union Any = Post | User
        schema { query: Query }
    ";

    fn unknown(text: &str, errors_max: usize) -> Vec<String> {
        let names = KnownNames::of(&parse_schema(SDL).expect("an SDL").definitions);
        let errors = names.unknown(&parse_query(text).expect(text), errors_max);
        errors.into_iter().map(|error| error.message).collect()
    }

    #[test]
    fn every_unknown_name_is_found() {
        let text = "{ feed(first: 1, last: 2) { titel author { name ...F ... on Post { x } } } node(id: 1) { __typename y } \
                    __schema { types { fields(all: true) { z } } } none { inner } } fragment F on User { w }";
        let mut found = unknown(text, 50);
        found.sort();
        assert_eq!(
            found,
            [
                "Unknown argument \"all\" on field \"fields\" of type \"__Type\".",
                "Unknown argument \"last\" on field \"feed\" of type \"Query\".",
                "Unknown field \"name\" on type \"User\".",
                "Unknown field \"none\" on type \"Query\".",
                "Unknown field \"titel\" on type \"Post\".",
                "Unknown field \"w\" on type \"User\".",
                "Unknown field \"x\" on type \"Post\".",
                "Unknown field \"y\" on type \"Node\".",
                "Unknown field \"z\" on type \"__Field\".",
            ]
        );
    }

    #[test]
    fn what_validation_says_otherwise_is_left_to_it() {
        for text in ["{ ...F }", "{ ... on None { x } }", "{ feed { id { x } } }", "{ ... on Any { x } }"] {
            assert_eq!(unknown(text, 50), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_search_stops_at_the_limit() {
        let text = format!("{{ {} }}", "x ".repeat(1_000));
        assert_eq!(unknown(&text, 50).len(), 50);
    }
}
