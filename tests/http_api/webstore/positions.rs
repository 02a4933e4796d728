//! Reading one's own writes in the web store: also a command that wrote nothing says a position of its
//! domain.

use std::time::Duration;

use serde_json::{Value, json};

use super::shop::{category, open_with, product, run, sign_up_customer, staff_member};
use crate::api::caller::Caller;
use crate::api::positions::waiting;

/// The position after a mutation, and its payload.
async fn write(caller: &Caller<'_>, mutation: &str, input: &Value) -> String {
    let answer = run(caller, mutation, input.clone(), "__typename").await;
    assert!(answer.body.get("errors").is_none(), "{answer:?}");
    answer.body["extensions"]["position"].as_str().expect("a position").to_owned()
}

/// Whether the read models have reached a position, as a query that does not wait finds it.
async fn is_reached(caller: &Caller<'_>, position: &str) -> Value {
    let query = "{ productCategories { name } }";
    let mut answer = caller.send(json!({ "query": query, "extensions": { "position": position } })).await;
    answer.body["extensions"]["reached"].take()
}

#[tokio::test]
async fn a_repeated_command_has_a_position_of_its_domain() {
    let shop = open_with(waiting(Duration::ZERO)).await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let comet = product(&ada, "Comet", "1", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    shop.settle().await;
    let order = json!({ "lines": [{ "productId": comet["id"], "quantity": 1 }], "idempotencyKey": "once" });
    let rename = json!({ "productCategoryId": bikes, "name": "Cycles" });
    for (caller, mutation, input) in
        [(&eva, "createSalesOrder", order), (&ada, "updateProductCategory", rename)]
    {
        write(caller, mutation, &input).await;
        let repeated = write(caller, mutation, &input).await;
        assert_eq!(is_reached(caller, &repeated).await, false, "{mutation}");
        shop.settle().await;
        if shop.has_end_at_hand() {
            assert_eq!(is_reached(caller, &repeated).await, true, "{mutation}");
        }
    }
}
