//! Verification of the web store: reservations of e-mail addresses, and counts with the key that ranks their
//! customers, each damaged behind the back of commands and projections.

use onehop::app::work::ProgressSink;
use onehop::domain::containers::ACCOUNTS;
use onehop::webstore::containers::CUSTOMER;
use onehop::webstore::ids::CustomerId;
use onehop::webstore::items::CustomerItem;
use onehop_read_models::verify::{Drift, VerificationReport};
use onehop_store::{ContainerName, Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::shop::{Shop, key_of};
use crate::process::TestProcess;

const ABSENT: CustomerId = CustomerId(Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000));

/// Two customers, one of them with two orders.
struct Scene {
    process: TestProcess,
    shop: Shop,
    eva: CustomerItem,
    bob: CustomerItem,
}

impl Scene {
    async fn new() -> Self {
        let process = TestProcess::new().await;
        let shop = Shop::new(&process.app.webstore_commands);
        let eva = shop.sign_up("eva@example.com", None).await.expect("a sign-up");
        let bob = shop.sign_up("bob@example.com", None).await.expect("a sign-up");
        let bikes = shop.create_category("Bikes").await.expect("a category");
        let comet = shop.create_product("Comet", bikes, &[]).await.expect("a product");
        for _ in 0..2 {
            shop.order(eva.id, &[key_of(&comet)], None).await.expect("an order");
        }
        process.assert_clean().await;
        Self { process, shop, eva, bob }
    }

    async fn body(&self, container: ContainerName, key: &PartitionKey, id: &str) -> Value {
        let item = self.process.app.store.read(container, key, id, &Ledger::new()).await.expect("a read");
        item.expect("an item").decode().expect("JSON")
    }

    async fn put(&self, container: ContainerName, key: &PartitionKey, body: &Value) {
        let id = body["id"].as_str().expect("an id");
        let write = WriteOp::Upsert(NewItem::encode(id, body));
        self.process.app.store.write(container, key, write, &Ledger::new()).await.expect("a write");
    }

    /// Changes a field of a customer as it is stored.
    async fn damage_customer(&self, customer: CustomerId, fields: &[(&str, Value)]) {
        let key = customer.partition_key();
        let mut body = self.body(CUSTOMER, &key, &customer.to_string()).await;
        fields.iter().for_each(|(field, value)| body[field] = value.clone());
        self.put(CUSTOMER, &key, &body).await;
    }

    async fn verify(&self, repair: bool) -> VerificationReport {
        self.process.app.verify(repair, &ProgressSink::none()).await.expect("a verification")
    }

    /// Asserts that these violations of an invariant, and nothing else, are found and then repaired.
    async fn assert_repaired(&self, expected: &[(&str, &str)]) {
        let found = self.verify(false).await.drifts;
        let found: Vec<_> = found.iter().map(violation).collect();
        assert_eq!(found, expected);
        let report = self.verify(true).await;
        assert_eq!(report.drifts, []);
        assert!(report.repaired >= 1);
        self.process.assert_clean().await;
    }

    /// Asserts that the address of a customer is reserved for that customer.
    async fn assert_reserved(&self, customer: &CustomerItem) {
        let again = self.shop.sign_up(&customer.email_address, None).await;
        assert!(again.is_err(), "{} is free", customer.email_address);
        let signed_in = self.shop.sign_in(&customer.email_address).await.expect("a sign-in");
        assert_eq!(signed_in.id, customer.id);
    }
}

fn violation(drift: &Drift) -> (&str, &str) {
    match drift {
        Drift::Invariant { invariant, problem, .. } => (invariant, problem),
        drift => panic!("another drift: {drift:?}"),
    }
}

fn reservation_id(address: &str) -> String {
    format!("email:{:x}", <sha2::Sha256 as sha2::Digest>::digest(address))
}

#[tokio::test]
async fn a_customer_without_a_reservation_is_found_and_repaired() {
    let scene = Scene::new().await;
    let id = reservation_id(&scene.eva.email_address);
    let lost = WriteOp::Delete { id: id.clone(), if_match: None };
    let store = &scene.process.app.store;
    store.write(ACCOUNTS, &PartitionKey::from(id.as_str()), lost, &Ledger::new()).await.expect("a delete");
    scene.assert_repaired(&[("emailAddress", "the e-mail address is not reserved")]).await;
    scene.assert_reserved(&scene.eva).await;
}

#[tokio::test]
async fn a_reservation_without_a_customer_is_found_and_repaired() {
    let scene = Scene::new().await;
    let id = reservation_id("carl@example.com");
    let left = json!({ "id": id, "type": "emailAddress", "customerId": ABSENT });
    scene.put(ACCOUNTS, &PartitionKey::from(id.as_str()), &left).await;
    scene
        .assert_repaired(&[("emailReservation", "there is no customer with the reserved e-mail address")])
        .await;
    let carl = scene.shop.sign_up("carl@example.com", None).await.expect("a sign-up");
    scene.assert_reserved(&carl).await;
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_reservation_for_another_customer_is_found_and_repaired() {
    let scene = Scene::new().await;
    let id = reservation_id(&scene.eva.email_address);
    let key = PartitionKey::from(id.as_str());
    let mut reservation = scene.body(ACCOUNTS, &key, &id).await;
    reservation["customerId"] = json!(scene.bob.id);
    scene.put(ACCOUNTS, &key, &reservation).await;
    scene
        .assert_repaired(&[
            ("emailAddress", "the e-mail address is reserved for another customer"),
            ("emailReservation", "the customer has another e-mail address"),
        ])
        .await;
    scene.assert_reserved(&scene.eva).await;
    scene.assert_reserved(&scene.bob).await;
}

#[tokio::test]
async fn two_customers_with_one_address_stay_in_the_report() {
    let scene = Scene::new().await;
    let mut twin = scene.body(CUSTOMER, &scene.bob.id.partition_key(), &scene.bob.id.to_string()).await;
    (twin["id"], twin["customerId"]) = (json!(ABSENT), json!(ABSENT));
    twin["emailAddress"] = json!("EVA@example.com");
    scene.put(CUSTOMER, &ABSENT.partition_key(), &twin).await;
    scene.damage_customer(scene.bob.id, &[("emailAddress", json!("no address"))]).await;
    for repair in [false, true] {
        let report = scene.verify(repair).await;
        let mut problems: Vec<_> = report.drifts.iter().map(violation).collect();
        problems.sort_unstable();
        let expected = [
            ("emailAddress", "another customer has the e-mail address"),
            ("emailAddress", "the e-mail address does not keep the rules"),
        ];
        assert_eq!((problems.as_slice(), report.repaired), (expected.as_slice(), 0));
    }
    scene.assert_reserved(&scene.eva).await;
}

/// Asserts that a damaged count or sort key is found under the name of the field, and that both are right
/// after the repair.
async fn assert_count_is_repaired(damage: &[(&str, Value)], field: &str) {
    let scene = Scene::new().await;
    scene.damage_customer(scene.eva.id, damage).await;
    scene.process.drain().await;
    let found = scene.verify(false).await.drifts;
    let is_it = |drift: &Drift| matches!(drift, Drift::Count { field: of, counted: 2, .. } if of == field);
    assert!(found.iter().any(is_it), "{damage:?}: {found:?}");
    assert_eq!(scene.verify(true).await.drifts, []);
    let reads = &scene.process.app.webstore_reads;
    let page = onehop::domain::page::PageRequest::new(10, None).expect("a page request");
    let ranked = reads.top_customers(&page, &Ledger::new()).await.expect("a page").items;
    let across = reads.top_customers_across_partitions(&page, &Ledger::new()).await.expect("an answer");
    let ranks = |customers: &[onehop::webstore::reads::CustomerView]| -> Vec<_> {
        customers.iter().map(|of| (of.id, of.sales_order_count, of.sort_key.clone())).collect()
    };
    let expected = [(scene.eva.id, 2, "0000000002".to_owned()), (scene.bob.id, 0, "0000000000".to_owned())];
    assert_eq!((ranks(&ranked), ranks(&across)), (expected.to_vec(), expected.to_vec()));
    scene.process.assert_clean().await;
}

#[tokio::test]
async fn a_repaired_count_takes_its_sort_key_along() {
    let damage = [("salesOrderCount", json!(9)), ("sortKey", json!("0000000009"))];
    assert_count_is_repaired(&damage, "salesOrderCount").await;
}

#[tokio::test]
async fn a_stale_sort_key_is_found_and_repaired() {
    for stale in [json!("0000000007"), json!("2")] {
        assert_count_is_repaired(&[("sortKey", stale)], "sortKey").await;
    }
}
