//! Rights of the viewer in the blog: they agree with the permissions of commands, take no read of their own,
//! and are no other viewer's.

use onehop_testing::websocket::WebSocketClient;
use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::Server;

const POST_RIGHTS: &str = "query($id: ID!) { post(id: $id) { viewerCanUpdate viewerCanDelete
    comments { nodes { viewerCanUpdate viewerCanDelete author { username } } } author { viewerCanUpdate } } }";

/// Rights on a post, and rights to delete the comments of its author and of another user.
async fn rights(caller: &Caller<'_>, post: &str) -> [bool; 4] {
    let data = caller.data(POST_RIGHTS, json!({ "id": post })).await["post"].take();
    let of_comment = |place: usize| data["comments"]["nodes"][place]["viewerCanDelete"].as_bool().unwrap();
    let own = |field: &str| data[field].as_bool().unwrap();
    assert_eq!(data["author"]["viewerCanUpdate"], data["viewerCanUpdate"], "users rename themselves");
    [own("viewerCanUpdate"), own("viewerCanDelete"), of_comment(0), of_comment(1)]
}

#[tokio::test]
async fn the_right_to_change_a_comment_is_its_authors() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let comment = bob.comment(&post, "By another.").await;
    let by_id = "query($id: ID!) { node(id: $id) { ... on Comment { viewerCanUpdate } } }";
    for (caller, expected) in [(&ada, false), (&bob, true), (&server.anonymous(), false)] {
        let data = caller.data(POST_RIGHTS, json!({ "id": post })).await;
        assert_eq!(data["post"]["comments"]["nodes"][0]["viewerCanUpdate"], expected, "{}", caller.id);
        let data = caller.data(by_id, json!({ "id": comment })).await;
        assert_eq!(data["node"]["viewerCanUpdate"], expected, "{}", caller.id);
    }
    let update = json!({ "commentId": comment, "content": "Taken over" });
    let refused = ada.refused_mutation("updateComment", update).await;
    assert_eq!(refused.code, "FORBIDDEN", "authors of posts delete comments, and change none");
    assert!(refused.message.to_lowercase().contains("only its author can change a comment"), "{refused:?}");
    bob.mutate("updateComment", json!({ "commentId": comment, "content": "Changed." })).await;
}

#[tokio::test]
async fn rights_on_posts_and_comments_are_those_of_commands() {
    let server = Server::start().await;
    let (ada, bob, eve) =
        (server.sign_up("ada").await, server.sign_up("bob").await, server.sign_up("eve").await);
    let post = ada.post("Engines").await;
    let own = ada.comment(&post, "By the author.").await;
    let others = bob.comment(&post, "By another.").await;
    for (caller, expected) in [
        (&ada, [true, true, true, true]),
        (&bob, [false, false, false, true]),
        (&eve, [false; 4]),
        (&server.anonymous(), [false; 4]),
    ] {
        assert_eq!(rights(caller, &post).await, expected, "{}", caller.id);
    }
    let update = json!({ "postId": post, "title": "Taken over" });
    assert_eq!(bob.refused_mutation("updatePost", update).await.code, "FORBIDDEN");
    assert_eq!(bob.refused_mutation("deletePost", json!({ "postId": post })).await.code, "FORBIDDEN");
    assert_eq!(bob.refused_mutation("deleteComment", json!({ "commentId": own })).await.code, "FORBIDDEN");
    assert_eq!(eve.refused_mutation("deleteComment", json!({ "commentId": others })).await.code, "FORBIDDEN");
    ada.mutate("deleteComment", json!({ "commentId": others })).await;
    bob.data("query($id: ID!) { post(id: $id) { viewerCanDelete } }", json!({ "id": post })).await;
    ada.mutate("updatePost", json!({ "postId": post, "title": "Changed" })).await;
    ada.mutate("deletePost", json!({ "postId": post })).await;
}

#[tokio::test]
async fn rights_on_a_comment_by_its_id_need_no_list() {
    let server = Server::start().await;
    let (ada, bob, eve) =
        (server.sign_up("ada").await, server.sign_up("bob").await, server.sign_up("eve").await);
    let post = ada.post("Engines").await;
    let comment = bob.comment(&post, "By another.").await;
    let query = "query($id: ID!) { node(id: $id) { ... on Comment { viewerCanDelete } } }";
    for (caller, expected) in [(&ada, true), (&bob, true), (&eve, false), (&server.anonymous(), false)] {
        let data = caller.data(query, json!({ "id": comment })).await;
        assert_eq!(data["node"]["viewerCanDelete"], expected, "{}", caller.id);
    }
}

/// The operations on the store that a query takes.
async fn operations(caller: &Caller<'_>, query: &str, id: &str) -> Value {
    let request = json!({ "query": query, "variables": { "id": id }, "extensions": { "operations": true } });
    let mut answer = caller.send(request).await;
    assert!(answer.body.get("errors").is_none(), "{query}: {answer:?}");
    answer.body["extensions"]["operations"].take()
}

#[tokio::test]
async fn rights_take_no_read_of_their_own() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    bob.comment(&post, "By another.").await;
    server.settle().await;
    for caller in [&ada, &bob, &server.anonymous()] {
        for (plain, with_rights) in [
            ("post(id: $id) { id }", "post(id: $id) { id viewerCanUpdate viewerCanDelete }"),
            (
                "post(id: $id) { comments { nodes { id } } }",
                "post(id: $id) { comments { nodes { id viewerCanDelete author { viewerCanUpdate } } } }",
            ),
        ] {
            let [plain, with_rights] =
                [plain, with_rights].map(|fields| format!("query($id: ID!) {{ {fields} }}"));
            let expected = operations(caller, &plain, &post).await;
            assert_eq!(operations(caller, &with_rights, &post).await, expected, "{with_rights}");
        }
    }
}

#[tokio::test]
async fn an_entity_tag_of_rights_is_no_other_viewers() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    server.settle().await;
    let query = format!("{{ post(id: {post:?}) {{ title viewerCanUpdate }} }}");
    let url = reqwest::Url::parse_with_params(&server.url("/graphql"), [("query", &query)]).unwrap();
    let get = async |token: Option<&str>, tag: Option<&str>| {
        let mut request = server.http.get(url.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(tag) = tag {
            request = request.header(IF_NONE_MATCH, tag);
        }
        request.send().await.unwrap()
    };
    let of_ada = get(Some(ada.token()), None).await;
    let cached = of_ada.headers()["cache-control"].to_str().unwrap().to_owned();
    assert!(cached.contains("private"), "{cached}");
    let tag = of_ada.headers()[ETAG].to_str().unwrap().to_owned();
    assert!(of_ada.text().await.unwrap().contains("\"viewerCanUpdate\":true"));
    assert_eq!(get(Some(ada.token()), Some(&tag)).await.status(), StatusCode::NOT_MODIFIED);
    for token in [Some(bob.token()), None] {
        let answer = get(token, Some(&tag)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_ne!(answer.headers()[ETAG], tag.as_str());
        assert!(answer.text().await.unwrap().contains("\"viewerCanUpdate\":false"));
    }
}

#[tokio::test]
async fn rights_in_events_are_each_viewers_own() {
    let server = Server::start().await;
    let (ada, bob, eve) =
        (server.sign_up("ada").await, server.sign_up("bob").await, server.sign_up("eve").await);
    let post = ada.post("Engines").await;
    let query = "subscription($id: ID!) { commentAdded(postId: $id) { viewerCanDelete } }";
    let mut sockets = Vec::new();
    for (caller, expected) in [(Some(&eve), false), (Some(&ada), true), (Some(&bob), true), (None, false)] {
        let bearer = caller.map(|caller| json!({ "authorization": format!("Bearer {}", caller.token()) }));
        let mut socket = WebSocketClient::open_with(server.address(), bearer.unwrap_or(json!({}))).await;
        socket.request("1", json!({ "query": query, "variables": { "id": post } })).await;
        socket.settle().await;
        sockets.push((socket, expected));
    }
    bob.comment(&post, "By another.").await;
    for (socket, expected) in &mut sockets {
        let event = socket.hear_of("next", "1").await;
        assert_eq!(event["data"]["commentAdded"]["viewerCanDelete"], *expected, "{event}");
    }
}
