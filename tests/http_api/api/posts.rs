//! C2: creating, editing and deleting posts.

use onehop::blog::containers::POSTS;
use serde_json::{Value, json};

use crate::api::caller::POST;
use crate::api::server::Server;

const MODELS: [&str; 3] = ["V1", "V2", "V3"];

async fn post_in(server: &Server, model: &str, id: &str) -> Value {
    let query = format!("query($id: ID!) {{ post(id: $id, model: {model}) {{ {POST} content }} }}");
    server.anonymous().data(&query, json!({ "id": id })).await["post"].take()
}

/// The short forms of a post in the lists of a model: in the feed and under its author.
async fn listed_in(server: &Server, model: &str, author: &str, id: &str) -> Vec<Value> {
    let query = format!(
        "query($author: ID!) {{ feed(model: {model}) {{ nodes {{ {POST} }} }}
           user(id: $author, model: {model}) {{ posts {{ nodes {{ {POST} }} }} }} }}"
    );
    let data = server.anonymous().data(&query, json!({ "author": author })).await;
    let lists = [&data["feed"]["nodes"], &data["user"]["posts"]["nodes"]];
    let posts = lists.into_iter().flat_map(|list| list.as_array().unwrap());
    posts.filter(|post| post["id"] == id).cloned().collect()
}

#[tokio::test]
async fn a_new_post_is_there_at_once_and_in_every_list_after_a_moment() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let content = " As typed:\n\tünïcödé 🦀 \u{0007} \"quoted\" \\ <b>";
    let input = json!({ "title": " A title ", "content": content });
    let mut post = ada.mutate("createPost", input).await["post"].take();
    assert_eq!([&post["title"], &post["content"]], [" A title ", content]);
    assert_eq!(post["author"], json!({ "id": ada.id, "username": "ada" }));
    assert_eq!([&post["commentCount"], &post["likeCount"]], [&json!(0), &json!(0)]);
    let date = post["creationDate"].as_str().unwrap();
    assert!(date.starts_with("2027-01-15T") && date.len() == 24 && date.ends_with('Z'), "{date}");
    let id = post["id"].as_str().unwrap().to_owned();
    for model in MODELS {
        assert_eq!(post_in(&server, model, &id).await, post, "{model}");
    }
    server.settle().await;
    post.as_object_mut().unwrap().remove("content");
    for model in MODELS {
        assert_eq!(listed_in(&server, model, &ada.id, &id).await, [post.clone(), post.clone()], "{model}");
    }
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_leaves_the_rest() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let id = ada.post("Engines").await;
    let before = post_in(&server, "V3", &id).await;
    let edited = ada.mutate("updatePost", json!({ "postId": id, "title": "Looms" })).await["post"].take();
    assert_eq!([&edited["title"], &edited["content"]], ["Looms", "All about Engines."]);
    ada.mutate("updatePost", json!({ "postId": id, "title": null, "content": "Nothing." })).await;
    server.settle().await;
    for model in MODELS {
        let post = post_in(&server, model, &id).await;
        assert_eq!([&post["title"], &post["content"], &post["summary"]], ["Looms", "Nothing.", "Nothing."]);
        assert_eq!(post["creationDate"], before["creationDate"]);
        let listed = listed_in(&server, model, &ada.id, &id).await;
        assert!(listed.len() == 2 && listed.iter().all(|post| post["summary"] == "Nothing."), "{listed:?}");
    }
}

#[tokio::test]
async fn an_edit_of_nothing_is_refused() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let id = ada.post("Engines").await;
    for input in [json!({ "postId": id }), json!({ "postId": id, "title": null, "content": null })] {
        assert_eq!(ada.refused_mutation("updatePost", input).await.code, "BAD_USER_INPUT");
    }
}

#[tokio::test]
async fn a_deleted_post_is_gone_with_its_comments_and_likes() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let (post, kept) = (ada.post("Engines").await, ada.post("Looms").await);
    let (comment, like) = (bob.comment(&post, "indeed").await, bob.like(&post).await);
    server.settle().await;
    let deleted = ada.mutate("deletePost", json!({ "postId": post })).await;
    assert_eq!(deleted["deletedPostId"], post.as_str());
    for settled in [false, true] {
        for model in MODELS {
            assert_eq!(post_in(&server, model, &post).await, Value::Null, "{model}, settled: {settled}");
        }
        let query = "query($post: ID!, $comment: ID!, $like: ID!) {
            post: node(id: $post) { id } comment: node(id: $comment) { id } like: node(id: $like) { id } }";
        let nodes = json!({ "post": post, "comment": comment, "like": like });
        let found = ada.data(query, nodes).await;
        assert_eq!(found, json!({ "post": null, "comment": null, "like": null }), "settled: {settled}");
        for (mutation, input) in [
            ("deletePost", json!({ "postId": post })),
            ("updatePost", json!({ "postId": post, "title": "again" })),
            ("createComment", json!({ "postId": post, "content": "again" })),
            ("likePost", json!({ "postId": post })),
        ] {
            let refused = ada.refused_mutation(mutation, input).await;
            assert_eq!(refused.of(), ("NOT_FOUND", Some("postId")), "{mutation}, settled: {settled}");
        }
        server.settle().await;
    }
    for model in MODELS {
        assert_eq!(listed_in(&server, model, &ada.id, &post).await, [] as [Value; 0]);
        assert_eq!(listed_in(&server, model, &ada.id, &kept).await.len(), 2);
    }
    let report = server.verify().await;
    assert_eq!(
        (["post", "comment", "like"].map(|of| report.items_of(POSTS, of)), report.drifts),
        ([1, 0, 0], vec![])
    );
}

#[tokio::test]
async fn a_summary_is_cut_at_a_word_boundary() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let content = "seven77 ".repeat(40);
    let post = ada.mutate("createPost", json!({ "title": "t", "content": content })).await["post"].take();
    let summary = post["summary"].as_str().unwrap();
    let start = summary.strip_suffix(" …").unwrap();
    assert!(content.starts_with(start) && start.ends_with("seven77") && start.len() <= 88, "{summary}");
    server.settle().await;
    for model in MODELS {
        for listed in listed_in(&server, model, &ada.id, post["id"].as_str().unwrap()).await {
            assert_eq!(listed["summary"], summary, "{model}");
        }
    }
}

#[tokio::test]
async fn a_summary_is_plain_text_in_every_data_model() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let content = "```rust\nfn main() {}\n```\n# Then\n~~struck~~ and a [link](https://example.com \"t\")";
    let post = ada.mutate("createPost", json!({ "title": "t", "content": content })).await["post"].take();
    let expected = "fn main() {} Then struck and a link";
    assert_eq!(post["summary"], expected);
    let id = post["id"].as_str().unwrap();
    server.settle().await;
    for model in MODELS {
        assert_eq!(post_in(&server, model, id).await["summary"], expected, "{model}");
        for listed in listed_in(&server, model, &ada.id, id).await {
            assert_eq!(listed["summary"], expected, "{model}");
        }
    }
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn a_text_that_shows_nothing_is_refused() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    for invisible in ["\u{200b}", "\u{202e} \u{2069}", "\u{feff}\n\u{ad}", "\u{3164}"] {
        for (mutation, input, field) in [
            ("createPost", json!({ "title": invisible, "content": "c" }), "title"),
            ("createPost", json!({ "title": "t", "content": invisible }), "content"),
            ("updatePost", json!({ "postId": post, "title": invisible }), "title"),
            ("updatePost", json!({ "postId": post, "content": invisible }), "content"),
            ("createComment", json!({ "postId": post, "content": invisible }), "content"),
        ] {
            let refused = ada.refused_mutation(mutation, input).await;
            assert_eq!(refused.of(), ("BAD_USER_INPUT", Some(field)), "{mutation} {invisible:?}");
        }
    }
}
