//! The web store's read models: names that travel, products by tag, the ranking, and the findings of
//! verification.

use onehop::app::work::ProgressSink;
use onehop::graphql::GlobalId;
use onehop::webstore::containers::{CUSTOMER, PRODUCT, PRODUCT_BY_TAG, RANKING, RANKING_PARTITION};
use onehop_read_models::verify::Drift;
use onehop_store::{ContainerName, Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use super::shop::{
    assert_one_hop, category, counted, mutate, open, product, product_input, sign_up_customer, staff_member,
    tag,
};
use crate::api::caller::{Caller, id_of};
use crate::api::server::Server;

const OF_TAG: &str = "query($id: ID!) { node(id: $id) { ... on ProductTag {
    products(first: 50) { nodes { name category { name } tags { name } } } } } }";

/// The products on a tag's page: name, category, tags.
async fn of_tag(shop: &Server, tag: &str) -> Value {
    shop.settle().await;
    shop.anonymous().data(OF_TAG, json!({ "id": tag })).await["node"]["products"]["nodes"].take()
}

async fn rename(staff: &Caller<'_>, what: &str, id: &str, name: &str) {
    let field = format!("{}{}Id", what[..1].to_lowercase(), &what[1..]);
    let input = json!({ field: id, "name": name });
    mutate(staff, &format!("update{what}"), input, "__typename").await;
}

/// Waits for the read models and asserts that both domains verify.
async fn assert_clean(shop: &Server) {
    shop.settle().await;
    let report = shop.app.verify(false, &ProgressSink::none()).await.unwrap();
    assert_eq!((report.drifts, report.unreadable), (vec![], vec![]));
}

#[tokio::test]
async fn a_renamed_category_and_tag_reach_every_product_and_its_short_copies() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, parts) = (category(&ada, "Bikes").await, category(&ada, "Parts").await);
    let (red, fast) = (tag(&ada, "red").await, tag(&ada, "fast").await);
    product(&ada, "Bell", "4.99", &parts, &[&red]).await;
    product(&ada, "Comet", "1250", &bikes, &[&red, &fast]).await;
    rename(&ada, "ProductCategory", &bikes, "Bicycles").await;
    rename(&ada, "ProductTag", &red, "crimson").await;
    let expected = json!([
        { "name": "Bell", "category": { "name": "Parts" }, "tags": [{ "name": "crimson" }] },
        { "name": "Comet", "category": { "name": "Bicycles" }, "tags": [{ "name": "crimson" }, { "name": "fast" }] },
    ]);
    assert_eq!(of_tag(&shop, &red).await, expected);
    let (_, operations) = counted(
        &ada,
        "query($id: ID!) { node(id: $id) { ... on ProductTag {
        products { nodes { name } } } } }",
        json!({ "id": red }),
    )
    .await;
    assert!(operations.len() <= 2, "{operations:?}");
    assert_clean(&shop).await;
}

#[tokio::test]
async fn tags_that_come_and_go_move_the_short_copies() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let (red, fast) = (tag(&ada, "red").await, tag(&ada, "fast").await);
    let comet = product(&ada, "Comet", "1250", &bikes, &[&red]).await;
    assert_eq!(of_tag(&shop, &red).await.as_array().unwrap().len(), 1);
    let change = json!({ "productId": comet["id"], "name": "Comet II", "tagIds": [fast] });
    mutate(&ada, "updateProduct", change, "__typename").await;
    assert_eq!(of_tag(&shop, &red).await, json!([]));
    assert_eq!(of_tag(&shop, &fast).await[0]["name"], "Comet II");
    assert_clean(&shop).await;
    mutate(&ada, "deleteProduct", json!({ "productId": comet["id"] }), "deletedProductId").await;
    assert_eq!(of_tag(&shop, &fast).await, json!([]));
    assert_clean(&shop).await;
}

#[tokio::test]
async fn a_tag_renamed_while_products_are_tagged_leaves_no_old_name() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let (red, fast) = (tag(&ada, "red").await, tag(&ada, "fast").await);
    let mut products = Vec::new();
    for number in 0..12 {
        products.push(product(&ada, &format!("P{number:02}"), "1", &bikes, &[&red]).await);
    }
    let tagging = async {
        for (number, of) in products.iter().enumerate() {
            let tags = if number % 3 == 0 { json!([fast]) } else { json!([fast, red]) };
            mutate(&ada, "updateProduct", json!({ "productId": of["id"], "tagIds": tags }), "__typename")
                .await;
        }
    };
    let renaming = async {
        for name in ["ruby", "rose", "scarlet"] {
            rename(&ada, "ProductTag", &red, name).await;
            rename(&ada, "ProductCategory", &bikes, name).await;
            shop.settle().await;
        }
    };
    tokio::join!(tagging, renaming);
    assert_eq!(of_tag(&shop, &red).await.as_array().unwrap().len(), 8);
    for of in of_tag(&shop, &fast).await.as_array().unwrap() {
        assert_eq!(of["category"]["name"], "scarlet");
        assert!(!of["tags"].to_string().contains("red") && !of["tags"].to_string().contains("rose"), "{of}");
    }
    assert_clean(&shop).await;
}

#[tokio::test]
async fn the_ranking_is_what_the_query_across_partitions_finds() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let parts = category(&ada, "Parts").await;
    let bell = product(&ada, "Bell", "4.99", &parts, &[]).await;
    let input = json!({ "lines": [{ "productId": bell["id"], "quantity": 1 }] });
    let mut last = Value::Null;
    for (number, orders) in [("a", 1), ("b", 4), ("c", 2)] {
        let customer = sign_up_customer(&shop, &format!("{number}@example.com")).await;
        for _ in 0..orders {
            let made = mutate(&customer, "createSalesOrder", input.clone(), "salesOrder { id }").await;
            last = made["salesOrder"]["id"].clone();
        }
        if number == "b" {
            shop.settle().await;
            for _ in 0..3 {
                let orders = "{ viewerCustomer { salesOrders { nodes { id } } } }";
                let order = customer.data(orders, json!({})).await["viewerCustomer"]["salesOrders"]["nodes"]
                    [0]["id"]
                    .take();
                mutate(
                    &customer,
                    "deleteSalesOrder",
                    json!({ "salesOrderId": order }),
                    "deletedSalesOrderId",
                )
                .await;
                shop.settle().await;
            }
        }
    }
    assert!(last.is_string());
    shop.settle().await;
    let query = "{ topCustomersAcrossPartitions { emailAddress salesOrderCount }
        topCustomers { nodes { emailAddress salesOrderCount } } }";
    let found = ada.data(query, json!({})).await;
    assert_eq!(found["topCustomers"]["nodes"], found["topCustomersAcrossPartitions"]);
    assert_eq!(
        found["topCustomers"]["nodes"][0],
        json!({ "emailAddress": "c@example.com", "salesOrderCount": 2 })
    );
    let (_, operations) = counted(&ada, "{ topCustomers { nodes { emailAddress } } }", json!({})).await;
    assert_one_hop(&operations);
    assert_clean(&shop).await;
}

#[tokio::test]
async fn each_kind_of_drift_is_found_and_repaired() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let comet = product(&ada, "Comet", "1250", &bikes, &[&red]).await;
    let customer = sign_up_customer(&shop, "eva@example.com").await;
    let input = json!({ "lines": [{ "productId": comet["id"], "quantity": 1 }] });
    mutate(&customer, "createSalesOrder", input, "__typename").await;
    assert_clean(&shop).await;
    let (
        Ok(GlobalId::Product(category_id, product_id)),
        Ok(GlobalId::ProductTag(tag_id)),
        Ok(GlobalId::Customer(customer_id)),
    ) = (GlobalId::decode(&id_of(&comet)), GlobalId::decode(&red), GlobalId::decode(&customer.id))
    else {
        panic!("other ids")
    };
    let ranking = PartitionKey::from(RANKING_PARTITION);
    let (product_id, customer_id_text) = (product_id.to_string(), customer_id.to_string());
    let damages: [(ContainerName, PartitionKey, &str, &str, Value); 4] = [
        (PRODUCT_BY_TAG, tag_id.partition_key(), &product_id, "name", json!("other")),
        (RANKING, ranking, &customer_id_text, "salesOrderCount", json!(7)),
        (CUSTOMER, customer_id.partition_key(), &customer_id_text, "salesOrderCount", json!(9)),
        (PRODUCT_BY_TAG, tag_id.partition_key(), &product_id, "version", json!(1_000)),
    ];
    for (container, key, id, field, value) in damages {
        let item = shop.app.store.read(container, &key, id, &Ledger::new()).await.unwrap().unwrap();
        let mut body: Value = item.decode().unwrap();
        body[field] = value;
        let write = WriteOp::Upsert(NewItem::encode(id, &body));
        shop.app.store.write(container, &key, write, &Ledger::new()).await.unwrap();
        shop.settle().await;
        let found = shop.app.verify(false, &ProgressSink::none()).await.unwrap().drifts;
        let is_it = |drift: &Drift| match drift {
            Drift::Count { container: of, .. } | Drift::Entry { container: of, .. } => {
                *of == container.as_str()
            }
            _ => false,
        };
        assert!(found.iter().any(is_it), "{container} {field}: {found:?}");
        let report = shop.app.verify(true, &ProgressSink::none()).await.unwrap();
        assert_eq!(report.drifts, [], "{container} {field}");
        assert!(report.repaired >= 1);
    }
    let lost = WriteOp::Delete { id: product_id.clone(), if_match: None };
    shop.app.store.write(PRODUCT_BY_TAG, &tag_id.partition_key(), lost, &Ledger::new()).await.unwrap();
    let report = shop.app.verify(true, &ProgressSink::none()).await.unwrap();
    assert_eq!((report.drifts.len(), report.repaired), (0, 1));
    let stored =
        shop.app.store.read(PRODUCT, &category_id.partition_key(), &product_id, &Ledger::new()).await;
    assert!(stored.unwrap().is_some());
    assert_clean(&shop).await;
}

#[tokio::test]
async fn a_rebuild_of_lost_lists_gives_the_same() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let input = product_input("Comet", "1250", &bikes, &[&red]);
    mutate(&ada, "createProduct", input, "product { id }").await;
    let before = of_tag(&shop, &red).await;
    let Ok(GlobalId::ProductTag(tag_id)) = GlobalId::decode(&red) else { panic!("{red}") };
    let key = tag_id.partition_key();
    let of_product = before[0]["name"].clone();
    assert_eq!(of_product, "Comet");
    let query = onehop_store::Query::Partition {
        container: PRODUCT_BY_TAG,
        partition_key: &key,
        item_type: "product",
        direction: onehop_store::Direction::OldestFirst,
        after: None,
        limit: 10,
        order_by: None,
    };
    let entries = shop.app.store.query(&query, &Ledger::new()).await.unwrap().items;
    for entry in entries.iter() {
        let body: Value = entry.decode().unwrap();
        let lost = WriteOp::Delete { id: body["id"].as_str().unwrap().to_owned(), if_match: None };
        shop.app.store.write(PRODUCT_BY_TAG, &key, lost, &Ledger::new()).await.unwrap();
    }
    assert_eq!(of_tag(&shop, &red).await, json!([]));
    shop.app.rebuild(Some("products-by-tag".to_owned()), &ProgressSink::none()).await.unwrap();
    assert_eq!(of_tag(&shop, &red).await, before);
    assert_clean(&shop).await;
}
