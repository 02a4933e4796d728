//! Subscriptions of the web store: products and orders as they change.

use onehop_testing::websocket::WebSocketClient;
use serde_json::{Value, json};

use super::shop::{category, mutate, open, product, refused, sign_up_customer, staff_member};
use crate::api::caller::{Caller, id_of};
use crate::api::server::Server;

const PRODUCT: &str = "subscription($id: ID!) { productChanged(id: $id) { id name isSoldOut price { amount } category { name } } }";
const ORDER: &str =
    "subscription($id: ID!) { salesOrderChanged(id: $id) { id shipDate cancelDate viewerCanCancel } }";

/// A socket that asks for one subscription.
async fn asking(shop: &Server, caller: Option<&Caller<'_>>, (query, id): (&str, &str)) -> WebSocketClient {
    let payload =
        caller.map_or(json!({}), |caller| json!({ "authorization": format!("Bearer {}", caller.token()) }));
    let mut socket = WebSocketClient::open_with(shop.address(), payload).await;
    socket.request("1", json!({ "query": query, "variables": { "id": id } })).await;
    socket
}

/// A socket with one subscription, which has begun.
async fn subscribed(shop: &Server, caller: Option<&Caller<'_>>, asked: (&str, &str)) -> WebSocketClient {
    let mut socket = asking(shop, caller, asked).await;
    socket.settle().await;
    socket
}

/// The field of the next event.
async fn event(socket: &mut WebSocketClient, field: &str) -> Value {
    let mut result = socket.hear_of("next", "1").await;
    assert!(result.get("errors").is_none(), "{result}");
    result["data"][field].take()
}

async fn error_code(socket: &mut WebSocketClient) -> Value {
    socket.hear_of("error", "1").await[0]["extensions"]["code"].take()
}

/// A new order of one product, by its id.
async fn order(customer: &Caller<'_>, product: &Value) -> String {
    let input = json!({ "lines": [{ "productId": product["id"], "quantity": 1 }] });
    id_of(&mutate(customer, "createSalesOrder", input, "salesOrder { id }").await["salesOrder"])
}

#[tokio::test]
async fn a_product_is_announced_until_it_is_deleted() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let (bell, lamp) =
        (product(&ada, "Bell", "9.50", &bikes, &[]).await, product(&ada, "Lamp", "20", &bikes, &[]).await);
    let mut socket = subscribed(&shop, None, (PRODUCT, bell["id"].as_str().unwrap())).await;
    let change = |product: &Value, name: &str| json!({ "productId": product["id"], "name": name });
    mutate(&ada, "updateProduct", change(&lamp, "Head lamp"), "product { id }").await;
    let sold_out = json!({ "productId": bell["id"], "isSoldOut": true });
    mutate(&ada, "updateProduct", sold_out, "product { id }").await;
    // The other product of its logical partition is no event.
    let shown = event(&mut socket, "productChanged").await;
    let expected = json!({ "id": bell["id"], "name": "Bell", "isSoldOut": true, "price": { "amount": "9.50" },
        "category": { "name": "Bikes" } });
    assert_eq!(shown, expected);
    let rename = json!({ "productCategoryId": bikes, "name": "Bicycles" });
    mutate(&ada, "updateProductCategory", rename, "productCategory { id }").await;
    shop.settle().await;
    assert_eq!(event(&mut socket, "productChanged").await["category"]["name"], "Bicycles");
    mutate(&ada, "deleteProduct", json!({ "productId": bell["id"] }), "deletedProductId").await;
    assert_eq!(socket.hear_of("complete", "1").await, Value::Null);
    let mut late = asking(&shop, None, (PRODUCT, bell["id"].as_str().unwrap())).await;
    assert_eq!(error_code(&mut late).await, "NOT_FOUND");
    let mut wrong = asking(&shop, None, (PRODUCT, &bikes)).await;
    assert_eq!(error_code(&mut wrong).await, "BAD_USER_INPUT");
}

#[tokio::test]
async fn an_order_is_announced_to_its_customer_and_to_staff_alone() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "9.50", &bikes, &[]).await;
    let (eva, max) =
        (sign_up_customer(&shop, "eva@example.com").await, sign_up_customer(&shop, "max@example.com").await);
    let (first, second) = (order(&eva, &bell).await, order(&eva, &bell).await);
    // The same document in the same moment: callers share no execution of it.
    let mut own = subscribed(&shop, Some(&eva), (ORDER, &first)).await;
    let mut of_staff = subscribed(&shop, Some(&ada), (ORDER, &first)).await;
    for stranger in [None, Some(&max)] {
        let mut socket = asking(&shop, stranger, (ORDER, &first)).await;
        assert_eq!(error_code(&mut socket).await, "NOT_FOUND");
    }
    let ship = |id: &str| json!({ "salesOrderId": id });
    mutate(&ada, "shipSalesOrder", ship(&second), "salesOrder { id }").await;
    mutate(&ada, "shipSalesOrder", ship(&first), "salesOrder { id }").await;
    for socket in [&mut own, &mut of_staff] {
        let shown = event(socket, "salesOrderChanged").await;
        assert_eq!((&shown["id"], &shown["viewerCanCancel"]), (&json!(first), &json!(false)));
        assert!(shown["shipDate"].is_string() && shown["cancelDate"].is_null(), "{shown}");
    }
    assert_eq!(refused(&eva, "cancelSalesOrder", ship(&first)).await.of().0, "CONFLICT");
}
