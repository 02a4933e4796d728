//! The process dies at each operation of a customer's sign-up: no e-mail address is lost, reserved for ever
//! or given twice.

use std::sync::Arc;

use onehop::domain::error::{CommandError, RefusalCode};
use onehop::webstore::items::CustomerItem;

use super::shop::Shop;
use crate::commands::harness::{Meddler, Meddling, code_and_field};
use crate::process::TestProcess;

/// Operations of a sign-up for a free address: the writes of the reservation, the password and the customer.
const SIGN_UP_OPERATIONS: usize = 3;

/// A web store and commands over a store that meddles.
struct Scene {
    process: TestProcess,
    store: Arc<Meddler>,
    shop: Shop,
}

impl Scene {
    async fn new() -> Self {
        let process = TestProcess::new().await;
        let store = Meddler::over(Arc::clone(&process.app.store));
        let shop = Shop::new(&process.other_webstore_commands(store.clone()));
        Self { process, store, shop }
    }

    /// A sign-up that dies before one of its operations, unless it has no more than so many.
    async fn dying_sign_up(
        &self,
        address: &str,
        key: Option<&str>,
        operation: usize,
    ) -> Option<CustomerItem> {
        self.store.next(Meddling::CrashBeforeOperation(operation));
        let outcome = self.shop.sign_up(address, key).await;
        self.store.next(Meddling::Nothing);
        assert!(!matches!(outcome, Err(CommandError::Rejected(_))), "{operation}: {outcome:?}");
        outcome.ok()
    }

    /// Asserts that the next sign-up with an address gets it, and that no other does.
    async fn assert_address_is_free(&self, address: &str) {
        assert!(self.shop.sign_in(address).await.is_err(), "{address}");
        let eva = self.shop.sign_up(&address.to_uppercase(), None).await.expect("a sign-up");
        assert_eq!(self.shop.sign_in(address).await.expect("a sign-in"), eva);
        let second = self.shop.sign_up(address, None).await;
        assert_eq!(code_and_field(second), (RefusalCode::Conflict, Some("emailAddress")));
    }
}

#[tokio::test]
async fn a_sign_up_that_died_at_any_step_loses_no_address() {
    let scene = Scene::new().await;
    for operation in 0..SIGN_UP_OPERATIONS {
        let address = format!("eva{operation}@example.com");
        assert_eq!(scene.dying_sign_up(&address, None, operation).await, None);
        scene.assert_address_is_free(&address).await;
    }
    let last = scene.dying_sign_up("eva@example.com", None, SIGN_UP_OPERATIONS).await;
    assert!(last.is_some(), "a sign-up takes so many operations");
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn taking_over_a_dead_sign_ups_address_may_die_at_any_step() {
    let scene = Scene::new().await;
    for operation in 0.. {
        let address = format!("eva{operation}@example.com");
        assert_eq!(scene.dying_sign_up(&address, None, 1).await, None);
        if scene.dying_sign_up(&address, None, operation).await.is_some() {
            // The Create that is refused, reads of reservation and customer, the block of the id, the
            // reservation, the password, the customer.
            assert!(operation >= 7, "{operation}");
            break;
        }
        scene.assert_address_is_free(&address).await;
    }
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_sign_up_repeated_after_a_crash_makes_one_customer() {
    let scene = Scene::new().await;
    for operation in 0..=SIGN_UP_OPERATIONS {
        let address = format!("eva{operation}@example.com");
        let first = scene.dying_sign_up(&address, Some("key"), operation).await;
        let second = scene.shop.sign_up(&address, Some("key")).await.expect("a sign-up");
        assert_eq!(scene.shop.sign_up(&address, Some("key")).await.expect("a repeat"), second);
        assert!(first.is_none_or(|first| first == second));
    }
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_lost_answer_of_a_sign_up_changes_no_outcome() {
    let scene = Scene::new().await;
    for write in 0..SIGN_UP_OPERATIONS {
        for meddling in [Meddling::LoseAnswer(write), Meddling::Repeat(write)] {
            let address = format!("{meddling:?}@example.com").replace(['(', ')'], ".");
            scene.store.next(meddling);
            let eva = scene.shop.sign_up(&address.replace(".@", "@"), None).await.expect("a sign-up");
            scene.store.next(Meddling::Nothing);
            assert_eq!(scene.shop.sign_in(&eva.email_address).await.expect("a sign-in"), eva);
        }
    }
    scene.process.assert_clean().await;
}
