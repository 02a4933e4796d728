//! Pages of lists: cursors, and the fields of `pageInfo`.

use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::Server;

const ITEMS: usize = 7;

/// The four lists, as root fields with room for arguments and selections.
fn lists(user: &str, post: &str, model: &str) -> [(&'static str, String); 4] {
    [
        ("feed", format!("feed(model: {model}, ARGS) SELECTED")),
        ("posts", format!("user(id: \"{user}\", model: {model}) {{ posts(ARGS) SELECTED }}")),
        ("comments", format!("post(id: \"{post}\", model: {model}) {{ comments(ARGS) SELECTED }}")),
        ("likes", format!("post(id: \"{post}\", model: {model}) {{ likes(ARGS) SELECTED }}")),
    ]
}

/// One page of a list.
async fn page(caller: &Caller<'_>, list: &str, first: usize, after: Option<&str>) -> Value {
    let selected = "{ edges { cursor node { id } } nodes { id }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }";
    let list = list.replace("ARGS", "first: $first, after: $after").replace("SELECTED", selected);
    let query = format!("query($first: Int!, $after: String) {{ {list} }}");
    let mut data = caller.data(&query, json!({ "first": first, "after": after })).await;
    let mut found = data.as_object_mut().unwrap().values_mut().next().unwrap().take();
    if found.get("edges").is_none() {
        found = found.as_object_mut().unwrap().values_mut().next().unwrap().take();
    }
    found
}

/// A blog with so many items in each list; the ids of the user and of the post that has them.
async fn full(server: &Server) -> (Caller<'_>, String) {
    let ada = server.sign_up("ada").await;
    let mut post = String::new();
    for number in 0..ITEMS {
        post = ada.post(&format!("post {number}")).await;
    }
    for number in 0..ITEMS {
        ada.comment(&post, &format!("comment {number}")).await;
        server.sign_up(&format!("reader{number}")).await.like(&post).await;
    }
    server.settle().await;
    (ada, post)
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_and_repeats() {
    let server = Server::start().await;
    let (ada, post) = full(&server).await;
    for model in ["V1", "V2", "V3"] {
        for (name, list) in lists(&ada.id, &post, model) {
            let whole = page(&ada, &list, 100, None).await;
            let whole_edges = whole["edges"].as_array().unwrap();
            assert_eq!(whole_edges.len(), ITEMS, "{name} in {model}");
            for size in [1, 3, ITEMS] {
                let (mut edges, mut after) = (Vec::new(), None::<String>);
                loop {
                    let page = page(&ada, &list, size, after.as_deref()).await;
                    let info = &page["pageInfo"];
                    assert_eq!(info["hasPreviousPage"], after.is_some(), "{name} in {model}");
                    let found = page["edges"].as_array().unwrap();
                    assert_eq!(info["startCursor"], found[0]["cursor"]);
                    assert_eq!(info["endCursor"], found[found.len() - 1]["cursor"]);
                    let nodes = page["nodes"].as_array().unwrap();
                    assert!(found.iter().map(|edge| &edge["node"]).eq(nodes));
                    edges.extend(found.iter().cloned());
                    assert_eq!(info["hasNextPage"], edges.len() < ITEMS, "{name} in {model} by {size}");
                    if info["hasNextPage"] == false {
                        break;
                    }
                    after = info["endCursor"].as_str().map(str::to_owned);
                }
                assert_eq!(edges, *whole_edges, "{name} in {model} by {size}");
            }
        }
    }
}

#[tokio::test]
async fn a_cursor_is_the_same_in_all_models() {
    let server = Server::start().await;
    let (ada, post) = full(&server).await;
    let [first, second, third] = ["V1", "V2", "V3"].map(|model| lists(&ada.id, &post, model));
    for ((v1, v2), v3) in first.into_iter().zip(second).zip(third) {
        let start = page(&ada, &v1.1, 2, None).await;
        let after = start["pageInfo"]["endCursor"].as_str().unwrap();
        let next = page(&ada, &v1.1, 2, Some(after)).await;
        assert_eq!(page(&ada, &v2.1, 2, Some(after)).await, next, "{}", v1.0);
        assert_eq!(page(&ada, &v3.1, 2, Some(after)).await, next, "{}", v1.0);
    }
}

#[tokio::test]
async fn an_empty_page_has_no_cursors() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let [.., comments, likes] = lists(&ada.id, &post, "V3");
    for (name, list) in [comments, likes] {
        let page = page(&ada, &list, 5, None).await;
        let info =
            json!({ "hasNextPage": false, "hasPreviousPage": false, "startCursor": null, "endCursor": null });
        assert_eq!(page, json!({ "edges": [], "nodes": [], "pageInfo": info }), "{name}");
    }
}

#[tokio::test]
async fn a_page_after_the_last_item_is_empty() {
    let server = Server::start().await;
    let (ada, post) = full(&server).await;
    for (name, list) in lists(&ada.id, &post, "V3") {
        let whole = page(&ada, &list, 100, None).await;
        let after = whole["pageInfo"]["endCursor"].as_str().unwrap();
        let page = page(&ada, &list, 100, Some(after)).await;
        assert_eq!(page["edges"], json!([]), "{name}");
        assert_eq!([&page["pageInfo"]["hasNextPage"], &page["pageInfo"]["hasPreviousPage"]], [false, true]);
    }
}

#[tokio::test]
async fn a_page_stays_where_it_is_when_items_come_and_go_before_it() {
    let server = Server::start().await;
    let (ada, post) = full(&server).await;
    for model in ["V1", "V2", "V3"] {
        let [feed, ..] = lists(&ada.id, &post, model);
        let start = page(&ada, &feed.1, 2, None).await;
        let after = start["pageInfo"]["endCursor"].as_str().unwrap();
        let before = page(&ada, &feed.1, 3, Some(after)).await;
        let newer = ada.post("newer").await;
        server.settle().await;
        assert_eq!(page(&ada, &feed.1, 3, Some(after)).await, before, "{model}");
        ada.mutate("deletePost", json!({ "postId": newer })).await;
        server.settle().await;
        assert_eq!(page(&ada, &feed.1, 3, Some(after)).await, before, "{model}");
    }
}

/// Asks a list for the page after something that is no cursor of it.
async fn assert_refused(caller: &Caller<'_>, list: &str, forged: &str) {
    let list = list.replace("ARGS", "after: $after").replace("SELECTED", "{ nodes { id } }");
    let query = format!("query($after: String) {{ {list} }}");
    let refused = caller.refused(&query, json!({ "after": forged })).await;
    assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("after")), "{list}: {forged:.80}");
    // The same in the document, for which a plan is compiled.
    let query = query.replace("query($after: String) ", "").replace("$after", &format!("{forged:?}"));
    if query.len() < 10_000 {
        let refused = caller.refused(&query, json!({})).await;
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("after")), "{query}");
    }
}

async fn end_cursor(caller: &Caller<'_>, list: &str) -> String {
    let page = page(caller, list, 1, None).await;
    page["pageInfo"]["endCursor"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_cursor_that_was_made_up_is_refused() {
    let server = Server::start().await;
    let (ada, post) = full(&server).await;
    for (_, list) in lists(&ada.id, &post, "V3") {
        let cursor = end_cursor(&ada, &list).await;
        let mut flipped = cursor.clone().into_bytes();
        flipped[20] = if flipped[20] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(flipped).unwrap();
        let cut = &cursor[..cursor.len() - 4];
        let longer = format!("{cursor}AAAA");
        for forged in ["", "x", "null", cut, &longer, &flipped, &ada.id, &"A".repeat(100_000)] {
            assert_refused(&ada, &list, forged).await;
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let server = Server::start().await;
    let (ada, post) = full(&server).await;
    let bob = server.sign_up("bob").await;
    let other = bob.post("another post").await;
    bob.comment(&other, "a comment").await;
    bob.like(&other).await;
    server.settle().await;
    let [feed, lists_of_ada @ ..] = lists(&ada.id, &post, "V3");
    let [_, lists_of_bob @ ..] = lists(&bob.id, &other, "V3");
    let all: Vec<_> = [feed].into_iter().chain(lists_of_ada).chain(lists_of_bob).collect();
    for (place, (_, list)) in all.iter().enumerate() {
        let cursor = end_cursor(&ada, list).await;
        for (other_place, (_, other)) in all.iter().enumerate() {
            if other_place != place {
                assert_refused(&ada, other, &cursor).await;
            }
        }
    }
}
