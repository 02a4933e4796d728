//! V1, V2 and V3 give the same answers once the copies are current, page by page and cursor by cursor.

use crate::support::blog;

use blog::{Blog, post_node, small, user_node};
use onehop::blog::containers::POSTS;
use serde_json::Value;

const MODELS: [&str; 3] = ["V1", "V2", "V3"];
const POST_FIELDS: &str =
    "id title content summary creationDate commentCount likeCount viewerHasLiked author { id username }";

/// The answers of all data models to a query in which `$model` stands for one; they have to be equal.
async fn agreed(blog: &Blog, query: &str) -> Value {
    let [first, second, third] = MODELS.map(|model| query.replace("$model", model));
    let answer = blog.data(&first).await;
    assert_eq!(answer, blog.data(&second).await, "V1 and V2: {query}");
    assert_eq!(answer, blog.data(&third).await, "V1 and V3: {query}");
    answer
}

/// Pages through the list at `path`, and returns how many items it has.
async fn agree_on_pages(blog: &Blog, path: &[&str], query: impl Fn(&str) -> String) -> usize {
    let (mut after, mut items) = (String::new(), 0);
    loop {
        let mut answer = &agreed(blog, &query(&after)).await;
        for name in path {
            answer = &answer[name];
        }
        let edges = answer["edges"].as_array().expect("edges");
        items += edges.len();
        let info = &answer["pageInfo"];
        assert_eq!(info["endCursor"], edges.last().map_or(Value::Null, |edge| edge["cursor"].clone()));
        assert_eq!(info["hasPreviousPage"], !after.is_empty());
        if info["hasNextPage"] == false {
            return items;
        }
        after = format!(", after: {}", info["endCursor"]);
    }
}

fn list(fields: &str) -> String {
    format!(
        "{{ edges {{ cursor node {{ {fields} }} }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }}"
    )
}

#[tokio::test]
async fn the_data_models_agree_on_users_and_posts() {
    let blog = small().await;
    for number in 0..3 {
        agreed(&blog, &format!("{{ user(id: \"{}\", model: $model) {{ id username }} }}", user_node(number)))
            .await;
        agreed(&blog, &format!("{{ post(id: \"{}\", model: $model) {{ {POST_FIELDS} }} }}", post_node(3)))
            .await;
    }
    let found =
        agreed(&blog, "{ userByUsername(username: \"BRONTË\", model: $model) { id username } }").await;
    assert_eq!(found["userByUsername"]["username"], "Brontë");
    let nobody = agreed(&blog, "{ userByUsername(username: \"nobody\", model: $model) { id } }").await;
    assert_eq!(nobody["userByUsername"], Value::Null);
}

#[tokio::test]
async fn the_data_models_agree_on_every_page_of_a_users_posts() {
    let blog = small().await;
    for first in 1..=4 {
        for number in 0..3 {
            let items = agree_on_pages(&blog, &["user", "posts"], |after| {
                let (user, posts) = (user_node(number), list(POST_FIELDS));
                format!(
                    "{{ user(id: \"{user}\", model: $model) {{ posts(first: {first}{after}) {posts} }} }}"
                )
            });
            assert_eq!(items.await, 3);
        }
    }
}

#[tokio::test]
async fn the_data_models_agree_on_every_page_of_comments_and_likes() {
    let blog = small().await;
    for first in 1..=6 {
        for number in 0..9 {
            let comments = agree_on_pages(&blog, &["post", "comments"], |after| {
                let comments = list("id content creationDate author { id username } post { id title }");
                let post = post_node(number);
                format!(
                    "{{ post(id: \"{post}\", model: $model) {{ comments(first: {first}{after}) {comments} }} }}"
                )
            });
            assert_eq!(comments.await, 5);
            let likes = agree_on_pages(&blog, &["post", "likes"], |after| {
                let likes = list("id creationDate user { id username } post { id }");
                let post = post_node(number);
                format!(
                    "{{ post(id: \"{post}\", model: $model) {{ likes(first: {first}{after}) {likes} }} }}"
                )
            });
            assert_eq!(likes.await, if number % 4 == 3 { 3 } else { 2 });
        }
    }
}

#[tokio::test]
async fn the_data_models_agree_on_every_page_of_the_feed() {
    let blog = small().await;
    for first in [1, 2, 4, 9, 100] {
        let items = agree_on_pages(&blog, &["feed"], |after| {
            format!("{{ feed(first: {first}, model: $model{after}) {} }}", list(POST_FIELDS))
        });
        assert_eq!(items.await, 9);
    }
}

#[tokio::test]
async fn everything_under_a_root_field_is_read_in_its_data_model() {
    let blog = small().await;
    let query = "{ feed(first: 2, model: $model) { nodes { author { username posts(first: 2) { nodes { title \
         comments(first: 2) { nodes { content author { username posts(first: 1) { nodes { id } } } } } } } } \
         likes(first: 2) { nodes { user { id } } } } } }";
    agreed(&blog, query).await;
}

#[tokio::test]
async fn v1_looks_neither_at_stored_usernames_nor_at_stored_counts() {
    let blog = small().await;
    let mut post = blog.stored_post(0).await;
    post.user_username = "stale".to_owned();
    post.comment_count = 77;
    post.like_count = 77;
    blog.put(POSTS, &post.id.partition_key(), &post.id.to_string(), &post).await;
    let query = |model: &str| {
        let post = post_node(0);
        format!(
            "{{ post(id: \"{post}\", model: {model}) {{ commentCount likeCount author {{ username }} }} }}"
        )
    };
    let gathered = serde_json::json!({ "commentCount": 5, "likeCount": 2, "author": { "username": "Ada" } });
    assert_eq!(blog.data(&query("V1")).await["post"], gathered);
    assert_eq!(blog.data(&query("V2")).await["post"]["commentCount"], 77);
}
