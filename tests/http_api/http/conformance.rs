//! Requirements of GraphQL over HTTP beyond the audits: statuses of partial results, 401, 405, 406, 413, 415.

use std::{sync::atomic::Ordering, time::Duration};

use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use serde_json::json;

use crate::http::client::{Exchange, GRAPHQL_RESPONSE, JSON, get, post, post_text, request};
use crate::http::toy::{ENDING, Options, Toy};

fn query(query: &str) -> Exchange {
    post(json!({ "query": query }))
}

#[tokio::test]
async fn absent_accept_header_means_graphql_response_json() {
    let toy = Toy::start().await;
    let answer = query("{ __typename }").send(toy.address).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.content_type(), "application/graphql-response+json; charset=utf-8");
    assert_eq!(
        answer.json(),
        json!({ "data": { "__typename": "Query" }, "extensions": { "requestCharge": 1 } })
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(query("{").send(toy.address).await.status, 400);
}

#[tokio::test]
async fn client_that_accepts_neither_type_gets_406() {
    let toy = Toy::start().await;
    for accept in ["text/html", "application/json;q=0", "application/json; charset=utf-16"] {
        let answer = query("mutation { count }").accept(accept).send(toy.address).await;
        assert_eq!(answer.status, 406, "{accept}");
        assert_eq!(answer.code(), "BAD_USER_INPUT");
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn post_without_preflight_gets_403_and_other_types_415() {
    let toy = Toy::start().await;
    let body = json!({ "query": "mutation { count }" }).to_string();
    for (content_type, status) in [
        (Some("text/plain"), 403),
        (Some("application/x-www-form-urlencoded"), 403),
        (Some("multipart/form-data; boundary=x"), 403),
        (None, 403),
        (Some("application/json; charset=utf-16"), 415),
        (Some("application/graphql-response+json"), 415),
    ] {
        let mut exchange = request("POST", "/graphql").body(body.clone());
        if let Some(content_type) = content_type {
            exchange = exchange.header("Content-Type", content_type);
        }
        let answer = exchange.send(toy.address).await;
        assert_eq!(answer.status, status, "{content_type:?}");
        assert!(answer.has_errors() && !answer.has_data());
        let exchange = request("POST", "/graphql").body(body.clone()).header("apollo-require-preflight", "1");
        assert_eq!(exchange.send(toy.address).await.status, 415);
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn mutation_runs_by_post_and_gets_405_by_get() {
    let toy = Toy::start().await;
    for accept in [GRAPHQL_RESPONSE, JSON] {
        for parameters in [
            &[("query", "mutation { count }")][..],
            &[("query", "query A { __typename } mutation B { count }"), ("operationName", "B")][..],
        ] {
            let answer = get(parameters).accept(accept).send(toy.address).await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")), "{answer:?}");
        }
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
    let answer = get(&[("query", "query A { __typename } mutation B { count }"), ("operationName", "A")]);
    assert_eq!(answer.send(toy.address).await.status, 200);
    let answer = query("mutation { count }").send(toy.address).await;
    assert_eq!(answer.json()["data"], json!({ "count": 1 }));
}

#[tokio::test]
async fn other_methods_get_405_with_those_that_are_allowed() {
    let toy = Toy::start().await;
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = request(method, "/graphql").send(toy.address).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD, POST")), "{method}");
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let toy = Toy::start().await;
    let answer = request("HEAD", "/graphql?query=%7B__typename%7D").send(toy.address).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
    assert_eq!(answer.content_type(), "application/graphql-response+json; charset=utf-8");
    assert_eq!(request("HEAD", "/graphql?query=mutation%7Bcount%7D").send(toy.address).await.status, 405);
}

#[tokio::test]
async fn field_error_beside_data_is_200_under_both_types() {
    let toy = Toy::start().await;
    for accept in [GRAPHQL_RESPONSE, JSON] {
        let answer = query("{ fails __typename }").accept(accept).send(toy.address).await;
        assert_eq!(answer.status, 200);
        let body = answer.json();
        assert_eq!(body["data"], json!({ "fails": null, "__typename": "Query" }));
        assert_eq!(body["errors"][0]["path"], json!(["fails"]));
        assert_eq!(answer.code(), "UNAVAILABLE");
    }
}

#[tokio::test]
async fn field_error_that_bubbles_to_the_root_is_200_with_null_data() {
    let toy = Toy::start().await;
    for accept in [GRAPHQL_RESPONSE, JSON] {
        for document in ["{ failsWithoutNull }", "{ nested { nested { failsWithoutNull } } }"] {
            let answer = query(document).accept(accept).send(toy.address).await;
            assert_eq!(answer.status, 200, "{document}");
            assert!(answer.has_data() && answer.json()["data"].is_null(), "{answer:?}");
            assert!(answer.json()["errors"][0]["path"].is_array());
        }
    }
}

#[tokio::test]
async fn request_error_has_a_code_and_no_data() {
    let toy = Toy::start().await;
    let deep = "{ nested { nested { nested { nested { nested { viewer } } } } } }".to_owned();
    let brackets = "[".repeat(200_000);
    for (document, variables) in [
        ("{".to_owned(), json!(null)),
        (String::new(), json!(null)),
        ("fragment F on Query { viewer }".to_owned(), json!(null)),
        ("{ unknown }".to_owned(), json!(null)),
        ("{ item }".to_owned(), json!(null)),
        ("{ page(first: \"x\") }".to_owned(), json!(null)),
        ("query A { viewer } query B { viewer }".to_owned(), json!(null)),
        ("subscription { changes }".to_owned(), json!(null)),
        ("query($id: ID!) { item(id: $id) }".to_owned(), json!({})),
        ("query($id: ID!) { item(id: $id) }".to_owned(), json!({ "id": [] })),
        ("query($first: Int!) { page(first: $first) }".to_owned(), json!({ "first": 3_000_000_000_u64 })),
        ("query($g: Greeting!) { greet(greeting: $g) }".to_owned(), json!({ "g": "text" })),
        ("query($g: Greeting!) { greet(greeting: $g) }".to_owned(), json!({ "g": { "nam": "x" } })),
        (
            "query($g: Greeting!) { greet(greeting: $g) }".to_owned(),
            json!({ "g": { "name": "x", "tone": "HOT" } }),
        ),
        (deep, json!(null)),
        (format!("{{ item(id: {brackets}"), json!(null)),
    ] {
        let send = |accept| {
            let body = json!({ "query": document, "variables": variables });
            post(body).accept(accept).send(toy.address)
        };
        let label: String = document.chars().take(80).collect();
        let answer = send(GRAPHQL_RESPONSE).await;
        assert_eq!(answer.status, 400, "{label}: {answer:?}");
        assert!(answer.has_errors() && !answer.has_data(), "{label}: {answer:?}");
        let codes = ["BAD_USER_INPUT", "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "LIMIT_EXCEEDED"];
        assert!(codes.contains(&answer.code().as_str()), "{label}");
        let answer = send(JSON).await;
        assert_eq!(answer.status, 200, "{label}: {answer:?}");
        assert!(answer.has_errors() && !answer.has_data(), "{label}: {answer:?}");
    }
}

#[tokio::test]
async fn unknown_operation_name_is_a_request_error_that_names_it() {
    let toy = Toy::start().await;
    let body = json!({ "query": "query A { viewer }", "operationName": "B" });
    let answer = post(body).send(toy.address).await;
    assert_eq!(answer.status, 400);
    assert!(answer.message().contains("\"B\""), "{}", answer.message());
}

#[tokio::test]
async fn optional_variable_may_be_left_out() {
    let toy = Toy::start().await;
    for variables in [json!({}), json!({ "after": null })] {
        let body =
            json!({ "query": "query($after: String) { page(after: $after) }", "variables": variables });
        assert_eq!(post(body).send(toy.address).await.json()["data"]["page"], "20 after None");
    }
}

#[tokio::test]
async fn same_document_runs_with_other_variables_and_operations() {
    let toy = Toy::start().await;
    let document = "query A($first: Int!) { page(first: $first) } query B { viewer }";
    for first in [1, 2, 3] {
        let body = json!({ "query": document, "operationName": "A", "variables": { "first": first } });
        let answer = post(body).send(toy.address).await;
        assert_eq!(answer.json()["data"]["page"], format!("{first} after None"));
    }
    let answer = post(json!({ "query": document, "operationName": "B" })).send(toy.address).await;
    assert_eq!(answer.json()["data"], json!({ "viewer": null }));
}

#[tokio::test]
async fn get_parameters_are_json_and_empty_ones_are_ignored() {
    let toy = Toy::start().await;
    let document = ("query", "query A($first: Int!) { page(first: $first) }");
    let answer = get(&[
        document,
        ("operationName", ""),
        ("variables", r#"{"first":2}"#),
        ("extensions", r#"{"some":"value"}"#),
    ]);
    assert_eq!(answer.send(toy.address).await.json()["data"]["page"], "2 after None");
    let answer = get(&[("query", "{ viewer }"), ("variables", ""), ("extensions", "null")]);
    assert_eq!(answer.send(toy.address).await.status, 200);
}

#[tokio::test]
async fn malformed_get_gets_400_under_both_types() {
    let toy = Toy::start().await;
    for parameters in [
        &[][..],
        &[("operationName", "A")][..],
        &[("query", "{ viewer }"), ("variables", "[7]")][..],
        &[("query", "{ viewer }"), ("variables", "{")][..],
        &[("query", "{ viewer }"), ("extensions", "7")][..],
        &[("query", "{ viewer }"), ("query", "{ viewer }")][..],
    ] {
        for accept in [GRAPHQL_RESPONSE, JSON] {
            let answer = get(parameters).accept(accept).send(toy.address).await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "BAD_USER_INPUT"), "{parameters:?}");
        }
    }
}

#[tokio::test]
async fn malformed_post_gets_400_under_both_types() {
    let toy = Toy::start().await;
    for body in
        ["", "  ", "NONSENSE", "7", "null", "\"{ viewer }\"", "{\"query\":", "{\"query\": null}", "{}"]
    {
        for accept in [GRAPHQL_RESPONSE, JSON] {
            let answer = post_text(body).accept(accept).send(toy.address).await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "BAD_USER_INPUT"), "{body}");
            assert!(!answer.has_data());
        }
    }
    assert_eq!(post_text(*b"{\"query\": \"\xff\"}").send(toy.address).await.status, 400);
}

#[tokio::test]
async fn unknown_property_of_a_body_is_ignored() {
    let toy = Toy::start().await;
    let body = json!({ "query": "{ viewer }", "id": 7, "more": {} });
    assert_eq!(post(body).send(toy.address).await.status, 200);
}

#[tokio::test]
async fn body_over_the_limit_gets_413_that_names_the_limit() {
    let body = BodyLimits { bytes_max: 1000, ..BodyLimits::default() };
    let limits = RequestLimits { body, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let body = |length: usize| format!("{:length$}", json!({ "query": "{ viewer }" }).to_string());
    assert_eq!(post_text(body(1000)).send(toy.address).await.status, 200);
    for length in [1001, 3_000] {
        for accept in [GRAPHQL_RESPONSE, JSON] {
            let answer = post_text(body(length)).accept(accept).send(toy.address).await;
            assert_eq!((answer.status, answer.code().as_str()), (413, "LIMIT_EXCEEDED"));
            assert!(answer.message().contains("1000 bytes"), "{}", answer.message());
        }
    }
}

#[tokio::test]
async fn body_in_many_pieces_is_put_together() {
    let toy = Toy::start().await;
    let name = "x".repeat(300_000);
    let body = json!({
        "query": "query($g: Greeting!) { greet(greeting: $g) }",
        "variables": { "g": { "name": name, "tone": "COLD" } },
    });
    assert_eq!(post(body).send(toy.address).await.json()["data"]["greet"], name);
}

#[tokio::test]
async fn request_past_its_time_gets_503() {
    let limits = RequestLimits { timeout: Duration::from_millis(1), ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let answer = query("{ waits }").send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "UNAVAILABLE"));
}

#[tokio::test]
async fn invalid_token_gets_401_and_is_never_anonymous() {
    let toy = Toy::start().await;
    for authorization in
        ["Bearer forged", "bearer forged", "Bearer ", "Bearer", "Basic b25lOmhvcA==", "forged", ""]
    {
        for accept in [GRAPHQL_RESPONSE, JSON] {
            let exchange = query("{ viewer }").accept(accept).header("Authorization", authorization);
            let answer = exchange.send(toy.address).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "UNAUTHENTICATED"), "{authorization}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
            assert!(!answer.has_data());
        }
    }
    for accept in [GRAPHQL_RESPONSE, JSON] {
        let ending = query("{ viewer }").accept(accept).header("Authorization", &format!("Bearer {ENDING}"));
        let answer = ending.send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "UNAUTHENTICATED"), "{accept}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    }
    let twice = query("{ viewer }").header("Authorization", "Bearer a").header("Authorization", "Bearer b");
    assert_eq!(twice.send(toy.address).await.status, 401);
}

#[tokio::test]
async fn token_reaches_the_service() {
    let toy = Toy::start().await;
    let answer = query("{ viewer }").header("Authorization", "bEARER ada").send(toy.address).await;
    assert_eq!(answer.json()["data"], json!({ "viewer": "ada" }));
}

#[tokio::test]
async fn unavailable_service_gets_503_with_retry_after() {
    let toy = Toy::start().await;
    for accept in [GRAPHQL_RESPONSE, JSON] {
        let exchange = query("{ viewer }").accept(accept).header("Authorization", "Bearer overloaded");
        let answer = exchange.send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (503, "UNAVAILABLE"));
        assert_eq!(answer.header("retry-after"), Some("2"));
    }
}
