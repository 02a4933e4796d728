//! Coercion of variable values, so that a bad variable is an error of the request and not of a field.
//! Knows the input types of an SDL; async-graphql itself finds some of these faults only while executing.

use std::collections::{HashMap, HashSet};

use async_graphql::indexmap::IndexMap;
use async_graphql::{
    Name, PathSegment, Positioned, ServerError, Value, Variables,
    parser::{
        Error as ParserError,
        types::{
            BaseType, InputObjectType, Type, TypeDefinition, TypeKind, TypeSystemDefinition,
            VariableDefinition,
        },
    },
};

use super::document_limits::REQUEST_ERRORS_MAX;
use super::input_path::{FIELD, set_input_path};

/// The SDL of the schema could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the schema's own SDL does not parse: {0}")]
pub struct SdlError(#[from] ParserError);

/// Returns the requirement of a scalar of the schema that a value does not meet.
pub type ScalarCheck = fn(&Value) -> Result<(), &'static str>;

/// The input types of a schema.
#[derive(Debug, Clone, Default)]
pub struct InputTypes {
    types: HashMap<String, InputKind>,
    scalars: HashMap<&'static str, ScalarCheck>,
    conceals_schema: bool,
}

/// Why a value does not fit a type: the place in the value, and the problem there.
struct Mismatch {
    /// From the value of the variable on. The client named all of it but the last name of a missing field.
    path: Vec<PathSegment>,
    /// The message, which may hold names and types that the client did not write.
    fault: String,
    /// The same without them.
    concealed: &'static str,
}

impl Mismatch {
    fn text(&self, conceals_schema: bool) -> String {
        let places = self.path.iter().map(|segment| match segment {
            PathSegment::Field(name) => format!("in field \"{name}\""),
            PathSegment::Index(index) => format!("at index {index}"),
        });
        let fault = if conceals_schema { self.concealed } else { &self.fault };
        places.chain([fault.to_owned()]).collect::<Vec<_>>().join(", ")
    }
}

/// The mismatches of one value, in its order.
struct Mismatches {
    path: Vec<PathSegment>,
    found: Vec<Mismatch>,
}

impl Mismatches {
    fn add(&mut self, concealed: &'static str, fault: impl Into<String>) {
        if !self.is_full() {
            self.found.push(Mismatch { path: self.path.clone(), fault: fault.into(), concealed });
        }
    }

    fn within(&mut self, segment: PathSegment, find: impl FnOnce(&mut Self)) {
        self.path.push(segment);
        find(self);
        self.path.pop();
    }

    fn is_full(&self) -> bool {
        self.found.len() >= REQUEST_ERRORS_MAX
    }
}

/// The message of a value that does not fit where types are concealed.
const DOES_NOT_FIT: &str = "the value does not fit";

#[derive(Debug, Clone)]
enum InputKind {
    Enum(HashSet<String>),
    Object { fields: IndexMap<String, InputField>, one_of: bool },
}

#[derive(Debug, Clone)]
struct InputField {
    ty: Type,
    has_default: bool,
}

impl InputTypes {
    /// The enums and input objects among these definitions; scalars other than the five of GraphQL are left
    /// to the schema.
    #[must_use]
    pub fn of(definitions: Vec<TypeSystemDefinition>) -> Self {
        let types = definitions
            .into_iter()
            .filter_map(|definition| match definition {
                TypeSystemDefinition::Type(definition) => input_kind(definition.node),
                TypeSystemDefinition::Schema(_) | TypeSystemDefinition::Directive(_) => None,
            })
            .collect();
        Self { types, scalars: HashMap::new(), conceals_schema: false }
    }

    /// The same, with a check of the values of a scalar.
    #[must_use]
    pub fn with_scalar(mut self, name: &'static str, check: ScalarCheck) -> Self {
        self.scalars.insert(name, check);
        self
    }

    /// The same, whose errors conceal names and types that the client did not write.
    #[must_use]
    pub fn concealing_schema(self, conceals_schema: bool) -> Self {
        Self { conceals_schema, ..self }
    }

    /// Checks the values of the variables of an operation.
    ///
    /// A variable that an operation does not define is ignored, as GraphQL has it.
    ///
    /// # Errors
    /// The mismatches, each with the path in the value of its variable; at most [`REQUEST_ERRORS_MAX`].
    pub fn check(
        &self,
        definitions: &[Positioned<VariableDefinition>],
        variables: &Variables,
    ) -> Result<(), Vec<ServerError>> {
        let mut errors = Vec::new();
        for definition in definitions {
            let (name, ty) = (&definition.node.name.node, &definition.node.var_type.node);
            match variables.get(name) {
                None if ty.nullable || definition.node.default_value.is_some() => {}
                None => {
                    let fault = format!("Variable \"${name}\" of required type \"{ty}\" was not provided.");
                    errors.push(variable_error(fault, definition, &[]));
                }
                Some(value) => {
                    let mut mismatches = Mismatches { path: Vec::new(), found: Vec::new() };
                    self.find(ty, value, &mut mismatches);
                    errors.extend(mismatches.found.iter().map(|mismatch| {
                        let text = mismatch.text(self.conceals_schema);
                        let fault = format!("Variable \"${name}\" got an invalid value: {text}.");
                        variable_error(fault, definition, &mismatch.path)
                    }));
                }
            }
        }
        errors.truncate(REQUEST_ERRORS_MAX);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Finds out why the value is none of the type, if so. Values come from JSON, whose reader bounds their
    /// depth.
    fn find(&self, ty: &Type, value: &Value, mismatches: &mut Mismatches) {
        match (&ty.base, value) {
            (_, Value::Null) if ty.nullable => {}
            (_, Value::Null) => {
                let fault = format!("expected a value of type \"{ty}\", found null");
                mismatches.add("the value may not be null", fault);
            }
            (BaseType::List(item), Value::List(values)) => {
                for (index, value) in values.iter().enumerate() {
                    mismatches.within(PathSegment::Index(index), |within| self.find(item, value, within));
                    if mismatches.is_full() {
                        return;
                    }
                }
            }
            (BaseType::List(item), value) => self.find(item, value, mismatches),
            (BaseType::Named(name), value) => self.find_named(name, value, mismatches),
        }
    }

    fn find_named(&self, name: &Name, value: &Value, mismatches: &mut Mismatches) {
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
                (None, value) => {
                    let checked = self.scalars.get(other).map_or(Ok(()), |check| check(value));
                    return checked.unwrap_or_else(|rule| mismatches.add(rule, rule));
                }
                (Some(InputKind::Enum(names)), Value::String(text)) => names.contains(text),
                (Some(InputKind::Object { fields, one_of }), Value::Object(values)) => {
                    return self.find_in_object(name, fields, *one_of, values, mismatches);
                }
                (Some(InputKind::Enum(_) | InputKind::Object { .. }), _) => false,
            },
        };
        if !fits {
            mismatches.add(DOES_NOT_FIT, format!("expected a value of type \"{name}\""));
        }
    }

    fn find_in_object(
        &self,
        name: &Name,
        fields: &IndexMap<String, InputField>,
        one_of: bool,
        values: &IndexMap<Name, Value>,
        mismatches: &mut Mismatches,
    ) {
        if one_of && (values.len() != 1 || values.values().any(|value| *value == Value::Null)) {
            let fault = format!("\"{name}\" takes exactly one field, and not null");
            return mismatches.add("exactly one field is taken, and not null", fault);
        }
        for (field, value) in values {
            mismatches.within(PathSegment::Field(field.to_string()), |within| {
                match fields.get(field.as_str()) {
                    Some(known) => self.find(&known.ty, value, within),
                    None => within.add("there is no such field", format!("\"{name}\" has no such field")),
                }
            });
        }
        for (field, known) in fields {
            if known.ty.nullable || known.has_default || values.contains_key(field.as_str()) {
                continue;
            }
            if self.conceals_schema {
                mismatches.add("a required field is missing", "");
                continue;
            }
            let missing = PathSegment::Field(field.clone());
            mismatches.within(missing, |within| {
                within.add("", format!("a value of type \"{}\" is required", known.ty));
            });
        }
    }
}

/// An error of a variable: its field is the field at the end of the path, or the variable.
fn variable_error(
    fault: String,
    definition: &Positioned<VariableDefinition>,
    path: &[PathSegment],
) -> ServerError {
    let mut error = ServerError::new(fault, Some(definition.pos));
    let extensions = error.extensions.get_or_insert_default();
    extensions.set("code", "BAD_USER_INPUT");
    extensions.set(FIELD, definition.node.name.node.as_str());
    set_input_path(extensions, path);
    error
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

fn input_fields(object: InputObjectType) -> IndexMap<String, InputField> {
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

    fn check(definition: &str, variables: serde_json::Value) -> Result<(), Vec<ServerError>> {
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
            assert_eq!(checked.unwrap_err()[0].message, message);
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
            let errors = check(definition, variables.clone()).unwrap_err();
            let [error] = errors.as_slice() else { panic!("{definition}: {errors:?}") };
            assert!(error.message.contains("$a") && error.message.contains(place), "{definition}: {error}");
            assert_eq!(error.locations.len(), 1);
        }
    }

    #[test]
    fn all_errors_of_nested_input_have_their_paths() {
        let pages = json!({ "a": [
            { "order": "NEWEST", "tags": ["x", 1, 2] },
            { "first": "many", "order": "SIDEWAYS" },
            { "after": 1 },
        ] });
        let errors = check("$a: [Page!]!, $b: ID!", pages).unwrap_err();
        let shown: Vec<_> = errors
            .iter()
            .map(|error| {
                let extensions = serde_json::to_value(&error.extensions).unwrap();
                (extensions["field"].as_str().unwrap().to_owned(), extensions["path"].to_string())
            })
            .collect();
        let expected = [
            ("tags", r#"[0,"tags",1]"#),
            ("tags", r#"[0,"tags",2]"#),
            ("first", r#"[1,"first"]"#),
            ("order", r#"[1,"order"]"#),
            ("after", r#"[2,"after"]"#),
            ("order", r#"[2,"order"]"#),
            ("b", "[]"),
        ];
        assert_eq!(shown, expected.map(|(field, path)| (field.to_owned(), path.to_owned())));
    }

    #[test]
    fn a_scalar_of_the_schema_says_what_its_values_are() {
        let check: ScalarCheck =
            |value| if matches!(value, Value::String(_)) { Ok(()) } else { Err("a date is a string") };
        let types = InputTypes::of(parse_schema(SDL).unwrap().definitions).with_scalar("DateTime", check);
        let document = parse_query("query($a: [DateTime!]) { a }").unwrap();
        let operation = select_operation(&document, None).unwrap();
        let of = |values| types.check(&operation.variable_definitions, &Variables::from_json(values));
        assert_eq!(of(json!({ "a": ["2026-11-22"] })), Ok(()));
        let errors = of(json!({ "a": ["2026-11-22", 20261122] })).unwrap_err();
        let message = "Variable \"$a\" got an invalid value: at index 1, a date is a string.";
        assert_eq!((errors.len(), errors[0].message.as_str()), (1, message));
    }

    #[test]
    fn a_value_has_no_more_than_50_errors() {
        let errors = check("$a: [Int!]", json!({ "a": vec!["x"; 5_000] })).unwrap_err();
        assert_eq!(errors.len(), REQUEST_ERRORS_MAX);
    }
}
