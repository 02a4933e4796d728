//! The process dies at every step of a sign-up and of a rename; lost answers at every step of everything.

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{
    CommandError, CreateComment, DeleteComment, DeletePost, ExternalSubject, LikePost, RefusalCode, SignIn,
    UnlikePost, UpdateComment, UpdatePost, UpdateUser, UsernameReservations,
};
use onehop::blog::ids::UserId;
use onehop::blog::items::UserItem;
use onehop_store::Ledger;

use super::harness::{Blog, Meddling, PASSWORD, code_and_field, refusal, sign_up};

async fn rename(blog: &Blog, user_id: UserId, name: &str) -> Result<UserItem, CommandError> {
    blog.commands.update_user(UpdateUser { user_id, username: name.to_owned() }, &Ledger::new()).await
}

async fn sign_in(blog: &Blog, name: &str) -> Result<UserItem, CommandError> {
    let input =
        SignIn { username: name.to_owned(), password: PASSWORD.to_owned(), caller: HashingCaller::default() };
    blog.commands.sign_in(input, &Ledger::new()).await
}

/// Writes of a sign-up: reservation, user.
const SIGN_UP_WRITES: usize = 2;
/// Writes of a rename: announcement, reservation, user, release.
const RENAME_WRITES: usize = 4;

/// Names of so many keys, for a rename from the first to the second, and one more.
const NAMES_BY_KEYS: [[&str; 3]; 2] = [["ada", "countess", "sand"], ["arne", "verne", "berne"]];

/// A number in letters: digits that look like letters would bring another key.
fn in_letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

#[tokio::test]
async fn the_steps_counted_here_are_all_there_are() {
    let blog = Blog::new().await;
    for (more, [old, new, _]) in NAMES_BY_KEYS.into_iter().enumerate() {
        blog.store.next(Meddling::Nothing);
        let user = blog.user(old).await;
        assert_eq!(blog.store.writes(), SIGN_UP_WRITES + more);
        blog.store.next(Meddling::Nothing);
        rename(&blog, user.id, new).await.unwrap();
        assert_eq!(blog.store.writes(), RENAME_WRITES + 2 * more);
    }
}

#[tokio::test]
async fn a_sign_up_that_died_at_any_step_loses_no_name() {
    let blog = Blog::new().await;
    for (more, [word, ..]) in NAMES_BY_KEYS.into_iter().enumerate() {
        for step in 0..SIGN_UP_WRITES + more {
            let name = format!("{word}{}", in_letters(step));
            blog.store.next(Meddling::CrashBefore(step));
            assert!(matches!(blog.sign_up(&name).await, Err(CommandError::Fault(_))));
            blog.store.next(Meddling::Nothing);
            assert!(sign_in(&blog, &name).await.is_err());
            let ada = blog.user(&name.to_uppercase()).await;
            assert_eq!(sign_in(&blog, &name).await.unwrap(), ada);
            assert_eq!(code_and_field(blog.sign_up(&name).await), (RefusalCode::Conflict, Some("username")));
        }
    }
}

#[tokio::test]
async fn taking_over_a_dead_sign_up_may_die_at_any_step_too() {
    let blog = Blog::new().await;
    // The Create that is refused, the block of the user id, the reservation, the user.
    for step in 0..4 {
        let name = format!("ada{step}");
        blog.store.next(Meddling::CrashBefore(1));
        blog.sign_up(&name).await.unwrap_err();
        blog.store.next(Meddling::CrashBefore(step));
        assert!(matches!(blog.sign_up(&name).await, Err(CommandError::Fault(_))), "step {step}");
        blog.store.next(Meddling::Nothing);
        let ada = blog.user(&name).await;
        assert_eq!(sign_in(&blog, &name).await.unwrap(), ada);
    }
}

#[tokio::test]
async fn a_repeated_sign_up_after_a_crash_at_any_step_makes_one_user() {
    let (blog, ledger) = (Blog::new().await, Ledger::new());
    for step in 0..=SIGN_UP_WRITES {
        let name = format!("ada{step}");
        let sign_up = || blog.commands.create_user(sign_up(&name, Some("key")), &ledger);
        blog.store.next(Meddling::CrashBefore(step));
        let first = sign_up().await;
        assert_eq!(first.is_ok(), step == SIGN_UP_WRITES);
        blog.store.next(Meddling::Nothing);
        let second = sign_up().await.unwrap();
        assert_eq!(sign_up().await.unwrap(), second);
        assert!(first.is_err() || first.unwrap() == second);
    }
}

/// The command after a rename that died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rescuer {
    TheSameRename,
    AnotherRename,
    RollForward,
    SignUpForTheNewName,
}

#[tokio::test]
async fn a_crashed_rename_is_finished_by_the_next_command() {
    use Rescuer::{AnotherRename, RollForward, SignUpForTheNewName, TheSameRename};
    let blog = Blog::new().await;
    for keys in 1..=NAMES_BY_KEYS.len() {
        for step in 0..RENAME_WRITES + 2 * (keys - 1) {
            for rescuer in [TheSameRename, AnotherRename, RollForward, SignUpForTheNewName] {
                rescue(&blog, keys, step, rescuer).await;
            }
        }
    }
}

async fn rescue(blog: &Blog, keys: usize, step: usize, rescuer: Rescuer) {
    let context = format!("{keys} keys, step {step}, {rescuer:?}");
    let suffix = in_letters(step * 10 + rescuer as usize);
    let [old, new, third] = NAMES_BY_KEYS[keys - 1].map(|name| format!("{name}{suffix}"));
    let ada = blog.user(&old).await.id;
    blog.store.next(Meddling::CrashBefore(step));
    assert!(matches!(rename(blog, ada, &new).await, Err(CommandError::Fault(_))), "{context}");
    blog.store.next(Meddling::Nothing);
    // The user is written after the announcement and the reservations.
    let before = if step <= 1 + keys { &old } else { &new };
    assert_eq!(sign_in(blog, before).await.unwrap().id, ada, "{context}");

    let names = UsernameReservations::new(blog.store.clone());
    let expected = match rescuer {
        Rescuer::TheSameRename => rename(blog, ada, &new).await.unwrap().username,
        Rescuer::AnotherRename => rename(blog, ada, &third).await.unwrap().username,
        Rescuer::RollForward => {
            names.roll_forward(ada, &Ledger::new()).await.unwrap();
            if step == 0 { old.clone() } else { new.clone() }
        }
        Rescuer::SignUpForTheNewName => {
            // Announced, but not reserved: the name is still anybody's.
            let is_free = step <= 1;
            assert_eq!(blog.sign_up(&new.to_uppercase()).await.is_ok(), is_free, "{context}");
            if is_free { old.clone() } else { new.clone() }
        }
    };
    names.roll_forward(ada, &Ledger::new()).await.unwrap();
    assert_eq!(sign_in(blog, &expected).await.unwrap().id, ada, "{context}");
    for name in [&old, &new, &third].into_iter().filter(|name| **name != expected) {
        // Free, unless the sign-up above has it.
        let is_free = rescuer != Rescuer::SignUpForTheNewName || name != &new;
        assert_eq!(blog.sign_up(name).await.is_ok(), is_free, "{context}, {name}");
        assert_ne!(sign_in(blog, name).await.unwrap().id, ada, "{context}, {name}");
    }
}

#[tokio::test]
async fn a_first_use_of_an_external_subject_may_die_at_any_step() {
    let subject = |name: &str| ExternalSubject {
        issuer: "https://issuer.example".to_owned(),
        subject: name.to_owned(),
        preferred_username: Some(format!("{name}@example.com")),
    };
    let blog = Blog::new().await;
    // Subject, reservation, user.
    for step in 0..3 {
        for name_is_taken_meanwhile in [false, true] {
            let name = format!("ada{step}{name_is_taken_meanwhile}");
            let subject = subject(&name);
            blog.store.next(Meddling::CrashBefore(step));
            assert!(blog.commands.user_for_subject(&subject, &Ledger::new()).await.is_err());
            blog.store.next(Meddling::Nothing);
            if name_is_taken_meanwhile {
                blog.user(&name).await;
            }
            let user = blog.commands.user_for_subject(&subject, &Ledger::new()).await.unwrap();
            assert_eq!(user.username == name, !name_is_taken_meanwhile);
            assert!(user.username.starts_with(&name));
            assert_eq!(blog.commands.user_for_subject(&subject, &Ledger::new()).await.unwrap(), user);
        }
    }
}

/// One command after another, each with its n-th write's answer lost, for every n: as if nothing had
/// happened.
#[tokio::test]
async fn a_lost_answer_changes_no_outcome() {
    let blog = Blog::new().await;
    let (commands, ledger) = (&blog.commands, Ledger::new());
    for step in 0..RENAME_WRITES {
        for meddling in [Meddling::LoseAnswer(step), Meddling::Repeat(step)] {
            let meddle = || blog.store.next(meddling);
            meddle();
            let number = step * 2 + usize::from(meddling == Meddling::Repeat(step));
            let ada = blog.user(&format!("ada{number}")).await;
            meddle();
            let new = format!("countess{number}");
            let ada = rename(&blog, ada.id, &new).await.unwrap_or_else(|error| panic!("{step}: {error}"));
            assert_eq!((ada.username, ada.version), (new, 2));
            meddle();
            let ada = blog.user(&format!("byron{number}")).await;
            meddle();
            let post_id = blog.post(&ada).await.id;
            meddle();
            let like = || LikePost { user_id: ada.id, post_id };
            let liked = commands.like_post(like(), &ledger).await.unwrap();
            assert_eq!(liked.post.like_count, 1);
            meddle();
            assert_eq!(refusal(commands.like_post(like(), &ledger).await).code, RefusalCode::Conflict);
            meddle();
            let input =
                CreateComment { user_id: ada.id, post_id, content: "c".to_owned(), idempotency_key: None };
            let created = commands.create_comment(input, &ledger).await.unwrap();
            assert_eq!(created.post.comment_count, 1);
            meddle();
            let edit = UpdatePost {
                user_id: ada.id,
                post_id,
                title: Some("New".to_owned()),
                content: None,
                tags: None,
                if_version: None,
            };
            assert_eq!(commands.update_post(edit, &ledger).await.unwrap().title, "New");
            meddle();
            let comment_id = created.comment.id;
            let (content, if_version) = ("d".to_owned(), Some(1));
            let edit = UpdateComment { user_id: ada.id, post_id, comment_id, content, if_version };
            let edited = commands.update_comment(edit, &ledger).await.unwrap();
            assert_eq!((edited.content.as_str(), edited.text_version, edited.version), ("d", 2, 2));
            meddle();
            let delete = DeleteComment { user_id: ada.id, post_id, comment_id };
            assert_eq!(commands.delete_comment(delete, &ledger).await.unwrap().post.comment_count, 0);
            meddle();
            let unlike = UnlikePost { user_id: ada.id, post_id };
            assert_eq!(commands.unlike_post(unlike, &ledger).await.unwrap().like_count, 0);
            blog.assert_counts_are_exact(post_id).await;
            meddle();
            let delete = DeletePost { user_id: ada.id, post_id };
            assert!(commands.delete_post(delete, &ledger).await.unwrap().deleted);
        }
    }
}
