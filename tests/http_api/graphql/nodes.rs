//! Anything can be read again by its id.

use onehop::blog::containers::POSTS;
use onehop::blog::ids::{CommentId, LikeId, PostId};
use onehop::graphql::GlobalId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::blog::{Blog, comment_id, post_id, post_node, small, user_id, user_node};

async fn node(blog: &Blog, id: &str) -> Value {
    let query = format!(
        "{{ node(id: \"{id}\") {{ __typename id ... on User {{ username }} ... on Post {{ title }} \
         ... on Comment {{ content post {{ title }} }} ... on Like {{ user {{ username }} post {{ title }} }} }} }}"
    );
    blog.data(&query).await["node"].clone()
}

#[tokio::test]
async fn every_kind_of_node_is_found_by_its_id() {
    let blog = small().await;
    let comment = GlobalId::Comment(post_id(0), comment_id(post_id(0), 1)).encode();
    let like = GlobalId::Like(post_id(0), LikeId::derive(post_id(0), user_id(1))).encode();
    let (user, post) = (user_node(0), post_node(0));
    for expected in [
        json!({ "__typename": "User", "id": user, "username": "Ada" }),
        json!({ "__typename": "Post", "id": post, "title": "Post 0" }),
        json!({
            "__typename": "Comment", "id": comment, "content": "Comment 1 on Post 0",
            "post": { "title": "Post 0" },
        }),
        json!({
            "__typename": "Like", "id": like, "user": { "username": "Brontë" },
            "post": { "title": "Post 0" },
        }),
    ] {
        assert_eq!(node(&blog, expected["id"].as_str().unwrap()).await, expected);
    }
}

#[tokio::test]
async fn nodes_come_in_the_order_of_their_ids() {
    let blog = small().await;
    let nothing = GlobalId::Post(PostId(Uuid::from_u128(7))).encode();
    let ids = [post_node(1), nothing, user_node(0), post_node(1)].map(Value::from);
    let query = format!("{{ nodes(ids: {}) {{ id ... on Post {{ title }} }} }}", json!(ids));
    let expected = json!([
        { "id": post_node(1), "title": "Post 1" }, null, { "id": user_node(0) },
        { "id": post_node(1), "title": "Post 1" },
    ]);
    assert_eq!(blog.data(&query).await["nodes"], expected);
}

#[tokio::test]
async fn a_node_that_is_not_there_or_another_kind_of_thing_is_null() {
    let blog = small().await;
    let (post, nothing) = (post_id(0), Uuid::from_u128(7));
    for id in [
        GlobalId::Post(PostId(nothing)),
        GlobalId::Comment(post, CommentId(nothing)),
        GlobalId::Comment(post, CommentId(post.0)),
        GlobalId::Comment(post, CommentId(LikeId::derive(post, user_id(1)).0)),
        GlobalId::Like(post, LikeId(comment_id(post, 1).0)),
        GlobalId::Like(post_id(1), LikeId::derive(post, user_id(1))),
    ] {
        assert_eq!(node(&blog, &id.encode()).await, Value::Null, "{id:?}");
    }
}

#[tokio::test]
async fn what_belongs_to_a_deleted_post_is_gone_with_it() {
    let blog = small().await;
    let mut post = blog.stored_post(0).await;
    post.deleted = true;
    blog.put(POSTS, &post.id.partition_key(), &post.id.to_string(), &post).await;
    for id in [
        GlobalId::Post(post.id),
        GlobalId::Comment(post.id, comment_id(post.id, 1)),
        GlobalId::Like(post.id, LikeId::derive(post.id, user_id(1))),
    ] {
        assert_eq!(node(&blog, &id.encode()).await, Value::Null, "{id:?}");
    }
    for model in ["V1", "V2", "V3"] {
        let found =
            blog.data(&format!("{{ post(id: \"{}\", model: {model}) {{ id }} }}", post_node(0))).await;
        assert_eq!(found["post"], Value::Null);
    }
}
