//! Closed accounts on the write side: a deletion that dies at any step, and commands and sign-ins that are
//! under way while an account is deleted or suspended.

use std::sync::Arc;

use onehop::accounts::account_id::AccountId;
use onehop::accounts::audience::Audience;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::staff::Staff;
use onehop::blog::commands::{
    CommandError, CommandLimits, Commands, CreateComment, CreatePost, DeleteUser, Moderator, RefusalCode,
    SignIn, SuspendUser,
};
use onehop::blog::containers::ACCOUNTS;
use onehop::blog::ids::{PostId, UserId};
use onehop::blog::items::UserItem;
use onehop::domain::accounts::sessions::{Renewal, SessionSettings, SessionStart, Sessions, sessions_place};
use onehop_store::{Ledger, PartitionKey, Store as _};
use tokio_util::task::TaskTracker;

use super::harness::{Blog, Meddling, PASSWORD, code_and_field, refusal, sign_up};

fn process(blog: &Blog) -> Sessions {
    let audience = Audience::named("onehop");
    Sessions::new(blog.store.clone(), blog.clock.clone(), audience, SessionSettings::default())
}

async fn delete(commands: &Commands, user: &UserItem, sessions: &Sessions) -> Result<(), CommandError> {
    let current_password = PASSWORD.to_owned();
    let input = DeleteUser { user_id: user.id, current_password, caller: HashingCaller::default() };
    commands.delete_user(input, sessions, &Ledger::new()).await
}

/// Sends a deletion whose client hangs up once the account is written.
async fn drop_after_write(blog: &Blog, user: &UserItem, sessions: &Sessions) {
    blog.store.next(Meddling::Hang(0));
    tokio::select! {
        _ = delete(&blog.commands, user, sessions) => panic!("its answer never comes"),
        () = blog.store.until_held(1) => {}
    }
    blog.store.next(Meddling::Nothing);
}

fn sign_in(name: &str) -> SignIn {
    SignIn { username: name.to_owned(), password: PASSWORD.to_owned(), caller: HashingCaller::default() }
}

fn comment(user_id: UserId, post_id: PostId) -> CreateComment {
    CreateComment { user_id, post_id, content: "A comment.".to_owned(), idempotency_key: None }
}

#[tokio::test]
async fn a_deletion_that_dies_leaves_the_account_or_ends_it() {
    for step in 0..3 {
        let (blog, ledger) = (Blog::new().await, Ledger::new());
        let (ada, sessions) = (blog.user("ada").await, process(&blog));
        let account = AccountId::from(ada.id);
        let session = sessions.start(account, SessionStart::default(), &ledger).await.unwrap().unwrap();
        blog.store.next(Meddling::CrashBefore(step));
        let deleted = delete(&blog.commands, &ada, &sessions).await;
        assert_eq!(deleted.is_ok(), step == 2, "two writes: the user and the sessions");
        blog.store.next(Meddling::Nothing);
        // Another process, which knows nothing of the first.
        let another = blog.another(CommandLimits::default());
        let signed_in = another.sign_in(sign_in("ada"), &ledger).await;
        if step == 0 {
            assert_eq!(signed_in.unwrap(), ada);
            continue;
        }
        assert_eq!(refusal(signed_in).code, RefusalCode::InvalidCredentials, "step {step}");
        let repeating = process(&blog);
        delete(&another, &ada, &repeating).await.unwrap();
        let namesake = another.create_user(sign_up("Ada", None), &ledger).await.unwrap();
        assert_ne!(namesake.id, ada.id, "the name is free");
        let renewed = process(&blog).renew(&session.refresh_token, &ledger).await.unwrap();
        assert!(!matches!(renewed, Renewal::Renewed(_)), "a repeat ends the sessions");
    }
}

#[tokio::test]
async fn a_deletion_whose_answer_is_lost_is_finished() {
    let (blog, ledger) = (Blog::new().await, Ledger::new());
    let (ada, sessions) = (blog.user("ada").await, process(&blog));
    let account = AccountId::from(ada.id);
    let session = sessions.start(account, SessionStart::default(), &ledger).await.unwrap().unwrap();
    blog.store.next(Meddling::LoseAnswer(0));
    delete(&blog.commands, &ada, &sessions).await.unwrap();
    blog.store.next(Meddling::Nothing);
    let renewed = sessions.renew(&session.refresh_token, &ledger).await.unwrap();
    assert!(!matches!(renewed, Renewal::Renewed(_)), "the sessions have ended");
    let post = blog.post(&blog.user("bob").await).await;
    let late = blog.commands.create_comment(comment(ada.id, post.id), &ledger).await;
    assert_eq!(refusal(late).code, RefusalCode::Unauthenticated);
}

#[tokio::test]
async fn a_dropped_deletion_is_finished_by_a_repeat() {
    let (blog, ledger) = (Blog::new().await, Ledger::new());
    let (ada, sessions) = (blog.user("ada").await, process(&blog));
    let account = AccountId::from(ada.id);
    let session = sessions.start(account, SessionStart::default(), &ledger).await.unwrap().unwrap();
    drop_after_write(&blog, &ada, &sessions).await;
    delete(&blog.commands, &ada, &sessions).await.unwrap();
    let renewed = sessions.renew(&session.refresh_token, &ledger).await.unwrap();
    assert!(!matches!(renewed, Renewal::Renewed(_)), "the sessions have ended");
}

#[tokio::test]
async fn late_items_of_a_dropped_deletion_are_looked_for() {
    let blog = Blog::new().await;
    let (ada, sessions) = (blog.user("ada").await, process(&blog));
    drop_after_write(&blog, &ada, &sessions).await;
    tokio::time::pause();
    tokio::time::sleep(std::time::Duration::from_secs(130)).await;
    // The store works in threads of its own, which a paused clock does not wait for. Without the second
    // removal this goes on until the runner ends the test.
    while blog.store.writes() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(blog.store.writes(), 1, "the rest of the account was written once more");
}

#[tokio::test]
async fn late_items_of_a_deleted_account_are_looked_for_until_the_store_answers() {
    let blog = Blog::new().await;
    let (ada, sessions) = (blog.user("ada").await, process(&blog));
    delete(&blog.commands, &ada, &sessions).await.unwrap();
    tokio::time::pause();
    blog.store.next(Meddling::CrashBeforeOperation(0));
    tokio::time::sleep(std::time::Duration::from_secs(140)).await;
    while blog.store.operations() == 0 {
        tokio::task::yield_now().await;
    }
    blog.store.next(Meddling::Nothing);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    while blog.store.writes() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(blog.store.writes(), 1, "the rest of the account was written once more");
}

#[tokio::test]
async fn a_wrong_password_deletes_nothing() {
    let (blog, ledger) = (Blog::new().await, Ledger::new());
    let (ada, sessions) = (blog.user("ada").await, process(&blog));
    let input = DeleteUser {
        user_id: ada.id,
        current_password: "not the password".to_owned(),
        caller: HashingCaller::default(),
    };
    blog.store.next(Meddling::Nothing);
    let refused = blog.commands.delete_user(input, &sessions, &ledger).await;
    assert_eq!(code_and_field(refused), (RefusalCode::Forbidden, Some("currentPassword")));
    assert_eq!(blog.store.writes(), 0);
}

#[tokio::test]
async fn a_command_that_waits_while_its_user_is_deleted_is_refused() {
    let blog = Blog::new().await;
    let (ada, bob) = (blog.user("ada").await, blog.user("bob").await);
    let (post, sessions) = (blog.post(&bob).await, process(&blog));
    let (held, clients) = (blog.store.hold().await, TaskTracker::new());
    let commenting = |user| {
        let (commands, input) = (blog.commands.clone(), comment(user, post.id));
        clients.spawn(async move { commands.create_comment(input, &Ledger::new()).await })
    };
    let first = commenting(bob.id);
    blog.store.until_held(1).await;
    let waiting = commenting(ada.id);
    while blog.commands.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    delete(&blog.commands, &ada, &sessions).await.unwrap();
    drop(held);
    first.await.unwrap().unwrap();
    assert_eq!(refusal(waiting.await.unwrap()).code, RefusalCode::Unauthenticated);
    assert_eq!(blog.counted(post.id).await, (1, 0));
    let input = CreatePost {
        user_id: ada.id,
        title: "Late".to_owned(),
        content: "Late.".to_owned(),
        tags: Vec::new(),
        idempotency_key: None,
    };
    let late = blog.commands.create_post(input, &Ledger::new()).await;
    assert_eq!(refusal(late).code, RefusalCode::Unauthenticated);
}

#[tokio::test]
async fn a_sign_in_beside_a_suspension_leaves_no_session() {
    let blog = Blog::new().await;
    let (ada, bob) = (blog.user("ada").await, blog.user("bob").await);
    let sessions = Arc::new(process(&blog));
    let (held, clients) = (blog.store.hold().await, TaskTracker::new());
    blog.store.next(Meddling::Pause(0));
    let signing_in = {
        let (commands, sessions) = (blog.commands.clone(), Arc::clone(&sessions));
        clients.spawn(async move { commands.start_session(sign_in("bob"), &sessions, &Ledger::new()).await })
    };
    blog.store.until_held(1).await;
    let staff = Staff::new([ada.id.0]);
    let member = staff.member(ada.id.0).unwrap();
    let by = Moderator { member: &member, user_id: ada.id, reason: Some("Spam.".to_owned()) };
    let suspend = SuspendUser { user_id: bob.id, suspended: true };
    let suspended = blog.commands.suspend_user(by, suspend, (&staff, &sessions), &Ledger::new()).await;
    assert!(suspended.unwrap().suspended);
    drop(held);
    assert_eq!(refusal(signing_in.await.unwrap()).code, RefusalCode::AccountSuspended);
    let place = sessions_place(bob.id.into());
    let key = PartitionKey::from(place.as_str());
    let stored = blog.store.read(ACCOUNTS, &key, &place, &Ledger::new()).await.unwrap().unwrap();
    let stored: serde_json::Value = stored.decode().unwrap();
    assert_eq!(stored["sessions"], serde_json::json!([]), "the session ended again");
}
