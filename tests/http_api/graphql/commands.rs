//! Mutations: their answers, and their refusals.

use async_graphql::{Request, Response};
use onehop::blog::ids::UserId;
use serde_json::{Value, json};

use crate::graphql::code_and_field;
use crate::support::blog::{Blog, empty, post_node, small, user_id};

async fn mutate(blog: &Blog, viewer: Option<UserId>, mutation: &str) -> Response {
    crate::support::blog::execute_as(
        &blog.executor,
        Request::new(format!("mutation {{ {mutation} }}")),
        viewer,
    )
    .await
}

async fn done(blog: &Blog, viewer: Option<UserId>, mutation: &str) -> Value {
    let response = mutate(blog, viewer, mutation).await;
    assert!(response.errors.is_empty(), "{mutation}: {:?}", response.errors);
    response.data.into_json().expect("JSON")
}

#[tokio::test]
async fn a_new_user_is_signed_in_and_reads_own_writes() {
    let blog = empty().await;
    let credentials = "username: \"Ada\", password: \"a long password\"";
    let sign_up = format!("createUser(input: {{ {credentials} }}) {{ accessToken user {{ id username }} }}");
    let made = done(&blog, None, &sign_up).await["createUser"].clone();
    let signed_in =
        done(&blog, None, &format!("signIn(input: {{ {credentials} }}) {{ user {{ id }} }}")).await;
    assert_eq!(signed_in["signIn"]["user"]["id"], made["user"]["id"]);

    let token = made["accessToken"].as_str().unwrap();
    let query = "mutation { createPost(input: { title: \"T\", content: \"C\" }) { post { id title content summary \
                 commentCount viewerHasLiked author { id username } comments { nodes { id } } } } }";
    let response = crate::support::blog::execute(
        &blog.executor,
        Request::new(query),
        Some(token),
        std::sync::Arc::new(onehop_graphql_server::quota::Unmetered),
    );
    let post = response.await.unwrap().data.into_json().unwrap()["createPost"]["post"].clone();
    assert_eq!(post["author"], made["user"]);
    assert_eq!((&post["content"], &post["commentCount"]), (&json!("C"), &json!(0)));
    assert_eq!(post["comments"]["nodes"], json!([]));
}

#[tokio::test]
async fn payloads_show_counts_as_the_command_wrote_them() {
    let blog = small().await;
    let (viewer, post) = (Some(user_id(0)), post_node(0));
    let comment = format!(
        "createComment(input: {{ postId: \"{post}\", content: \"Hi\" }}) \
        {{ comment {{ id content author {{ username }} post {{ commentCount }} }} post {{ commentCount }} }}"
    );
    let made = done(&blog, viewer, &comment).await["createComment"].clone();
    assert_eq!(made["post"]["commentCount"], 6);
    assert_eq!(made["comment"]["post"]["commentCount"], 6);
    assert_eq!(made["comment"]["author"]["username"], "Ada");

    let id = &made["comment"]["id"];
    let deletion =
        format!("deleteComment(input: {{ commentId: {id} }}) {{ deletedCommentId post {{ commentCount }} }}");
    let deleted = done(&blog, viewer, &deletion).await["deleteComment"].clone();
    assert_eq!(deleted, json!({ "deletedCommentId": id, "post": { "commentCount": 5 } }));

    let like = format!(
        "likePost(input: {{ postId: \"{post}\" }}) \
        {{ like {{ user {{ username }} post {{ likeCount }} }} post {{ likeCount viewerHasLiked }} }}"
    );
    let expected = json!({
        "like": { "user": { "username": "Ada" }, "post": { "likeCount": 3 } },
        "post": { "likeCount": 3, "viewerHasLiked": true },
    });
    assert_eq!(done(&blog, viewer, &like).await["likePost"], expected);
    assert_eq!(code_and_field(&mutate(&blog, viewer, &like).await), json!(["CONFLICT", "postId"]));
    let unlike =
        format!("unlikePost(input: {{ postId: \"{post}\" }}) {{ post {{ likeCount viewerHasLiked }} }}");
    let unliked = json!({ "post": { "likeCount": 2, "viewerHasLiked": false } });
    assert_eq!(done(&blog, viewer, &unlike).await["unlikePost"], unliked);
}

#[tokio::test]
async fn a_post_is_changed_and_deleted_by_its_author() {
    let blog = small().await;
    let (author, post) = (Some(user_id(0)), post_node(0));
    let update =
        format!("updatePost(input: {{ postId: \"{post}\", title: \"New\" }}) {{ post {{ title summary }} }}");
    assert_eq!(done(&blog, author, &update).await["updatePost"]["post"]["title"], "New");
    let refused = mutate(&blog, Some(user_id(1)), &update).await;
    assert_eq!(code_and_field(&refused)[0], "FORBIDDEN");
    let deletion = format!("deletePost(input: {{ postId: \"{post}\" }}) {{ deletedPostId }}");
    assert_eq!(done(&blog, author, &deletion).await["deletePost"]["deletedPostId"], post);
    assert_eq!(code_and_field(&mutate(&blog, author, &deletion).await), json!(["NOT_FOUND", "postId"]));
}

#[tokio::test]
async fn a_rename_shows_the_new_name() {
    let blog = small().await;
    let rename = "updateUser(input: { username: \"Countess\" }) { user { username } }";
    assert_eq!(done(&blog, Some(user_id(0)), rename).await["updateUser"]["user"]["username"], "Countess");
    let taken = "updateUser(input: { username: \"brontë\" }) { user { id } }";
    assert_eq!(
        code_and_field(&mutate(&blog, Some(user_id(0)), taken).await),
        json!(["CONFLICT", "username"])
    );
    let old = blog.data("{ old: userByUsername(username: \"Ada\") { id } new: userByUsername(username: \"countess\") { username } }");
    assert_eq!(old.await, json!({ "old": null, "new": { "username": "Countess" } }));
}

#[tokio::test]
async fn refusals_have_a_code_and_name_their_field() {
    let blog = small().await;
    let ada = Some(user_id(0));
    for (viewer, mutation, expected) in [
        (
            None,
            "createPost(input: { title: \"T\", content: \"C\" }) { post { id } }",
            json!(["UNAUTHENTICATED", null]),
        ),
        (
            ada,
            "createPost(input: { title: \"\", content: \"C\" }) { post { id } }",
            json!(["BAD_USER_INPUT", "title"]),
        ),
        (ada, "likePost(input: { postId: \"x\" }) { post { id } }", json!(["BAD_USER_INPUT", "postId"])),
        (
            ada,
            "deleteComment(input: { commentId: \"x\" }) { post { id } }",
            json!(["BAD_USER_INPUT", "commentId"]),
        ),
        (
            ada,
            "updateComment(input: { commentId: \"x\", content: \"C\" }) { comment { id } }",
            json!(["BAD_USER_INPUT", "commentId"]),
        ),
        (
            None,
            "createUser(input: { username: \"a\", password: \"long enough\" }) { user { id } }",
            json!(["BAD_USER_INPUT", "username"]),
        ),
    ] {
        let response = mutate(&blog, viewer, mutation).await;
        assert_eq!(code_and_field(&response), expected, "{mutation}");
    }
}
