//! Sessions and changed passwords: other processes accept an ended session for a bounded time; and a changed
//! password stays changed after crashes and delays.

use std::sync::Arc;
use std::time::Duration;

use onehop::accounts::account_id::AccountId;
use onehop::accounts::audience::Audience;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::network_prefixes::Prefix;
use onehop::accounts::session::{RefreshToken, SessionId};
use onehop::blog::commands::{ChangePassword, CommandError, CommandLimits, RefusalCode, SignIn, UpdateUser};
use onehop::blog::containers::ACCOUNTS;
use onehop::blog::ids::UserId;
use onehop::domain::accounts::sessions::{
    NewSession, REFRESH_TOKEN_GRACE, Renewal, SESSIONS_PER_ACCOUNT_MAX, SessionSettings, SessionStart,
    Sessions,
};
use onehop_runtime::clock::Clock as _;
use onehop_store::{Ledger, NewItem, PartitionKey, Rejection, Store as _, WriteError, WriteOp};

use super::harness::{Blog, Meddling, PASSWORD, START_MS, code_and_field};

const NEW_PASSWORD: &str = "another horse battery";
/// Long before any read, so that no token can be newer than the remembered state.
const LONG_AGO_MS: i64 = START_MS - 3_600_000;

fn settings() -> SessionSettings {
    SessionSettings {
        lifetime: Duration::from_secs(3600),
        check_interval: Duration::from_secs(10),
        live_check_interval: Duration::from_millis(1),
    }
}

/// The sessions as one process sees them.
fn process(blog: &Blog) -> Sessions {
    process_for(blog, "onehop")
}

fn process_for(blog: &Blog, audience: &str) -> Sessions {
    Sessions::new(blog.store.clone(), blog.clock.clone(), Audience::named(audience), settings())
}

async fn start(sessions: &Sessions, user: AccountId) -> NewSession {
    sessions.start(user, SessionStart::default(), &Ledger::new()).await.unwrap().unwrap()
}

async fn exists(sessions: &Sessions, user: AccountId, id: SessionId) -> bool {
    sessions.exists(user, id, LONG_AGO_MS).await.unwrap()
}

async fn renew(sessions: &Sessions, token: &RefreshToken) -> Renewal {
    sessions.renew(token, &Ledger::new()).await.unwrap()
}

async fn renewed(sessions: &Sessions, token: &RefreshToken) -> RefreshToken {
    match renew(sessions, token).await {
        Renewal::Renewed(session) => session.refresh_token,
        other => panic!("{other:?}"),
    }
}

async fn is_unknown(sessions: &Sessions, token: &RefreshToken) -> bool {
    matches!(renew(sessions, token).await, Renewal::Unknown)
}

async fn sign_in(
    blog: &Blog,
    sessions: &Sessions,
    name: &str,
    password: &str,
) -> Result<NewSession, CommandError> {
    let input =
        SignIn { username: name.to_owned(), password: password.to_owned(), caller: HashingCaller::default() };
    let (_, session) = blog.commands.start_session(input, sessions, &Ledger::new()).await?;
    Ok(session)
}

async fn change(
    blog: &Blog,
    sessions: &Sessions,
    user: AccountId,
    [current, new]: [&str; 2],
) -> Result<NewSession, CommandError> {
    let input = ChangePassword {
        user_id: UserId(user.id),
        username: "ada".to_owned(),
        current_password: current.to_owned(),
        new_password: new.to_owned(),
        caller: HashingCaller::default(),
    };
    blog.commands.change_password(input, sessions, &Ledger::new()).await
}

#[tokio::test]
async fn an_ended_session_is_refused_here_at_once_and_elsewhere_soon() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let (here, elsewhere) = (process(&blog), process(&blog));
    let (one, other) = (start(&here, user).await, start(&elsewhere, user).await);
    for sessions in [&here, &elsewhere] {
        // A token that is younger than the remembered state has the store asked.
        assert!(sessions.exists(user, one.id, START_MS).await.unwrap());
        assert!(sessions.exists(user, other.id, START_MS).await.unwrap());
    }
    here.end(user, one.id, &Ledger::new()).await.unwrap();
    assert!(!exists(&here, user, one.id).await && exists(&elsewhere, user, one.id).await);
    blog.clock.advance_ms(10_000);
    for sessions in [&here, &elsewhere] {
        assert!(!exists(sessions, user, one.id).await && exists(sessions, user, other.id).await);
        assert!(is_unknown(sessions, &one.refresh_token).await);
    }
}

#[tokio::test]
async fn a_check_is_answered_from_memory() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let session = start(&sessions, user).await;
    let spent = blog.store.spent();
    for _ in 0..1000 {
        assert!(exists(&sessions, user, session.id).await);
    }
    assert_eq!(blog.store.spent().0, spent.0);
    blog.clock.advance_ms(10_000);
    for _ in 0..1000 {
        assert!(exists(&sessions, user, session.id).await);
    }
    assert!(blog.store.spent().0 > spent.0 && blog.store.spent().0 < spent.0 + 3.0);
}

#[tokio::test]
async fn a_session_expires_and_its_item_with_the_last() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let session = start(&sessions, user).await;
    assert_eq!(session.expires_at_ms, blog.clock.now_ms() + 3_600_000);
    blog.clock.advance_ms(3_599_999);
    assert!(exists(&sessions, user, session.id).await);
    blog.clock.advance_ms(1);
    assert!(!exists(&sessions, user, session.id).await);
    assert!(is_unknown(&sessions, &session.refresh_token).await);
}

#[tokio::test]
async fn the_oldest_session_ends_where_there_are_too_many() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let mut started = Vec::new();
    for _ in 0..=SESSIONS_PER_ACCOUNT_MAX {
        started.push(start(&sessions, user).await.id);
    }
    assert!(!exists(&sessions, user, started[0]).await);
    for id in &started[1..] {
        assert!(exists(&sessions, user, *id).await);
    }
}

#[tokio::test]
async fn sessions_of_another_environment_are_none() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let session = start(&process(&blog), user).await;
    let restored = process_for(&blog, "restored");
    assert!(!exists(&restored, user, session.id).await);
    assert!(is_unknown(&restored, &session.refresh_token).await);
    let started = start(&restored, user).await;
    assert!(exists(&restored, user, started.id).await);
}

#[tokio::test]
async fn concurrent_sign_ins_lose_no_session() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let started = futures::future::join_all((0..8).map(|_| start(&sessions, user))).await;
    for session in started {
        assert!(exists(&sessions, user, session.id).await);
    }
}

#[tokio::test]
async fn a_changed_password_ends_all_sessions_and_starts_one() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let (here, elsewhere) = (process(&blog), process(&blog));
    let old = sign_in(&blog, &here, "ada", PASSWORD).await.unwrap();
    let wrong = change(&blog, &here, user, ["wrong password", NEW_PASSWORD]).await;
    assert_eq!(code_and_field(wrong), (RefusalCode::Forbidden, Some("currentPassword")));
    let short = change(&blog, &here, user, [PASSWORD, "short"]).await;
    assert_eq!(code_and_field(short), (RefusalCode::BadUserInput, Some("newPassword")));
    assert!(exists(&here, user, old.id).await);

    let new = change(&blog, &elsewhere, user, [PASSWORD, NEW_PASSWORD]).await.unwrap();
    blog.clock.advance_ms(10_000);
    for sessions in [&here, &elsewhere] {
        assert!(!exists(sessions, user, old.id).await && exists(sessions, user, new.id).await);
    }
    assert!(sign_in(&blog, &here, "ada", PASSWORD).await.is_err());
    assert!(sign_in(&blog, &here, "ada", NEW_PASSWORD).await.is_ok());
}

#[tokio::test]
async fn a_crashed_password_change_is_finished_by_a_repeat() {
    // The end of all sessions, the password, the new session.
    for step in 0..3 {
        for meddling in [Meddling::CrashBefore(step), Meddling::LoseAnswer(step), Meddling::Repeat(step)] {
            let blog = Blog::new().await;
            let user = AccountId::from(blog.user("ada").await.id);
            let sessions = process(&blog);
            let old = sign_in(&blog, &sessions, "ada", PASSWORD).await.unwrap();
            blog.store.next(meddling);
            let changed = change(&blog, &sessions, user, [PASSWORD, NEW_PASSWORD]).await;
            assert_eq!(changed.is_err(), matches!(meddling, Meddling::CrashBefore(_)), "{meddling:?}");
            blog.store.next(Meddling::Nothing);
            if changed.is_err() {
                change(&blog, &sessions, user, [PASSWORD, NEW_PASSWORD]).await.unwrap();
            }
            assert!(!exists(&sessions, user, old.id).await, "{meddling:?}");
            assert!(sign_in(&blog, &sessions, "ada", PASSWORD).await.is_err());
            assert!(sign_in(&blog, &sessions, "ada", NEW_PASSWORD).await.is_ok());
        }
    }
}

#[tokio::test]
async fn a_slow_rename_does_not_bring_the_old_password_back() {
    // The announcement, the reservation, the user, the release.
    for step in 0..4 {
        let blog = Blog::new().await;
        let user = AccountId::from(blog.user("ada").await.id);
        let sessions = process(&blog);
        let store = Arc::clone(&blog.store);
        let gate = store.hold().await;
        store.next(Meddling::Pause(step));
        let commands = blog.another(CommandLimits::default());
        let slow = async {
            let input = UpdateUser { user_id: UserId(user.id), username: "countess".to_owned() };
            commands.update_user(input, &Ledger::new()).await
        };
        let changing = async {
            store.until_held(1).await;
            change(&blog, &sessions, user, [PASSWORD, NEW_PASSWORD]).await.unwrap();
            drop(gate);
        };
        futures::join!(slow, changing).0.unwrap();
        assert!(sign_in(&blog, &sessions, "countess", NEW_PASSWORD).await.is_ok(), "{step}");
        for name in ["ada", "countess"] {
            assert!(sign_in(&blog, &sessions, name, PASSWORD).await.is_err(), "{step}: {name}");
        }
    }
}

#[tokio::test]
async fn a_connection_is_notified_when_its_session_ends() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let (here, elsewhere) = (process(&blog), process(&blog));
    let (one, other) = (start(&here, user).await, start(&here, user).await);
    blog.clock.advance_ms(60_000);
    let [one_here, one_elsewhere] =
        [&here, &elsewhere].map(|sessions| sessions.ended(user, one.id, LONG_AGO_MS));
    let other_here = here.ended(user, other.id, LONG_AGO_MS);
    let ending = async {
        here.end(user, one.id, &Ledger::new()).await.unwrap();
        blog.clock.advance_ms(60_000);
    };
    tokio::select! {
        () = other_here => panic!("it has not ended"),
        _ = futures::future::join3(one_here, one_elsewhere, ending) => {}
    }
}

#[tokio::test]
async fn a_crashed_password_change_leaves_no_old_session() {
    for step in 0..4 {
        let blog = Blog::new().await;
        let user = AccountId::from(blog.user("ada").await.id);
        let sessions = process(&blog);
        let old = sign_in(&blog, &sessions, "ada", PASSWORD).await.unwrap();
        blog.store.next(Meddling::CrashBefore(step));
        let changed = change(&blog, &sessions, user, [PASSWORD, NEW_PASSWORD]).await;
        blog.store.next(Meddling::Nothing);
        let other = process(&blog);
        let is_changed = sign_in(&blog, &other, "ada", NEW_PASSWORD).await.is_ok();
        assert!(is_changed || changed.is_err(), "{step}");
        assert!(!is_changed || !exists(&other, user, old.id).await, "{step}: an old session is alive");
    }
}

#[tokio::test]
async fn a_dropped_sign_out_is_known_here_at_once() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let session = start(&sessions, user).await;
    assert!(exists(&sessions, user, session.id).await);
    blog.store.next(Meddling::Hang(0));
    let ledger = Ledger::new();
    tokio::select! {
        _ = sessions.end(user, session.id, &ledger) => panic!("its answer never comes"),
        () = blog.store.until_held(1) => {}
    }
    blog.store.next(Meddling::Nothing);
    assert!(!exists(&sessions, user, session.id).await);
}

/// An account may carry out a create long after its answer was given up.
#[tokio::test]
async fn a_delayed_create_brings_no_ended_session_back() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let session = start(&sessions, user).await;
    let id = format!("sessions:{user}");
    let (key, ledger) = (PartitionKey::from(id.as_str()), Ledger::new());
    let stored = blog.store.read(ACCOUNTS, &key, &id, &ledger).await.unwrap().unwrap();
    sessions.end(user, session.id, &ledger).await.unwrap();
    let item = NewItem { id: id.clone(), body: stored.body };
    let delayed = blog.store.write(ACCOUNTS, &key, WriteOp::Create(item), &ledger).await;
    assert!(matches!(delayed, Err(WriteError::Rejected { reason: Rejection::Conflict, .. })), "{delayed:?}");
    assert!(!exists(&process(&blog), user, session.id).await);
}

#[tokio::test]
async fn the_old_password_is_no_new_password() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let old = sign_in(&blog, &sessions, "ada", PASSWORD).await.unwrap();
    let same = change(&blog, &sessions, user, [PASSWORD, PASSWORD]).await;
    assert_eq!(code_and_field(same), (RefusalCode::BadUserInput, Some("newPassword")));
    assert!(exists(&sessions, user, old.id).await);
}

#[tokio::test]
async fn a_session_that_slipped_into_a_crashed_change_ends() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let thief = sign_in(&blog, &sessions, "ada", PASSWORD).await.unwrap();
    blog.store.next(Meddling::CrashBefore(2));
    assert!(change(&blog, &sessions, user, [PASSWORD, NEW_PASSWORD]).await.is_err());
    blog.store.next(Meddling::Nothing);
    let slipped_in = start(&process(&blog), user).await;
    assert!(exists(&process(&blog), user, slipped_in.id).await);
    assert!(sign_in(&blog, &sessions, "ada", NEW_PASSWORD).await.is_ok());
    for session in [thief, slipped_in] {
        assert!(!exists(&process(&blog), user, session.id).await);
    }
}

#[tokio::test]
async fn a_renewal_gives_another_token_and_the_old_one_ends_the_session() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let (here, elsewhere) = (process(&blog), process(&blog));
    let session = start(&here, user).await;
    let first = session.refresh_token;
    let second = renewed(&here, &first).await;
    assert_ne!(first, second);
    // Another tab renews at once, or the answer was lost.
    assert_eq!(renewed(&elsewhere, &first).await, second);
    let third = renewed(&elsewhere, &second).await;
    assert_eq!(renewed(&here, &second).await, third);
    assert!(exists(&here, user, session.id).await);
    let other = start(&here, user).await;
    assert!(matches!(renew(&here, &first).await, Renewal::Reused));
    assert!(!exists(&here, user, session.id).await && is_unknown(&elsewhere, &third).await);
    assert!(exists(&here, user, other.id).await, "another session of the account goes on");
}

#[tokio::test]
async fn a_former_refresh_token_is_good_for_a_short_grace() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sessions = process(&blog);
    let grace_ms = i64::try_from(REFRESH_TOKEN_GRACE.as_millis()).unwrap();
    let first = start(&sessions, user).await.refresh_token;
    let second = renewed(&sessions, &first).await;
    blog.clock.advance_ms(grace_ms);
    assert_eq!(renewed(&sessions, &first).await, second);
    blog.clock.advance_ms(1);
    assert!(matches!(renew(&sessions, &first).await, Renewal::Reused));
    assert!(is_unknown(&sessions, &second).await);
}

#[tokio::test]
async fn renewals_at_once_agree_on_one_token_whatever_is_lost() {
    for meddling in [Meddling::Nothing, Meddling::LoseAnswer(0), Meddling::Repeat(0)] {
        let blog = Blog::new().await;
        let user = AccountId::from(blog.user("ada").await.id);
        let sessions = process(&blog);
        let first = start(&sessions, user).await.refresh_token;
        blog.store.next(meddling);
        let tabs = futures::future::join_all((0..4).map(|_| renewed(&sessions, &first))).await;
        assert!(tabs.iter().all(|token| *token == tabs[0]), "{meddling:?}");
        let next = renewed(&sessions, &tabs[0]).await;
        assert!(!is_unknown(&sessions, &next).await, "{meddling:?}");
    }
}

#[tokio::test]
async fn networks_of_sessions_are_recalled_and_sealed() {
    let blog = Blog::new().await;
    let user = AccountId::from(blog.user("ada").await.id);
    let sealer = onehop_runtime::sealed::Sealer::of([&[7; 32][..]]);
    let sessions = process(&blog).with_sealer(sealer.clone());
    let start = SessionStart { network: Prefix::V4(0xC000_0201), ..SessionStart::default() };
    sessions.start(user, start, &Ledger::new()).await.unwrap().unwrap();
    let restarted = process(&blog).with_sealer(sealer);
    assert_eq!(restarted.networks(user, &Ledger::new()).await.unwrap(), [Prefix::V4(0xC000_0201)]);
    let id = format!("sessions:{user}");
    let key = onehop_store::PartitionKey::from(id.as_str());
    let item = blog.store.read(onehop::domain::containers::ACCOUNTS, &key, &id, &Ledger::new()).await;
    let body = String::from_utf8(item.unwrap().unwrap().body.to_vec()).unwrap();
    assert!(body.contains("network") && !body.contains("c0000201"), "{body}");
}
