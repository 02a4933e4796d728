//! Null propagation: the nulls of failed fields, where the GraphQL specification wants them.
//!
//! Since 7.1 async-graphql leaves the key of a failed field out of its object and lets non-null parents live
//! on. A client that was promised `String` or `null` then reads neither. Here every error with a path makes
//! its field null, or where that is not allowed the nearest parent that may be. Only a response with errors
//! pays for it. Knows the output types of an SDL.

use std::collections::HashMap;

use async_graphql::{
    Name, PathSegment, Response, Value,
    indexmap::IndexMap,
    parser::types::{
        BaseType, ExecutableDocument, Field, FieldDefinition, OperationDefinition, OperationType,
        SelectionSet, Type, TypeKind, TypeSystemDefinition,
    },
};

use crate::selections::fields;

/// The output types of a schema.
#[derive(Debug, Clone)]
pub struct OutputTypes {
    query: String,
    mutation: String,
    subscription: String,
    fields: HashMap<String, HashMap<String, Type>>,
}

impl OutputTypes {
    /// The fields of objects and interfaces among these definitions.
    #[must_use]
    pub fn of(definitions: &[TypeSystemDefinition]) -> Self {
        let mut types = Self {
            query: "Query".to_owned(),
            mutation: "Mutation".to_owned(),
            subscription: "Subscription".to_owned(),
            fields: HashMap::new(),
        };
        for definition in definitions {
            match definition {
                TypeSystemDefinition::Schema(schema) => {
                    if let Some(query) = &schema.node.query {
                        types.query = query.node.to_string();
                    }
                    if let Some(mutation) = &schema.node.mutation {
                        types.mutation = mutation.node.to_string();
                    }
                    if let Some(subscription) = &schema.node.subscription {
                        types.subscription = subscription.node.to_string();
                    }
                }
                TypeSystemDefinition::Type(definition) => {
                    let fields = match &definition.node.kind {
                        TypeKind::Object(object) => &object.fields,
                        TypeKind::Interface(interface) => &interface.fields,
                        _ => continue,
                    };
                    let fields = fields.iter().map(|field| named_type(&field.node)).collect();
                    types.fields.insert(definition.node.name.node.to_string(), fields);
                }
                TypeSystemDefinition::Directive(_) => {}
            }
        }
        types
    }

    /// Sets the fields to null that failed by the errors of a response.
    pub fn complete(
        &self,
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        response: &mut Response,
    ) {
        let mut nulls: Vec<&[PathSegment]> = response
            .errors
            .iter()
            .map(|error| error.path.as_slice())
            .filter(|path| !path.is_empty() && !is_present(&response.data, path))
            .filter_map(|path| Some(&path[..self.null_depth(document, operation, path)?]))
            .collect();
        // Deepest first, so that a null that spreads further up has the last word.
        nulls.sort_unstable_by_key(|path| std::cmp::Reverse(path.len()));
        for path in nulls {
            set_null(&mut response.data, path);
        }
    }

    /// The fields that a response key stands for.
    fn fields_of<'a>(
        &'a self,
        document: &'a ExecutableDocument,
        parent: &'a str,
        selections: &'a SelectionSet,
        key: &str,
    ) -> Vec<(&'a Type, &'a Field)> {
        let selected = fields(document, selections, parent).into_iter();
        let selected = selected.filter(|(field, _)| field.node.response_key().node == key);
        selected
            .filter_map(|(field, on)| {
                let ty = self.fields.get(on)?.get(field.node.name.node.as_str())?;
                Some((ty, &field.node))
            })
            .collect()
    }

    /// The length of the part of a failed field's path that leads to the null: all of it when the field may
    /// be null, 0 when not even `data` can stay. `None` when the schema has no such path.
    fn null_depth(
        &self,
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        path: &[PathSegment],
    ) -> Option<usize> {
        let root = match operation.ty {
            OperationType::Query => &self.query,
            OperationType::Mutation => &self.mutation,
            OperationType::Subscription => &self.subscription,
        };
        let mut parents = vec![(root.as_str(), &operation.selection_set.node)];
        let mut list_type: Option<&Type> = None;
        let mut depth = 0;
        for (index, segment) in path.iter().enumerate() {
            let ty = match (segment, list_type) {
                (PathSegment::Index(_), Some(Type { base: BaseType::List(item), .. })) => item.as_ref(),
                (PathSegment::Index(_), _) => return None,
                (PathSegment::Field(key), _) => {
                    let found: Vec<(&Type, &Field)> = parents
                        .iter()
                        .flat_map(|(parent, selections)| self.fields_of(document, parent, selections, key))
                        .collect();
                    parents =
                        found.iter().map(|(ty, field)| (base_name(ty), &field.selection_set.node)).collect();
                    // Fields of one key have one shape, as validation made sure: any of them will do.
                    found.first()?.0
                }
            };
            list_type = Some(ty);
            if ty.nullable {
                depth = index + 1;
            }
        }
        Some(depth)
    }
}

fn named_type(field: &FieldDefinition) -> (String, Type) {
    (field.name.node.to_string(), field.ty.node.clone())
}

fn base_name(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => base_name(item),
    }
}

/// Whether the field has a value in spite of its error, which a resolver then reported beside it.
fn is_present(data: &Value, path: &[PathSegment]) -> bool {
    let value = path.iter().try_fold(data, |value, segment| match (value, segment) {
        (Value::Object(fields), PathSegment::Field(name)) => fields.get(name.as_str()),
        (Value::List(items), PathSegment::Index(index)) => items.get(*index),
        _ => None,
    });
    value.is_some_and(|value| *value != Value::Null)
}

/// Sets the value at the end of the path to null. An object all of whose fields failed is null by then, and
/// comes back.
fn set_null(value: &mut Value, path: &[PathSegment]) {
    match (path.split_first(), &mut *value) {
        (Some((PathSegment::Field(name), rest)), Value::Object(fields)) => {
            set_null(fields.entry(Name::new(name)).or_insert(Value::Null), rest);
        }
        (Some((PathSegment::Field(name), rest)), Value::Null) => {
            let mut field = Value::Null;
            set_null(&mut field, rest);
            *value = Value::Object(IndexMap::from([(Name::new(name), field)]));
        }
        (Some((PathSegment::Index(index), rest)), Value::List(items)) => {
            if let Some(item) = items.get_mut(*index) {
                set_null(item, rest);
            }
        }
        (Some(_), _) | (None, _) => *value = Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::ServerError;
    use async_graphql::parser::{parse_query, parse_schema};
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::document::select_operation;

    const SDL: &str = "
        interface Node { id: ID! }
        type Post implements Node { id: ID! title: String! summary: String author: User! tags: [String!] comments: [Comment!]! }
        type Comment { text: String! author: User }
        type User { name: String! nick: String }
        type Query { post: Post posts: [Post!]! maybePosts: [Post] node: Node me: User! }
        type Mutation { like: Post! }
        type Events { changed: Post! }
        schema { query: Query mutation: Mutation subscription: Events }
    ";

    /// The data after completion, with an error at each of the paths.
    fn complete(query: &str, data: Json, paths: &[Json]) -> Json {
        let document = parse_query(query).unwrap();
        let operation = select_operation(&document, None).unwrap();
        let mut response = Response::new(Value::from_json(data).unwrap());
        response.errors = paths
            .iter()
            .map(|path| {
                let path = serde_json::from_value(path.clone()).unwrap();
                ServerError::new("failed", None).with_path(path)
            })
            .collect();
        OutputTypes::of(&parse_schema(SDL).unwrap().definitions).complete(
            &document,
            operation,
            &mut response,
        );
        response.data.into_json().unwrap()
    }

    #[test]
    fn failed_nullable_field_is_null_beside_its_siblings() {
        let data = complete(
            "{ post { id short: summary } }",
            json!({ "post": { "id": "1" } }),
            &[json!(["post", "short"])],
        );
        assert_eq!(data, json!({ "post": { "id": "1", "short": null } }));
    }

    #[test]
    fn failed_non_null_field_nulls_the_nearest_nullable_parent() {
        let query = "{ post { id author { name nick } } me { nick } }";
        let data = json!({ "post": { "id": "1", "author": { "nick": "n" } }, "me": { "nick": "n" } });
        let data = complete(query, data, &[json!(["post", "author", "name"])]);
        assert_eq!(data, json!({ "post": null, "me": { "nick": "n" } }));

        let data = json!({ "post": { "id": "1" }, "me": { "nick": "n" } });
        assert_eq!(complete("{ post { id } me { name nick } }", data, &[json!(["me", "name"])]), Json::Null);
    }

    #[test]
    fn failed_item_nulls_itself_or_its_list_or_more() {
        let data = json!({ "maybePosts": [{ "id": "1" }, { "id": "2" }] });
        let data = complete("{ maybePosts { id title } }", data, &[json!(["maybePosts", 1, "title"])]);
        assert_eq!(data, json!({ "maybePosts": [{ "id": "1" }, null] }));

        let data = json!({ "posts": [{ "id": "1" }] });
        assert_eq!(complete("{ posts { id title } }", data, &[json!(["posts", 0, "title"])]), Json::Null);

        let data = json!({ "post": { "id": "1" } });
        let data = complete("{ post { id tags } }", data, &[json!(["post", "tags", 0])]);
        assert_eq!(data, json!({ "post": { "id": "1", "tags": null } }));
    }

    #[test]
    fn object_all_of_whose_nullable_fields_failed_is_not_null() {
        let query = "{ me { nick again: nick } }";
        let data = complete(query, Json::Null, &[json!(["me", "nick"]), json!(["me", "again"])]);
        assert_eq!(data, json!({ "me": { "nick": null, "again": null } }));
    }

    #[test]
    fn null_that_spreads_further_wins_over_one_below_it() {
        let query = "{ post { summary title } }";
        for paths in [
            [json!(["post", "summary"]), json!(["post", "title"])],
            [json!(["post", "title"]), json!(["post", "summary"])],
        ] {
            assert_eq!(complete(query, json!({ "post": null }), &paths), json!({ "post": null }));
        }
    }

    #[test]
    fn fields_are_found_through_fragments_and_their_type_conditions() {
        let query = "{ node { ...A ...A ... on Post { comments { ...C } } } }
            fragment A on Node { id ... on Post { summary } } fragment C on Comment { text author { name } }";
        let whole = || json!({ "node": { "id": "1", "comments": [{ "text": "t" }] } });
        let data = complete(query, whole(), &[json!(["node", "summary"])]);
        assert_eq!(data["node"]["summary"], Json::Null);
        assert_eq!(data["node"]["id"], "1");
        let data = complete(query, whole(), &[json!(["node", "comments", 0, "author", "name"])]);
        assert_eq!(data["node"]["comments"][0], json!({ "text": "t", "author": null }));
        let data = complete(query, whole(), &[json!(["node", "comments", 0, "text"])]);
        assert_eq!(data["node"]["comments"][0]["text"], "t", "an error beside a value takes nothing away");
        let data = complete(query, json!({ "node": { "id": "1" } }), &[json!(["node", "comments"])]);
        assert_eq!(data, json!({ "node": null }));
    }

    #[test]
    fn failed_mutation_has_null_data() {
        let data = complete(
            "mutation { like { id } other: like { id } }",
            json!({ "other": { "id": "1" } }),
            &[json!(["like"])],
        );
        assert_eq!(data, Json::Null);
    }

    #[test]
    fn failed_field_of_an_event_nulls_the_event() {
        let whole = json!({ "changed": { "id": "1" } });
        let data =
            complete("subscription { changed { id title } }", whole.clone(), &[json!(["changed", "title"])]);
        assert_eq!(data, Json::Null);
        let data =
            complete("subscription { changed { id summary } }", whole, &[json!(["changed", "summary"])]);
        assert_eq!(data, json!({ "changed": { "id": "1", "summary": null } }));
    }

    #[test]
    fn path_that_the_schema_does_not_have_changes_nothing() {
        let whole = json!({ "post": { "id": "1" } });
        for path in [json!(["gone"]), json!(["post", 0]), json!(["post", "id", "more"])] {
            assert_eq!(complete("{ post { id } }", whole.clone(), &[path]), whole);
        }
    }
}
