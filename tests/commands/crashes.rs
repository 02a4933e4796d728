//! The process dies at every step of a sign-up and of a rename; lost answers at every step of everything.

use onehop::blog::commands::{
    CommandError, CreateComment, DeleteComment, DeletePost, ExternalSubject, LikePost, Names, RefusalCode,
    SignIn, UnlikePost, UpdatePost, UpdateUser,
};
use onehop::blog::ids::UserId;
use onehop::blog::items::UserItem;
use onehop::store::Ledger;

use super::harness::{Blog, Meddling, PASSWORD, code_and_field, refusal, sign_up};

async fn rename(blog: &Blog, user_id: UserId, name: &str) -> Result<UserItem, CommandError> {
    blog.commands.update_user(UpdateUser { user_id, username: name.to_owned() }, &Ledger::new()).await
}

async fn sign_in(blog: &Blog, name: &str) -> Result<UserItem, CommandError> {
    let input = SignIn { username: name.to_owned(), password: PASSWORD.to_owned() };
    blog.commands.sign_in(input, &Ledger::new()).await
}

/// Writes of a sign-up: reservation, user.
const SIGN_UP_WRITES: usize = 2;
/// Writes of a rename: announcement, reservation, user, release.
const RENAME_WRITES: usize = 4;

#[tokio::test]
async fn the_steps_counted_here_are_all_there_are() {
    let blog = Blog::new();
    blog.store.next(Meddling::Nothing);
    let ada = blog.user("ada").await;
    assert_eq!(blog.store.writes(), SIGN_UP_WRITES);
    blog.store.next(Meddling::Nothing);
    rename(&blog, ada.id, "countess").await.unwrap();
    assert_eq!(blog.store.writes(), RENAME_WRITES);
}

#[tokio::test]
async fn a_sign_up_that_died_at_any_step_loses_no_name() {
    for step in 0..SIGN_UP_WRITES {
        let blog = Blog::new();
        blog.store.next(Meddling::CrashBefore(step));
        assert!(matches!(blog.sign_up("ada").await, Err(CommandError::Fault(_))));
        blog.store.next(Meddling::Nothing);
        assert!(sign_in(&blog, "ada").await.is_err());
        let ada = blog.user("ADA").await;
        assert_eq!(sign_in(&blog, "ada").await.unwrap(), ada);
        assert_eq!(code_and_field(blog.sign_up("ada").await), (RefusalCode::Conflict, Some("username")));
    }
}

#[tokio::test]
async fn taking_over_a_dead_sign_up_may_die_at_any_step_too() {
    // Block of the user id, reservation, user; the Create that is refused first counts as a write.
    for step in 0..4 {
        let blog = Blog::new();
        blog.store.next(Meddling::CrashBefore(1));
        blog.sign_up("ada").await.unwrap_err();
        blog.store.next(Meddling::CrashBefore(step));
        assert!(matches!(blog.sign_up("ada").await, Err(CommandError::Fault(_))), "step {step}");
        blog.store.next(Meddling::Nothing);
        let ada = blog.user("ada").await;
        assert_eq!(sign_in(&blog, "ada").await.unwrap(), ada);
    }
}

#[tokio::test]
async fn a_repeated_sign_up_after_a_crash_at_any_step_makes_one_user() {
    for step in 0..=SIGN_UP_WRITES {
        let blog = Blog::new();
        blog.store.next(Meddling::CrashBefore(step));
        let first = blog.commands.create_user(sign_up("ada", Some("key")), &Ledger::new()).await;
        assert_eq!(first.is_ok(), step == SIGN_UP_WRITES);
        blog.store.next(Meddling::Nothing);
        let second = blog.commands.create_user(sign_up("ada", Some("key")), &Ledger::new()).await.unwrap();
        let third = blog.commands.create_user(sign_up("ada", Some("key")), &Ledger::new()).await.unwrap();
        assert_eq!(second, third);
        assert!(first.is_err() || first.unwrap() == second);
    }
}

#[tokio::test]
async fn a_rename_that_died_at_any_step_is_finished_by_whoever_comes_next() {
    for step in 0..RENAME_WRITES {
        for rescuer in ["the same rename", "another rename", "roll forward", "a sign-up for the new name"] {
            let blog = Blog::new();
            let ada = blog.user("ada").await;
            blog.store.next(Meddling::CrashBefore(step));
            let died = rename(&blog, ada.id, "countess").await;
            assert!(matches!(died, Err(CommandError::Fault(_))), "step {step}");
            blog.store.next(Meddling::Nothing);
            let before = if step <= 2 { "ada" } else { "countess" };
            assert_eq!(sign_in(&blog, before).await.unwrap().id, ada.id, "step {step}");

            let expected = match rescuer {
                "the same rename" => rename(&blog, ada.id, "countess").await.unwrap().username,
                "another rename" => rename(&blog, ada.id, "lovelace").await.unwrap().username,
                "roll forward" => {
                    Names::new(blog.store.clone()).roll_forward(ada.id, &Ledger::new()).await.unwrap();
                    if step == 0 { "ada".to_owned() } else { "countess".to_owned() }
                }
                _ => match blog.sign_up("Countess").await {
                    // Announced, but not reserved: the name is still anybody's.
                    Ok(_) => {
                        assert!(step <= 1, "step {step}");
                        "ada".to_owned()
                    }
                    Err(error) => {
                        assert!(step > 1, "step {step}");
                        assert_eq!(error.refusal().unwrap().code, RefusalCode::Conflict);
                        "countess".to_owned()
                    }
                },
            };
            let signed_in = sign_in(&blog, &expected).await.unwrap();
            assert_eq!(signed_in.id, ada.id, "step {step}, {rescuer}");
            Names::new(blog.store.clone()).roll_forward(ada.id, &Ledger::new()).await.unwrap();
            for name in ["ada", "countess", "lovelace"].into_iter().filter(|name| *name != expected) {
                let holder = sign_in(&blog, name).await;
                assert!(holder.is_err() || holder.unwrap().id != ada.id, "step {step}, {rescuer}, {name}");
                // Taken by the sign-up above, or free.
                if let Err(error) = blog.sign_up(name).await {
                    assert_eq!((rescuer, name), ("a sign-up for the new name", "countess"), "{error}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_first_use_of_an_external_subject_may_die_at_any_step() {
    let subject = ExternalSubject {
        issuer: "https://issuer.example".to_owned(),
        subject: "248289761001".to_owned(),
        preferred_username: Some("ada@example.com".to_owned()),
    };
    // Subject, reservation, user.
    for step in 0..3 {
        for name_is_taken_meanwhile in [false, true] {
            let blog = Blog::new();
            blog.store.next(Meddling::CrashBefore(step));
            assert!(blog.commands.user_for_subject(&subject, &Ledger::new()).await.is_err());
            blog.store.next(Meddling::Nothing);
            if name_is_taken_meanwhile {
                blog.user("ada").await;
            }
            let user = blog.commands.user_for_subject(&subject, &Ledger::new()).await.unwrap();
            assert_eq!(user.username == "ada", !name_is_taken_meanwhile);
            assert!(user.username.starts_with("ada"));
            assert_eq!(blog.commands.user_for_subject(&subject, &Ledger::new()).await.unwrap(), user);
        }
    }
}

/// One command after another, each with its n-th write's answer lost, for every n: as if nothing had happened.
#[tokio::test]
async fn a_lost_answer_changes_no_outcome() {
    for step in 0..RENAME_WRITES {
        for meddling in [Meddling::LoseAnswer(step), Meddling::Repeat(step)] {
            let blog = Blog::new();
            let (commands, ledger) = (&blog.commands, Ledger::new());
            let meddle = || blog.store.next(meddling);
            meddle();
            let ada = blog.user("ada").await;
            meddle();
            let ada =
                rename(&blog, ada.id, "countess").await.unwrap_or_else(|error| panic!("{step}: {error}"));
            assert_eq!((ada.username.as_str(), ada.version), ("countess", 2));
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
            let edit = UpdatePost { user_id: ada.id, post_id, title: Some("New".to_owned()), content: None };
            assert_eq!(commands.update_post(edit, &ledger).await.unwrap().title, "New");
            meddle();
            let comment_id = created.comment.id;
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
