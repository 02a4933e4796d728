//! Subscriptions of the whole application, over WebSocket and over server-sent events.

use std::time::Duration;

use onehop::accounts::token::ACCESS_TOKEN_LIFETIME_DEFAULT;
use onehop::api::ApiOptions;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::{Server, Setup};
use onehop_testing::event_stream::EventStream;
use onehop_testing::websocket::WebSocketClient;

const FEED: &str =
    "subscription { feedChanged { id title summary commentCount likeCount author { username } } }";

/// Somebody's socket.
async fn socket(server: &Server, caller: Option<&Caller<'_>>) -> WebSocketClient {
    let payload =
        caller.map_or(json!({}), |caller| json!({ "authorization": format!("Bearer {}", caller.token()) }));
    WebSocketClient::open_with(server.address(), payload).await
}

/// A socket with one subscription, which has begun.
async fn subscribed(
    server: &Server,
    caller: Option<&Caller<'_>>,
    query: &str,
    variables: Value,
) -> WebSocketClient {
    let mut socket = socket(server, caller).await;
    socket.request("1", json!({ "query": query, "variables": variables })).await;
    socket.settle().await;
    socket
}

/// The field of the next event.
async fn event(socket: &mut WebSocketClient, field: &str) -> Value {
    let mut result = socket.hear_of("next", "1").await;
    assert!(result.get("errors").is_none(), "{result}");
    result["data"][field].take()
}

async fn error_code(socket: &mut WebSocketClient) -> (Value, Value) {
    let errors = socket.hear_of("error", "1").await;
    (errors[0]["extensions"]["code"].clone(), errors[0]["extensions"]["field"].clone())
}

async fn feed(server: &Server) -> Value {
    let query = "{ feed { nodes { id title summary commentCount likeCount author { username } } } }";
    server.anonymous().data(query, json!({})).await["feed"]["nodes"].take()
}

#[tokio::test]
async fn a_new_feed_post_is_announced_when_queries_show_it() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let mut socket = subscribed(&server, None, FEED, json!({})).await;
    let post = ada.post("Engines").await;
    assert_eq!(feed(&server).await, json!([]));
    // Nothing is told before the projection: the next message is the answer to a ping.
    socket.settle().await;
    server.settle().await;
    let told = event(&mut socket, "feedChanged").await;
    assert_eq!((&told["id"], json!([told.clone()])), (&json!(post), feed(&server).await));
}

#[tokio::test]
async fn a_live_query_of_the_feed_follows_its_read_model() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let mut socket = socket(&server, None).await;
    let query =
        "query @live { feed { nodes { id title summary commentCount likeCount author { username } } } }";
    socket.subscribe("1", query).await;
    assert_eq!(event(&mut socket, "feed").await["nodes"], json!([]));
    let post = ada.post("Engines").await;
    server.settle().await;
    assert_eq!(event(&mut socket, "feed").await["nodes"], feed(&server).await);
    bob.like(&post).await;
    server.settle().await;
    let shown = event(&mut socket, "feed").await;
    assert_eq!((&shown["nodes"], &shown["nodes"][0]["likeCount"]), (&feed(&server).await, &json!(1)));
}

#[tokio::test]
async fn a_live_query_is_about_its_own_viewer() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let query = "query($id: ID!) @live { post(id: $id) { likeCount viewerHasLiked } }";
    let mut sockets = [socket(&server, Some(&ada)).await, socket(&server, Some(&bob)).await];
    for socket in &mut sockets {
        socket.request("1", json!({ "query": query, "variables": { "id": post } })).await;
        let shown = event(socket, "post").await;
        assert_eq!(shown, json!({ "likeCount": 0, "viewerHasLiked": false }));
    }
    bob.like(&post).await;
    server.settle().await;
    for (socket, has_liked) in sockets.iter_mut().zip([false, true]) {
        let shown = event(socket, "post").await;
        assert_eq!(shown, json!({ "likeCount": 1, "viewerHasLiked": has_liked }));
    }
}

#[tokio::test]
async fn only_changes_in_the_feed_are_announced() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let first = ada.post("Engines").await;
    server.settle().await;
    let mut socket = subscribed(&server, None, FEED, json!({})).await;
    bob.like(&first).await;
    server.settle().await;
    assert_eq!(event(&mut socket, "feedChanged").await["likeCount"], 1);
    bob.comment(&first, "Indeed.").await;
    server.settle().await;
    assert_eq!(event(&mut socket, "feedChanged").await["commentCount"], 1);
    // A new post confirms the oldest by writing it as it was: that is no news.
    let second = ada.post("Wheels").await;
    server.settle().await;
    assert_eq!(event(&mut socket, "feedChanged").await["id"], second.as_str());
    socket.settle().await;
    ada.mutate("updateUser", json!({ "username": "lovelace" })).await;
    server.settle().await;
    let mut renamed = Vec::new();
    while renamed.len() < 2 {
        let told = event(&mut socket, "feedChanged").await;
        assert_eq!(told["author"]["username"], "lovelace");
        renamed.push(told["id"].as_str().unwrap().to_owned());
    }
    renamed.sort();
    let mut posts = [first, second];
    posts.sort();
    assert_eq!(renamed, posts);
    socket.settle().await;
}

#[tokio::test]
async fn a_changed_post_is_announced_with_its_whole_text() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let (post, other) = (ada.post("Engines").await, ada.post("Wheels").await);
    let query = "subscription($id: ID!) { postChanged(id: $id) { id title content likeCount } }";
    let mut socket = subscribed(&server, None, query, json!({ "id": post })).await;
    bob.like(&other).await;
    bob.like(&post).await;
    let content = "All about Engines.";
    let liked = json!({ "id": post, "title": "Engines", "content": content, "likeCount": 1 });
    assert_eq!(event(&mut socket, "postChanged").await, liked);
    ada.mutate("updatePost", json!({ "postId": post, "content": "More." })).await;
    assert_eq!(event(&mut socket, "postChanged").await["content"], "More.");
}

#[tokio::test]
async fn a_new_comment_is_announced_once() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    bob.comment(&post, "Before.").await;
    let query = "subscription($id: ID!) { commentAdded(postId: $id) { id content author { username } post { commentCount } } }";
    let mut socket = subscribed(&server, None, query, json!({ "id": post })).await;
    let comment = bob.comment(&post, "Indeed.").await;
    let told = event(&mut socket, "commentAdded").await;
    let author = json!({ "username": "bob" });
    let expected =
        json!({ "id": comment, "content": "Indeed.", "author": author, "post": { "commentCount": 2 } });
    assert_eq!(told, expected);
    // Both comments get another name, and one is deleted: no comment is added.
    bob.mutate("updateUser", json!({ "username": "robert" })).await;
    server.settle().await;
    bob.mutate("deleteComment", json!({ "commentId": comment })).await;
    let next = ada.comment(&post, "Quite.").await;
    assert_eq!(event(&mut socket, "commentAdded").await["id"], next.as_str());
}

#[tokio::test]
async fn subscriptions_to_a_post_end_when_it_is_deleted() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let mut sockets = Vec::new();
    for query in [
        "subscription($id: ID!) { postChanged(id: $id) { id } }",
        "subscription($id: ID!) { commentAdded(postId: $id) { id } }",
    ] {
        sockets.push(subscribed(&server, None, query, json!({ "id": post })).await);
    }
    ada.mutate("deletePost", json!({ "postId": post })).await;
    for socket in &mut sockets {
        socket.hear_of("complete", "1").await;
    }
}

#[tokio::test]
async fn what_no_query_shows_cannot_be_subscribed_to() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    ada.mutate("deletePost", json!({ "postId": post })).await;
    let mut socket = socket(&server, None).await;
    for (query, id, expected) in [
        ("subscription($id: ID!) { postChanged(id: $id) { id } }", post.as_str(), ("NOT_FOUND", Value::Null)),
        (
            "subscription($id: ID!) { commentAdded(postId: $id) { id } }",
            post.as_str(),
            ("NOT_FOUND", Value::Null),
        ),
        (
            "subscription($id: ID!) { postChanged(id: $id) { id } }",
            ada.id.as_str(),
            ("BAD_USER_INPUT", json!("id")),
        ),
        (
            "subscription($id: ID!) { commentAdded(postId: $id) { id } }",
            "x",
            ("BAD_USER_INPUT", json!("postId")),
        ),
    ] {
        socket.request("1", json!({ "query": query, "variables": { "id": id } })).await;
        assert_eq!(error_code(&mut socket).await, (json!(expected.0), expected.1), "{query} {id}");
    }
}

#[tokio::test]
async fn viewer_has_liked_is_each_viewers_own() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let query = "subscription($id: ID!) { postChanged(id: $id) { viewerHasLiked } }";
    let mut sockets = Vec::new();
    for (caller, expected) in [(Some(&ada), false), (Some(&bob), true), (None, false)] {
        sockets.push((subscribed(&server, caller, query, json!({ "id": post })).await, expected));
    }
    bob.like(&post).await;
    for (socket, expected) in &mut sockets {
        assert_eq!(event(socket, "postChanged").await["viewerHasLiked"], *expected);
    }
}

#[tokio::test]
async fn an_event_says_what_its_own_reads_were_charged() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let mut socket = socket(&server, None).await;
    let plain = "subscription($id: ID!) { postChanged(id: $id) { title content } }";
    let nested = "subscription($id: ID!) { postChanged(id: $id) { likes(first: 5) { nodes { id } } } }";
    for (id, query) in [("plain", plain), ("nested", nested)] {
        let request =
            json!({ "query": query, "variables": { "id": post }, "extensions": { "operations": true } });
        socket.request(id, request).await;
    }
    socket.settle().await;
    for expected_likes in 1..=2 {
        let liker = if expected_likes == 1 { &ada } else { &bob };
        liker.like(&post).await;
        for _ in 0..2 {
            let message = socket.hear().await;
            let (extensions, data) = (&message["payload"]["extensions"], &message["payload"]["data"]);
            if message["id"] == "plain" {
                assert_eq!(
                    (&extensions["requestCharge"], &extensions["operations"]),
                    (&json!(0.0), &json!([]))
                );
                continue;
            }
            assert_eq!(data["postChanged"]["likes"]["nodes"].as_array().unwrap().len(), expected_likes);
            assert!(extensions["requestCharge"].as_f64().unwrap() >= 1.0, "{message}");
            let operations = extensions["operations"].as_array().unwrap();
            assert_eq!(
                (operations.len(), &operations[0]["times"]),
                (1, &json!(1)),
                "the events before are not in it"
            );
        }
    }
}

#[tokio::test]
async fn a_subscription_has_query_limits_and_one_root_field() {
    let server = Server::start().await;
    let mut socket = socket(&server, None).await;
    let nested = |depth: usize| {
        (0..depth).fold("id".to_owned(), |inner, _| format!("author {{ posts {{ nodes {{ {inner} }} }} }}"))
    };
    for (query, expected) in [
        (format!("subscription {{ feedChanged {{ {} }} }}", nested(6)), "LIMIT_EXCEEDED"),
        (
            format!(
                "subscription {{ feedChanged {{ {} }} }}",
                nested(4).replace("posts", "posts(first: 100)")
            ),
            "LIMIT_EXCEEDED",
        ),
        (
            "subscription { feedChanged { id } other: feedChanged { id } }".to_owned(),
            "GRAPHQL_VALIDATION_FAILED",
        ),
        ("subscription { __typename }".to_owned(), "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { feedChanged { nothing } }".to_owned(), "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { feedChanged }".to_owned(), "GRAPHQL_VALIDATION_FAILED"),
    ] {
        socket.subscribe("1", &query).await;
        assert_eq!(error_code(&mut socket).await.0, expected, "{query}");
    }
}

#[tokio::test]
async fn the_field_of_a_subscription_may_stand_in_a_fragment() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let query = "subscription A { ...Root } fragment Root on Subscription { told: feedChanged { ...Title } }
        fragment Title on Post { title }";
    let mut socket = subscribed(&server, None, query, json!({})).await;
    ada.post("Engines").await;
    server.settle().await;
    assert_eq!(event(&mut socket, "told").await, json!({ "title": "Engines" }));
}

#[tokio::test]
async fn a_subscription_sees_a_later_mutation_of_its_socket() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let mut socket = socket(&server, Some(&ada)).await;
    let subscription = json!({ "query": "subscription($id: ID!) { postChanged(id: $id) { likeCount } }", "variables": { "id": post } });
    socket.request("1", subscription).await;
    let like = "mutation($id: ID!) { likePost(input: { postId: $id }) { post { likeCount } } }";
    socket.request("2", json!({ "query": like, "variables": { "id": post } })).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        let message = socket.hear().await;
        heard.push(format!("{} {}", message["type"].as_str().unwrap(), message["id"].as_str().unwrap()));
    }
    heard.sort();
    assert_eq!(heard, ["complete 2", "next 1", "next 2"]);
}

#[tokio::test]
async fn events_come_over_server_sent_events_as_well() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let query = "subscription($id: ID!) { postChanged(id: $id) { likeCount viewerHasLiked } }";
    let request = server
        .http
        .post(server.url("/graphql"))
        .header("accept", "text/event-stream")
        .bearer_auth(bob.token());
    let request = request.json(&json!({ "query": query, "variables": { "id": post } }));
    let mut stream = EventStream::of(request.send().await.unwrap());
    bob.like(&post).await;
    let told = json!({ "postChanged": { "likeCount": 1, "viewerHasLiked": true } });
    assert_eq!(stream.result().await["data"], told);
    ada.mutate("deletePost", json!({ "postId": post })).await;
    assert!(stream.rest().await.is_empty());
}

#[tokio::test]
async fn the_change_feed_is_read_only_for_subscribers() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    server.settle().await;
    assert_eq!(server.app.live.sources_running(), 0);
    let mut socket = subscribed(&server, None, FEED, json!({})).await;
    let query = json!({ "query": "subscription($id: ID!) { postChanged(id: $id) { id } }", "variables": { "id": post } });
    socket.request("2", query).await;
    socket.settle().await;
    assert_eq!(server.app.live.sources_running(), 2);
    socket.close().await;
    while server.app.live.sources_running() > 0 {
        tokio::task::yield_now().await;
    }
    // A later subscriber hears later writes.
    let mut socket = subscribed(&server, None, FEED, json!({})).await;
    let post = ada.post("Wheels").await;
    server.settle().await;
    assert_eq!(event(&mut socket, "feedChanged").await["id"], post.as_str());
}

#[tokio::test]
async fn a_socket_is_closed_when_its_access_token_expires() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    // Clocks may differ by half a minute: so much longer is a token good.
    let leeway = Duration::from_secs(30);
    server.clock.advance(ACCESS_TOKEN_LIFETIME_DEFAULT + leeway - Duration::from_secs(2));
    let mut socket = socket(&server, Some(&ada)).await;
    assert_eq!(socket.closed().await.0, 4403);
}

#[tokio::test]
async fn a_token_that_is_not_good_opens_no_connection() {
    let server = Server::start().await;
    let mut socket = WebSocketClient::connect(server.address()).await;
    socket.say(json!({ "type": "connection_init", "payload": { "authorization": "Bearer x.y.z" } })).await;
    assert_eq!(socket.closed().await, (4403, "Forbidden".to_owned()));
}

#[tokio::test]
async fn a_deleted_comment_reaches_subscribers_of_its_post() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let comment = bob.comment(&post, "Indeed.").await;
    let query = "subscription($id: ID!) { commentDeleted(postId: $id) { commentId } }";
    let mut socket = subscribed(&server, None, query, json!({ "id": post })).await;
    bob.comment(&post, "Quite.").await;
    bob.mutate("deleteComment", json!({ "commentId": comment })).await;
    assert_eq!(event(&mut socket, "commentDeleted").await, json!({ "commentId": comment }));
    ada.mutate("deletePost", json!({ "postId": post })).await;
    socket.hear_of("complete", "1").await;
}

#[tokio::test]
async fn a_changed_comment_reaches_subscribers_of_its_post() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let comment = bob.comment(&post, "Indeed.").await;
    let query = "subscription($id: ID!) { commentChanged(postId: $id) { id content version } }";
    let mut socket = subscribed(&server, None, query, json!({ "id": post })).await;
    bob.comment(&post, "Quite.").await;
    bob.mutate("updateComment", json!({ "commentId": comment, "content": "In deed." })).await;
    let expected = json!({ "id": comment, "content": "In deed.", "version": 2 });
    assert_eq!(event(&mut socket, "commentChanged").await, expected);
    ada.mutate("deletePost", json!({ "postId": post })).await;
    socket.hear_of("complete", "1").await;
}

#[tokio::test]
async fn a_deleted_post_reaches_its_subscribers_and_the_feeds() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    server.settle().await;
    let query = "subscription($id: ID!) { postDeleted(id: $id) { postId } }";
    let mut reader = subscribed(&server, None, query, json!({ "id": post })).await;
    let query = "subscription { feedPostRemoved { postId } }";
    let mut feed = subscribed(&server, None, query, json!({})).await;
    ada.mutate("deletePost", json!({ "postId": post })).await;
    server.settle().await;
    assert_eq!(event(&mut reader, "postDeleted").await, json!({ "postId": post }));
    reader.hear_of("complete", "1").await;
    assert_eq!(event(&mut feed, "feedPostRemoved").await, json!({ "postId": post }));
}

#[tokio::test]
async fn an_event_is_sent_when_something_selected_has_changed() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    server.settle().await;
    let of_post = |fields: &str| format!("subscription($id: ID!) {{ postChanged(id: $id) {{ {fields} }} }}");
    let mut sockets = [
        subscribed(&server, None, "subscription { feedChanged { id title } }", json!({})).await,
        subscribed(&server, None, &of_post("id title author { username }"), json!({ "id": post })).await,
        subscribed(&server, None, "subscription { feedPostAdded { id } }", json!({})).await,
    ];
    bob.like(&post).await;
    bob.comment(&post, "Indeed.").await;
    server.settle().await;
    for socket in &mut sockets {
        // Nothing comes before the answer to a ping.
        socket.settle().await;
    }
    ada.mutate("updatePost", json!({ "postId": post, "title": "Engines of difference" })).await;
    server.settle().await;
    let [feed, reader, added] = &mut sockets;
    assert_eq!(event(feed, "feedChanged").await["title"], "Engines of difference");
    assert_eq!(event(reader, "postChanged").await["title"], "Engines of difference");
    let second = ada.post("Wheels").await;
    server.settle().await;
    assert_eq!(event(added, "feedPostAdded").await["id"], second.as_str());
}

#[tokio::test]
async fn beginning_to_listen_is_charged() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 3, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let mut socket = socket(&server, None).await;
    // Each begins a reader, and the last one leaves it: without a charge this would never end.
    let errors = loop {
        socket.request("1", json!({ "query": "subscription { feedChanged { id } }" })).await;
        socket.say(json!({ "type": "ping" })).await;
        let heard = socket.hear().await;
        if heard["type"] == "error" {
            break heard["payload"].clone();
        }
        socket.say(json!({ "type": "complete", "id": "1" })).await;
    };
    assert_eq!(errors[0]["extensions"]["limit"], "caller-ru-per-second", "{errors}");
}
