//! Repeats with an idempotency key.

use std::sync::Arc;

use onehop::blog::commands::{
    CommandError, CommentCreated, CreateComment, CreatePost, CreateUser, DeleteComment, DeletePost,
    RefusalCode,
};
use onehop::blog::ids::{PostId, UserId};
use onehop::blog::items::PostItem;
use onehop_store::Ledger;

use super::harness::{Blog, Meddling, code_and_field, sign_up};

async fn post(blog: &Blog, user_id: UserId, title: &str, key: &str) -> Result<Arc<PostItem>, CommandError> {
    let (title, content) = (title.to_owned(), "Some content.".to_owned());
    let input =
        CreatePost { user_id, title, content, tags: Vec::new(), idempotency_key: Some(key.to_owned()) };
    blog.commands.create_post(input, &Ledger::new()).await
}

async fn comment(
    blog: &Blog,
    user_id: UserId,
    post_id: PostId,
    content: &str,
) -> Result<CommentCreated, CommandError> {
    let (content, idempotency_key) = (content.to_owned(), Some("key".to_owned()));
    let input = CreateComment { user_id, post_id, content, idempotency_key };
    blog.commands.create_comment(input, &Ledger::new()).await
}

#[tokio::test]
async fn a_repeated_post_is_the_first_one() {
    let blog = Blog::new().await;
    let (ada, bob) = (blog.user("ada").await, blog.user("bob").await);
    let first = post(&blog, ada.id, "Title", "key").await.unwrap();
    blog.clock.advance_ms(60_000);
    assert_eq!(post(&blog, ada.id, "Title", "key").await.unwrap(), first);
    assert_ne!(post(&blog, ada.id, "Title", "other key").await.unwrap().id, first.id);
    assert_ne!(post(&blog, bob.id, "Title", "key").await.unwrap().id, first.id);
    if crate::support::store::is_cosmos() {
        // The service forgets the key by its own time.
        return;
    }
    blog.clock.advance_ms(25 * 60 * 60 * 1000);
    assert_ne!(post(&blog, ada.id, "Title", "key").await.unwrap().id, first.id);
}

#[tokio::test]
async fn a_key_with_other_content_is_a_conflict() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let conflict = (RefusalCode::Conflict, Some("idempotencyKey"));
    let created = post(&blog, ada.id, "Title", "key").await.unwrap();
    assert_eq!(code_and_field(post(&blog, ada.id, "Other", "key").await), conflict);
    comment(&blog, ada.id, created.id, "Hello").await.unwrap();
    assert_eq!(code_and_field(comment(&blog, ada.id, created.id, "Bye").await), conflict);
    let other = post(&blog, ada.id, "Title", "another").await.unwrap();
    assert_eq!(code_and_field(comment(&blog, ada.id, other.id, "Hello").await), conflict);
}

#[tokio::test]
async fn a_repeat_never_brings_back_what_was_deleted() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let created = post(&blog, ada.id, "Title", "key").await.unwrap();
    let commented = comment(&blog, ada.id, created.id, "Hello").await.unwrap();
    let (user_id, post_id) = (ada.id, created.id);
    let delete = DeleteComment { user_id, post_id, comment_id: commented.comment.id };
    blog.commands.delete_comment(delete, &Ledger::new()).await.unwrap();
    let gone = (RefusalCode::NotFound, Some("idempotencyKey"));
    assert_eq!(code_and_field(comment(&blog, user_id, post_id, "Hello").await), gone);
    blog.commands.delete_post(DeletePost { user_id, post_id }, &Ledger::new()).await.unwrap();
    assert_eq!(code_and_field(post(&blog, user_id, "Title", "key").await), gone);
}

#[tokio::test]
async fn a_repeat_after_a_crash_completes_the_recorded_command() {
    let blog = Blog::new().await;
    for step in 0..=2 {
        let ada = blog.user(&format!("ada{step}")).await;
        blog.store.next(Meddling::CrashBefore(step));
        let first = post(&blog, ada.id, "Title", "key").await;
        assert_eq!(first.is_ok(), step == 2);
        blog.store.next(Meddling::Nothing);
        let second = post(&blog, ada.id, "Title", "key").await.unwrap();

        blog.store.next(Meddling::CrashBefore(step));
        assert_eq!(comment(&blog, ada.id, second.id, "Hello").await.is_ok(), step == 2);
        blog.store.next(Meddling::Nothing);
        let commented = comment(&blog, ada.id, second.id, "Hello").await.unwrap();
        assert_eq!(commented.post.comment_count, 1);
        blog.assert_counts_are_exact(second.id).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_repeats_make_one_comment_and_all_get_it() {
    let blog = Arc::new(Blog::new().await);
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let repeats = (0..16).map(|_| {
        let blog = Arc::clone(&blog);
        async move { comment(&blog, ada.id, post_id, "Hello").await.unwrap().comment }
    });
    let comments = futures::future::join_all(repeats).await;
    assert!(comments.iter().all(|one| *one == comments[0]));
    assert_eq!(blog.counted(post_id).await, (1, 0));
    blog.assert_counts_are_exact(post_id).await;
}

#[tokio::test]
async fn a_repeated_sign_up_needs_the_same_password() {
    let blog = Blog::new().await;
    let ledger = Ledger::new();
    let first = blog.commands.create_user(sign_up("Ada", Some("key")), &ledger).await.unwrap();
    assert_eq!(blog.commands.create_user(sign_up("Ada", Some("key")), &ledger).await.unwrap(), first);
    let other_password =
        CreateUser { password: "another password".to_owned(), ..sign_up("Ada", Some("key")) };
    let refused = blog.commands.create_user(other_password, &ledger).await;
    assert_eq!(code_and_field(refused), (RefusalCode::Conflict, Some("idempotencyKey")));
    let other_key = blog.commands.create_user(sign_up("Ada", Some("other")), &ledger).await;
    assert_eq!(code_and_field(other_key), (RefusalCode::Conflict, Some("username")));
}
