//! Every refusal with its code and field.

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{
    CommandLimits, CreateComment, CreatePost, CreateUser, DeleteComment, DeletePost, LikePost, RefusalCode,
    SignIn, UnlikePost, UpdatePost, UpdateUser,
};
use onehop::blog::ids::{CommentId, PostId, UserId};
use onehop_store::Ledger;
use uuid::Uuid;

use super::harness::{Blog, PASSWORD, code_and_field, refusal};

const NOBODY: UserId = UserId(Uuid::from_u128(1));
const NOWHERE: PostId = PostId(Uuid::from_u128(2));

fn post(user_id: UserId, title: &str, content: &str, key: Option<&str>) -> CreatePost {
    let idempotency_key = key.map(str::to_owned);
    CreatePost {
        user_id,
        title: title.to_owned(),
        content: content.to_owned(),
        tags: Vec::new(),
        idempotency_key,
    }
}

fn comment(user_id: UserId, post_id: PostId, content: &str) -> CreateComment {
    CreateComment { user_id, post_id, content: content.to_owned(), idempotency_key: None }
}

#[tokio::test]
async fn a_sign_up_names_the_field_that_breaks_a_rule() {
    let blog = Blog::new().await;
    let input = |username: &str, password: &str, key: Option<&str>| CreateUser {
        username: username.to_owned(),
        password: password.to_owned(),
        idempotency_key: key.map(str::to_owned),
        caller: HashingCaller::default(),
    };
    let ledger = Ledger::new();
    let short_name = refusal(blog.commands.create_user(input("ab", PASSWORD, None), &ledger).await);
    assert_eq!((short_name.code, short_name.field), (RefusalCode::BadUserInput, Some("username")));
    assert_eq!(short_name.message, "Usernames must have 3 to 30 characters; this one has 2");
    let short_password = refusal(blog.commands.create_user(input("ada", "short", None), &ledger).await);
    assert_eq!((short_password.code, short_password.field), (RefusalCode::BadUserInput, Some("password")));
    assert_eq!(short_password.message, "password must have 10 to 200 characters; this one has 5");
    let blank_key = blog.commands.create_user(input("ada", PASSWORD, Some(" ")), &ledger).await;
    assert_eq!(code_and_field(blank_key), (RefusalCode::BadUserInput, Some("idempotencyKey")));
    assert!(ledger.operations().is_empty());
}

#[tokio::test]
async fn a_name_is_taken_whatever_its_case() {
    let blog = Blog::new().await;
    blog.user("Ada").await;
    assert_eq!(code_and_field(blog.sign_up("ADA").await), (RefusalCode::Conflict, Some("username")));
}

#[tokio::test]
async fn every_failed_sign_in_has_the_same_answer() {
    let blog = Blog::new().await;
    blog.user("ada").await;
    let sign_in = async |name: &str, password: &str| {
        let input = SignIn {
            username: name.to_owned(),
            password: password.to_owned(),
            caller: HashingCaller::default(),
        };
        blog.commands.sign_in(input, &Ledger::new()).await
    };
    assert_eq!(sign_in("ADA", PASSWORD).await.unwrap().username, "ada");
    let refused = [
        refusal(sign_in("ada", "wrong password").await),
        refusal(sign_in("ada", "").await),
        refusal(sign_in("bob", PASSWORD).await),
        refusal(sign_in("?", PASSWORD).await),
    ];
    assert!(refused.iter().all(|one| one.code == RefusalCode::InvalidCredentials && *one == refused[0]));
}

#[tokio::test]
async fn a_user_who_does_not_exist_writes_nothing() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    let unauthenticated = (RefusalCode::Unauthenticated, None);
    assert_eq!(
        code_and_field(commands.create_post(post(NOBODY, "t", "c", None), &ledger).await),
        unauthenticated
    );
    assert_eq!(
        code_and_field(commands.create_comment(comment(NOBODY, post_id, "c"), &ledger).await),
        unauthenticated
    );
    let like = LikePost { user_id: NOBODY, post_id };
    assert_eq!(code_and_field(commands.like_post(like, &ledger).await), unauthenticated);
    let rename = UpdateUser { user_id: NOBODY, username: "bob".to_owned() };
    assert_eq!(code_and_field(commands.update_user(rename, &ledger).await), unauthenticated);
}

#[tokio::test]
async fn texts_beyond_their_limits_are_refused_with_their_field() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    let bad = |field| (RefusalCode::BadUserInput, Some(field));
    let (long_title, long_content, long_comment) = ("t".repeat(201), "c".repeat(100_001), "c".repeat(10_001));
    for title in ["", "  ", "bell\u{7}", &long_title] {
        let result = commands.create_post(post(ada.id, title, "c", None), &ledger).await;
        assert_eq!(code_and_field(result), bad("title"));
    }
    for content in ["", "\n", &long_content] {
        let result = commands.create_post(post(ada.id, "t", content, None), &ledger).await;
        assert_eq!(code_and_field(result), bad("content"));
    }
    let long_key = "k".repeat(201);
    let result = commands.create_post(post(ada.id, "t", "c", Some(&long_key)), &ledger).await;
    assert_eq!(code_and_field(result), bad("idempotencyKey"));
    for content in ["", &long_comment] {
        let result = commands.create_comment(comment(ada.id, post_id, content), &ledger).await;
        assert_eq!(code_and_field(result), bad("content"));
    }
    let edit = |title: Option<&str>, content: Option<&str>| UpdatePost {
        user_id: ada.id,
        post_id,
        title: title.map(str::to_owned),
        content: content.map(str::to_owned),
        tags: None,
        if_version: None,
    };
    assert_eq!(code_and_field(commands.update_post(edit(None, None), &ledger).await), bad("title"));
    assert_eq!(code_and_field(commands.update_post(edit(Some(" "), None), &ledger).await), bad("title"));
    assert_eq!(code_and_field(commands.update_post(edit(None, Some("")), &ledger).await), bad("content"));
    let rename = UpdateUser { user_id: ada.id, username: "a b".to_owned() };
    assert_eq!(code_and_field(commands.update_user(rename, &ledger).await), bad("username"));
}

#[tokio::test]
async fn a_post_that_is_missing_or_deleted_is_not_found() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let deleted = blog.post(&ada).await.id;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    commands.like_post(LikePost { user_id: ada.id, post_id: deleted }, &ledger).await.unwrap();
    let written = commands.create_comment(comment(ada.id, deleted, "c"), &ledger).await.unwrap();
    commands.delete_post(DeletePost { user_id: ada.id, post_id: deleted }, &ledger).await.unwrap();
    let not_found = (RefusalCode::NotFound, Some("postId"));
    for post_id in [NOWHERE, deleted] {
        let like = LikePost { user_id: ada.id, post_id };
        assert_eq!(code_and_field(commands.like_post(like, &ledger).await), not_found);
        let unlike = UnlikePost { user_id: ada.id, post_id };
        assert_eq!(code_and_field(commands.unlike_post(unlike, &ledger).await), not_found);
        let result = commands.create_comment(comment(ada.id, post_id, "c"), &ledger).await;
        assert_eq!(code_and_field(result), not_found);
        let edit = UpdatePost {
            user_id: ada.id,
            post_id,
            title: Some("t".to_owned()),
            content: None,
            tags: None,
            if_version: None,
        };
        assert_eq!(code_and_field(commands.update_post(edit, &ledger).await), not_found);
        let delete = DeletePost { user_id: ada.id, post_id };
        assert_eq!(code_and_field(commands.delete_post(delete, &ledger).await), not_found);
    }
    let comment_id = written.comment.id;
    let delete = DeleteComment { user_id: ada.id, post_id: deleted, comment_id };
    assert_eq!(code_and_field(commands.delete_comment(delete, &ledger).await), not_found);
}

#[tokio::test]
async fn users_change_and_delete_only_their_own_items() {
    let blog = Blog::new().await;
    let (ada, bob) = (blog.user("ada").await, blog.user("bob").await);
    let post_id = blog.post(&ada).await.id;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    let forbidden = (RefusalCode::Forbidden, None);
    let edit = UpdatePost {
        user_id: bob.id,
        post_id,
        title: Some("t".to_owned()),
        content: None,
        tags: None,
        if_version: None,
    };
    assert_eq!(code_and_field(commands.update_post(edit, &ledger).await), forbidden);
    let delete = DeletePost { user_id: bob.id, post_id };
    assert_eq!(code_and_field(commands.delete_post(delete, &ledger).await), forbidden);
    let written = commands.create_comment(comment(bob.id, post_id, "mine"), &ledger).await.unwrap();
    let grace = blog.user("grace").await;
    let delete = DeleteComment { user_id: grace.id, post_id, comment_id: written.comment.id };
    assert_eq!(code_and_field(commands.delete_comment(delete, &ledger).await), forbidden);
    assert_eq!(blog.counted(post_id).await, (1, 0));
}

#[tokio::test]
async fn what_is_no_comment_cannot_be_deleted_as_one() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    let liked = commands.like_post(LikePost { user_id: ada.id, post_id }, &ledger).await.unwrap();
    for id in [liked.like.id.0, post_id.0, Uuid::from_u128(7)] {
        let delete = DeleteComment { user_id: ada.id, post_id, comment_id: CommentId(id) };
        let result = commands.delete_comment(delete, &ledger).await;
        assert_eq!(code_and_field(result), (RefusalCode::NotFound, Some("commentId")));
    }
}

#[tokio::test]
async fn a_second_like_is_a_conflict_and_a_second_unlike_is_not_found() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    let like = || LikePost { user_id: ada.id, post_id };
    let unlike = || UnlikePost { user_id: ada.id, post_id };
    commands.like_post(like(), &ledger).await.unwrap();
    assert_eq!(
        code_and_field(commands.like_post(like(), &ledger).await),
        (RefusalCode::Conflict, Some("postId"))
    );
    assert_eq!(commands.unlike_post(unlike(), &ledger).await.unwrap().like_count, 0);
    assert_eq!(
        code_and_field(commands.unlike_post(unlike(), &ledger).await),
        (RefusalCode::NotFound, Some("postId"))
    );
    assert_eq!(commands.like_post(like(), &ledger).await.unwrap().post.like_count, 1);
}

#[tokio::test]
async fn commands_beyond_the_waiting_limit_are_refused() {
    let blog = Blog::with(CommandLimits { waiting_max: 0, ..CommandLimits::default() }).await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let result = blog.commands.like_post(LikePost { user_id: ada.id, post_id }, &Ledger::new()).await;
    assert_eq!(code_and_field(result), (RefusalCode::LimitExceeded, None));
}
