//! Data that the posts of a list share.

use async_graphql::{Request, Response};
use onehop::blog::ids::UserId;
use serde_json::{Value, json};

use crate::support::blog::{Blog, small, user_id};

async fn with_operations(blog: &Blog, query: &str, viewer: Option<UserId>) -> (Response, Vec<Value>) {
    let mut request = Request::new(query);
    request.extensions.insert("operations".to_owned(), async_graphql::Value::from(true));
    let response = crate::support::blog::execute_as(&blog.executor, request, viewer).await;
    assert!(response.errors.is_empty(), "{:?}", response.errors);
    let operations = serde_json::to_value(&response.extensions["operations"]).unwrap();
    let row = |row: &Value| json!([row["container"], row["kind"], row["times"]]);
    (response, operations.as_array().unwrap().iter().map(row).collect())
}

#[tokio::test]
async fn listed_content_is_read_once_each_on_request() {
    let blog = small().await;
    let feed = json!(["feed", "QUERY", 1]);
    let (_, short) = with_operations(&blog, "{ feed { nodes { summary } } }", None).await;
    assert_eq!(short, std::slice::from_ref(&feed));
    let query = "{ feed { nodes { content } edges { node { again: content } } } }";
    let (response, whole) = with_operations(&blog, query, None).await;
    assert_eq!(whole, [feed, json!(["posts", "POINT_READ", 9])]);
    let data = response.data.into_json().unwrap();
    assert!(data["feed"]["nodes"][0]["content"].as_str().unwrap().len() > 160);
    assert_eq!(data["feed"]["nodes"][8]["content"], data["feed"]["edges"][8]["node"]["again"]);
}

#[tokio::test]
async fn listed_content_in_the_list_needs_no_read() {
    let blog = small().await;
    let (_, operations) = with_operations(&blog, "{ feed(model: V2) { nodes { content } } }", None).await;
    assert_eq!(operations, [json!(["posts", "QUERY", 1])]);
}

#[tokio::test]
async fn likes_of_the_viewer_are_looked_up_once_per_listed_post() {
    let blog = small().await;
    let query = "{ feed { nodes { viewerHasLiked } } }";
    let (anonymous, operations) = with_operations(&blog, query, None).await;
    assert_eq!(operations.len(), 1);
    let nodes = anonymous.data.into_json().unwrap()["feed"]["nodes"].clone();
    assert!(nodes.as_array().unwrap().iter().all(|node| node["viewerHasLiked"] == false));

    let (signed_in, operations) = with_operations(&blog, query, Some(user_id(1))).await;
    assert_eq!(operations[1], json!(["posts", "POINT_READ", 9]));
    let nodes = signed_in.data.into_json().unwrap()["feed"]["nodes"].clone();
    let liked = nodes.as_array().unwrap().iter().filter(|node| node["viewerHasLiked"] == true).count();
    assert_eq!(liked, 7, "every post but those whose number leaves 1 when divided by 4");
}

#[tokio::test]
async fn a_listed_post_that_is_gone_by_now_shows_its_summary() {
    let blog = small().await;
    let mut post = blog.stored_post(0).await;
    post.deleted = true;
    blog.put(onehop::blog::containers::POSTS, &post.id.partition_key(), &post.id.to_string(), &post).await;
    let data = blog.data("{ feed { nodes { summary content } } }").await;
    let gone =
        data["feed"]["nodes"].as_array().unwrap().iter().filter(|node| node["summary"] == node["content"]);
    assert_eq!(gone.count(), 1);
}
