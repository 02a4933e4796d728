//! Orders: frozen values, exact counts under concurrency, repeats, cancellation, deletion and shipping.

use futures::future::join_all;
use onehop::graphql::GlobalId;
use onehop::webstore::containers::{CUSTOMER as CUSTOMERS, RANKING, RANKING_PARTITION};
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use super::shop::{
    assert_one_hop, category, counted, mutate, open, product, refused, run, sign_up_customer, staff_member,
    tag,
};
use crate::api::caller::{Caller, id_of};
use crate::api::server::Server;

const ORDER: &str = "salesOrder { id orderDate shipDate total { amount currencyCode } \
    lines { sku name quantity price { amount } total { amount } } } customer { id salesOrderCount }";

fn lines(products: &[(&Value, i64)]) -> Value {
    let line =
        |(product, quantity): &(&Value, i64)| json!({ "productId": product["id"], "quantity": quantity });
    json!({ "lines": products.iter().map(line).collect::<Vec<_>>() })
}

async fn order(customer: &Caller<'_>, input: Value) -> Value {
    mutate(customer, "createSalesOrder", input, ORDER).await
}

async fn count(customer: &Caller<'_>) -> u64 {
    let query = "{ viewerCustomer { salesOrderCount salesOrders(first: 100) { nodes { id } } } }";
    let customer = customer.data(query, json!({})).await["viewerCustomer"].take();
    let orders = customer["salesOrders"]["nodes"].as_array().unwrap().len();
    let count = customer["salesOrderCount"].as_u64().unwrap();
    assert_eq!(u64::try_from(orders).unwrap(), count);
    count
}

/// A customer with two orders, beside a member of staff and another customer.
struct TwoOrders<'a> {
    ada: Caller<'a>,
    eva: Caller<'a>,
    max: Caller<'a>,
    /// The ids of the orders, both of Eva.
    one: Value,
    other: Value,
}

async fn two_orders(shop: &Server) -> TwoOrders<'_> {
    let ada = staff_member(shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(shop, "eva@example.com").await;
    let max = sign_up_customer(shop, "max@example.com").await;
    let [one, other] = [1, 2].map(|quantity| order(&eva, lines(&[(&bell, quantity)])));
    let (one, other) = (one.await["salesOrder"]["id"].clone(), other.await["salesOrder"]["id"].clone());
    TwoOrders { ada, eva, max, one, other }
}

#[tokio::test]
async fn an_order_freezes_names_and_prices() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let comet = product(&ada, "Comet", "1250.55", &bikes, &[]).await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let placed = order(&eva, lines(&[(&comet, 2), (&bell, 3), (&bell, 1)])).await;
    let sales_order = &placed["salesOrder"];
    assert_eq!(sales_order["total"], json!({ "amount": "2521.06", "currencyCode": "EUR" }));
    assert_eq!(
        sales_order["lines"][1],
        json!({
            "sku": "SKU-Bell", "name": "Bell", "quantity": 3, "price": { "amount": "4.99" }, "total": { "amount": "14.97" }
        })
    );
    assert_eq!(placed["customer"]["salesOrderCount"], 1);

    let dearer =
        json!({ "productId": bell["id"], "name": "Horn", "price": { "amount": "9", "currencyCode": "EUR" } });
    mutate(&ada, "updateProduct", dearer, "product { id }").await;
    let query = "query($id: ID!) { node(id: $id) { ... on SalesOrder { lines { name price { amount } } customer { id } } } }";
    let read = eva.data(query, json!({ "id": sales_order["id"] })).await["node"].take();
    assert_eq!(read["lines"][1], json!({ "name": "Bell", "price": { "amount": "4.99" } }));
    assert_eq!(read["customer"]["id"], json!(eva.id));
}

#[tokio::test]
async fn a_line_names_the_product_as_long_as_it_is_sold() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let comet = product(&ada, "Comet", "9.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let placed = order(&eva, lines(&[(&bell, 1), (&comet, 1)])).await;
    mutate(&ada, "updateProduct", json!({ "productId": bell["id"], "name": "Horn" }), "product { id }").await;
    mutate(&ada, "deleteProduct", json!({ "productId": comet["id"] }), "deletedProductId").await;
    let query =
        "query($id: ID!) { node(id: $id) { ... on SalesOrder { lines { name product { id name } } } } }";
    let read = eva.data(query, json!({ "id": placed["salesOrder"]["id"] })).await["node"].take();
    let expected = json!([
        { "name": "Bell", "product": { "id": bell["id"], "name": "Horn" } },
        { "name": "Comet", "product": null },
    ]);
    assert_eq!(read["lines"], expected);
}

#[tokio::test]
async fn nobody_orders_a_product_that_is_sold_out() {
    const SOLD_OUT: &str = "{ products { nodes { name isSoldOut } } }";
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let bell = product(&ada, "Bell", "1", &bikes, &[&red]).await;
    let lamp = product(&ada, "Lamp", "2", &bikes, &[&red]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let mut earlier = lines(&[(&lamp, 1)]);
    earlier["idempotencyKey"] = json!("earlier");
    let ordered = order(&eva, earlier.clone()).await;

    let mark = async |is_sold_out: bool| {
        let input = json!({ "productId": lamp["id"], "isSoldOut": is_sold_out });
        let payload = "product { isSoldOut price { amount } }";
        let product = mutate(&ada, "updateProduct", input, payload).await["product"].take();
        assert_eq!(product, json!({ "isSoldOut": is_sold_out, "price": { "amount": "2.00" } }));
    };
    mark(true).await;
    let both = lines(&[(&bell, 1), (&lamp, 1)]);
    let refusal = refused(&eva, "createSalesOrder", both.clone()).await;
    assert_eq!(refusal.of(), ("CONFLICT", Some("lines")));
    assert_eq!(refusal.extensions["path"], json!(["lines", 1, "productId"]));
    assert_eq!(order(&eva, earlier).await, ordered, "a repeat of an order that was placed");
    assert_eq!(count(&eva).await, 1);
    // Lists have copies, which follow.
    shop.settle().await;
    for (of, id) in [("ProductCategory", &bikes), ("ProductTag", &red)] {
        let query = format!("query($id: ID!) {{ node(id: $id) {{ ... on {of} {SOLD_OUT} }} }}");
        let listed = ada.data(&query, json!({ "id": id })).await["node"]["products"]["nodes"].take();
        let expected = json!([{ "name": "Bell", "isSoldOut": false }, { "name": "Lamp", "isSoldOut": true }]);
        assert_eq!(listed, expected, "{of}");
    }

    mark(false).await;
    order(&eva, both).await;
    assert_eq!(count(&eva).await, 2);
}

#[tokio::test]
async fn orders_are_listed_newest_first_by_one_operation() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let mut ids = Vec::new();
    for quantity in 1..=3 {
        ids.push(id_of(&order(&eva, lines(&[(&bell, quantity)])).await["salesOrder"]));
    }
    ids.reverse();
    let query = "query($after: String) { viewerCustomer { salesOrders(first: 2, after: $after) {
        nodes { id total { amount } } pageInfo { endCursor hasNextPage } } } }";
    let (first, operations) = counted(&eva, query, json!({})).await;
    // The customer and the list, each of the same logical partition.
    assert_eq!(operations.len(), 2, "{operations:?}");
    assert!(operations.iter().all(|operation| operation["times"] == 1), "{operations:?}");
    let first = &first["viewerCustomer"]["salesOrders"];
    let second = eva.data(query, json!({ "after": first["pageInfo"]["endCursor"] })).await;
    let second = &second["viewerCustomer"]["salesOrders"];
    let listed: Vec<String> =
        [first, second].iter().flat_map(|page| page["nodes"].as_array().unwrap()).map(id_of).collect();
    assert_eq!(listed, ids);
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
}

#[tokio::test]
async fn a_storm_of_orders_and_deletions_leaves_an_exact_count() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let placed = join_all((0..30).map(|_| order(&eva, lines(&[(&bell, 1)])))).await;
    assert_eq!(count(&eva).await, 30);
    let ids: Vec<String> = placed.iter().map(|placed| id_of(&placed["salesOrder"])).collect();
    let delete =
        |id: &String| run(&eva, "deleteSalesOrder", json!({ "salesOrderId": id }), "deletedSalesOrderId");
    // Each of ten is deleted twice at once while others are placed.
    let deletions = join_all(ids[..10].iter().chain(&ids[..10]).map(delete));
    let more = join_all((0..5).map(|_| order(&eva, lines(&[(&bell, 2)]))));
    let (deletions, _) = tokio::join!(deletions, more);
    let deleted = deletions.iter().filter(|answer| answer.body.get("errors").is_none()).count();
    assert_eq!(deleted, 10);
    assert_eq!(count(&eva).await, 30 - 10 + 5);
}

#[tokio::test]
async fn a_repeat_with_an_idempotency_key_orders_once() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let mut input = lines(&[(&bell, 1)]);
    input["idempotencyKey"] = json!("k");
    let answers = join_all((0..8).map(|_| order(&eva, input.clone()))).await;
    assert!(answers.iter().all(|answer| answer["salesOrder"] == answers[0]["salesOrder"]));
    assert_eq!(count(&eva).await, 1);
    let mut other = lines(&[(&bell, 2)]);
    other["idempotencyKey"] = json!("k");
    assert_eq!(refused(&eva, "createSalesOrder", other).await.of(), ("CONFLICT", Some("idempotencyKey")));
    // The product may be gone by then.
    mutate(&ada, "deleteProduct", json!({ "productId": bell["id"] }), "deletedProductId").await;
    assert_eq!(order(&eva, input.clone()).await["salesOrder"], answers[0]["salesOrder"]);
    let id = answers[0]["salesOrder"]["id"].clone();
    mutate(&eva, "deleteSalesOrder", json!({ "salesOrderId": id }), "deletedSalesOrderId").await;
    assert_eq!(refused(&eva, "createSalesOrder", input).await.of(), ("NOT_FOUND", Some("idempotencyKey")));
}

#[tokio::test]
async fn an_order_keeps_the_address_of_its_delivery_until_it_is_deleted() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let address = json!({
        "addressLine1": "Meadow Lane 7", "addressLine2": null, "city": "Zurich", "state": null,
        "country": "Switzerland", "zipCode": "8001",
    });
    let mut input = lines(&[(&bell, 1)]);
    input["idempotencyKey"] = json!("k");
    input["shippingAddress"] = address.clone();
    let fields = "salesOrder { id shippingAddress { addressLine1 addressLine2 city state country zipCode } }";
    let placed = mutate(&eva, "createSalesOrder", input.clone(), fields).await["salesOrder"].take();
    assert_eq!(placed["shippingAddress"], address);
    let moved = json!({ "addresses": [] });
    mutate(&eva, "updateCustomer", moved, "customer { id }").await;
    assert_eq!(mutate(&eva, "createSalesOrder", input.clone(), fields).await["salesOrder"], placed);
    let id = json!({ "id": placed["id"] });
    let query = "query($id: ID!) { node(id: $id) { ... on SalesOrder { shippingAddress { city } } } }";
    for reader in [&eva, &ada] {
        let read = reader.data(query, id.clone()).await;
        assert_eq!(read["node"]["shippingAddress"]["city"], "Zurich");
    }
    let mut other = input.clone();
    other["shippingAddress"]["city"] = json!("Bern");
    assert_eq!(refused(&eva, "createSalesOrder", other).await.of(), ("CONFLICT", Some("idempotencyKey")));
    let mut wrong = lines(&[(&bell, 0)]);
    wrong["shippingAddress"] = address;
    wrong["shippingAddress"]["zipCode"] = json!("8".repeat(21));
    let wrong = refused(&eva, "createSalesOrder", wrong).await;
    let paths: Vec<_> =
        wrong.extensions["fields"].as_array().unwrap().iter().map(|field| field["path"].clone()).collect();
    assert_eq!(paths, [json!(["lines", 0, "quantity"]), json!(["shippingAddress", "zipCode"])]);

    let deleted = json!({ "salesOrderId": placed["id"] });
    mutate(&eva, "deleteSalesOrder", deleted, "deletedSalesOrderId").await;
    let Ok(GlobalId::SalesOrder(customer, order)) = GlobalId::decode(placed["id"].as_str().unwrap()) else {
        panic!("{placed} is an order");
    };
    let (key, order) = (customer.partition_key(), order.to_string());
    let rest = shop.app.store.read(CUSTOMERS, &key, &order, &Ledger::new()).await.unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&rest.body).contains("Meadow"), "nothing of the address is left");
}

#[tokio::test]
async fn an_order_is_cancelled_or_shipped_and_never_both() {
    let shop = open().await;
    let TwoOrders { ada, eva, max, one, other } = two_orders(&shop).await;
    let input = |id: &Value| json!({ "salesOrderId": id });
    for (stranger, mutation) in [(&max, "cancelSalesOrder"), (&eva, "shipSalesOrder")] {
        assert_eq!(refused(stranger, mutation, input(&one)).await.of(), ("FORBIDDEN", None));
    }
    assert_eq!(refused(&ada, "cancelSalesOrder", input(&one)).await.of(), ("UNAUTHENTICATED", None));

    let seen = "salesOrder { id shipDate cancelDate viewerCanCancel viewerCanShip }";
    let cancelled = mutate(&eva, "cancelSalesOrder", input(&one), seen).await;
    assert!(cancelled["salesOrder"]["cancelDate"].is_string(), "{cancelled}");
    assert_eq!(cancelled["salesOrder"]["viewerCanCancel"], false);
    let again = mutate(&eva, "cancelSalesOrder", input(&one), seen).await;
    assert_eq!(again, cancelled, "the first date stays");
    assert_eq!(refused(&ada, "shipSalesOrder", input(&one)).await.of(), ("CONFLICT", Some("salesOrderId")));
    assert_eq!(count(&eva).await, 2, "a cancelled order is one of the customer's orders");

    let shipped = mutate(&ada, "shipSalesOrder", input(&other), seen).await;
    assert_eq!(shipped["salesOrder"]["cancelDate"], Value::Null);
    assert_eq!(
        refused(&eva, "cancelSalesOrder", input(&other)).await.of(),
        ("CONFLICT", Some("salesOrderId"))
    );

    mutate(&eva, "deleteSalesOrder", input(&one), "deletedSalesOrderId").await;
    assert_eq!(
        refused(&eva, "cancelSalesOrder", input(&one)).await.of(),
        ("NOT_FOUND", Some("salesOrderId"))
    );
    assert_eq!(count(&eva).await, 1);
}

#[tokio::test]
async fn an_order_is_deleted_by_its_customer_until_it_is_shipped() {
    let shop = open().await;
    let TwoOrders { ada, eva, max, one, other } = two_orders(&shop).await;
    let input = |id: &Value| json!({ "salesOrderId": id });
    assert_eq!(refused(&max, "deleteSalesOrder", input(&one)).await.of(), ("FORBIDDEN", None));
    assert_eq!(refused(&eva, "shipSalesOrder", input(&one)).await.of(), ("FORBIDDEN", None));
    let seen = max.data("query($id: ID!) { node(id: $id) { id } }", json!({ "id": one })).await;
    assert_eq!(seen["node"], Value::Null);

    let shipped = mutate(&ada, "shipSalesOrder", input(&one), "salesOrder { id shipDate }").await;
    assert!(shipped["salesOrder"]["shipDate"].is_string());
    let again = mutate(&ada, "shipSalesOrder", input(&one), "salesOrder { id shipDate }").await;
    assert_eq!(again, shipped);
    assert_eq!(refused(&eva, "deleteSalesOrder", input(&one)).await.of(), ("CONFLICT", Some("salesOrderId")));
    let deleted =
        mutate(&eva, "deleteSalesOrder", input(&other), "deletedSalesOrderId customer { salesOrderCount }")
            .await;
    assert_eq!(
        (&deleted["deletedSalesOrderId"], &deleted["customer"]["salesOrderCount"]),
        (&other, &json!(1))
    );
    assert_eq!(
        refused(&eva, "deleteSalesOrder", input(&other)).await.of(),
        ("NOT_FOUND", Some("salesOrderId"))
    );
    assert_eq!(
        refused(&ada, "shipSalesOrder", input(&other)).await.of(),
        ("NOT_FOUND", Some("salesOrderId"))
    );
    assert_eq!(count(&eva).await, 1);
}

#[tokio::test]
async fn what_is_no_order_is_refused() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let yen = json!({
        "sku": "Y", "name": "Yen", "description": "In yen.", "categoryId": bikes, "tagIds": [],
        "price": { "amount": "500", "currencyCode": "JPY" },
    });
    let yen = mutate(&ada, "createProduct", yen, "product { id }").await["product"].take();
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    for (input, field) in [
        (lines(&[]), "lines"),
        (lines(&[(&bell, 1); 101]), "lines"),
        (lines(&[(&bell, 0)]), "quantity"),
        (lines(&[(&bell, 1001)]), "quantity"),
        (lines(&[(&bell, 1), (&yen, 1)]), "lines"),
        (json!({ "lines": [{ "productId": bikes, "quantity": 1 }] }), "productId"),
    ] {
        let refused = refused(&eva, "createSalesOrder", input).await;
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some(field)), "{}", refused.message);
    }
    mutate(&ada, "deleteProduct", json!({ "productId": bell["id"] }), "deletedProductId").await;
    assert_eq!(
        refused(&eva, "createSalesOrder", lines(&[(&bell, 1)])).await.of(),
        ("NOT_FOUND", Some("lines"))
    );
    assert_eq!(count(&eva).await, 0);
}

#[tokio::test]
async fn the_top_customers_are_for_staff_and_by_orders() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let mut expected = Vec::new();
    for (address, orders) in [("a@example.com", 1), ("b@example.com", 11), ("c@example.com", 2)] {
        let customer = sign_up_customer(&shop, address).await;
        for _ in 0..orders {
            order(&customer, lines(&[(&bell, 1)])).await;
        }
        expected.push((orders, customer.id.clone()));
    }
    expected.sort_by_key(|(orders, _)| std::cmp::Reverse(*orders));
    let across = "{ topCustomersAcrossPartitions { id salesOrderCount } }";
    let ranked = "{ topCustomers { nodes { id salesOrderCount emailAddress } } }";
    let found = ada.data(across, json!({})).await["topCustomersAcrossPartitions"].take();
    let found: Vec<(i64, String)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|customer| (customer["salesOrderCount"].as_i64().unwrap(), id_of(customer)))
        .collect();
    assert_eq!(found, expected);
    // A short copy, as the ranking's rule writes it.
    let onehop::graphql::GlobalId::Customer(id) = onehop::graphql::GlobalId::decode(&expected[0].1).unwrap()
    else {
        panic!("no customer")
    };
    let stored = shop.app.store.read(CUSTOMERS, &id.partition_key(), &id.to_string(), &Ledger::new()).await;
    let mut copy: Value = stored.unwrap().unwrap().decode().unwrap();
    for field in ["addresses", "password"] {
        copy.as_object_mut().unwrap().remove(field);
    }
    let write = WriteOp::Upsert(NewItem::encode(id.to_string(), &copy));
    let key = PartitionKey::from(RANKING_PARTITION);
    shop.app.store.write(RANKING, &key, write, &Ledger::new()).await.unwrap();
    let (data, operations) = counted(&ada, ranked, json!({})).await;
    assert_one_hop(&operations);
    assert_eq!(data["topCustomers"]["nodes"][0]["salesOrderCount"], 11);
    assert_eq!(data["topCustomers"]["nodes"][0]["emailAddress"], "b@example.com");

    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let bob = shop.sign_up("bob").await;
    for query in [across, ranked] {
        assert_eq!(eva.refused(query, json!({})).await.of(), ("FORBIDDEN", None));
        assert_eq!(bob.refused(query, json!({})).await.of(), ("FORBIDDEN", None));
        assert_eq!(shop.anonymous().refused(query, json!({})).await.of(), ("UNAUTHENTICATED", None));
    }
}

#[tokio::test]
async fn all_errors_of_an_orders_lines_have_their_paths() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let bell = product(&ada, "Bell", "4.99", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let wrong = json!({ "idempotencyKey": "", "lines": [
        { "productId": bell["id"], "quantity": 1 },
        { "productId": bell["id"], "quantity": 0 },
        { "productId": bikes, "quantity": 1_001 },
    ] });
    let refused_lines = refused(&eva, "createSalesOrder", wrong).await;
    assert_eq!(refused_lines.of(), ("BAD_USER_INPUT", Some("productId")));
    assert_eq!(refused_lines.extensions["path"], json!(["lines", 2, "productId"]));
    let fields = refused_lines.extensions["fields"].as_array().unwrap().clone();
    let paths: Vec<String> = fields.iter().map(|field| field["path"].to_string()).collect();
    let expected = [
        r#"["lines",2,"productId"]"#,
        r#"["idempotencyKey"]"#,
        r#"["lines",1,"quantity"]"#,
        r#"["lines",2,"quantity"]"#,
    ];
    assert_eq!(paths, expected);
    assert_eq!(fields[2]["message"], "quantity must be 1 to 1000, is 0");

    mutate(&ada, "deleteProduct", json!({ "productId": bell["id"] }), "deletedProductId").await;
    let horn = product(&ada, "Horn", "4.99", &bikes, &[]).await;
    let missing = refused(&eva, "createSalesOrder", lines(&[(&horn, 1), (&bell, 1)])).await;
    assert_eq!(missing.of(), ("NOT_FOUND", Some("lines")));
    assert_eq!(missing.extensions["path"], json!(["lines", 1, "productId"]));
}
