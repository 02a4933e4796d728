//! A document that fits the schema is validated once; its variables are checked each time.

use serde_json::{Value, json};

use crate::api::caller::mutation_of;
use crate::api::server::Server;

const POST: &str = "
    query Post($id: ID!, $first: Int, $model: DataModel, $with: Boolean!) {
        post(id: $id, model: $model) {
            title
            comments(first: $first) @include(if: $with) { nodes { content } }
        }
    }";
const LIKE: &str = "mutation Like($input: LikePostInput!) { likePost(input: $input) { like { id } } }";

/// The same request to a new document, and to a document that was executed before.
async fn both(query: &str, fitting: &Value, variables: &Value) -> [Value; 2] {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    let id = author.post("asked for").await;
    let with_id = |variables: &Value| {
        let text = variables.to_string().replace("POST", &id);
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let first = author.ask(query, with_id(variables)).await.body;
    author.data(query, with_id(fitting)).await;
    let later = author.ask(query, with_id(variables)).await.body;
    [first, later].map(|mut body| {
        // The charge of a command depends on earlier writes.
        body.as_object_mut().unwrap().remove("extensions");
        body
    })
}

async fn assert_refused_alike(query: &str, fitting: Value, wrong: Value) {
    let [first, later] = both(query, &fitting, &wrong).await;
    assert!(first.get("errors").is_some(), "{wrong}: {first}");
    assert_eq!(first, later, "{wrong}");
}

#[tokio::test]
async fn variables_that_do_not_fit_are_refused_as_at_first() {
    let fitting = json!({ "id": "POST", "first": 3, "model": "V2", "with": true });
    for (name, value) in [
        ("id", json!(null)),
        ("id", json!({ "id": "POST" })),
        ("id", json!(["POST", "POST"])),
        ("id", json!(1.5)),
        ("id", json!("nonsense")),
        ("first", json!("3")),
        ("first", json!(3_000_000_000_u64)),
        ("first", json!(-1)),
        ("first", json!(1_000_000)),
        ("model", json!("V9")),
        ("model", json!(2)),
        ("first", json!(null)),
        ("model", json!(null)),
        ("with", json!("true")),
        ("with", json!(1)),
    ] {
        let mut wrong = fitting.clone();
        wrong[name] = value;
        assert_refused_alike(POST, fitting.clone(), wrong).await;
    }
    assert_refused_alike(POST, fitting, json!({ "id": "POST" })).await;
}

#[tokio::test]
async fn inputs_that_do_not_fit_are_refused_as_at_first() {
    let fitting = json!({ "input": { "postId": "POST" } });
    for wrong in [
        json!({}),
        json!({ "input": null }),
        json!({ "input": "POST" }),
        json!({ "input": {} }),
        json!({ "input": { "postId": null } }),
        json!({ "input": { "postId": "POST", "unknown": 1 } }),
        json!({ "input": [{ "postId": "POST" }, { "postId": "POST" }] }),
    ] {
        assert_refused_alike(LIKE, fitting.clone(), wrong).await;
    }
}

#[tokio::test]
async fn all_invalid_fields_of_an_input_are_reported() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let (long_key, post) = ("k".repeat(201), ada.post("engines").await);
    for (mutation, input, expected) in [
        (
            "createUser",
            json!({ "username": "x", "password": "1111111111", "idempotencyKey": long_key }),
            &["username", "password", "idempotencyKey"][..],
        ),
        ("createPost", json!({ "title": "", "content": " " }), &["title", "content"]),
        ("createComment", json!({ "postId": "x", "content": "" }), &["postId", "content"]),
        ("updatePost", json!({ "postId": "x", "title": "", "content": "" }), &["postId", "title", "content"]),
        ("updatePost", json!({ "postId": post, "title": "", "content": "c" }), &["title"]),
        ("likePost", json!({ "postId": "x" }), &["postId"]),
    ] {
        let (query, variables) = mutation_of(mutation, input);
        let answer = ada.ask(&query, variables).await;
        let refused = answer.refused();
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some(expected[0])), "{mutation}");
        let fields = answer.body["errors"][0]["extensions"]["fields"].as_array().unwrap();
        let names: Vec<&str> = fields.iter().map(|field| field["field"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{mutation}");
        for field in fields {
            let (name, message) = (field["field"].as_str().unwrap(), field["message"].as_str().unwrap());
            // A username's rule is a sentence of its own: "Usernames must have".
            let names_field = message.to_lowercase().starts_with(&name.to_lowercase());
            assert!(names_field && refused.message.contains(message), "{message}");
        }
    }
}

#[tokio::test]
async fn a_document_that_does_not_fit_is_refused_each_time() {
    let server = Server::start().await;
    let ask = async || server.anonymous().refused("{ feed { nodes { titel } } }", json!({})).await;
    let first = ask().await;
    assert_eq!(first.code, "GRAPHQL_VALIDATION_FAILED");
    assert_eq!(first, ask().await);
}

#[tokio::test]
async fn what_did_not_fit_beside_what_does_is_refused_each_time() {
    let server = Server::start().await;
    let query = "query Good { feed { nodes { title } } } query Bad { feed { nodes { titel } } }";
    let send = async |name: &str| {
        server.anonymous().send(json!({ "query": query, "operationName": name })).await.refused()
    };
    let first = send("Good").await;
    assert_eq!(first.code, "GRAPHQL_VALIDATION_FAILED");
    assert_eq!([send("Good").await, send("Bad").await], [send("Bad").await, first]);
}

#[tokio::test]
async fn a_variable_within_an_input_is_refused_as_at_first() {
    let within = "mutation Like($id: ID) { likePost(input: { postId: $id }) { like { id } } }";
    let fitting = json!({ "id": "POST" });
    for wrong in [json!({ "id": null }), json!({}), json!({ "id": {} })] {
        assert_refused_alike(within, fitting.clone(), wrong).await;
    }
}

#[tokio::test]
async fn a_directive_on_typename_is_validated_and_obeyed() {
    let server = Server::start().await;
    let caller = server.anonymous();
    let query = "query V($yes: Boolean!) { __typename @include(if: $yes) }";
    for (yes, data) in [(true, json!({ "__typename": "Query" })), (false, json!({}))] {
        assert_eq!(caller.data(query, json!({ "yes": yes })).await, data);
        // The second time the document is known.
        assert_eq!(caller.data(query, json!({ "yes": yes })).await, data);
    }
    let nested = "query($no: Boolean!) { feed { kind: __typename @skip(if: $no) nodes { id __typename @skip(if: $no) } } }";
    assert_eq!(caller.data(nested, json!({ "no": true })).await, json!({ "feed": { "nodes": [] } }));
    for query in [
        "{ __typename @include(if: $missing) }",
        "{ __typename @unknown }",
        "{ __typename @skip }",
        "{ __typename(of: 1) }",
        "{ __typename { id } }",
        "query($id: ID! @skip(if: true)) { post(id: $id) { id } }",
    ] {
        let variables = json!({ "id": "x" });
        assert_eq!(caller.refused(query, variables).await.code, "GRAPHQL_VALIDATION_FAILED", "{query}");
    }
}

#[tokio::test]
async fn codes_tell_what_does_not_parse_from_what_is_not_valid() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    for (query, variables, code, field) in [
        ("{ feed {", Value::Null, "GRAPHQL_PARSE_FAILED", None),
        ("{ feed(first: ) { nodes { id } } }", Value::Null, "GRAPHQL_PARSE_FAILED", None),
        ("{ feed { nodes { titel } } }", Value::Null, "GRAPHQL_VALIDATION_FAILED", None),
        ("{ feed(last: 1) { nodes { id } } }", Value::Null, "GRAPHQL_VALIDATION_FAILED", None),
        ("{ post { id } }", Value::Null, "GRAPHQL_VALIDATION_FAILED", None),
        ("query($id: ID!) { post(id: $id) { id } }", json!({}), "BAD_USER_INPUT", Some("id")),
        (
            "query($n: Int!) { feed(first: $n) { nodes { id } } }",
            json!({ "n": "x" }),
            "BAD_USER_INPUT",
            Some("n"),
        ),
    ] {
        let refused = anonymous.ask(query, variables).await.refused();
        assert_eq!(refused.of(), (code, field), "{query}: {}", refused.message);
        let is_parsed = code != "GRAPHQL_PARSE_FAILED";
        let is_sentence = !refused.message.contains('_') && refused.message.ends_with('.');
        assert!(is_parsed || is_sentence, "{}", refused.message);
    }
    let message = anonymous.ask("{ feed {", Value::Null).await.refused().message;
    assert_eq!(message, "Syntax error: expected a field or a fragment.");
}

#[tokio::test]
async fn errors_point_into_the_document_as_it_was_sent() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    for (query, line, column) in [
        ("# one\n{\n    feed {\n        nodes { titel }\n    }\n}\n", 4, 17),
        ("{\n\n  feed(first: )\n}", 3, 15),
        ("# é\n{\n  post(id: \"x\") { id }\n}", 3, 3),
        ("query(\n  $id: ID!\n) { post(id: $id) { id } }", 2, 3),
    ] {
        for _ in 0..2 {
            let answer = anonymous.ask(query, Value::Null).await;
            let place = &answer.body["errors"][0]["locations"][0];
            assert_eq!((&place["line"], &place["column"]), (&json!(line), &json!(column)), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn validation_stops_after_50_errors() {
    let server = Server::start().await;
    let unknown: String = (0..990).map(|number| format!("{:x<40}{number} ", "unknown")).collect();
    let arguments: String = (0..1_000).map(|number| format!("a{number}: 1 ")).collect();
    for query in
        [format!("{{ viewer {{ {unknown} }} }}"), format!("{{ feed({arguments}) {{ nodes {{ id }} }} }}")]
    {
        let answer = server.anonymous().ask(&query, Value::Null).await;
        let errors = answer.body["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 50);
        for error in errors {
            assert_eq!(error["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
            assert!(error["locations"][0]["column"].as_u64().unwrap() > 1, "{error}");
        }
    }
}
