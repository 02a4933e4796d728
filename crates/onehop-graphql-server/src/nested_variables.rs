//! Nested variables: whether variables within lists and input objects fit their positions with any values.
//!
//! Validation decides on such a variable by its value, with each request. Where the declared type of each of
//! them is the type of its position, coercion of the variables has decided already, and the document is valid
//! for good.

use std::collections::{HashMap, HashSet};

use async_graphql::parser::types::{
    BaseType, ExecutableDocument, Field, InputValueDefinition, OperationDefinition, OperationType, Selection,
    SelectionSet, Type, TypeKind, TypeSystemDefinition,
};
use async_graphql::{Name, Positioned};
use async_graphql_value::Value;

use crate::document_size::nests_variables;

/// The scalars whose values the coercion of variables checks.
const SCALARS: [&str; 5] = ["Int", "Float", "String", "Boolean", "ID"];

/// Types by name, of arguments or of the fields of an input object.
type InputPositions = HashMap<String, Type>;

/// The positions of a schema in which variables may stand.
#[derive(Debug, Clone)]
pub(crate) struct VariablePositions {
    query: String,
    mutation: String,
    /// The arguments of fields, by object and field.
    arguments: HashMap<String, HashMap<String, InputPositions>>,
    inputs: HashMap<String, InputPositions>,
    enums: HashSet<String>,
}

impl VariablePositions {
    pub(crate) fn of(definitions: &[TypeSystemDefinition]) -> Self {
        let mut positions = Self {
            query: "Query".to_owned(),
            mutation: "Mutation".to_owned(),
            arguments: HashMap::new(),
            inputs: HashMap::new(),
            enums: HashSet::new(),
        };
        for definition in definitions {
            match definition {
                TypeSystemDefinition::Schema(schema) => {
                    let named = |root: &Option<Positioned<Name>>, default: &str| {
                        root.as_ref().map_or(default.to_owned(), |root| root.node.to_string())
                    };
                    positions.query = named(&schema.node.query, "Query");
                    positions.mutation = named(&schema.node.mutation, "Mutation");
                }
                TypeSystemDefinition::Type(definition) => {
                    let name = definition.node.name.node.to_string();
                    match &definition.node.kind {
                        TypeKind::Object(object) => {
                            let fields = object.fields.iter().map(|field| &field.node);
                            let fields =
                                fields.map(|field| (field.name.node.to_string(), types(&field.arguments)));
                            positions.arguments.insert(name, fields.collect());
                        }
                        TypeKind::InputObject(input) => {
                            _ = positions.inputs.insert(name, types(&input.fields))
                        }
                        TypeKind::Enum(_) => _ = positions.enums.insert(name),
                        _ => {}
                    }
                }
                TypeSystemDefinition::Directive(_) => {}
            }
        }
        positions
    }

    /// Whether every variable that is nested in a value stands in an argument of a field at the root, and has
    /// the type of its position, which coercion knows.
    pub(crate) fn fit(&self, document: &ExecutableDocument) -> bool {
        let in_fragments = document.fragments.values();
        !in_fragments.map(|fragment| &fragment.node.selection_set.node).any(nests_below)
            && document.operations.iter().all(|(_, operation)| self.fit_operation(&operation.node))
    }

    fn fit_operation(&self, operation: &OperationDefinition) -> bool {
        let root = match operation.ty {
            OperationType::Query => &self.query,
            OperationType::Mutation => &self.mutation,
            OperationType::Subscription => return !nests_below(&operation.selection_set.node),
        };
        let Some(fields) = self.arguments.get(root) else { return false };
        operation.selection_set.node.items.iter().all(|selection| match &selection.node {
            Selection::Field(field) => {
                let arguments = fields.get(field.node.name.node.as_str());
                !nests_below(&field.node.selection_set.node)
                    && arguments.is_some_and(|types| self.fit_field(operation, &field.node, types))
            }
            Selection::InlineFragment(fragment) => !nests_below(&fragment.node.selection_set.node),
            Selection::FragmentSpread(_) => true,
        })
    }

    fn fit_field(&self, operation: &OperationDefinition, field: &Field, types: &InputPositions) -> bool {
        field
            .directives
            .iter()
            .all(|directive| directive.node.arguments.iter().all(|(_, value)| !nests_variables(&value.node)))
            && field.arguments.iter().all(|(name, value)| {
                let fits = |ty| self.fit_value(operation, &value.node, ty);
                // A variable that is the whole argument is validated by its type.
                matches!(value.node, Value::Variable(_)) || types.get(name.node.as_str()).is_some_and(fits)
            })
    }

    fn fit_value(&self, operation: &OperationDefinition, value: &Value, position: &Type) -> bool {
        match (value, &position.base) {
            (Value::Variable(name), _) => {
                let mut definitions =
                    operation.variable_definitions.iter().map(|definition| &definition.node);
                let definition = definitions.find(|definition| definition.name.node == *name);
                definition.is_some_and(|definition| self.is_of(&definition.var_type.node, position))
            }
            (Value::List(values), BaseType::List(item)) => {
                values.iter().all(|value| self.fit_value(operation, value, item))
            }
            (Value::Object(values), BaseType::Named(name)) => {
                let Some(fields) = self.inputs.get(name.as_str()) else { return !nests_variables(value) };
                values.iter().all(|(field, value)| {
                    fields.get(field.as_str()).is_some_and(|ty| self.fit_value(operation, value, ty))
                })
            }
            _ => !nests_variables(value),
        }
    }

    /// Whether a declared type equals the type of a position, or the same without null, and coercion checks
    /// its values.
    fn is_of(&self, declared: &Type, position: &Type) -> bool {
        (position.nullable || !declared.nullable)
            && match (&declared.base, &position.base) {
                (BaseType::Named(declared), BaseType::Named(position)) => {
                    declared == position && self.is_coerced(position)
                }
                (BaseType::List(declared), BaseType::List(position)) => self.is_of(declared, position),
                _ => false,
            }
    }

    fn is_coerced(&self, name: &str) -> bool {
        SCALARS.contains(&name) || self.enums.contains(name)
    }
}

fn types(definitions: &[Positioned<InputValueDefinition>]) -> InputPositions {
    let definitions = definitions.iter().map(|definition| &definition.node);
    definitions.map(|definition| (definition.name.node.to_string(), definition.ty.node.clone())).collect()
}

/// Whether a selection nests variables anywhere.
fn nests_below(selections: &SelectionSet) -> bool {
    selections.items.iter().any(|selection| match &selection.node {
        Selection::Field(field) => {
            let field = &field.node;
            field.arguments.iter().any(|(_, value)| nests_variables(&value.node))
                || nests_below(&field.selection_set.node)
        }
        Selection::InlineFragment(fragment) => nests_below(&fragment.node.selection_set.node),
        Selection::FragmentSpread(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::{parse_query, parse_schema};

    use super::*;

    const SDL: &str = "
        type Query { node(id: ID!): Node find(filter: Filter): Node }
        type Mutation { like(input: LikeInput!): Node }
        type Node { pages(filter: Filter): Node }
        scalar Decimal
        enum Order { NEWEST OLDEST }
        input LikeInput { postId: ID! comment: String price: Decimal order: Order tags: [String!] filter: Filter }
        input Filter { first: Int ids: [ID!] }
    ";

    fn fit(text: &str) -> bool {
        let definitions = parse_schema(SDL).expect("an SDL").definitions;
        VariablePositions::of(&definitions).fit(&parse_query(text).expect(text))
    }

    #[test]
    fn variables_of_the_type_of_their_position_fit() {
        for text in [
            "mutation($id: ID!) { like(input: { postId: $id }) { __typename } }",
            "mutation($id: ID!, $c: String) { like(input: { postId: $id, comment: $c }) { __typename } }",
            "mutation($id: ID!, $o: Order) { like(input: { postId: $id, order: $o }) { __typename } }",
            "mutation($t: [String!]) { like(input: { postId: \"a\", tags: $t }) { __typename } }",
            "mutation($t: String!) { like(input: { postId: \"a\", tags: [$t, \"b\"] }) { __typename } }",
            "mutation($n: Int!) { like(input: { postId: \"a\", filter: { first: $n } }) { __typename } }",
            "mutation($input: LikeInput!) { like(input: $input) { __typename } }",
            "query($id: ID!) { node(id: $id) { pages { __typename } } }",
        ] {
            assert!(fit(text), "{text}");
        }
    }

    #[test]
    fn other_variables_are_left_to_validation() {
        for text in [
            // Another type, or null where it may not be.
            "mutation($id: String!) { like(input: { postId: $id }) { __typename } }",
            "mutation($id: ID) { like(input: { postId: $id }) { __typename } }",
            "mutation($t: [String]) { like(input: { postId: \"a\", tags: $t }) { __typename } }",
            "mutation($t: String!) { like(input: { postId: \"a\", tags: $t }) { __typename } }",
            // Coercion knows nothing of other scalars, and input objects have rules of their own.
            "mutation($p: Decimal) { like(input: { postId: \"a\", price: $p }) { __typename } }",
            "mutation($f: Filter) { like(input: { postId: \"a\", filter: $f }) { __typename } }",
            // Unknown names, and variables that are not defined.
            "mutation($id: ID!) { like(input: { none: $id }) { __typename } }",
            "mutation($id: ID!) { none(input: { postId: $id }) { __typename } }",
            "mutation { like(input: { postId: $id }) { __typename } }",
            // Below the root.
            "query($n: Int!) { node(id: \"a\") { pages(filter: { first: $n }) { __typename } } }",
            "query($n: Int!) { ...F } fragment F on Query { find(filter: { first: $n }) { __typename } }",
            "query($n: Int!) { ... { find(filter: { first: $n }) { __typename } } }",
        ] {
            assert!(!fit(text), "{text}");
        }
    }
}
