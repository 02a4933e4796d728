//! Coercion of variable values, so that a bad variable is an error of the request and not of a field.
//! Knows the input types of an SDL; async-graphql itself finds some of these faults only while executing.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name, Positioned, ServerError, Value, Variables,
    parser::{
        Error as ParserError,
        types::{
            BaseType, InputObjectType, Type, TypeDefinition, TypeKind, TypeSystemDefinition,
            VariableDefinition,
        },
    },
};

/// The SDL of the schema could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the schema's own SDL does not parse: {0}")]
pub struct SdlError(#[from] ParserError);

/// The input types of a schema.
#[derive(Debug, Default)]
pub struct InputTypes {
    types: HashMap<String, InputKind>,
    conceals_schema: bool,
}

/// Why a value is none of a type: where in the value, and what is wrong there.
struct Mismatch {
    /// From the innermost place to the outermost. The client named them.
    places: Vec<String>,
    /// The message, which may hold names and types that the client did not write.
    fault: String,
    /// The same without them.
    concealed: &'static str,
}

impl Mismatch {
    fn new(concealed: &'static str, fault: impl Into<String>) -> Self {
        Self { places: Vec::new(), fault: fault.into(), concealed }
    }

    fn within(mut self, place: String) -> Self {
        self.places.push(place);
        self
    }

    fn text(&self, conceals_schema: bool) -> String {
        let fault: &str = if conceals_schema { self.concealed } else { &self.fault };
        let places = self.places.iter().rev().map(String::as_str);
        places.chain([fault]).collect::<Vec<_>>().join(", ")
    }
}

/// The message of a value that does not fit where types are concealed.
const DOES_NOT_FIT: &str = "the value does not fit";

#[derive(Debug)]
enum InputKind {
    Enum(HashSet<String>),
    Object { fields: HashMap<String, InputField>, one_of: bool },
}

#[derive(Debug)]
struct InputField {
    ty: Type,
    has_default: bool,
}

impl InputTypes {
    /// The enums and input objects among these definitions; scalars other than the five of GraphQL are left to the schema.
    #[must_use]
    pub fn of(definitions: Vec<TypeSystemDefinition>) -> Self {
        let types = definitions
            .into_iter()
            .filter_map(|definition| match definition {
                TypeSystemDefinition::Type(definition) => input_kind(definition.node),
                TypeSystemDefinition::Schema(_) | TypeSystemDefinition::Directive(_) => None,
            })
            .collect();
        Self { types, conceals_schema: false }
    }

    /// The same, whose errors conceal names and types that the client did not write.
    #[must_use]
    pub fn concealing_schema(self, conceals_schema: bool) -> Self {
        Self { conceals_schema, ..self }
    }

    /// Checks the values of the variables of an operation.
    ///
    /// A variable that an operation does not define is ignored, as GraphQL has it.
    pub fn check(
        &self,
        definitions: &[Positioned<VariableDefinition>],
        variables: &Variables,
    ) -> Result<(), ServerError> {
        for definition in definitions {
            let (name, ty) = (&definition.node.name.node, &definition.node.var_type.node);
            let fault = match variables.get(name) {
                None if ty.nullable || definition.node.default_value.is_some() => continue,
                None => format!("Variable \"${name}\" of required type \"{ty}\" was not provided."),
                Some(value) => match self.mismatch(ty, value) {
                    None => continue,
                    Some(mismatch) => {
                        let mismatch = mismatch.text(self.conceals_schema);
                        format!("Variable \"${name}\" got an invalid value: {mismatch}.")
                    }
                },
            };
            return Err(ServerError::new(fault, Some(definition.pos)));
        }
        Ok(())
    }

    /// Why the value is none of the type, if so. Values come from JSON, whose reader bounds their depth.
    fn mismatch(&self, ty: &Type, value: &Value) -> Option<Mismatch> {
        match (&ty.base, value) {
            (_, Value::Null) if ty.nullable => None,
            (_, Value::Null) => {
                let fault = format!("expected a value of type \"{ty}\", found null");
                Some(Mismatch::new("the value may not be null", fault))
            }
            (BaseType::List(item), Value::List(values)) => {
                values.iter().enumerate().find_map(|(index, value)| {
                    self.mismatch(item, value).map(|mismatch| mismatch.within(format!("at index {index}")))
                })
            }
            (BaseType::List(item), value) => self.mismatch(item, value),
            (BaseType::Named(name), value) => self.mismatch_named(name, value),
        }
    }

    fn mismatch_named(&self, name: &Name, value: &Value) -> Option<Mismatch> {
        let fits = match name.as_str() {
            "Int" => {
                matches!(value, Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()))
            }
            "Float" => matches!(value, Value::Number(_)),
            "String" => matches!(value, Value::String(_)),
            "Boolean" => matches!(value, Value::Boolean(_)),
            "ID" => match value {
                Value::Number(number) => number.is_i64() || number.is_u64(),
                value => matches!(value, Value::String(_)),
            },
            other => match (self.types.get(other), value) {
                (None, _) => true,
                (Some(InputKind::Enum(names)), Value::String(text)) => names.contains(text),
                (Some(InputKind::Object { fields, one_of }), Value::Object(values)) => {
                    return self.mismatch_object(name, fields, *one_of, values);
                }
                (Some(InputKind::Enum(_) | InputKind::Object { .. }), _) => false,
            },
        };
        (!fits).then(|| Mismatch::new(DOES_NOT_FIT, format!("expected a value of type \"{name}\"")))
    }

    fn mismatch_object(
        &self,
        name: &Name,
        fields: &HashMap<String, InputField>,
        one_of: bool,
        values: &async_graphql::indexmap::IndexMap<Name, Value>,
    ) -> Option<Mismatch> {
        if one_of && (values.len() != 1 || values.values().any(|value| *value == Value::Null)) {
            let fault = format!("\"{name}\" takes exactly one field, and not null");
            return Some(Mismatch::new("exactly one field is taken, and not null", fault));
        }
        for (field, value) in values {
            let Some(known) = fields.get(field.as_str()) else {
                let mismatch =
                    Mismatch::new("there is no such field", format!("\"{name}\" has no such field"));
                return Some(mismatch.within(format!("in field \"{field}\"")));
            };
            if let Some(mismatch) = self.mismatch(&known.ty, value) {
                return Some(mismatch.within(format!("in field \"{field}\"")));
            }
        }
        fields
            .iter()
            .find(|(field, known)| {
                !known.ty.nullable && !known.has_default && !values.contains_key(field.as_str())
            })
            .map(|(field, known)| {
                let fault = format!("field \"{field}\" of type \"{}\" is required", known.ty);
                Mismatch::new("a required field is missing", fault)
            })
    }
}

fn input_kind(definition: TypeDefinition) -> Option<(String, InputKind)> {
    let kind = match definition.kind {
        TypeKind::Enum(definition) => InputKind::Enum(
            definition.values.into_iter().map(|value| value.node.value.node.to_string()).collect(),
        ),
        TypeKind::InputObject(object) => InputKind::Object {
            one_of: definition.directives.iter().any(|directive| directive.node.name.node == "oneOf"),
            fields: input_fields(object),
        },
        _ => return None,
    };
    Some((definition.name.node.to_string(), kind))
}

fn input_fields(object: InputObjectType) -> HashMap<String, InputField> {
    let fields = object.fields.into_iter().map(|field| {
        let field = field.node;
        let has_default = field.default_value.is_some();
        (field.name.node.to_string(), InputField { ty: field.ty.node, has_default })
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::{parse_query, parse_schema};
    use serde_json::json;

    use super::*;
    use crate::document::select_operation;

    const SDL: &str = r#"
        enum Order { NEWEST OLDEST }
        scalar DateTime
        input Page { first: Int! = 20, after: String, order: Order!, tags: [String!] }
        input Key @oneOf { id: ID, name: String }
        type Query { a: Int }
    "#;

    fn check(definition: &str, variables: serde_json::Value) -> Result<(), ServerError> {
        let document = parse_query(format!("query({definition}) {{ a }}")).unwrap();
        let operation = select_operation(&document, None).unwrap();
        InputTypes::of(parse_schema(SDL).unwrap().definitions)
            .check(&operation.variable_definitions, &Variables::from_json(variables))
    }

    #[test]
    fn variables_that_fit_their_types_are_taken() {
        for (definition, variables) in [
            ("$a: ID!", json!({ "a": "x" })),
            ("$a: ID!", json!({ "a": 7 })),
            ("$a: ID", json!({})),
            ("$a: ID", json!({ "a": null })),
            ("$a: Int! = 3", json!({})),
            ("$a: Int!", json!({ "a": -2147483648 })),
            ("$a: Float!", json!({ "a": 1 })),
            ("$a: [Int!]", json!({ "a": 1 })),
            ("$a: [[Int]]", json!({ "a": [[1, null], null] })),
            ("$a: Order", json!({ "a": "NEWEST" })),
            ("$a: DateTime!", json!({ "a": "whatever the schema makes of it" })),
            ("$a: Page!", json!({ "a": { "order": "OLDEST", "tags": ["x"] } })),
            ("$a: Key!", json!({ "a": { "id": 1 } })),
            ("$a: Int", json!({ "undefined": {} })),
        ] {
            assert_eq!(check(definition, variables.clone()), Ok(()), "{definition} {variables}");
        }
    }

    #[test]
    fn concealed_errors_say_where_and_no_names_of_the_schema() {
        let types = InputTypes::of(parse_schema(SDL).unwrap().definitions).concealing_schema(true);
        for (variables, message) in [
            (json!({ "a": {} }), "Variable \"$a\" got an invalid value: a required field is missing."),
            (
                json!({ "a": { "order": "NEWEST", "more": 1 } }),
                "Variable \"$a\" got an invalid value: in field \"more\", there is no such field.",
            ),
            (
                json!({ "a": { "order": "NEWEST", "tags": ["x", 1] } }),
                "Variable \"$a\" got an invalid value: in field \"tags\", at index 1, the value does not fit.",
            ),
            (
                json!({ "a": { "order": null } }),
                "Variable \"$a\" got an invalid value: in field \"order\", the value may not be null.",
            ),
        ] {
            let document = parse_query("query($a: Page) { a }").unwrap();
            let operation = select_operation(&document, None).unwrap();
            let checked = types.check(&operation.variable_definitions, &Variables::from_json(variables));
            assert_eq!(checked.unwrap_err().message, message);
        }
    }

    #[test]
    fn an_invalid_variable_is_refused_with_its_path() {
        for (definition, variables, place) in [
            ("$a: ID!", json!({}), "not provided"),
            ("$a: ID!", json!({ "a": null }), "found null"),
            ("$a: ID! = \"x\"", json!({ "a": null }), "found null"),
            ("$a: ID!", json!({ "a": 1.5 }), "\"ID\""),
            ("$a: Int", json!({ "a": 2147483648_u64 }), "\"Int\""),
            ("$a: Int", json!({ "a": "1" }), "\"Int\""),
            ("$a: Int", json!({ "a": 1.5 }), "\"Int\""),
            ("$a: String", json!({ "a": 1 }), "\"String\""),
            ("$a: Boolean", json!({ "a": 1 }), "\"Boolean\""),
            ("$a: Float", json!({ "a": "1" }), "\"Float\""),
            ("$a: [Int!]", json!({ "a": [1, null] }), "at index 1"),
            ("$a: Order", json!({ "a": "SIDEWAYS" }), "\"Order\""),
            ("$a: Page", json!({ "a": "text" }), "\"Page\""),
            ("$a: Page", json!({ "a": {} }), "\"order\""),
            ("$a: Page", json!({ "a": { "order": "NEWEST", "more": 1 } }), "\"more\""),
            ("$a: Page", json!({ "a": { "order": "NEWEST", "first": null } }), "in field \"first\""),
            (
                "$a: Page",
                json!({ "a": { "order": "NEWEST", "tags": ["x", 1] } }),
                "in field \"tags\", at index 1",
            ),
            ("$a: Key", json!({ "a": { "id": 1, "name": "x" } }), "exactly one"),
            ("$a: Key", json!({ "a": { "id": null } }), "exactly one"),
        ] {
            let error = check(definition, variables.clone()).unwrap_err();
            assert!(error.message.contains("$a") && error.message.contains(place), "{definition}: {error}");
            assert_eq!(error.locations.len(), 1);
        }
    }
}
