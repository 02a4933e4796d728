//! Error messages for clients.

use std::sync::Arc;

use async_graphql::Request;
use onehop_graphql_server::caller::RequestRejection;
use onehop_graphql_server::quota::Unmetered;
use serde_json::json;

use crate::graphql::{code_and_field, only_error};
use crate::support::blog::{NOW_MS, post_node, small, user_node};

#[tokio::test]
async fn an_invalid_page_size_is_bad_user_input_with_its_field() {
    let blog = small().await;
    for first in [0, -1, 101] {
        let response = blog.query(&format!("{{ feed(first: {first}) {{ nodes {{ id }} }} }}")).await;
        assert_eq!(code_and_field(&response), json!(["BAD_USER_INPUT", "first"]));
        assert_eq!(only_error(&response)["message"], format!("first must be 1 to 100, is {first}"));
    }
}

#[tokio::test]
async fn a_forged_cursor_is_bad_input_in_every_list() {
    let blog = small().await;
    let (user, post) = (user_node(0), post_node(0));
    for list in [
        "feed(after: \"AAAA\") { nodes { id } }".to_owned(),
        format!("user(id: \"{user}\") {{ posts(after: \"\") {{ nodes {{ id }} }} }}"),
        format!("post(id: \"{post}\") {{ comments(after: \"ü\") {{ nodes {{ id }} }} }}"),
        format!("post(id: \"{post}\") {{ likes(after: \"{user}\") {{ nodes {{ id }} }} }}"),
    ] {
        let response = blog.query(&format!("{{ {list} }}")).await;
        assert_eq!(code_and_field(&response), json!(["BAD_USER_INPUT", "after"]), "{list}");
    }
}

#[tokio::test]
async fn an_id_that_is_none_or_of_another_kind_is_bad_input() {
    let blog = small().await;
    let (user, post) = (user_node(0), post_node(0));
    for field in [
        "node(id: \"x\") { id }".to_owned(),
        format!("user(id: \"{post}\") {{ id }}"),
        format!("post(id: \"{user}\") {{ id }}"),
        "post(id: \"\") { id }".to_owned(),
    ] {
        let response = blog.query(&format!("{{ {field} }}")).await;
        assert_eq!(code_and_field(&response), json!(["BAD_USER_INPUT", "id"]), "{field}");
    }
}

#[tokio::test]
async fn a_failed_read_is_masked_and_says_when_to_try_again() {
    let blog = small().await;
    blog.store.fail();
    let response = blog.query("{ feed { nodes { id } } }").await;
    let error = only_error(&response);
    assert_eq!(error["extensions"]["code"], "UNAVAILABLE");
    assert_eq!(error["extensions"]["retryAfterMs"], 40);
    assert!(error["extensions"]["errorId"].is_string());
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_failed_field_that_cannot_be_null_takes_its_parents_with_it() {
    let blog = small().await;
    blog.store.fail();
    let query = format!("{{ post(id: \"{}\") {{ title comments {{ nodes {{ id }} }} }} }}", post_node(0));
    let response = blog.query(&query).await;
    assert_eq!(response.data.clone().into_json().unwrap(), json!({ "post": null }));
    assert_eq!(only_error(&response)["path"], json!(["post", "comments"]));
}

#[tokio::test]
async fn a_document_that_does_not_fit_the_schema_has_a_code() {
    let blog = small().await;
    for (document, code) in [
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ feed }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ post { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ feed(model: V4) { nodes { id } } }", "GRAPHQL_VALIDATION_FAILED"),
    ] {
        let response = serde_json::to_value(blog.query(document).await).unwrap();
        assert_eq!(response["errors"][0]["extensions"]["code"], code, "{document}: {response}");
        assert_eq!(response["data"], json!(null));
    }
}

#[tokio::test]
async fn a_forged_or_expired_token_is_never_anonymous() {
    let blog = small().await;
    let execute = |token: String| {
        let executor = &blog.executor;
        async move {
            crate::support::blog::execute(
                executor,
                Request::new("{ viewer { username } }"),
                Some(&token),
                Arc::new(Unmetered),
            )
            .await
        }
    };
    let expired = blog.token_of(0, NOW_MS - 10 * 86_400_000).await;
    for token in ["", "forged", &expired] {
        let refused = execute(token.to_owned()).await;
        assert_eq!(refused.unwrap_err(), RequestRejection::InvalidToken, "{token}");
    }
    let good = blog.token_of(0, NOW_MS).await;
    let response = execute(good).await.unwrap();
    assert_eq!(response.data.into_json().unwrap(), json!({ "viewer": { "username": "Ada" } }));
    let anonymous = crate::support::blog::execute(
        &blog.executor,
        Request::new("{ viewer { id } }"),
        None,
        Arc::new(Unmetered),
    )
    .await
    .unwrap();
    assert_eq!(anonymous.data.into_json().unwrap(), json!({ "viewer": null }));
}
