//! The process dies at each operation of a product's creation and deletion: no SKU is lost, reserved for ever
//! or given twice.

use std::sync::Arc;

use onehop::app::work::ProgressSink;
use onehop::domain::containers::ACCOUNTS;
use onehop::domain::error::{CommandError, RefusalCode};
use onehop::webstore::containers::PRODUCT;
use onehop::webstore::ids::CategoryId;
use onehop::webstore::items::ProductItem;
use onehop_read_models::verify::Drift;
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use super::shop::{Shop, key_of};
use crate::commands::harness::{Meddler, Meddling, code_and_field};
use crate::process::TestProcess;

/// Operations of a creation for a free SKU: the read of the category, the writes of the reservation and of
/// the product.
const CREATE_OPERATIONS: usize = 3;
/// Operations of a deletion: the read and the write of the product, the read and the deletion of the
/// reservation.
const DELETE_OPERATIONS: usize = 4;

/// A catalogue and commands over a store that meddles.
struct Scene {
    process: TestProcess,
    store: Arc<Meddler>,
    shop: Shop,
    bikes: CategoryId,
    parts: CategoryId,
}

impl Scene {
    async fn new() -> Self {
        let process = TestProcess::new().await;
        let store = Meddler::over(Arc::clone(&process.app.store));
        let shop = Shop::new(&process.other_webstore_commands(store.clone()));
        let bikes = shop.create_category("Bikes").await.expect("a category");
        let parts = shop.create_category("Parts").await.expect("a category");
        Self { process, store, shop, bikes, parts }
    }

    /// A creation that dies before one of its operations, unless it has no more than so many.
    async fn dying_creation(&self, name: &str, operation: usize) -> Option<ProductItem> {
        self.store.next(Meddling::CrashBeforeOperation(operation));
        let outcome = self.shop.create_product(name, self.bikes, &[]).await;
        self.store.next(Meddling::Nothing);
        assert!(!matches!(outcome, Err(CommandError::Rejected(_))), "{operation}: {outcome:?}");
        outcome.ok()
    }

    /// Asserts that the next product with an SKU gets it, in any category, and that no other does.
    async fn assert_sku_is_free(&self, name: &str) {
        let product = self.shop.create_product(name, self.parts, &[]).await.expect("a product");
        assert_eq!(product.sku, format!("SKU-{name}"));
        self.assert_sku_is_taken(name).await;
    }

    async fn assert_sku_is_taken(&self, name: &str) {
        let second = self.shop.create_product(&name.to_lowercase(), self.bikes, &[]).await;
        assert_eq!(code_and_field(second), (RefusalCode::Conflict, Some("sku")));
    }

    /// Changes the reservation of an SKU as it is stored; `None` deletes it.
    async fn damage_reservation(&self, product: &ProductItem, body: Option<Value>) {
        let id = reservation_id(&product.sku);
        let key = PartitionKey::from(id.as_str());
        let write = match body {
            Some(body) => WriteOp::Upsert(NewItem::encode(id.as_str(), &body)),
            None => WriteOp::Delete { id, if_match: None },
        };
        self.process.app.store.write(ACCOUNTS, &key, write, &Ledger::new()).await.expect("a write");
    }

    /// Asserts that these violations, and nothing else, are found and then repaired.
    async fn assert_repaired(&self, expected: &[(&str, &str)]) {
        let app = &self.process.app;
        let found = app.verify(false, &ProgressSink::none()).await.expect("a verification").drifts;
        assert_eq!(found.iter().map(violation).collect::<Vec<_>>(), expected);
        let report = app.verify(true, &ProgressSink::none()).await.expect("a repair");
        assert_eq!((report.drifts.len(), report.repaired >= 1), (0, true), "{report:?}");
        self.process.assert_clean().await;
    }
}

fn violation(drift: &Drift) -> (&str, &str) {
    match drift {
        Drift::Invariant { invariant, problem, .. } => (invariant, problem),
        drift => panic!("another drift: {drift:?}"),
    }
}

fn reservation_id(sku: &str) -> String {
    format!("sku:{:x}", <sha2::Sha256 as sha2::Digest>::digest(sku.to_lowercase()))
}

fn reservation_of(sku: &str, product: &ProductItem) -> Value {
    json!({ "id": reservation_id(sku), "type": "sku", "categoryId": product.category_id, "productId": product.id })
}

#[tokio::test]
async fn a_creation_that_died_at_any_step_loses_no_sku() {
    let scene = Scene::new().await;
    for operation in 0..CREATE_OPERATIONS {
        let name = format!("Comet {operation}");
        assert_eq!(scene.dying_creation(&name, operation).await, None);
        scene.assert_sku_is_free(&name).await;
    }
    assert!(scene.dying_creation("Comet", CREATE_OPERATIONS).await.is_some(), "it takes so many operations");
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn taking_over_a_dead_creations_sku_may_die_at_any_step() {
    let scene = Scene::new().await;
    for operation in 0.. {
        let name = format!("Comet {operation}");
        assert_eq!(scene.dying_creation(&name, CREATE_OPERATIONS - 1).await, None);
        if scene.dying_creation(&name, operation).await.is_some() {
            assert!(operation >= 7, "{operation}");
            break;
        }
        scene.assert_sku_is_free(&name).await;
    }
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_deletion_that_died_at_any_step_frees_or_keeps_the_sku() {
    let scene = Scene::new().await;
    for operation in 0..=DELETE_OPERATIONS {
        let name = format!("Comet {operation}");
        let product = scene.shop.create_product(&name, scene.bikes, &[]).await.expect("a product");
        scene.store.next(Meddling::CrashBeforeOperation(operation));
        let deleted = scene.shop.delete_product(key_of(&product)).await;
        scene.store.next(Meddling::Nothing);
        let is_gone = operation >= 2;
        assert!(deleted.is_err() || is_gone, "the product is gone from the second operation on");
        if is_gone {
            // The client repeats its unacknowledged command.
            let again = scene.shop.delete_product(key_of(&product)).await;
            assert!(again.is_err(), "it is gone");
            scene.process.drain().await;
            scene.process.assert_clean().await;
            scene.assert_sku_is_free(&name).await;
        } else {
            scene.assert_sku_is_taken(&name).await;
        }
    }
    scene.process.drain().await;
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_lost_answer_of_a_creation_makes_one_product() {
    let scene = Scene::new().await;
    for write in 0..2 {
        for meddling in [Meddling::LoseAnswer(write), Meddling::Repeat(write)] {
            let name = format!("{meddling:?}");
            scene.store.next(meddling);
            let made = scene.shop.create_product(&name, scene.bikes, &[]).await;
            scene.store.next(Meddling::Nothing);
            assert_eq!(made.expect("a product").name, name);
            scene.assert_sku_is_taken(&name).await;
        }
    }
    scene.process.drain().await;
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_lost_answer_of_a_deletion_is_a_deletion() {
    let scene = Scene::new().await;
    for write in 0..2 {
        let name = format!("Comet {write}");
        let product = scene.shop.create_product(&name, scene.bikes, &[]).await.expect("a product");
        scene.store.next(Meddling::LoseAnswer(write));
        let deleted = scene.shop.delete_product(key_of(&product)).await;
        scene.store.next(Meddling::Nothing);
        assert!(deleted.expect("it is deleted").deleted);
        scene.assert_sku_is_free(&name).await;
    }
    scene.process.drain().await;
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_product_without_a_reservation_is_found_and_repaired() {
    let scene = Scene::new().await;
    let comet = scene.shop.create_product("Comet", scene.bikes, &[]).await.expect("a product");
    scene.damage_reservation(&comet, None).await;
    scene.process.drain().await;
    scene.assert_repaired(&[("sku", "the SKU is not reserved")]).await;
    scene.assert_sku_is_taken("Comet").await;
}

#[tokio::test]
async fn a_reservation_for_another_product_is_found_and_repaired() {
    let scene = Scene::new().await;
    let comet = scene.shop.create_product("Comet", scene.bikes, &[]).await.expect("a product");
    let meteor = scene.shop.create_product("Meteor", scene.parts, &[]).await.expect("a product");
    scene.damage_reservation(&comet, Some(reservation_of(&comet.sku, &meteor))).await;
    scene.process.drain().await;
    scene
        .assert_repaired(&[
            ("sku", "the SKU is reserved for another product"),
            ("skuReservation", "the product does not have the reserved SKU"),
        ])
        .await;
    scene.assert_sku_is_taken("Comet").await;
    scene.assert_sku_is_taken("Meteor").await;
}

#[tokio::test]
async fn a_reservation_without_a_product_is_found_and_repaired() {
    let scene = Scene::new().await;
    assert_eq!(scene.dying_creation("Comet", CREATE_OPERATIONS - 1).await, None);
    scene.process.drain().await;
    scene.assert_repaired(&[("skuReservation", "there is no product with the reserved SKU")]).await;
    scene.assert_sku_is_free("Comet").await;
}

#[tokio::test]
async fn two_products_with_one_sku_stay_in_the_report() {
    let scene = Scene::new().await;
    let comet = scene.shop.create_product("Comet", scene.bikes, &[]).await.expect("a product");
    let meteor = scene.shop.create_product("Meteor", scene.parts, &[]).await.expect("a product");
    let (key, id) = (meteor.category_id.partition_key(), meteor.id.to_string());
    let twin = ProductItem { sku: comet.sku.to_lowercase(), ..meteor.clone() };
    let write = WriteOp::Upsert(NewItem::encode(id, &twin));
    scene.process.app.store.write(PRODUCT, &key, write, &Ledger::new()).await.expect("a write");
    scene.process.drain().await;
    let report = scene.process.app.verify(true, &ProgressSink::none()).await.expect("a verification");
    let problems: Vec<_> = report.drifts.iter().map(violation).collect();
    assert_eq!(problems, [("sku", "another product has the SKU")], "the other one's old reservation is gone");
}
