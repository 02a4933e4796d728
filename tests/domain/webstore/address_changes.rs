//! Changes of a customer's e-mail address and password that die, lose their answers or race: no address is
//! lost or given twice, and no old session lives on.

use std::sync::Arc;

use onehop::accounts::audience::Audience;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::domain::accounts::sessions::{SessionSettings, Sessions};
use onehop::domain::error::{CommandError, RefusalCode};
use onehop::webstore::commands::{
    ChangeCustomerPassword, ChangeEmailAddress, SignInCustomer, WebstoreCommands,
};
use onehop::webstore::ids::CustomerId;
use onehop::webstore::items::CustomerItem;
use onehop_store::{Ledger, Store};

use super::shop::{PASSWORD, Shop};
use crate::commands::harness::{Meddler, Meddling, code_and_field};
use crate::process::TestProcess;

const NEW_PASSWORD: &str = "another long sentence";
/// Writes of a change: the new reservation, the customer, the old reservation.
const CHANGE_WRITES: usize = 3;

struct Scene {
    process: TestProcess,
    store: Arc<Meddler>,
    commands: WebstoreCommands,
    shop: Shop,
}

impl Scene {
    async fn new() -> Self {
        let process = TestProcess::new().await;
        let store = Meddler::over(Arc::clone(&process.app.store));
        let commands = process.other_webstore_commands(store.clone());
        let shop = Shop::new(&commands);
        Self { process, store, commands, shop }
    }

    async fn change(&self, customer_id: CustomerId, address: &str) -> Result<CustomerItem, CommandError> {
        let input = ChangeEmailAddress {
            customer_id,
            email_address: address.to_owned(),
            current_password: PASSWORD.to_owned(),
            caller: HashingCaller::default(),
        };
        self.commands.change_email_address(input, &Ledger::new()).await
    }

    fn sessions(&self) -> Sessions {
        let store: Arc<dyn Store> = self.store.clone();
        let clock = Arc::clone(&self.process.app.clock);
        Sessions::new(store, clock, Audience::named("onehop"), SessionSettings::default())
    }

    async fn sign_in(
        &self,
        sessions: &Sessions,
        password: &str,
    ) -> Option<onehop::accounts::session::SessionId> {
        let (email_address, password) = ("eva@example.com".to_owned(), password.to_owned());
        let input = SignInCustomer { email_address, password, caller: HashingCaller::default() };
        let started = self.commands.start_customer_session(input, sessions, &Ledger::new()).await;
        started.ok().map(|(_, session)| session.id)
    }
}

#[tokio::test]
async fn a_change_of_address_that_died_loses_no_address() {
    for write in 0..CHANGE_WRITES {
        let scene = Scene::new().await;
        let eva = scene.shop.sign_up("eva@example.com", None).await.unwrap();
        scene.store.next(Meddling::CrashBefore(write));
        let died = scene.change(eva.id, "eva@example.org").await;
        scene.store.next(Meddling::Nothing);
        assert!(matches!(died, Err(CommandError::Fault(_))), "{write}: {died:?}");
        let is_changed = scene.shop.sign_in("eva@example.org").await.is_ok();
        assert_eq!(is_changed, write == 2, "{write}");
        assert_ne!(
            scene.shop.sign_in("eva@example.com").await.is_ok(),
            is_changed,
            "one address opens the door"
        );
        let (kept, free) = match is_changed {
            true => ("eva@example.org", "eva@example.com"),
            false => ("eva@example.com", "eva@example.org"),
        };
        let taken = scene.shop.sign_up(kept, None).await;
        assert_eq!(code_and_field(taken), (RefusalCode::Conflict, Some("emailAddress")), "{write}");
        let max = scene.shop.sign_up(free, None).await.unwrap();
        assert_eq!(scene.shop.sign_in(free).await.unwrap().id, max.id, "{write}");
        let refused = scene.change(eva.id, free).await;
        assert_eq!(code_and_field(refused), (RefusalCode::Conflict, Some("emailAddress")), "{write}");
        scene.change(eva.id, "eva@example.net").await.unwrap();
        scene.process.assert_clean().await;
    }
}

#[tokio::test]
async fn a_lost_answer_of_a_change_of_address_changes_no_outcome() {
    for write in 0..CHANGE_WRITES {
        for meddling in [Meddling::LoseAnswer(write), Meddling::Repeat(write)] {
            let scene = Scene::new().await;
            let eva = scene.shop.sign_up("eva@example.com", None).await.unwrap();
            scene.store.next(meddling);
            let changed = scene.change(eva.id, "eva@example.org").await.unwrap();
            scene.store.next(Meddling::Nothing);
            assert_eq!(scene.shop.sign_in("eva@example.org").await.unwrap(), changed, "{meddling:?}");
            scene.shop.sign_up("eva@example.com", None).await.unwrap();
            scene.process.assert_clean().await;
        }
    }
}

#[tokio::test]
async fn of_many_who_race_for_an_address_one_gets_it() {
    let scene = Scene::new().await;
    let mut customers = Vec::new();
    for number in 0..6 {
        customers.push(scene.shop.sign_up(&format!("eva{number}@example.com"), None).await.unwrap());
    }
    let changes = customers.iter().map(|customer| scene.change(customer.id, "the@example.com"));
    let sign_up = scene.shop.sign_up("the@example.com", None);
    let (changed, signed_up) = tokio::join!(futures::future::join_all(changes), sign_up);
    let won = changed.iter().filter(|change| change.is_ok()).count() + usize::from(signed_up.is_ok());
    assert_eq!(won, 1, "{changed:?}");
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_slow_change_of_address_gives_none_twice() {
    // The new reservation, the customer, the old reservation.
    for write in 0..CHANGE_WRITES {
        let scene = Scene::new().await;
        let eva = scene.shop.sign_up("eva@example.com", None).await.unwrap();
        let gate = scene.store.hold().await;
        scene.store.next(Meddling::Pause(write));
        let slow = scene.change(eva.id, "the@example.com");
        let rival = async {
            scene.store.until_held(1).await;
            let rival = scene.shop.sign_up("the@example.com", None).await;
            drop(gate);
            rival
        };
        let (slow, rival) = tokio::join!(slow, rival);
        assert!(slow.is_ok() != rival.is_ok(), "{write}: {slow:?} {rival:?}");
        scene.process.assert_clean().await;
    }
}

#[tokio::test]
async fn a_crashed_change_of_a_customers_password_leaves_no_session() {
    for write in 0..3 {
        let scene = Scene::new().await;
        let eva = scene.shop.sign_up("eva@example.com", None).await.unwrap();
        let sessions = scene.sessions();
        let old = scene.sign_in(&sessions, PASSWORD).await.unwrap();
        scene.store.next(Meddling::CrashBefore(write));
        let input = ChangeCustomerPassword {
            customer_id: eva.id,
            email_address: eva.email_address.clone(),
            current_password: PASSWORD.to_owned(),
            new_password: NEW_PASSWORD.to_owned(),
            caller: HashingCaller::default(),
        };
        let died = scene.commands.change_customer_password(input, &sessions, &Ledger::new()).await;
        scene.store.next(Meddling::Nothing);
        assert!(died.is_err(), "{write}");
        let other = scene.sessions();
        let is_changed = scene.sign_in(&other, NEW_PASSWORD).await.is_some();
        assert_ne!(scene.sign_in(&other, PASSWORD).await.is_some(), is_changed, "{write}");
        let is_alive = other.exists(eva.id.into(), old, 0).await.unwrap();
        assert_eq!(is_alive, write == 0, "{write}: nothing was written before the first step");
    }
}
