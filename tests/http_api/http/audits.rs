//! The audits of the npm package `graphql-http` 1.23, by their ids. Its client is `fetch`, which sends
//! `Accept: */*` when an audit sets no such header; so do these.

use serde_json::{Value, json};

use crate::http::client::{Answer, Exchange, GRAPHQL_RESPONSE, JSON, get, post, post_text, request};
use crate::http::toy::Toy;

const ANYTHING: &str = "*/*";
const TYPENAME: &str = "{ __typename }";
const TYPE: &str = "query Type($name: String!) { __type(name: $name) { name } }";
/// No field has this name.
const INVALID: &str = "{ f8f31403dfe404bccbb0e835f2629c6a7 }";
const COERCE: &str = "query CoerceFailure($id: ID!){ __typename }";

/// An audit: its id, the request, and the condition on the answer.
type Audit = (String, Exchange, fn(&Answer) -> bool);

fn ok(answer: &Answer) -> bool {
    answer.status == 200
}

fn ok_without_errors(answer: &Answer) -> bool {
    ok(answer) && !answer.has_errors()
}

fn bad_request(answer: &Answer) -> bool {
    answer.status == 400
}

fn bad_request_without_data(answer: &Answer) -> bool {
    bad_request(answer) && answer.has_errors() && !answer.has_data()
}

fn client_error(answer: &Answer) -> bool {
    (400..500).contains(&answer.status)
}

fn ok_as_json(answer: &Answer) -> bool {
    ok(answer) && answer.content_type() == "application/json; charset=utf-8"
}

fn ok_as_graphql_response(answer: &Answer) -> bool {
    ok(answer) && answer.content_type() == "application/graphql-response+json; charset=utf-8"
}

async fn run(audits: Vec<Audit>) {
    let toy = Toy::start().await;
    for (id, exchange, holds) in audits {
        let answer = exchange.send(toy.address).await;
        assert!(holds(&answer), "audit {id}: {answer:?}");
    }
}

fn audit(id: &str, exchange: Exchange, holds: fn(&Answer) -> bool) -> Audit {
    (id.to_owned(), exchange, holds)
}

fn query(query: &str) -> Exchange {
    post(json!({ "query": query }))
}

/// A valid request with one parameter of some value.
fn with(parameter: &str, value: &Value) -> Exchange {
    post(json!({ "query": TYPENAME, parameter: value }))
}

#[tokio::test]
async fn audits_of_media_types_pass() {
    run(vec![
        audit("22EB", query(TYPENAME).accept(GRAPHQL_RESPONSE), ok_as_graphql_response),
        audit("4655", query(TYPENAME).accept(JSON), ok_as_json),
        audit("47DE", query(TYPENAME).accept(ANYTHING), ok_as_json),
        audit("80D8", query(TYPENAME).accept(ANYTHING), ok_as_json),
        audit("82A3", query(TYPENAME).accept(ANYTHING), ok),
        audit(
            "BF61",
            request("POST", "/graphql")
                .header("Content-Type", "application/json; charset=utf-8")
                .accept(ANYTHING)
                .body(json!({ "query": "{ __type(name: \"Run🏃Swim🏊\") { name } }" }).to_string()),
            ok,
        ),
        audit("78D5", query(TYPENAME).accept(ANYTHING), ok),
    ])
    .await;
}

#[tokio::test]
async fn audits_of_methods_pass() {
    run(vec![
        audit("2C94", query(TYPENAME).accept(ANYTHING), ok),
        audit("5A70", get(&[("query", TYPENAME)]).accept(ANYTHING), ok),
        audit("9C48", get(&[("query", "mutation { __typename }")]).accept(GRAPHQL_RESPONSE), client_error),
        audit(
            "9ABE",
            request("POST", "/graphql")
                .header("Content-Type", "text/plain;charset=UTF-8")
                .accept(ANYTHING)
                .body(json!({ "query": TYPENAME }).to_string()),
            client_error,
        ),
        audit("03D4", query(TYPENAME).accept(ANYTHING), ok),
        audit("A5BF", post_text("").accept(ANYTHING), bad_request),
    ])
    .await;
}

#[tokio::test]
async fn audits_of_the_query_parameter_pass() {
    let mut audits = vec![
        audit("423L", post(json!({ "notquery": TYPENAME })).accept(GRAPHQL_RESPONSE), bad_request),
        audit("34A2", query(TYPENAME).accept(GRAPHQL_RESPONSE), ok),
        audit("13EE", query(TYPENAME).accept(JSON), ok_without_errors),
    ];
    for (index, value) in
        [json!({ "obj": "ect" }), json!(0), json!(false), json!(["array"])].iter().enumerate()
    {
        audits.push((format!("LKJ{index}"), post(json!({ "query": value })).accept(ANYTHING), bad_request));
    }
    run(audits).await;
}

#[tokio::test]
async fn audits_of_the_operation_name_parameter_pass() {
    let named = || post(json!({ "operationName": "Query", "query": "query Query { __typename }" }));
    let mut audits = vec![
        audit("8161", named().accept(GRAPHQL_RESPONSE), ok),
        audit("B8B3", named().accept(JSON), ok_without_errors),
    ];
    for (index, value) in
        [json!({ "obj": "ect" }), json!(0), json!(false), json!(["array"])].iter().enumerate()
    {
        audits.push((format!("6C0{index}"), with("operationName", value).accept(ANYTHING), bad_request));
    }
    run(audits).await;
}

#[tokio::test]
async fn audits_of_null_parameters_pass() {
    let mut audits = Vec::new();
    for (index, parameter) in ["variables", "operationName", "extensions"].into_iter().enumerate() {
        let null = || with(parameter, &Value::Null);
        audits.push((format!("94B{index}"), null().accept(GRAPHQL_RESPONSE), ok_without_errors as _));
        audits.push((format!("022{index}"), null().accept(JSON), ok_without_errors as _));
    }
    run(audits).await;
}

#[tokio::test]
async fn audits_of_the_variables_parameter_pass() {
    let typed = || post(json!({ "query": TYPE, "variables": { "name": "sometype" } }));
    let typed_get = || get(&[("query", TYPE), ("variables", r#"{"name":"sometype"}"#)]);
    let mut audits = vec![
        audit("2EA1", typed().accept(GRAPHQL_RESPONSE), ok),
        audit("28B9", typed().accept(JSON), ok_without_errors),
        audit("D6D5", typed_get().accept(GRAPHQL_RESPONSE), ok_without_errors),
        audit("6A70", typed_get().accept(JSON), ok_without_errors),
    ];
    for (index, value) in [json!("string"), json!(0), json!(false), json!(["array"])].iter().enumerate() {
        audits.push((format!("476{index}"), with("variables", value).accept(ANYTHING), bad_request));
    }
    run(audits).await;
}

#[tokio::test]
async fn audits_of_the_extensions_parameter_pass() {
    let extended = || with("extensions", &json!({ "some": "value" }));
    let mut audits = vec![
        audit("428F", extended().accept(GRAPHQL_RESPONSE), ok),
        audit("1B7A", extended().accept(JSON), ok_without_errors),
    ];
    for (index, value) in [json!("string"), json!(0), json!(false), json!(["array"])].iter().enumerate() {
        audits.push((format!("58B{index}"), with("extensions", value).accept(ANYTHING), bad_request));
    }
    run(audits).await;
}

#[tokio::test]
async fn audits_of_malformed_requests_pass() {
    const BROKEN: &str = r#"{ "not a JSON"#;
    let misspelt = || post(json!({ "qeury": TYPENAME })).accept(ANYTHING);
    run(vec![
        audit("B6DC", post_text(BROKEN).accept(JSON), bad_request),
        audit("BCF8", post_text(BROKEN).accept(JSON), bad_request),
        audit("B7N8", post_text(BROKEN).accept(GRAPHQL_RESPONSE), bad_request),
        audit("8764", misspelt(), bad_request),
        audit("3E3A", misspelt(), bad_request),
    ])
    .await;
}

#[tokio::test]
async fn audits_of_request_errors_pass() {
    let coerce = || post(json!({ "query": COERCE, "variables": { "id": null } }));
    run(vec![
        audit("572B", query("{").accept(JSON), ok),
        audit("FDE2", query(INVALID).accept(JSON), ok),
        audit("7B9B", coerce().accept(JSON), ok),
        audit("865D", query("{").accept(GRAPHQL_RESPONSE), client_error),
        audit("556A", query("{").accept(GRAPHQL_RESPONSE), bad_request),
        audit("D586", query("{").accept(GRAPHQL_RESPONSE), bad_request_without_data),
        audit("51FE", query(INVALID).accept(GRAPHQL_RESPONSE), client_error),
        audit("74FF", query(INVALID).accept(GRAPHQL_RESPONSE), bad_request),
        audit("5E5B", query(INVALID).accept(GRAPHQL_RESPONSE), bad_request_without_data),
        audit("86EE", coerce().accept(GRAPHQL_RESPONSE), bad_request),
    ])
    .await;
}
