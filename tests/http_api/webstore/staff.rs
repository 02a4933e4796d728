//! Staff: rights belong to users and not to names, and no fault of the store takes a right away unseen.

use serde_json::json;

use super::shop::{open, open_failing, refused, sign_up_customer, staff_member};
use crate::api::server::PASSWORD;
use crate::support::failing_reads::ReadFaults;

const RANKING: &str = "{ topCustomersAcrossPartitions(first: 2) { emailAddress } }";

#[tokio::test]
async fn no_stranger_gets_a_staff_name_or_its_rights() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let eve = shop.sign_up("eve").await;
    sign_up_customer(&shop, "eva@example.com").await;
    let away = refused(&ada, "updateUser", json!({ "username": "adalovelace" })).await;
    assert_eq!(away.of(), ("FORBIDDEN", Some("username")));
    for name in ["ada", "boss"] {
        let made = json!({ "username": name, "password": PASSWORD });
        let made = refused(&shop.anonymous(), "createUser", made).await;
        assert_eq!(made.of(), ("CONFLICT", Some("username")), "{name}");
        let renamed = refused(&eve, "updateUser", json!({ "username": name })).await;
        assert_eq!(renamed.of(), ("CONFLICT", Some("username")), "{name}");
    }
    assert_eq!(eve.refused(RANKING, json!({})).await.of(), ("FORBIDDEN", None));
    assert!(ada.data(RANKING, json!({})).await["topCustomersAcrossPartitions"].is_array());
}

#[tokio::test]
async fn a_read_that_fails_hides_no_customer_from_staff() {
    let faults = ReadFaults::default();
    let shop = open_failing(&faults).await;
    let ada = staff_member(&shop).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let query = "query($id: ID!) { customer(id: $id) { emailAddress } node(id: $id) { id } }";
    let whole = ada.data(query, json!({ "id": eva.id })).await;
    let mut failed = 0;
    for reads in 0..6 {
        faults.fail_after(reads);
        let answer = ada.ask(query, json!({ "id": eva.id })).await;
        let has_failed = faults.stop();
        assert_eq!(answer.body.get("errors").is_some(), has_failed, "{reads}: {answer:?}");
        assert!(has_failed || answer.body["data"] == whole, "{reads}: {answer:?}");
        failed += u32::from(has_failed);
    }
    assert!(failed > 0);
}
