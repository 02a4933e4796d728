//! Names are unique in any case, also in a race, and a rename gives the old one free.

use std::sync::Arc;

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{CommandError, RefusalCode, RollForward, SignIn, UpdateUser};
use onehop::blog::containers::{ACCOUNTS, USERS};
use onehop::blog::ids::UserId;
use onehop::blog::items::{AccountItem, UserItem};
use onehop_store::{Ledger, NewItem, PartitionKey, Store, WriteOp};

use super::harness::{Blog, Meddling, PASSWORD, code_and_field};

async fn rename(blog: &Blog, user_id: UserId, name: &str) -> Result<UserItem, CommandError> {
    blog.commands.update_user(UpdateUser { user_id, username: name.to_owned() }, &Ledger::new()).await
}

async fn can_sign_in(blog: &Blog, name: &str) -> bool {
    let input =
        SignIn { username: name.to_owned(), password: PASSWORD.to_owned(), caller: HashingCaller::default() };
    blog.commands.sign_in(input, &Ledger::new()).await.is_ok()
}

async fn reservation(blog: &Blog, name: &str) -> Option<AccountItem> {
    let item = blog.store.read(ACCOUNTS, &PartitionKey::from(name), name, &Ledger::new()).await.unwrap();
    item.map(|item| item.decode().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_race_for_a_name_in_any_case_one_gets_it() {
    let blog = Arc::new(Blog::new().await);
    for round in 0..5 {
        let spellings = [format!("racer{round}"), format!("RACER{round}"), format!("Racer{round}")];
        let attempts = (0..12).map(|index| {
            let (blog, name) = (Arc::clone(&blog), spellings[index % spellings.len()].clone());
            async move { blog.sign_up(&name).await }
        });
        let results = futures::future::join_all(attempts).await;
        let (winners, losers): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(winners.len(), 1);
        for loser in losers {
            assert_eq!(code_and_field(loser), (RefusalCode::Conflict, Some("username")));
        }
        assert!(can_sign_in(&blog, &spellings[0]).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renames_and_sign_ups_racing_for_a_name_leave_it_to_one() {
    let blog = Arc::new(Blog::new().await);
    for round in 0..5 {
        let mut users = Vec::new();
        for index in 0..4 {
            users.push(blog.user(&format!("user{round}-{index}")).await);
        }
        let name = format!("goal{round}");
        let renames = users.iter().map(|user| rename(&blog, user.id, &name));
        let sign_ups = (0..4).map(|_| blog.sign_up(&name));
        let (renamed, signed_up) =
            futures::join!(futures::future::join_all(renames), futures::future::join_all(sign_ups));
        let winners: Vec<_> = renamed.into_iter().chain(signed_up).filter_map(Result::ok).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(reservation(&blog, &name).await.unwrap().user_id, winners[0].id);
        for (index, user) in users.iter().enumerate() {
            let own = if user.id == winners[0].id { name.clone() } else { format!("user{round}-{index}") };
            assert!(can_sign_in(&blog, &own).await);
        }
    }
}

#[tokio::test]
async fn a_name_that_looks_like_another_is_taken() {
    let blog = Blog::new().await;
    let (lena, _) = (blog.user("lena").await, blog.user("arne").await);
    for name in ["Iena", "1ena", "ame", "aRNe"] {
        let refused = code_and_field(blog.sign_up(name).await);
        assert_eq!(refused, (RefusalCode::Conflict, Some("username")), "{name}");
    }
    assert!(reservation(&blog, "iena").await.is_none(), "a refused claim leaves nothing");
    let iena = blog.user("iena").await;
    let refused = code_and_field(rename(&blog, iena.id, "Iena").await);
    assert_eq!(refused, (RefusalCode::Conflict, Some("username")), "a change of case imitates, too");
    rename(&blog, lena.id, "helena").await.unwrap();
    assert_eq!(rename(&blog, iena.id, "Iena").await.unwrap().username, "Iena");
    assert_eq!(code_and_field(blog.sign_up("lena").await).0, RefusalCode::Conflict);
    assert!(can_sign_in(&blog, "iena").await && !can_sign_in(&blog, "lena").await);
}

#[tokio::test]
async fn a_rename_releases_all_keys_of_the_name() {
    let blog = Blog::new().await;
    let arne = blog.user("arne").await;
    assert_eq!(reservation(&blog, "ame").await.unwrap().password_hash, None);
    let renamed = rename(&blog, arne.id, "bjarne").await.unwrap();
    assert_eq!(renamed.former_keys, ["ame"]);
    assert!(reservation(&blog, "ame").await.is_none() && reservation(&blog, "bjame").await.is_some());
    assert_eq!(rename(&blog, arne.id, "Arne").await.unwrap().former_keys, ["bjame"]);
    assert!(can_sign_in(&blog, "arne").await);
    blog.user("bjame").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_who_race_for_names_that_look_alike_one_gets_it() {
    let blog = Arc::new(Blog::new().await);
    for round in ["a", "b", "c", "d", "e"] {
        let spellings = [format!("verne-{round}"), format!("veme-{round}")];
        let attempts = (0..8).map(|index| {
            let (blog, name) = (Arc::clone(&blog), spellings[index % spellings.len()].clone());
            async move { blog.sign_up(&name).await }
        });
        let results = futures::future::join_all(attempts).await;
        let winners: Vec<_> = results.into_iter().filter_map(Result::ok).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(reservation(&blog, &spellings[1]).await.unwrap().user_id, winners[0].id);
    }
}

#[tokio::test]
async fn a_name_from_before_these_rules_signs_in_and_is_changed() {
    let blog = Blog::new().await;
    let user = blog.user("someone").await;
    // As an older version of the program wrote it.
    let name = "gr\u{430}ce";
    let old = UserItem { username: name.to_owned(), ..user.clone() };
    let account = AccountItem { id: name.to_owned(), ..reservation(&blog, "someone").await.unwrap() };
    let replace = WriteOp::Replace { item: NewItem::encode(user.id.to_string(), &old), if_match: None };
    blog.store.write(USERS, &user.id.partition_key(), replace, &Ledger::new()).await.unwrap();
    let create = WriteOp::Create(NewItem::encode(name, &account));
    blog.store.write(ACCOUNTS, &PartitionKey::from(name), create, &Ledger::new()).await.unwrap();
    assert!(can_sign_in(&blog, name).await);
    assert_eq!(code_and_field(blog.sign_up(name).await), (RefusalCode::BadUserInput, Some("username")));
    let names = onehop::blog::commands::UsernameReservations::new(blog.store.clone());
    assert!(names.reserve_again(user.id, &Ledger::new()).await.unwrap());
    assert!(!names.reserve_again(user.id, &Ledger::new()).await.unwrap());
    assert_eq!(code_and_field(blog.sign_up("grace").await), (RefusalCode::Conflict, Some("username")));
    assert_eq!(rename(&blog, user.id, "hopper").await.unwrap().former_keys, ["grace"]);
    blog.user("grace").await;
}

#[tokio::test]
async fn the_reservation_of_a_former_name_is_a_key_and_no_name() {
    let blog = Blog::new().await;
    let names = onehop::blog::commands::UsernameReservations::new(blog.store.clone());
    for (name, key) in [("ßßßßßßßßßßßßßßßß", "s".repeat(32)), ("i\u{307}l", "il".to_owned())]
    {
        // Another process has finished the rename, and not yet released the name.
        let user = blog.user("somebody").await;
        let left = AccountItem { id: key.clone(), ..reservation(&blog, "somebody").await.unwrap() };
        let create = WriteOp::Create(NewItem::encode(key.as_str(), &left));
        blog.store.write(ACCOUNTS, &PartitionKey::from(key.as_str()), create, &Ledger::new()).await.unwrap();
        let renamed = UserItem { version: 2, former_username: Some(key.clone()), ..user.clone() };
        let replace =
            WriteOp::Replace { item: NewItem::encode(user.id.to_string(), &renamed), if_match: None };
        blog.store.write(USERS, &user.id.partition_key(), replace, &Ledger::new()).await.unwrap();
        assert_eq!(
            names.roll_forward(user.id, &Ledger::new()).await.unwrap(),
            RollForward::Settled(renamed),
            "{name}"
        );
        assert!(reservation(&blog, &key).await.is_none(), "{name}");
        rename(&blog, user.id, &format!("another-{}", key.len())).await.unwrap();
    }
}

#[tokio::test]
async fn a_rename_moves_the_sign_in_and_gives_the_old_name_free() {
    let blog = Blog::new().await;
    let ada = blog.user("Ada").await;
    let renamed = rename(&blog, ada.id, "Countess").await.unwrap();
    assert_eq!((renamed.username.as_str(), renamed.version), ("Countess", 2));
    assert_eq!((renamed.former_username.as_deref(), renamed.pending_username), (Some("ada"), None));
    assert!(can_sign_in(&blog, "countess").await && !can_sign_in(&blog, "ada").await);
    assert!(reservation(&blog, "ada").await.is_none());
    assert_ne!(blog.user("ADA").await.id, ada.id);
}

#[tokio::test]
async fn a_rename_that_changes_only_case_is_one_replace() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    blog.store.next(Meddling::Nothing);
    assert_eq!(rename(&blog, ada.id, "ADA").await.unwrap().username, "ADA");
    assert_eq!(blog.store.writes(), 1);
    assert_eq!(rename(&blog, ada.id, "ADA").await.unwrap().version, 2);
    assert_eq!(blog.store.writes(), 1);
    assert!(can_sign_in(&blog, "ada").await);
}

#[tokio::test]
async fn a_rename_there_and_back_keeps_the_name() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    for name in ["countess", "ada", "countess", "ada"] {
        assert_eq!(rename(&blog, ada.id, name).await.unwrap().username, name);
        assert!(can_sign_in(&blog, name).await);
    }
    assert_eq!(code_and_field(blog.sign_up("ada").await), (RefusalCode::Conflict, Some("username")));
}

#[tokio::test]
async fn a_rename_to_a_taken_name_is_a_conflict_and_changes_nothing() {
    let blog = Blog::new().await;
    let (ada, bob) = (blog.user("ada").await, blog.user("bob").await);
    let refused = rename(&blog, ada.id, "BOB").await;
    assert_eq!(code_and_field(refused), (RefusalCode::Conflict, Some("username")));
    assert!(can_sign_in(&blog, "ada").await);
    assert_eq!(reservation(&blog, "bob").await.unwrap().user_id, bob.id);
}

#[tokio::test]
async fn a_reservation_that_its_user_has_left_is_taken_over() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let left = AccountItem {
        id: "left".to_owned(),
        item_type: "account".to_owned(),
        user_id: ada.id,
        password_hash: None,
        password_version: 0,
        idempotency_key_hash: None,
    };
    let create = WriteOp::Create(NewItem::encode("left", &left));
    blog.store.write(ACCOUNTS, &PartitionKey::from("left"), create, &Ledger::new()).await.unwrap();
    let bob = blog.user("Left").await;
    assert_eq!(reservation(&blog, "left").await.unwrap().user_id, bob.id);
    assert!(can_sign_in(&blog, "ada").await && can_sign_in(&blog, "left").await);
}

#[tokio::test]
async fn rolling_forward_withdraws_an_announcement_of_a_taken_name() {
    let blog = Blog::new().await;
    let (ada, _bob) = (blog.user("ada").await, blog.user("bob").await);
    let announced = UserItem { pending_username: Some("Bob".to_owned()), ..ada.clone() };
    let replace = WriteOp::Replace { item: NewItem::encode(ada.id.to_string(), &announced), if_match: None };
    blog.store.write(USERS, &ada.id.partition_key(), replace, &Ledger::new()).await.unwrap();
    let names = onehop::blog::commands::UsernameReservations::new(blog.store.clone());
    assert_eq!(
        names.roll_forward(ada.id, &Ledger::new()).await.unwrap(),
        RollForward::Withdrawn(ada.clone())
    );
    assert_eq!(names.roll_forward(ada.id, &Ledger::new()).await.unwrap(), RollForward::Settled(ada));
}
