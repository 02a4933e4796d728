//! Introspection: the fields that a query for the schema selects, counted on the schema that answers it.
//! Types lead to fields and fields to types, so that each level of such a query multiplies its answer; the
//! count stops where no limit allows more.

use std::collections::HashMap;

use async_graphql::Executor;
use async_graphql::parser::types::{Field, SelectionSet};
use futures::FutureExt as _;
use serde_json::Value;

use super::operation_input::OperationInput;
use onehop_graphql_server::selections::fields;

/// The whole content of introspection. A type that is named is looked up by its name.
const EVERYTHING: &str = "
    { __schema {
        types {
          kind name
          fields(includeDeprecated: true) { name args(includeDeprecated: true) { name type { ...T } } type { ...T } }
          inputFields(includeDeprecated: true) { name type { ...T } }
          interfaces { kind name } possibleTypes { kind name } enumValues(includeDeprecated: true) { name }
        }
        queryType { kind name } mutationType { kind name } subscriptionType { kind name }
        directives { name locations args(includeDeprecated: true) { name type { ...T } } }
    } }
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }
";

/// The data that introspection of the schema returns.
pub(in crate::graphql) struct Introspected {
    schema: Value,
    types: HashMap<String, Value>,
}

impl Introspected {
    /// Asks the schema. One without introspection has nothing to count.
    pub(in crate::graphql) fn of_schema(schema: &impl Executor) -> Self {
        // No resolver of introspection waits for anything.
        let response = schema.execute(EVERYTHING.into()).now_or_never().unwrap_or_default();
        let mut data = serde_json::to_value(response.data).unwrap_or_default();
        let schema = data["__schema"].take();
        let types = schema["types"].as_array().into_iter().flatten();
        let types = types.filter_map(|named| Some((named["name"].as_str()?.to_owned(), named.clone())));
        Self { types: types.collect(), schema }
    }

    /// The number of fields in the answer to `__schema` or `__type`, or one more than the limit.
    pub(super) fn fields(&self, input: &OperationInput<'_>, field: &Field, max: usize) -> usize {
        let node = match field.name.node.as_str() {
            "__schema" => Some(&self.schema),
            _ => match input.argument(field, "name") {
                Some(async_graphql::Value::String(name)) => self.types.get(&name),
                _ => None,
            },
        };
        let mut count = Count { introspected: self, input, fields: 1, max };
        if let Some(node) = node {
            count.selections(&field.selection_set.node, node);
        }
        count.fields
    }
}

struct Count<'a> {
    introspected: &'a Introspected,
    input: &'a OperationInput<'a>,
    fields: usize,
    max: usize,
}

impl Count<'_> {
    fn selections(&mut self, selections: &SelectionSet, node: &Value) {
        for (field, _) in fields(self.input.document, selections, "") {
            if self.fields > self.max {
                return;
            }
            self.fields += 1;
            self.values(&field.node.selection_set.node, &node[field.node.name.node.as_str()]);
        }
    }

    /// Counts the selected fields of a value: of an object, or of each object of a list.
    fn values(&mut self, selections: &SelectionSet, value: &Value) {
        match value {
            Value::Array(values) => {
                for value in values {
                    self.values(selections, value);
                }
            }
            Value::Object(object) => {
                // Only types have a kind, and lists and non-nulls no name.
                let named = object.get("kind").and(object.get("name")).and_then(Value::as_str);
                let whole = named.and_then(|name| self.introspected.types.get(name));
                self.selections(selections, whole.unwrap_or(value));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::Variables;
    use async_graphql::parser::parse_query;

    use async_graphql::parser::types::Selection;

    use super::*;
    use crate::graphql::schema::{SchemaOptions, schema};

    const MAX: usize = 100_000;

    fn fields_of(value: &Value) -> usize {
        match value {
            Value::Array(values) => values.iter().map(fields_of).sum(),
            Value::Object(values) => values.values().map(|value| 1 + fields_of(value)).sum(),
            _ => 0,
        }
    }

    /// The number of counted fields, and of fields in the answer.
    fn counted_and_answered(query: &str) -> (usize, usize) {
        let schema = schema(SchemaOptions::default());
        let answer = schema.execute(query).now_or_never().unwrap();
        assert!(answer.errors.is_empty(), "{query}: {:?}", answer.errors);
        let document = parse_query(query).unwrap();
        let (_, operation) = document.operations.iter().next().unwrap();
        let input =
            OperationInput { document: &document, definitions: &[], variables: &Variables::default() };
        let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else {
            panic!("{query}")
        };
        let counted = Introspected::of_schema(&schema).fields(&input, &field.node, MAX);
        (counted, fields_of(&serde_json::to_value(answer.data).unwrap()))
    }

    #[test]
    fn a_query_for_the_schema_counts_each_field_of_its_answer() {
        for query in [
            "{ __schema { types { name description } queryType { name } directives { args { type { name } } } } }",
            "{ __schema { types { fields(includeDeprecated: true) { type { fields(includeDeprecated: true) \
               { type { ofType { name } } } } } } } }",
            "{ __schema { types { ...A } } }
             fragment A on __Type { possibleTypes { fields(includeDeprecated: true) { name } } interfaces { name } }",
            "{ __type(name: \"Post\") { kind ... on __Type { fields { args { type { inputFields { name } } } } } } }",
            "{ __type(name: \"Nothing\") { name } }",
            EVERYTHING,
        ] {
            let (counted, answered) = counted_and_answered(query);
            assert_eq!(counted, answered, "{query}");
        }
    }

    #[test]
    fn the_count_stops_where_it_is_too_much() {
        let query = format!(
            "{{ __type(name: \"Node\") {} {{ name }} {} }}",
            "{ possibleTypes { interfaces ".repeat(12),
            "}}".repeat(12)
        );
        let document = parse_query(&query).unwrap();
        let (_, operation) = document.operations.iter().next().unwrap();
        let input =
            OperationInput { document: &document, definitions: &[], variables: &Variables::default() };
        let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else {
            panic!("{query}")
        };
        let introspected = Introspected::of_schema(&schema(SchemaOptions::default()));
        let counted = introspected.fields(&input, &field.node, MAX);
        assert!((MAX + 1..MAX + 100).contains(&counted), "{counted}");
    }
}
