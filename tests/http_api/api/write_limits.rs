//! Rate limits on the writes of a user, and the charge of a rename.

use std::time::Duration;

use onehop::accounts::write_limits::WriteLimits;
use onehop::api::ApiOptions;
use onehop::blog::write_limits::{COMMENTS, DELETIONS, EDITS, LIKES, POSTS, RENAMES};
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::{Value, json};

use crate::api::binary::Serving;
use crate::api::caller::{Answer, Caller, mutation_of};
use crate::api::server::{PASSWORD, Server, Setup};

async fn start(writes: WriteLimits) -> Server {
    let options = ApiOptions { writes, ..ApiOptions::default() };
    Server::start_with(Setup { options, ..Setup::default() }).await
}

async fn mutate(caller: &Caller<'_>, mutation: &str, input: Value) -> Answer {
    let (query, variables) = mutation_of(mutation, input);
    caller.ask(&query, variables).await
}

#[track_caller]
fn assert_limit(answer: &Answer, limit: &str, max: u32) {
    assert_eq!(answer.refused().code, "LIMIT_EXCEEDED", "{answer:?}");
    let extensions = &answer.body["errors"][0]["extensions"];
    assert_eq!((&extensions["limit"], &extensions["max"]), (&json!(limit), &json!(max)));
    let wait_ms = extensions["retryAfterMs"].as_u64().unwrap();
    let seconds: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(seconds, wait_ms.div_ceil(1_000));
}

#[tokio::test]
async fn each_kind_of_write_has_a_limit_for_each_user() {
    let limits = WriteLimits::NONE.with(&POSTS, 2).with(&EDITS, 1).with(&COMMENTS, 1);
    let limits = limits.with(&LIKES, 2).with(&DELETIONS, 1).with(&RENAMES, 1);
    let server = start(limits).await;
    let (ada, grace) = (server.sign_up("ada").await, server.sign_up("grace").await);
    let posts = [ada.post("one").await, ada.post("two").await];
    let post = &posts[0];
    let comment = ada.comment(post, "mine").await;
    ada.like(post).await;
    ada.mutate("unlikePost", json!({ "postId": post })).await;
    ada.mutate("updatePost", json!({ "postId": post, "title": "edited" })).await;
    ada.mutate("deleteComment", json!({ "commentId": comment })).await;
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    for (mutation, input, limit, max) in [
        ("createPost", json!({ "title": "three", "content": "too many" }), "posts-per-user", 2),
        ("updatePost", json!({ "postId": post, "title": "again" }), "edits-per-user", 1),
        ("updateComment", json!({ "commentId": comment, "content": "again" }), "edits-per-user", 1),
        ("createComment", json!({ "postId": post, "content": "again" }), "comments-per-user", 1),
        ("likePost", json!({ "postId": post }), "likes-per-user", 2),
        ("deletePost", json!({ "postId": post }), "deletions-per-user", 1),
        ("updateUser", json!({ "username": "ada" }), "renames-per-user", 1),
    ] {
        assert_limit(&mutate(&ada, mutation, input).await, limit, max);
    }
    grace.like(post).await;
    grace.post("of another user").await;
    server.clock.advance(Duration::from_secs(60));
    ada.post("a minute later").await;
    assert_limit(&mutate(&ada, "updateUser", json!({ "username": "ada" })).await, "renames-per-user", 1);
    server.clock.advance(Duration::from_secs(3600));
    let input = json!({ "username": "countess", "password": PASSWORD });
    let signed_in = server.anonymous().mutate("signIn", input).await;
    let ada = server.bearing(signed_in["accessToken"].as_str().unwrap());
    ada.mutate("updateUser", json!({ "username": "ada" })).await;
}

#[tokio::test]
async fn a_write_that_is_refused_does_not_count() {
    let server = start(WriteLimits::default().with(&POSTS, 1).with(&LIKES, 2)).await;
    let ada = server.sign_up("ada").await;
    for _ in 0..3 {
        let refused = ada.refused_mutation("createPost", json!({ "title": "", "content": "c" })).await;
        assert_eq!(refused.code, "BAD_USER_INPUT");
    }
    let post = ada.post("one").await;
    ada.like(&post).await;
    for _ in 0..3 {
        assert_eq!(ada.refused_mutation("likePost", json!({ "postId": post })).await.code, "CONFLICT");
    }
    ada.mutate("unlikePost", json!({ "postId": post })).await;
}

fn left(answer: &Answer) -> f64 {
    let header = answer.headers["ratelimit"].to_str().unwrap();
    let left = header.strip_prefix("\"request-charge\";r=").and_then(|rest| rest.split(';').next());
    left.unwrap_or_else(|| panic!("{header}")).parse().unwrap()
}

#[tokio::test]
async fn a_rename_is_charged_for_the_items_that_it_renames() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 10_000, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let ada = server.sign_up("ada").await;
    for number in 0..5 {
        let post = ada.post(&format!("Post {number}")).await;
        ada.comment(&post, "mine").await;
        ada.like(&post).await;
    }
    server.settle().await;
    let before = left(&ada.ask("{ __typename }", json!({})).await);
    let answer = mutate(&ada, "updateUser", json!({ "username": "countess" })).await;
    let told = answer.body["extensions"]["requestCharge"].as_f64().unwrap();
    let spent = before - left(&answer);
    // 15 items of 20 RU; told in whole units, and meanwhile the clock has gone on by milliseconds.
    assert!((spent - told - 300.0).abs() < 2.0, "{spent} {told}");
}

#[tokio::test]
async fn the_program_limits_writes_by_its_setting() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, written) in
        [(&[][..], 10), (&["--write-limits-percent=25"], 3), (&["--write-limits-percent=0"], 12)]
    {
        let serving = Serving::start(&directory.path().join(written.to_string()), arguments);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let send = async |token: &str, query: &str, input: Value| -> Value {
            let request =
                http.post(format!("{}/graphql", serving.address)).header("content-type", "application/json");
            let request = if token.is_empty() { request } else { request.bearer_auth(token) };
            let body = json!({ "query": query, "variables": { "input": input } }).to_string();
            request.body(body).send().await.unwrap().json().await.unwrap()
        };
        let sign_up = "mutation($input: CreateUserInput!) { createUser(input: $input) { accessToken } }";
        let signed_up = send("", sign_up, json!({ "username": "ada", "password": PASSWORD })).await;
        let token = signed_up["data"]["createUser"]["accessToken"].as_str().unwrap().to_owned();
        let create = "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } } }";
        let mut taken = 0;
        for number in 0..12 {
            let input = json!({ "title": format!("Post {number}"), "content": "All about it." });
            taken += usize::from(send(&token, create, input).await.get("errors").is_none());
        }
        // One comes back every six seconds.
        assert!((written..=written + 2).contains(&taken), "{arguments:?}: {taken}");
        tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    }
}
