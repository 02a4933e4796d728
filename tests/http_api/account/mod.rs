//! Several processes on one account: whole servers over Microsoft's in-memory emulator, each with a client, a
//! store and an app of its own.

use onehop_testing::emulator;
mod process;
use onehop_testing::websocket;

use onehop::app::container_specs;
use onehop::app::work::ProgressSink;
use onehop::blog::study::dataset::{DEFAULT_END_MS, Dataset};
use serde_json::json;

use emulator::Emulator;
use process::Process;
use websocket::WebSocketClient;

/// The titles of the feed under each data model.
const FEED: &str = "{
    v1: feed(model: V1) { nodes { title author { username } commentCount likeCount } }
    v2: feed(model: V2) { nodes { title author { username } commentCount likeCount } }
    v3: feed(model: V3) { nodes { title author { username } commentCount likeCount } }
}";

fn account() -> Emulator {
    Emulator::new(&container_specs(), 3)
}

async fn assert_clean(process: &Process) {
    let report = process.app.verify(false, &ProgressSink::none()).await.unwrap();
    assert_eq!(report.drifts, [], "{report:?}");
}

#[tokio::test]
async fn what_one_process_writes_another_projects_and_a_third_reads() {
    let account = account();
    let (writer, reader) =
        (Process::start(&account, "writer").await, Process::start(&account, "reader").await);
    let token = writer.sign_up("ada").await;
    let post = writer.post(&token, "Engines").await;
    let comment = "mutation($post: ID!) {
        createComment(input: { postId: $post, content: \"indeed\" }) { comment { id } } }";
    reader.data(&token, comment, json!({ "post": post })).await;
    let like = "mutation($post: ID!) { likePost(input: { postId: $post }) { post { likeCount } } }";
    reader.data(&token, like, json!({ "post": post })).await;
    let rename = "mutation { updateUser(input: { username: \"lovelace\" }) { user { username } } }";
    reader.data(&token, rename, json!({})).await;
    reader.settle().await;

    let expected = json!({ "nodes": [
        { "title": "Engines", "author": { "username": "lovelace" }, "commentCount": 1, "likeCount": 1 }
    ] });
    for process in [&writer, &reader] {
        let data = process.data(&token, FEED, json!({})).await;
        assert_eq!(data, json!({ "v1": expected, "v2": expected, "v3": expected }));
    }
    assert_clean(&reader).await;
    assert_clean(&writer).await;
    for process in [writer, reader] {
        process.stop().await;
    }
}

#[tokio::test]
async fn what_one_process_writes_those_hear_who_subscribed_at_another() {
    let account = account();
    let (writer, listener) =
        (Process::start(&account, "writer").await, Process::start(&account, "listener").await);
    let token = writer.sign_up("ada").await;
    let post = writer.post(&token, "Engines").await;
    let mut socket = WebSocketClient::open(listener.address).await;
    for (id, query) in [
        ("feed", "subscription { feedChanged { id title likeCount } }"),
        ("post", "subscription($id: ID!) { postChanged(id: $id) { likeCount } }"),
        (
            "comments",
            "subscription($id: ID!) { commentAdded(postId: $id) { content post { commentCount } } }",
        ),
    ] {
        let variables = if id == "feed" { json!({}) } else { json!({ "id": post }) };
        socket.request(id, json!({ "query": query, "variables": variables })).await;
    }
    socket.settle().await;
    let act = "mutation($id: ID!) {
        createComment(input: { postId: $id, content: \"indeed\" }) { comment { id } }
        likePost(input: { postId: $id }) { post { id } } }";
    writer.data(&token, act, json!({ "id": post })).await;
    let (mut liked_in_feed, mut liked, mut commented) = (false, false, false);
    while !(liked_in_feed && liked && commented) {
        let message = socket.hear().await;
        let data = &message["payload"]["data"];
        match message["id"].as_str() {
            Some("feed") => liked_in_feed |= data["feedChanged"]["likeCount"] == 1,
            Some("post") => liked |= data["postChanged"]["likeCount"] == 1,
            _ => {
                let expected = json!({ "content": "indeed", "post": { "commentCount": 1 } });
                assert_eq!(data["commentAdded"], expected);
                commented = true;
            }
        }
    }
    for process in [writer, listener] {
        process.stop().await;
    }
}

#[tokio::test]
async fn a_username_is_taken_once_across_processes() {
    let account = account();
    let (left, right) = (Process::start(&account, "left").await, Process::start(&account, "right").await);
    let sign_up =
        "mutation { createUser(input: { username: \"Ada\", password: \"one and two\" }) { user { id } } }";
    let (one, other) =
        futures::join!(left.answer("", sign_up, json!({})), right.answer("", sign_up, json!({})));
    let taken = [&one, &other]
        .iter()
        .filter(|answer| answer["errors"][0]["extensions"]["code"] == "CONFLICT")
        .count();
    assert_eq!(taken, 1, "{one} {other}");
    left.stop().await;
    right.stop().await;
}

#[tokio::test]
async fn the_work_of_a_process_that_stops_is_taken_over() {
    let account = account();
    let first = Process::start(&account, "first").await;
    let token = first.sign_up("ada").await;
    first.post(&token, "Engines").await;
    first.settle().await;
    let second = Process::start(&account, "second").await;
    first.stop().await;
    second.post(&token, "Looms").await;
    second.settle().await;
    let data = second.data(&token, FEED, json!({})).await;
    assert_eq!(data["v3"], data["v1"]);
    assert_eq!(data["v3"]["nodes"].as_array().unwrap().len(), 2, "{data}");
    assert_clean(&second).await;
    second.stop().await;
}

#[tokio::test]
async fn commands_beside_a_server_do_their_work_themselves() {
    let account = account();
    let server = Process::start(&account, "server").await;
    let command = Process::quiet(&account, "server~beside").await;
    assert!(command.app.is_empty().await.unwrap());
    let progress = ProgressSink::none();
    let seeded = command.app.seed(Dataset::new(2, 1, DEFAULT_END_MS), &progress).await.unwrap();
    assert!(seeded.items > 20, "{seeded:?}");
    assert!(!server.app.is_empty().await.unwrap());
    assert_clean(&command).await;
    let rebuilt = command.app.rebuild(None, &progress).await.unwrap();
    assert_eq!(rebuilt.parked, 0, "{rebuilt:?}");
    command.app.replay(None).await.unwrap();
    command.stop().await;
    assert_clean(&server).await;
    server.stop().await;
}

/// The titles of a user's posts, as the read model has them, and whether the response says that the writes
/// are not reached.
async fn own_posts(process: &Process, token: &str, query: &str) -> (Vec<String>, bool) {
    let answer = process.answer(token, query, json!({})).await;
    assert!(answer["errors"].is_null(), "{answer}");
    let nodes = answer["data"]["owner"]["posts"]["nodes"].as_array().expect("posts");
    let titles = nodes.iter().map(|node| node["title"].as_str().expect("a title").to_owned());
    (titles.collect(), answer["extensions"]["reached"] == false)
}

/// Reads a page of each of a process's feed ranges, and then the empty one, which says how far the reader is.
async fn project(process: &Process) {
    for _ in 0..2 {
        process.app.processor.run_once().await.unwrap();
    }
}

/// Two posts in feed ranges of different processes. The reader of the first one's range stands still.
#[tokio::test]
async fn an_earlier_write_in_another_range_is_waited_for_too() {
    let account = account();
    let (here, there) = (Process::quiet(&account, "here").await, Process::quiet(&account, "there").await);
    for process in [&here, &there, &here, &there] {
        process.app.processor.balance_leases().await.unwrap();
        process.settle().await;
    }
    for round in 0..40 {
        let token = here.sign_up(&format!("user{round}")).await;
        let viewer = here.data(&token, "{ viewer { id } }", json!({})).await["viewer"]["id"].clone();
        for process in [&here, &there] {
            project(process).await;
        }
        for title in ["first", "second"] {
            here.post(&token, title).await;
        }
        project(&here).await;
        let stranger = format!("{{ owner: user(id: {viewer}) {{ posts {{ nodes {{ title }} }} }} }}");
        let (listed, _) = own_posts(&here, "", &stranger).await;
        if listed == ["second"] {
            let own = "{ owner: viewer { posts { nodes { title } } } }";
            let (titles, is_late) = own_posts(&here, &token, own).await;
            assert!(is_late || titles == ["second", "first"], "{titles:?}");
            return;
        }
    }
    panic!("no two posts were in ranges of different processes");
}
