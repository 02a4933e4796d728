//! Quotas: the charge of the web store's commands is taken from their caller's, staff or customer.

use onehop::api::ApiOptions;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::json;

use super::shop::{category, open_with, product, run, sign_up_customer, staff_member};
use crate::api::budgets::left;

#[tokio::test]
async fn commands_are_charged_to_their_caller() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1_000, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let shop = open_with(ApiOptions { limits, ..ApiOptions::default() }).await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let comet = product(&ada, "Comet", "1", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let order = json!({ "lines": [{ "productId": comet["id"], "quantity": 1 }] });
    let rename = json!({ "productCategoryId": bikes, "name": "Cycles" });
    for (caller, mutation, input) in
        [(&eva, "createSalesOrder", order), (&ada, "updateProductCategory", rename)]
    {
        let before = left(&caller.ask("{ __typename }", json!({})).await);
        let answer = run(caller, mutation, input, "__typename").await;
        let charged = answer.body["extensions"]["requestCharge"].as_f64().unwrap();
        assert!(charged > 4.0, "{mutation}: {charged}");
        // Told in whole units; meanwhile the clock has gone on by milliseconds.
        assert!((before - charged - left(&answer)).abs() < 2.0, "{mutation}: {before} {charged} {answer:?}");
    }
}
