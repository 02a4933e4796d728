//! The writes of commands, and their answers.

use onehop::blog::commands::{
    CreateComment, DeleteComment, DeletePost, LikePost, UpdateComment, UpdatePost, UpdateUser,
};
use onehop::blog::containers::POSTS;
use onehop::blog::items::{CommentItem, TOMBSTONE_TTL_S};
use onehop_runtime::clock::format_timestamp;
use onehop_store::{Ledger, OperationKind, Store};

use super::harness::{Blog, START_MS};

#[tokio::test]
async fn a_new_post_is_stored_as_it_is_answered() {
    let blog = Blog::new().await;
    let ada = blog.user("Ada").await;
    let post = blog.post(&ada).await;
    assert_eq!(blog.stored_post(post.id).await, *post);
    assert_eq!((post.user_username.as_str(), post.version), ("Ada", 1));
    assert_eq!(post.creation_date, format_timestamp(START_MS));
}

#[tokio::test]
async fn an_edit_changes_what_is_given_and_nothing_else() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post = blog.post(&ada).await;
    let ledger = Ledger::new();
    let edit = UpdatePost {
        user_id: ada.id,
        post_id: post.id,
        title: Some("New".to_owned()),
        content: None,
        tags: None,
        if_version: None,
    };
    let edited = blog.commands.update_post(edit, &ledger).await.unwrap();
    assert_eq!((edited.title.as_str(), &edited.content, edited.version), ("New", &post.content, 2));
    assert_eq!(blog.stored_post(post.id).await, *edited);
    let kinds: Vec<_> = ledger.operations().iter().map(|operation| operation.kind).collect();
    assert_eq!(kinds, [OperationKind::PointRead, OperationKind::Replace]);
}

#[tokio::test]
async fn a_deleted_post_leaves_an_empty_tombstone() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post = blog.post(&ada).await;
    let delete = DeletePost { user_id: ada.id, post_id: post.id };
    let tombstone = blog.commands.delete_post(delete, &Ledger::new()).await.unwrap();
    assert_eq!(blog.stored_post(post.id).await, *tombstone);
    assert!(tombstone.deleted && tombstone.content.is_empty() && tombstone.title.is_empty());
    assert_eq!((tombstone.ttl, tombstone.version), (Some(TOMBSTONE_TTL_S), 2));
}

#[tokio::test]
async fn a_deleted_comment_is_a_tombstone_and_not_counted() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let ledger = Ledger::new();
    let input =
        CreateComment { user_id: ada.id, post_id, content: "Hello".to_owned(), idempotency_key: None };
    let created = blog.commands.create_comment(input, &ledger).await.unwrap();
    assert_eq!((created.post.comment_count, created.comment.user_username.as_str()), (1, "ada"));
    let comment_id = created.comment.id;
    let delete = DeleteComment { user_id: ada.id, post_id, comment_id };
    let deleted = blog.commands.delete_comment(delete, &ledger).await.unwrap();
    assert_eq!(deleted.post.comment_count, 0);
    let stored = blog.store.read(POSTS, &post_id.partition_key(), &comment_id.to_string(), &ledger).await;
    let stored: CommentItem = stored.unwrap().unwrap().decode().unwrap();
    assert!(stored.deleted && stored.content.is_empty());
    assert_eq!((stored.ttl, stored.version), (Some(TOMBSTONE_TTL_S), 2));
    blog.assert_counts_are_exact(post_id).await;
}

#[tokio::test]
async fn an_edit_of_a_comment_writes_the_comment_alone() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let input = CreateComment { user_id: ada.id, post_id, content: "One".to_owned(), idempotency_key: None };
    let created = blog.commands.create_comment(input, &Ledger::new()).await.unwrap();
    let ledger = Ledger::new();
    let edit = |content: &str| UpdateComment {
        user_id: ada.id,
        post_id,
        comment_id: created.comment.id,
        content: content.to_owned(),
        if_version: None,
    };
    let edited = blog.commands.update_comment(edit("Two"), &ledger).await.unwrap();
    let kinds: Vec<_> = ledger.operations().iter().map(|operation| operation.kind).collect();
    assert_eq!(kinds, [OperationKind::PointRead, OperationKind::Replace]);
    assert_eq!((edited.version, edited.text_version), (2, 2));
    let id = created.comment.id.to_string();
    let stored = blog.store.read(POSTS, &post_id.partition_key(), &id, &ledger).await.unwrap().unwrap();
    assert_eq!(stored.decode::<CommentItem>().unwrap(), edited);
    assert_eq!(blog.stored_post(post_id).await, *created.post);
    let unchanged = blog.commands.update_comment(edit("Two"), &Ledger::new()).await.unwrap();
    assert_eq!(unchanged, edited, "the same text writes nothing");
}

#[tokio::test]
async fn a_like_reads_the_post_and_the_name_of_an_author_who_has_not_written_for_a_minute() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let posts = [blog.post(&ada).await.id, blog.post(&ada).await.id];
    let kinds_of_like = async |post_id| {
        let ledger = Ledger::new();
        blog.commands.like_post(LikePost { user_id: ada.id, post_id }, &ledger).await.unwrap();
        ledger.operations().iter().map(|operation| operation.kind).collect::<Vec<_>>()
    };
    let read = OperationKind::PointRead;
    assert_eq!(kinds_of_like(posts[0]).await, [read, OperationKind::Batch]);
    blog.clock.advance_ms(60_000);
    assert_eq!(kinds_of_like(posts[1]).await, [read, read, OperationKind::Batch]);
}

#[tokio::test]
async fn what_is_written_after_a_rename_carries_the_new_name() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let rename = UpdateUser { user_id: ada.id, username: "Countess".to_owned() };
    blog.commands.update_user(rename, &Ledger::new()).await.unwrap();
    assert_eq!(blog.post(&ada).await.user_username, "Countess");
}
