//! Q1 to Q6 under each data model, over a little data.

use serde_json::{Value, json};

use crate::api::caller::{Caller, POST};
use crate::api::server::Server;

const MODELS: [&str; 3] = ["V1", "V2", "V3"];

/// A blog of two writers: the newest post is last.
struct Blog<'a> {
    ada: Caller<'a>,
    bob: Caller<'a>,
    posts: [String; 3],
    comments: [String; 2],
    likes: [String; 2],
}

async fn blog(server: &Server) -> Blog<'_> {
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let posts = [ada.post("Engines").await, bob.post("Looms").await, ada.post("Notes").await];
    let comments = [bob.comment(&posts[0], "indeed").await, ada.comment(&posts[0], "thanks").await];
    let likes = [ada.like(&posts[0]).await, bob.like(&posts[0]).await];
    server.settle().await;
    Blog { ada, bob, posts, comments, likes }
}

fn ids(connection: &Value) -> Vec<&str> {
    connection["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_question_has_its_answer_in_each_model() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let query = |model: &str| {
        format!(
            "query($user: ID!, $post: ID!) {{
               user(id: $user, model: {model}) {{ id username
                 posts {{ nodes {{ {POST} }} pageInfo {{ hasNextPage }} }} }}
               userByUsername(username: \"BOB\", model: {model}) {{ id username }}
               post(id: $post, model: {model}) {{ {POST} content
                 comments {{ nodes {{ id }} edges {{ cursor
                   node {{ id content creationDate author {{ id username }} post {{ id title }} }} }} }}
                 likes {{ nodes {{ id }} edges {{ cursor
                   node {{ id creationDate user {{ id username }} post {{ id likeCount }} }} }} }} }}
               feed(model: {model}) {{ nodes {{ {POST} }} edges {{ cursor }}
                 pageInfo {{ hasNextPage endCursor }} }} }}"
        )
    };
    let variables = json!({ "user": blog.ada.id, "post": blog.posts[0] });
    let first = server.anonymous().data(&query("V1"), variables.clone()).await;
    let [engines, looms, notes] = &blog.posts;
    assert_eq!([&first["user"]["id"], &first["user"]["username"]], [&json!(blog.ada.id), &json!("ada")]);
    assert_eq!(ids(&first["user"]["posts"]), [notes, engines]);
    assert_eq!(first["userByUsername"], json!({ "id": blog.bob.id, "username": "bob" }));
    let post = &first["post"];
    assert_eq!([&post["title"], &post["content"]], ["Engines", "All about Engines."]);
    assert_eq!([&post["commentCount"], &post["likeCount"]], [&json!(2), &json!(2)]);
    assert_eq!(ids(&post["comments"]), blog.comments, "oldest first");
    let newest_first = [&blog.likes[1], &blog.likes[0]];
    assert_eq!(ids(&post["likes"]), newest_first);
    assert_eq!(ids(&first["feed"]), [notes, looms, engines]);
    assert_eq!(first["feed"]["pageInfo"]["hasNextPage"], false);
    for model in ["V2", "V3"] {
        let data = server.anonymous().data(&query(model), variables.clone()).await;
        assert_eq!(data, first, "{model}");
    }
}

#[tokio::test]
async fn without_a_model_v3_answers() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    blog.ada.mutate("updatePost", json!({ "postId": blog.posts[0], "title": "Edited" })).await;
    let title = |query: &'static str| async {
        server.anonymous().data(query, json!({})).await["feed"]["nodes"][2]["title"].take()
    };
    assert_eq!(title("{ feed { nodes { title } } }").await, "Engines", "V3 reads copies");
    assert_eq!(title("{ feed(model: V2) { nodes { title } } }").await, "Edited");
}

#[tokio::test]
async fn the_model_of_a_root_field_is_that_of_everything_under_it() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let operations = |model: &'static str| {
        let query = format!(
            "query($id: ID!) {{ post(id: $id, model: {model}) {{ author {{ posts {{ nodes {{ commentCount
               comments {{ nodes {{ author {{ username }} }} }} }} }} }} }} }}"
        );
        let variables = json!({ "id": blog.posts[0] });
        let request = json!({ "query": query, "variables": variables, "extensions": { "operations": true } });
        async {
            let answer = server.anonymous().send(request).await;
            assert!(answer.body.get("errors").is_none(), "{answer:?}");
            let operations = answer.body["extensions"]["operations"].as_array().unwrap().clone();
            let fans_out = operations.iter().any(|operation| operation["physicalPartitions"] == 4);
            let counts = operations.iter().any(|operation| operation["kind"] == "COUNT");
            (fans_out, counts)
        }
    };
    assert_eq!(operations("V1").await, (true, true), "V1 fans out and counts");
    assert_eq!(operations("V2").await, (true, false), "V2 fans out");
    assert_eq!(operations("V3").await, (false, false), "V3 does neither");
}

#[tokio::test]
async fn what_is_not_there_is_null_in_each_model() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    blog.ada.mutate("deletePost", json!({ "postId": blog.posts[0] })).await;
    for model in MODELS {
        let query = format!(
            "query($post: ID!, $user: ID!) {{ post(id: $post, model: {model}) {{ id }}
               user(id: $user, model: {model}) {{ id }}
               userByUsername(username: \"nobody\", model: {model}) {{ id }}
               none: userByUsername(username: \"no name!\", model: {model}) {{ id }} }}"
        );
        let nobody = onehop::graphql::GlobalId::User(onehop::blog::ids::UserId(uuid::Uuid::from_u128(7)));
        let variables = json!({ "post": blog.posts[0], "user": nobody.encode() });
        let data = server.anonymous().data(&query, variables).await;
        assert_eq!(
            data,
            json!({ "post": null, "user": null, "userByUsername": null, "none": null }),
            "{model}"
        );
    }
}

#[tokio::test]
async fn every_node_is_found_by_its_id() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let query = "query($id: ID!) { node(id: $id) { __typename id
        ... on User { username posts { nodes { title } } }
        ... on Post { title author { username } }
        ... on Comment { content post { title } }
        ... on Like { user { username } post { title } } } }";
    let post = json!({ "title": "Engines" });
    for (id, expected) in [
        (
            &blog.bob.id,
            json!({ "__typename": "User", "username": "bob", "posts": { "nodes": [{ "title": "Looms" }] } }),
        ),
        (
            &blog.posts[0],
            json!({ "__typename": "Post", "title": "Engines", "author": { "username": "ada" } }),
        ),
        (&blog.comments[0], json!({ "__typename": "Comment", "content": "indeed", "post": post })),
        (&blog.likes[1], json!({ "__typename": "Like", "user": { "username": "bob" }, "post": post })),
    ] {
        let mut node = server.anonymous().data(query, json!({ "id": id })).await["node"].take();
        assert_eq!(node.as_object_mut().unwrap().remove("id").unwrap(), id.as_str());
        assert_eq!(node, expected);
    }
}

#[tokio::test]
async fn the_viewer_is_who_is_signed_in() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let query = "{ viewer { id posts { nodes { title } } } }";
    assert_eq!(server.anonymous().data(query, json!({})).await["viewer"], Value::Null);
    let viewer = blog.bob.data(query, json!({})).await["viewer"].take();
    assert_eq!(viewer, json!({ "id": blog.bob.id, "posts": { "nodes": [{ "title": "Looms" }] } }));
}

#[tokio::test]
async fn lists_state_whether_the_viewer_likes_a_post() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    blog.bob.like(&blog.posts[2]).await;
    blog.ada.mutate("unlikePost", json!({ "postId": blog.posts[0] })).await;
    for model in MODELS {
        let query = format!("{{ feed(model: {model}) {{ nodes {{ viewerHasLiked }} }} }}");
        for (caller, expected) in [
            (&blog.bob, [true, false, true]),
            (&blog.ada, [false, false, false]),
            (&server.anonymous(), [false, false, false]),
        ] {
            let data = caller.data(&query, json!({})).await;
            let liked = data["feed"]["nodes"].as_array().unwrap().iter().map(|post| &post["viewerHasLiked"]);
            assert!(liked.eq(&expected), "{model}: {data}");
        }
    }
}

#[tokio::test]
async fn the_content_of_listed_posts_is_one_batch_on_request() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    for (fields, point_reads) in [("title summary", Value::Null), ("title content", json!(3))] {
        let query = format!("{{ feed {{ nodes {{ {fields} }} }} }}");
        let answer = blog.ada.send(json!({ "query": query, "extensions": { "operations": true } })).await;
        let operations = answer.body["extensions"]["operations"].as_array().unwrap();
        let of_posts = operations.iter().find(|operation| operation["container"] == "posts");
        assert_eq!(of_posts.map_or(Value::Null, |operation| operation["times"].clone()), point_reads);
        if point_reads == 3 {
            let nodes = answer.body["data"]["feed"]["nodes"].as_array().unwrap();
            assert!(nodes.iter().all(|post| {
                let title = post["title"].as_str().unwrap();
                post["content"] == format!("All about {title}.")
            }));
        }
    }
}

#[tokio::test]
async fn the_feed_keeps_the_hundred_newest_posts_also_after_deletions() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let mut posts = Vec::new();
    for number in 0..104 {
        posts.push(ada.post(&format!("post {number}")).await);
    }
    server.settle().await;
    for post in &posts[100..102] {
        ada.mutate("deletePost", json!({ "postId": post })).await;
    }
    server.settle().await;
    posts.drain(100..102);
    posts.reverse();
    for model in MODELS {
        let query =
            format!("{{ feed(first: 100, model: {model}) {{ nodes {{ id }} pageInfo {{ hasNextPage }} }} }}");
        let data = ada.data(&query, json!({})).await;
        assert_eq!(ids(&data["feed"]), posts[..100], "{model}");
        assert_eq!(data["feed"]["pageInfo"]["hasNextPage"], model != "V3", "{model}");
    }
}
