//! Checks of the required data, asked of the server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::crash::api::{Api, text};
use crate::crash::record::{Author, Record};
use crate::crash::writer::content_of;

/// Posts, comments and likes in a page: more than any list here has.
const FIRST: u32 = 100;

/// No change is waiting, and no change was parked because it could not be projected.
pub async fn check_projections(api: &Api) {
    let answer = api.ask_operations("{ projections { name pendingChanges deadLetters } }").await;
    for status in answer["projections"].as_array().expect("projections") {
        assert_eq!((&status["pendingChanges"], &status["deadLetters"]), (&json!(0), &json!(0)), "{status}");
    }
}

/// Checks the posts that were touched and the list of posts of every writer. Settles the lost commands.
pub async fn check(api: &Api, record: &mut Record) {
    let touched = std::mem::take(&mut record.touched);
    check_posts(api, record, touched).await;
}

/// Checks everything that was ever written.
pub async fn check_all(api: &Api, record: &mut Record) {
    record.touched.clear();
    let all = record.posts.keys().cloned().collect();
    check_posts(api, record, all).await;
}

async fn check_posts(api: &Api, record: &mut Record, posts: BTreeSet<String>) {
    for id in &posts {
        let found = post_answer(api, id).await;
        check_post(record, id, &found);
    }
    for author in 0..record.writers.len() {
        check_list(api, record, author).await;
    }
    record.touched.clear();
}

/// A post with its comments and likes; null when it is not there.
pub async fn post_answer(api: &Api, id: &str) -> Value {
    let query = "query($id: ID!, $first: Int!) { post(id: $id) { title content commentCount likeCount \
         author { id username } \
         comments(first: $first) { nodes { id content author { id username } } pageInfo { hasNextPage } } \
         likes(first: $first) { nodes { user { id username } } pageInfo { hasNextPage } } } }";
    api.ask(query, json!({ "id": id, "first": FIRST })).await["post"].take()
}

/// The posts of a user, by one data model.
pub async fn posts_of(api: &Api, user: &str, model: &str) -> Vec<Value> {
    let query = "query($id: ID!, $first: Int!, $model: DataModel!) { user(id: $id, model: $model) { \
         posts(first: $first) { nodes { id title summary commentCount likeCount author { username } } \
         pageInfo { hasNextPage } } } }";
    let mut answer = api.ask(query, json!({ "id": user, "first": FIRST, "model": model })).await;
    nodes(&mut answer["user"]["posts"])
}

fn check_post(record: &mut Record, id: &str, found: &Value) {
    record.post(id).deleted.settle(found.is_null(), "that a post is gone");
    if found.is_null() {
        return;
    }
    let title = text(&found["title"]);
    assert_eq!(found["content"], content_of(&title), "title and content were written together");
    record.post(id).title.settle(title, "the title of a post");
    let author = record.posts[id].author;
    check_user(record, author, &found["author"]);

    let comments = nodes(&mut found["comments"].clone());
    check_comments(record, id, &comments);
    assert_eq!(found["commentCount"], comments.len(), "comments of {id}");

    let likes = nodes(&mut found["likes"].clone());
    let likers: Vec<String> = likes.iter().map(|like| text(&like["user"]["id"])).collect();
    for author in 0..record.writers.len() {
        let liked = likers.contains(&record.writers[author].id);
        record.like(id, author).settle(liked, "a like");
    }
    for like in &likes {
        let user = text(&like["user"]["id"]);
        let author = record.writers.iter().position(|writer| writer.id == user).expect("a writer");
        check_user(record, author, &like["user"]);
    }
    assert_eq!(found["likeCount"], likes.len(), "likes of {id}");
}

fn check_comments(record: &mut Record, post: &str, found: &[Value]) {
    let found: BTreeMap<String, &Value> =
        found.iter().map(|comment| (text(&comment["id"]), comment)).collect();
    let known: Vec<String> =
        record.comments.get(post).map_or(Vec::new(), |known| known.keys().cloned().collect());
    for id in found.keys() {
        assert!(
            known.contains(id),
            "nobody wrote the comment {id}, or its answer was lost and it came twice"
        );
    }
    for id in known {
        let comment = record.comment(post, &id);
        comment.deleted.settle(!found.contains_key(&id), "that a comment is gone");
        if let Some(found) = found.get(&id) {
            assert_eq!(found["content"], comment.content);
            let author = comment.author;
            check_user(record, author, &found["author"]);
        }
    }
}

/// Every list of posts has the remaining ones, no more and no less, in both data models that keep it.
async fn check_list(api: &Api, record: &Record, author: Author) {
    let id = &record.writers[author].id;
    let left = record.posts.iter().filter(|(_, post)| post.author == author && !post.deleted.get());
    let left: BTreeMap<&String, &String> = left.map(|(id, post)| (id, post.title.get())).collect();
    let (normalised, copies) = (posts_of(api, id, "V1").await, posts_of(api, id, "V3").await);
    assert_eq!(normalised, copies, "V1 and V3");
    let found: BTreeMap<String, String> =
        copies.iter().map(|post| (text(&post["id"]), text(&post["title"]))).collect();
    assert_eq!(found.iter().collect::<BTreeMap<_, _>>(), left, "posts of the writer {author}");
}

fn check_user(record: &Record, author: Author, found: &Value) {
    let writer = &record.writers[author];
    assert_eq!((&found["id"], &found["username"]), (&json!(writer.id), &json!(writer.name.get())));
}

fn nodes(connection: &mut Value) -> Vec<Value> {
    assert_eq!(connection["pageInfo"]["hasNextPage"], false, "a list is longer than a page");
    serde_json::from_value(connection["nodes"].take()).expect("nodes")
}
