//! Reading one's own writes: a mutation says its position, and a query that names it waits for the read
//! models.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use onehop::api::ApiOptions;
use onehop::blog::containers::POSTS;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::await_position::PositionLimits;
use onehop_store::{Ledger, NewItem, WriteOp};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::api::caller::{Answer, Caller, mutation_of};
use crate::api::operations::post_id;
use crate::api::server::{Server, Setup};
use crate::http::client::{post, read_answer};

const FEED: &str = "{ feed { nodes { title author { username } } } }";

/// Longer than any test: a wait this long is a wait for the event itself.
const LONG: Duration = Duration::from_secs(3600);

/// Options in which a query waits so long.
pub fn waiting(wait_max: Duration) -> ApiOptions {
    let positions = PositionLimits { wait_max, ..PositionLimits::default() };
    let limits = RequestLimits { positions, ..RequestLimits::default() };
    ApiOptions { limits, ..ApiOptions::default() }
}

async fn start(position_wait: Duration, in_background: bool) -> Server {
    let options = waiting(position_wait);
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
async fn a_query_at_a_renames_position_sees_the_new_name() {
    let server = start(LONG, true).await;
    let author = server.sign_up("before").await;
    author.post("a post").await;
    let position = write(&author, "updateUser", json!({ "username": "after" })).await;
    let answer = feed_at(&server.anonymous(), &position).await;
    assert_eq!(answer.body["extensions"]["reached"], true);
    assert_eq!(answer.body["data"]["feed"]["nodes"][0]["author"]["username"], "after");
}

#[tokio::test]
async fn an_own_write_is_read_while_the_process_stops() {
    let server = start(LONG, true).await;
    let author = server.sign_up("author").await;
    let (query, variables) = mutation_of("createPost", json!({ "title": "late", "content": "Text." }));
    let (mut writing, write_end) = begin(&author, json!({ "query": query, "variables": variables })).await;
    let (mut reading, read_end) = begin(&author, json!({ "query": FEED })).await;
    let (signal, signals) = tokio::sync::mpsc::channel(1);
    signal.send("SIGTERM").await.unwrap();
    let clients = async {
        // No projection ends until both requests are answered.
        server.app.tasks.soft_stop().cancelled().await;
        writing.write_all(&write_end).await.unwrap();
        assert!(read_answer(&mut writing).await.has_data());
        reading.write_all(&read_end).await.unwrap();
        assert_eq!(read_answer(&mut reading).await.json()["data"]["feed"]["nodes"][0]["title"], "late");
    };
    let ((), stopped) = tokio::join!(clients, server.app.tasks.run_until(signals, LONG));
    stopped.unwrap();
}

/// Sends a request but for its end, which is returned.
async fn begin(caller: &Caller<'_>, body: Value) -> (TcpStream, Vec<u8>) {
    let exchange = post(body).header("Authorization", &format!("Bearer {}", caller.token()));
    let bytes = exchange.encode("keep-alive");
    let (begun, end) = bytes.split_at(bytes.len() - 2);
    let mut stream = TcpStream::connect(caller.address()).await.unwrap();
    stream.write_all(begun).await.unwrap();
    (stream, end.to_vec())
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
async fn a_query_is_answered_after_the_longest_wait() {
    let server = start(Duration::ZERO, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "late", "content": "Text." })).await;
    let early = feed_at(&server.anonymous(), &position).await;
    assert_eq!(early.body["extensions"]["reached"], false);
    assert_eq!(early.body["extensions"]["notReached"], "TIMED_OUT");
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

async fn assert_refused(server: &Server, position: &str) {
    let refused = feed_at(&server.anonymous(), position).await.refused();
    assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("extensions.position")), "{position}");
}

#[tokio::test]
async fn a_position_that_was_made_up_is_refused_by_its_name() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "here", "content": "Text." })).await;
    let long = "A".repeat(10_000);
    for position in ["", "x", &long, &position[1..], &format!("{position}AA")] {
        assert_refused(&server, position).await;
    }
    for position in ["sequence:-1", "sequence:1", "sequence:99999999999999999999"] {
        let texts = [json!({ "posts": position }), json!({ "e": { "posts": position }, "w": null, "s": 0 })];
        for text in texts {
            assert_refused(&server, &BASE64_URL_SAFE_NO_PAD.encode(text.to_string())).await;
        }
    }
}

#[tokio::test]
async fn a_position_beyond_the_last_write_is_refused() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    write(&author, "createPost", json!({ "title": "here", "content": "Text." })).await;
    // As a server gave them out whose data were restored from a backup, or that has other data under the same
    // secret.
    for ends in [json!({ "posts": "sequence:999999999" }), json!({ "others": null }), json!({})] {
        let position = json!({ "e": ends, "w": null, "s": 0 }).to_string();
        assert_refused(&server, &server.tokens.sealer().seal(b"position\0", position.as_bytes())).await;
    }
}

#[tokio::test]
async fn a_position_shows_nothing_of_what_is_written() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "here", "content": "Text." })).await;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(position).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("posts") && !text.contains("sequence"), "{text}");
}

#[tokio::test]
async fn a_token_is_verified_before_a_position_is_waited_for() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "here", "content": "Text." })).await;
    let query = json!({ "query": FEED, "extensions": { "position": position } });
    let answer = server.bearing("x").send(query).await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

#[tokio::test]
async fn a_wait_is_charged_for_what_it_reads() {
    let server = start(Duration::ZERO, false).await;
    let author = server.sign_up("author").await;
    let position = write(&author, "createPost", json!({ "title": "here", "content": "Text." })).await;
    let nothing = server.anonymous().ask("{ __typename }", json!({})).await;
    assert_eq!(nothing.body["extensions"]["requestCharge"], 0.0);
    if server.has_end_at_hand() {
        let request =
            json!({ "query": "{ __typename }", "extensions": { "position": position, "operations": true } });
        let waited = server.anonymous().send(request).await;
        let extensions = &waited.body["extensions"];
        assert!(extensions["requestCharge"].as_f64().unwrap() >= 1.0, "{extensions}");
        assert_eq!(extensions["operations"][0]["kind"], "CHANGE_FEED", "{extensions}");
    }
}

/// Has all changes of a post wait among the dead letters. Returns the item that has to be deleted from the
/// post's logical partition.
async fn park(server: &Server, post: &str) -> String {
    let (id, key) = (Uuid::from_u128(7).to_string(), post_id(post).partition_key());
    let poison = json!({ "id": id, "postId": post_id(post), "type": "post", "creationDate": "2027" });
    let poison = WriteOp::Create(NewItem::encode(id.clone(), &poison));
    server.app.store.write(POSTS, &key, poison, &Ledger::new()).await.unwrap();
    server.settle().await;
    id
}

#[tokio::test]
async fn a_write_that_is_parked_is_not_reached() {
    let server = start(LONG, false).await;
    let (author, other) = (server.sign_up("author").await, server.sign_up("other").await);
    let post = author.post("a post").await;
    server.settle().await;
    let (id, key) = (park(&server, &post).await, post_id(&post).partition_key());

    let parked = write(&author, "updatePost", json!({ "postId": post, "title": "another title" })).await;
    let reached = write(&other, "createPost", json!({ "title": "new", "content": "Text." })).await;
    server.settle().await;
    let answer = feed_at(&server.anonymous(), &parked).await;
    let extensions = &answer.body["extensions"];
    assert_eq!((&extensions["reached"], &extensions["notReached"]), (&json!(false), &json!("PARKED")));
    let answer = feed_at(&server.anonymous(), &reached).await;
    let extensions = &answer.body["extensions"];
    assert_eq!((&extensions["reached"], &extensions["notReached"]), (&json!(true), &Value::Null));

    let remove = WriteOp::Delete { id, if_match: None };
    server.app.store.write(POSTS, &key, remove, &Ledger::new()).await.unwrap();
    server.app.processor.replay(None).await.unwrap();
    server.settle().await;
    let answer = feed_at(&server.anonymous(), &parked).await;
    assert_eq!(answer.body["extensions"]["reached"], true);
}

/// The earlier write is parked, the later one is projected.
#[tokio::test]
async fn the_position_of_a_later_write_covers_the_earlier_one() {
    let options = waiting(LONG);
    let server = Server::start_with(Setup { options, waits_for_last_write: true, ..Setup::default() }).await;
    let author = server.sign_up("author").await;
    let post = author.post("a post").await;
    server.settle().await;
    park(&server, &post).await;
    write(&author, "updatePost", json!({ "postId": post, "title": "another title" })).await;
    let later = write(&author, "createPost", json!({ "title": "new", "content": "Text." })).await;
    server.settle().await;
    let not_reached = |answer: Answer| answer.body["extensions"]["notReached"].clone();
    assert_eq!(not_reached(feed_at(&server.anonymous(), &later).await), "PARKED");
    assert_eq!(not_reached(author.ask(FEED, json!({})).await), "PARKED", "without a position");
    let next = write(&author, "createPost", json!({ "title": "newer", "content": "Text." })).await;
    server.settle().await;
    assert_eq!(
        feed_at(&server.anonymous(), &next).await.body["extensions"]["reached"],
        true,
        "it was told once"
    );
}

/// A client whose mutations reach several processes names the position that it has.
#[tokio::test]
async fn a_mutation_that_names_a_position_returns_one_that_covers_it() {
    let server = start(LONG, false).await;
    let (author, other) = (server.sign_up("author").await, server.sign_up("other").await);
    let post = author.post("a post").await;
    server.settle().await;
    park(&server, &post).await;
    let parked = write(&author, "updatePost", json!({ "postId": post, "title": "another title" })).await;
    for (named, expected) in [(json!(parked), json!("PARKED")), (json!("made up"), Value::Null)] {
        let (query, variables) = mutation_of("createPost", json!({ "title": "new", "content": "Text." }));
        let extensions = json!({ "position": named });
        let request = json!({ "query": query, "variables": variables, "extensions": extensions });
        let answer = other.send(request).await;
        let position = answer.body["extensions"]["position"].as_str().expect("a position").to_owned();
        server.settle().await;
        let answer = feed_at(&server.anonymous(), &position).await;
        assert_eq!(answer.body["extensions"]["notReached"], expected, "{named}");
    }
}

/// Each of these writes is in a logical partition of its own, and on an account their ends are, too.
#[tokio::test]
async fn the_position_of_many_writes_in_one_request_is_accepted() {
    let server = start(LONG, true).await;
    let author = server.sign_up("author").await;
    let fields: Vec<_> = (0..10)
        .map(|number| {
            format!(
                "p{number}: createPost(input: {{ title: \"{number}\", content: \"c\" }}) {{ post {{ id }} }}"
            )
        })
        .collect();
    let answer = author.ask(&format!("mutation {{ {} }}", fields.join(" ")), json!({})).await;
    let position = answer.body["extensions"]["position"].as_str().expect("a position");
    let answer = feed_at(&server.anonymous(), position).await;
    assert_eq!(answer.body["extensions"]["reached"], true, "{answer:?}");
    assert_eq!(answer.body["data"]["feed"]["nodes"].as_array().expect("posts").len(), 10);
}
