//! Session consistency: a user's writes show in that user's next queries, though the client sends no
//! position.

use std::time::Duration;

use futures::FutureExt as _;
use reqwest::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::positions::waiting;
use crate::api::server::{Server, Setup};
use onehop_testing::event_stream::EventStream;
use onehop_testing::websocket::WebSocketClient;

const FEED: &str = "{ feed(first: 1) { nodes { title } } }";
const LONG: Duration = Duration::from_secs(3600);

/// Nothing is projected but by [`Server::settle`], unless it is in the background.
async fn start(wait_max: Duration, in_background: bool) -> Server {
    let options = waiting(wait_max);
    Server::start_with(Setup { options, in_background, waits_for_last_write: true, ..Setup::default() }).await
}

fn titles(data: &Value) -> Vec<&str> {
    let nodes = data["feed"]["nodes"].as_array().expect("posts");
    nodes.iter().map(|post| post["title"].as_str().expect("a title")).collect()
}

#[tokio::test]
async fn forty_of_forty_plain_reads_after_a_write_are_fresh() {
    let server = start(LONG, true).await;
    let author = server.sign_up("author").await;
    for number in 0..40 {
        let title = format!("post {number}");
        author.post(&title).await;
        let answer = author.ask(FEED, json!({})).await;
        assert_eq!(titles(&answer.body["data"]), [title]);
        assert!(answer.body["extensions"].get("reached").is_none(), "{answer:?}");
    }
}

async fn by_get(author: &Caller<'_>, server: &Server, accept: &str) -> reqwest::Response {
    let url = reqwest::Url::parse_with_params(&server.url("/graphql"), [("query", FEED)]).unwrap();
    server.http.get(url).bearer_auth(author.token()).header(ACCEPT, accept).send().await.unwrap()
}

#[tokio::test]
async fn a_query_by_any_transport_waits_for_the_last_write() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    let payload = json!({ "authorization": format!("Bearer {}", author.token()) });
    let mut socket = WebSocketClient::open_with(server.address(), payload).await;
    for transport in ["POST", "GET", "SSE", "WebSocket"] {
        author.post(transport).await;
        let answer = async {
            match transport {
                "POST" => author.data(FEED, json!({})).await,
                "GET" => {
                    let answer = by_get(&author, &server, "application/graphql-response+json").await;
                    answer.json::<Value>().await.unwrap()["data"].take()
                }
                "SSE" => {
                    let answer = by_get(&author, &server, "text/event-stream").await;
                    EventStream::of(answer).result().await["data"].take()
                }
                _ => {
                    socket.subscribe("feed", FEED).await;
                    let data = socket.hear_of("next", "feed").await["data"].take();
                    assert_eq!(socket.hear().await["type"], "complete");
                    data
                }
            }
        };
        let (data, ()) = tokio::join!(answer, server.settle());
        assert_eq!(titles(&data), [transport]);
    }
}

#[tokio::test]
async fn only_the_user_who_wrote_waits_and_once() {
    let server = start(LONG, false).await;
    let (author, other) = (server.sign_up("author").await, server.sign_up("other").await);
    server.settle().await;
    other.data(FEED, json!({})).await;
    author.post("a post").await;
    for caller in [&other, &server.anonymous()] {
        let answer = caller.ask(FEED, json!({})).now_or_never();
        assert!(answer.is_none(), "an answer takes a moment");
        assert_eq!(titles(&caller.data(FEED, json!({})).await), Vec::<&str>::new());
    }
    server.settle().await;
    let plain = server.anonymous().ask(FEED, json!({})).await.body["extensions"]["requestCharge"].clone();
    let first = author.ask(FEED, json!({})).await;
    assert_eq!(titles(&first.body["data"]), ["a post"]);
    let second = author.ask(FEED, json!({})).await;
    assert_eq!(second.body["extensions"]["requestCharge"], plain, "nothing is waited for any more");
}

#[tokio::test]
async fn a_query_whose_session_ends_while_it_waits_gets_401() {
    let server = start(LONG, false).await;
    let author = server.sign_up("author").await;
    server.settle().await;
    author.post("a post").await;
    let waiting = by_get(&author, &server, "application/graphql-response+json");
    let signed_out = async {
        author.data("mutation { signOut { userId } }", json!({})).await;
        server.settle().await;
    };
    let (answer, ()) = tokio::join!(waiting, signed_out);
    assert_eq!(answer.status().as_u16(), 401);
    assert_eq!(answer.json::<Value>().await.unwrap()["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_query_that_has_waited_long_enough_says_so() {
    let server = start(Duration::ZERO, false).await;
    let author = server.sign_up("author").await;
    author.post("late").await;
    let answer = author.ask(FEED, json!({})).await;
    let extensions = &answer.body["extensions"];
    assert_eq!((&extensions["reached"], &extensions["notReached"]), (&json!(false), &json!("TIMED_OUT")));
    assert_eq!(titles(&answer.body["data"]), Vec::<&str>::new());
}

#[tokio::test]
async fn an_entity_tag_is_compared_after_the_wait() {
    let server = start(LONG, false).await;
    if server.app.store.write_marks().is_none() {
        return;
    }
    let author = server.sign_up("author").await;
    server.settle().await;
    let url = reqwest::Url::parse_with_params(&server.url("/graphql"), [("query", FEED)]).unwrap();
    let get = async |tag: Option<&str>| {
        let mut request = server.http.get(url.clone()).bearer_auth(author.token());
        if let Some(tag) = tag {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let answer = request.send().await.unwrap();
        let tag = answer.headers()[ETAG].to_str().unwrap().to_owned();
        (answer.status().as_u16(), tag, answer.text().await.unwrap())
    };
    let (status, before, _) = get(None).await;
    assert_eq!(status, 200);
    author.post("a post").await;
    let ((status, after, text), ()) = tokio::join!(get(Some(&before)), server.settle());
    assert_eq!(status, 200);
    assert!(text.contains("a post") && after != before, "{text}");
    assert_eq!(get(Some(&after)).await.0, 304);
}
