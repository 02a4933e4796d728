//! Reading one's own writes: a mutation says its position, and a query that names it waits for the read models.

use std::time::Duration;

use onehop::api::ApiOptions;
use serde_json::{Value, json};

use crate::caller::{Answer, Caller, mutation_of};
use crate::server::{Server, Setup};

const FEED: &str = "{ feed { nodes { title author { username } } } }";

/// Longer than any test: who waits so long waits for what is awaited.
const LONG: Duration = Duration::from_secs(3600);

async fn start(position_wait: Duration, in_background: bool) -> Server {
    let options = ApiOptions { position_wait, ..ApiOptions::default() };
    Server::start_with(Setup { options, in_background, ..Setup::default() }).await
}

async fn write(caller: &Caller<'_>, mutation: &str, input: Value) -> String {
    let (query, variables) = mutation_of(mutation, input);
    let answer = caller.ask(&query, variables).await;
    let position = answer.body["extensions"]["position"].as_str().expect("a position").to_owned();
    assert_eq!(answer.headers.get("onehop-position").expect("a header"), position.as_str());
    position
}

async fn feed_at(caller: &Caller<'_>, position: &str) -> Answer {
    caller.send(json!({ "query": FEED, "extensions": { "position": position } })).await
}

#[tokio::test]
async fn a_query_at_the_position_of_a_write_sees_it() {
    let server = start(LONG, true).await;
    let author = server.sign_up("author").await;
    for title in ["first", "second", "third"] {
        let position = write(&author, "createPost", json!({ "title": title, "content": "Text." })).await;
        let answer = feed_at(&server.anonymous(), &position).await;
        assert_eq!(answer.body["extensions"]["reached"], true);
        assert_eq!(answer.body["data"]["feed"]["nodes"][0]["title"], title);
    }
}

#[tokio::test]
async fn a_query_at_the_position_of_a_rename_sees_the_new_name_in_every_copy() {
    let server = start(LONG, true).await;
    let author = server.sign_up("before").await;
    author.post("a post").await;
    let position = write(&author, "updateUser", json!({ "username": "after" })).await;
    let answer = feed_at(&server.anonymous(), &position).await;
    assert_eq!(answer.body["extensions"]["reached"], true);
    assert_eq!(answer.body["data"]["feed"]["nodes"][0]["author"]["username"], "after");
}

#[tokio::test]
async fn a_query_waits_until_the_projections_have_come_that_far() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "late", "content": "Text." })).await;
    let somebody = server.anonymous();
    let answer = feed_at(&somebody, &position);
    let (answer, ()) = tokio::join!(answer, server.settle());
    assert_eq!(answer.body["extensions"]["reached"], true);
    assert_eq!(answer.body["data"]["feed"]["nodes"][0]["title"], "late");
}

#[tokio::test]
async fn a_query_that_has_waited_long_enough_is_answered_with_what_there_is() {
    let server = start(Duration::ZERO, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "late", "content": "Text." })).await;
    let early = feed_at(&server.anonymous(), &position).await;
    assert_eq!(early.body["extensions"]["reached"], false);
    assert_eq!(early.body["data"]["feed"]["nodes"], json!([]));
    server.settle().await;
    if server.has_end_at_hand() {
        let late = feed_at(&server.anonymous(), &position).await;
        assert_eq!(late.body["extensions"]["reached"], true);
    }
}

#[tokio::test]
async fn a_repeated_command_says_a_position_too() {
    let server = start(LONG, true).await;
    let author = server.sign_up("author").await;
    let input = json!({ "title": "once", "content": "Text.", "idempotencyKey": "key" });
    write(&author, "createPost", input.clone()).await;
    let position = write(&author, "createPost", input).await;
    let answer = feed_at(&server.anonymous(), &position).await;
    assert_eq!(answer.body["data"]["feed"]["nodes"].as_array().expect("posts").len(), 1);
}

#[tokio::test]
async fn what_is_no_position_is_refused_by_its_name() {
    let server = Server::start().await;
    let long = "A".repeat(10_000);
    for position in ["", "x", long.as_str()] {
        let refused = feed_at(&server.anonymous(), position).await.refused();
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("extensions.position")));
    }
}

#[tokio::test]
async fn the_position_of_another_store_is_not_reached() {
    let server = start(Duration::ZERO, false).await;
    let author = server.sign_up("author").await;
    write(&author, "createPost", json!({ "title": "here", "content": "Text." })).await;
    // {"posts":"sequence:999999999"}
    let answer = feed_at(&server.anonymous(), "eyJwb3N0cyI6InNlcXVlbmNlOjk5OTk5OTk5OSJ9").await;
    assert_eq!((answer.status, &answer.body["extensions"]["reached"]), (200, &json!(false)));
}
