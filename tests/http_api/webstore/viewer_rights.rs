//! Rights of the viewer in the web store: staff change the catalogue and ship orders, customers change their
//! own data.

use serde_json::{Value, json};

use super::shop::{category, counted, mutate, open, product, refused, sign_up_customer, staff_member, tag};
use crate::api::caller::{Caller, id_of};

#[tokio::test]
async fn staff_know_that_they_are_staff() {
    let shop = open().await;
    let (ada, bob) = (staff_member(&shop).await, shop.sign_up("bob").await);
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    for (caller, expected) in [(&ada, true), (&bob, false), (&eva, false), (&shop.anonymous(), false)] {
        let data = caller.data("{ viewerIsStaff }", json!({})).await;
        assert_eq!(data, json!({ "viewerIsStaff": expected }), "{}", caller.id);
        let made = refused_code(caller, "createProductCategory", json!({ "name": "Bells" })).await;
        assert_eq!(made.is_none(), expected, "{made:?}");
    }
}

/// The code of the refusal of a mutation; `None` where it succeeds.
async fn refused_code(caller: &Caller<'_>, mutation: &str, input: Value) -> Option<String> {
    let answer = super::shop::run(caller, mutation, input, "__typename").await;
    answer.body.get("errors").map(|_| answer.refused().code)
}

#[tokio::test]
async fn the_catalogue_says_who_may_change_it() {
    let shop = open().await;
    let (ada, bob) = (staff_member(&shop).await, shop.sign_up("bob").await);
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let (bikes, brisk) = (category(&ada, "Bikes").await, tag(&ada, "brisk").await);
    let comet = product(&ada, "Comet", "12.50", &bikes, &[&brisk]).await;
    shop.settle().await;
    let query = "query($id: ID!) { product(id: $id) { viewerCanUpdate viewerCanDelete
        category { viewerCanUpdate } tags { viewerCanUpdate } } productCategories { viewerCanUpdate } }";
    for (caller, may) in [(&ada, true), (&bob, false), (&eva, false), (&shop.anonymous(), false)] {
        let (data, operations) = counted(caller, query, json!({ "id": comet["id"] })).await;
        let right = json!({ "viewerCanUpdate": may });
        let expected = json!({
            "product": { "viewerCanUpdate": may, "viewerCanDelete": may, "category": right, "tags": [right] },
            "productCategories": [right],
        });
        assert_eq!(data, expected, "{}", caller.id);
        assert_eq!(operations.len(), 2, "one for each root: {operations:?}");
    }
}

#[tokio::test]
async fn an_order_says_who_may_cancel_delete_and_ship_it() {
    let shop = open().await;
    let (ada, bob) = (staff_member(&shop).await, shop.sign_up("bob").await);
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let bikes = category(&ada, "Bikes").await;
    let comet = product(&ada, "Comet", "12.50", &bikes, &[]).await;
    let lines = json!({ "lines": [{ "productId": comet["id"], "quantity": 1 }] });
    let placed = mutate(&eva, "createSalesOrder", lines, "salesOrder { id }").await;
    let order = id_of(&placed["salesOrder"]);
    let query =
        "query($id: ID!) { node(id: $id) { ... on SalesOrder { viewerCanDelete viewerCanCancel viewerCanShip
        customer { viewerCanUpdate } } } }";
    let rights = async |caller: &Caller<'_>| {
        let node = caller.data(query, json!({ "id": order })).await["node"].take();
        (
            node["viewerCanDelete"].clone(),
            node["viewerCanCancel"].clone(),
            node["viewerCanShip"].clone(),
            node["customer"]["viewerCanUpdate"].clone(),
        )
    };
    assert_eq!(rights(&eva).await, (json!(true), json!(true), json!(false), json!(true)));
    assert_eq!(rights(&ada).await, (json!(false), json!(false), json!(true), json!(false)));
    assert_eq!(
        rights(&bob).await,
        (Value::Null, Value::Null, Value::Null, Value::Null),
        "bob does not see it"
    );
    mutate(&ada, "shipSalesOrder", json!({ "salesOrderId": order }), "salesOrder { id }").await;
    assert_eq!(rights(&eva).await, (json!(false), json!(false), json!(false), json!(true)));
    assert_eq!(rights(&ada).await, (json!(false), json!(false), json!(false), json!(false)));
    let again = refused(&eva, "deleteSalesOrder", json!({ "salesOrderId": order })).await;
    assert_eq!(again.code, "CONFLICT");
}
