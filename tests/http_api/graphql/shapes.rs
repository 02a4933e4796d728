//! The form of answers: order of fields, fragments, aliases, the same whether or not something has to be
//! read.

use serde_json::json;

use crate::support::blog::{post_node, small, user_node};

#[tokio::test]
async fn fields_are_in_selection_order() {
    let blog = small().await;
    let query = format!(
        "{{ z: feed(first: 1) {{ nodes {{ content title id }} }} viewer {{ id }} \
         a: post(id: \"{}\") {{ likes {{ nodes {{ id }} }} title comments(first: 1) {{ nodes {{ id }} }} }} }}",
        post_node(0)
    );
    let response = serde_json::to_string(&blog.query(&query).await.data).unwrap();
    let positions: Vec<usize> =
        ["\"z\"", "\"content\"", "\"title\"", "\"viewer\"", "\"a\"", "\"likes\"", "\"comments\""]
            .iter()
            .map(|name| response.find(name).unwrap_or_else(|| panic!("{name} in {response}")))
            .collect();
    assert!(positions.is_sorted(), "{response}");
}

#[tokio::test]
async fn fragments_aliases_and_repeated_fields_are_merged() {
    let blog = small().await;
    // The same selection, first from the item alone, then with something that has to be read.
    for read in ["", "posts(first: 1) { nodes { title } }"] {
        let query = format!(
            "{{ user(id: \"{}\") {{ __typename ...A ... on Node {{ id ... on Post {{ title }} }} name: username {read} }} }} \
             fragment A on User {{ username ... {{ kind: __typename }} ... @include(if: false) {{ id }} }}",
            user_node(0)
        );
        let mut user = blog.data(&query).await["user"].clone();
        user.as_object_mut().unwrap().remove("posts");
        let expected = json!({ "__typename": "User", "username": "Ada", "kind": "User", "id": user_node(0), "name": "Ada" });
        assert_eq!(user, expected);
    }
}

#[tokio::test]
async fn one_object_selected_twice_is_one_object() {
    let blog = small().await;
    for read in ["", "viewer { id }", "content"] {
        let (inside, outside) = if read == "content" { (read, "") } else { ("", read) };
        let query = format!(
            "{{ feed(first: 2) {{ nodes {{ author {{ id }} }} nodes {{ {inside} author {{ username }} }} }} {outside} }}"
        );
        let data = blog.data(&query).await;
        let author = json!({ "id": user_node(0), "username": "Ada" });
        assert_eq!(data["feed"]["nodes"].as_array().unwrap().len(), 2);
        assert!(
            data["feed"]["nodes"].as_array().unwrap().iter().any(|node| node["author"] == author),
            "{data}"
        );
    }
}

#[tokio::test]
async fn fields_are_the_same_beside_one_that_is_read() {
    let blog = small().await;
    let post = "id title content summary creationDate commentCount likeCount author { id username }";
    let comment = "id content creationDate author { id username }";
    let like = "id creationDate user { id username }";
    let lists = |read: &str| {
        format!(
            "{{ post(id: \"{}\") {{ {post} comments {{ nodes {{ {comment} {read} }} pageInfo {{ endCursor }} }} \
             likes {{ edges {{ cursor node {{ {like} }} }} }} }} }}",
            post_node(0)
        )
    };
    let from_items = blog.data(&lists("")).await;
    let mut read = blog.data(&lists("author { posts(first: 1) { nodes { id } } }")).await;
    for node in read["post"]["comments"]["nodes"].as_array_mut().unwrap() {
        node["author"].as_object_mut().unwrap().remove("posts");
    }
    assert_eq!(from_items, read);
}
