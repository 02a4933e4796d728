//! Staff names: resolved once to users by any process, even during an unfinished rename, and taken by no
//! other user.

use std::sync::Arc;

use onehop::accounts::Username;
use onehop::blog::commands::{
    CommandError, CommandLimits, Commands, ExternalSubject, ListedUser, RefusalCode, ResolvedStaff,
    StaffNameError, UpdateUser, UsernameReservations,
};
use onehop::blog::ids::UserId;
use onehop::blog::items::UserItem;
use onehop_store::Ledger;
use uuid::Uuid;

use super::harness::{Blog, Meddling, code_and_field, sign_up};

fn listed(name: &str) -> ListedUser {
    ListedUser::Name(Username::parse(name).unwrap())
}

async fn resolve(blog: &Blog, users: &[ListedUser]) -> Result<ResolvedStaff, StaffNameError> {
    let store = Arc::clone(&blog.store);
    UsernameReservations::new(store).resolve_staff(users, &Ledger::new()).await
}

/// A process that has resolved the names in its settings.
async fn process(blog: &Blog, users: &[ListedUser]) -> Commands {
    let commands = blog.another(CommandLimits::default());
    commands.protect(resolve(blog, users).await.unwrap().names);
    commands
}

async fn rename(commands: &Commands, user_id: UserId, name: &str) -> Result<UserItem, CommandError> {
    commands.update_user(UpdateUser { user_id, username: name.to_owned() }, &Ledger::new()).await
}

#[tokio::test]
async fn a_staff_name_and_its_look_alikes_are_taken() {
    let blog = Blog::new().await;
    let (lena, eve) = (blog.user("lena").await.id, blog.user("eve").await.id);
    let process = process(&blog, &[listed("Lena"), listed("boss")]).await;
    for name in ["lena", "LENA", "Iena", "boss", "b0ss"] {
        let made = process.create_user(sign_up(name, None), &Ledger::new()).await;
        assert_eq!(code_and_field(made), (RefusalCode::Conflict, Some("username")), "{name}");
        let renamed = rename(&process, eve, name).await;
        assert_eq!(code_and_field(renamed), (RefusalCode::Conflict, Some("username")), "{name}");
        let subject = ExternalSubject {
            issuer: "https://issuer.example".to_owned(),
            subject: name.to_owned(),
            preferred_username: Some(name.to_owned()),
        };
        let external = process.user_for_subject(&subject, &Ledger::new()).await.unwrap();
        assert!(external.username.contains('-'), "{}", external.username);
    }
    assert_eq!(rename(&process, lena, "LENA").await.unwrap().username, "LENA");
}

#[tokio::test]
async fn staff_listed_by_name_keeps_it_and_staff_by_id_may_go() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await.id;
    let by_name = process(&blog, &[listed("ada")]).await;
    let refused = rename(&by_name, ada, "lovelace").await;
    assert_eq!(code_and_field(refused), (RefusalCode::Forbidden, Some("username")));
    let by_id = process(&blog, &[ListedUser::Id(ada)]).await;
    assert_eq!(rename(&by_id, ada, "lovelace").await.unwrap().username, "lovelace");
    assert_eq!(resolve(&blog, &[ListedUser::Id(ada)]).await.unwrap().ids, [ada]);
}

#[tokio::test]
async fn a_name_that_passed_on_is_refused_by_each_later_start() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await.id;
    assert_eq!(resolve(&blog, &[listed("ada")]).await.unwrap().ids, [ada]);
    // A process whose settings do not list her.
    rename(&blog.commands, ada, "lovelace").await.unwrap();
    for stranger in [false, true] {
        if stranger {
            assert_ne!(blog.user("ada").await.id, ada);
        }
        match resolve(&blog, &[listed("ADA")]).await {
            Err(StaffNameError::Passed { name, first }) => assert_eq!((&*name, first), ("ada", ada)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(resolve(&blog, &[ListedUser::Id(ada)]).await.unwrap().ids, [ada]);
}

#[tokio::test]
async fn a_half_done_rename_is_finished_before_a_name_is_resolved() {
    // The announcement, the reservation, the user, the release.
    for step in 1..4 {
        for name in ["ada", "lovelace"] {
            let blog = Blog::new().await;
            let ada = blog.user("ada").await.id;
            blog.store.next(Meddling::CrashBefore(step));
            assert!(rename(&blog.commands, ada, "lovelace").await.is_err());
            blog.store.next(Meddling::Nothing);
            let resolved = resolve(&blog, &[listed(name)]).await.unwrap();
            // An announcement alone gives no name.
            let is_hers = name == "lovelace" && step > 1;
            assert_eq!(resolved.ids, if is_hers { vec![ada] } else { vec![] }, "{step}: {name}");
            assert_eq!(resolved.missing.is_empty(), is_hers, "{step}: {name}");
        }
    }
}

#[tokio::test]
async fn processes_that_start_together_agree_on_a_name() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await.id;
    let (names, none) = ([listed("ada")], [ListedUser::Id(UserId(Uuid::from_u128(1)))]);
    let resolved = futures::future::join_all((0..8).map(|_| resolve(&blog, &names))).await;
    assert!(resolved.into_iter().all(|resolved| resolved.unwrap().ids == [ada]));
    let unknown = resolve(&blog, &none).await.unwrap();
    assert_eq!((unknown.ids, unknown.missing), (vec![], none.to_vec()));
}
