//! Categories, tags and products: what staff write, what everybody reads, what is refused.

use serde_json::{Value, json};

use super::shop::{
    PRODUCT, assert_one_hop, category, counted, mutate, open, product, product_input, refused, staff_member,
    tag,
};
use crate::api::caller::id_of;

#[tokio::test]
async fn a_product_has_the_names_of_its_category_and_tags() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red, fast) = (category(&ada, "Bikes").await, tag(&ada, "red").await, tag(&ada, "fast").await);
    let made = product(&ada, "Comet", "1250.5", &bikes, &[&red, &fast, &red]).await;
    assert_eq!(made["price"], json!({ "amount": "1250.50", "currencyCode": "EUR" }));
    assert_eq!(made["category"], json!({ "id": bikes, "name": "Bikes" }));
    assert_eq!(made["tags"], json!([{ "id": red, "name": "red" }, { "id": fast, "name": "fast" }]));

    let query = format!("query($id: ID!) {{ product(id: $id) {{ {PRODUCT} }} node(id: $id) {{ id }} }}");
    let read = shop.anonymous().data(&query, json!({ "id": made["id"] })).await;
    assert_eq!(read["product"], made);
    assert_eq!(read["node"]["id"], made["id"]);
}

#[tokio::test]
async fn lists_are_by_name_and_products_come_in_pages() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    for name in ["Parts", "Bikes", "Clothes"] {
        category(&ada, name).await;
    }
    tag(&ada, "red").await;
    let lists =
        shop.anonymous().data("{ productCategories { id name } productTags { name } }", json!({})).await;
    let names: Vec<&Value> =
        lists["productCategories"].as_array().unwrap().iter().map(|of| &of["name"]).collect();
    assert_eq!(names, ["Bikes", "Clothes", "Parts"]);
    assert_eq!(lists["productTags"], json!([{ "name": "red" }]));

    let bikes = id_of(&lists["productCategories"][0]);
    for name in ["Delta", "Alpha", "Charlie", "Bravo", "Echo"] {
        product(&ada, name, "1", &bikes, &[]).await;
    }
    let query = "query($id: ID!, $after: String) { node(id: $id) { ... on ProductCategory {
        products(first: 2, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } } } }";
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = shop.anonymous().data(query, json!({ "id": bikes, "after": after })).await;
        let page = &page["node"]["products"];
        found.extend(page["nodes"].as_array().unwrap().iter().map(|of| of["name"].clone()));
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(found, ["Alpha", "Bravo", "Charlie", "Delta", "Echo"]);
}

#[tokio::test]
async fn each_read_of_the_catalogue_is_one_operation() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let comet = product(&ada, "Comet", "1", &bikes, &[&red]).await;
    let asked = format!("query($id: ID!) {{ product(id: $id) {{ {PRODUCT} }} }}");
    for (query, id) in [
        ("{ productCategories { id name } }", &Value::Null),
        ("{ productTags { id name } }", &Value::Null),
        (asked.as_str(), &comet["id"]),
    ] {
        assert_one_hop(&counted(&shop.anonymous(), query, json!({ "id": id })).await.1);
    }
    // A category is behind a product without being read.
    let query = format!(
        "query($id: ID!) {{ product(id: $id) {{ category {{ name products {{ nodes {{ {PRODUCT} }} }} }} }} }}"
    );
    let (data, operations) = counted(&shop.anonymous(), &query, json!({ "id": comet["id"] })).await;
    assert_eq!(data["product"]["category"]["products"]["nodes"], json!([comet]));
    let kinds: Vec<&Value> = operations.iter().map(|operation| &operation["kind"]).collect();
    assert_eq!(kinds.len(), 2, "{operations:?}");
}

#[tokio::test]
async fn a_product_changes_as_its_fields_say() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red, new) = (category(&ada, "Bikes").await, tag(&ada, "red").await, tag(&ada, "new").await);
    let comet = product(&ada, "Comet", "1", &bikes, &[&red]).await;
    let payload = format!("product {{ {PRODUCT} }}");
    let input = json!({ "productId": comet["id"], "price": { "amount": "2.25", "currencyCode": "USD" } });
    let dearer = mutate(&ada, "updateProduct", input, &payload).await["product"].take();
    assert_eq!(dearer["price"], json!({ "amount": "2.25", "currencyCode": "USD" }));
    assert_eq!((&dearer["name"], &dearer["tags"]), (&comet["name"], &comet["tags"]));
    let input =
        json!({ "productId": comet["id"], "name": "Meteor", "description": "Faster.", "tagIds": [new] });
    let renamed = mutate(&ada, "updateProduct", input, &payload).await["product"].take();
    assert_eq!((&renamed["name"], &renamed["description"]), (&json!("Meteor"), &json!("Faster.")));
    assert_eq!(renamed["tags"], json!([{ "id": new, "name": "new" }]));
    assert_eq!(renamed["price"], dearer["price"]);

    let deleted =
        mutate(&ada, "deleteProduct", json!({ "productId": comet["id"] }), "deletedProductId").await;
    assert_eq!(deleted["deletedProductId"], comet["id"]);
    let gone = shop
        .anonymous()
        .data("query($id: ID!) { product(id: $id) { id } }", json!({ "id": comet["id"] }))
        .await;
    assert_eq!(gone["product"], Value::Null);
    for mutation in ["deleteProduct", "updateProduct"] {
        let refused = refused(&ada, mutation, json!({ "productId": comet["id"] })).await;
        assert_eq!(refused.of(), ("NOT_FOUND", Some("productId")), "{mutation}");
    }
}

#[tokio::test]
async fn categories_and_tags_take_another_name() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let input = json!({ "productCategoryId": bikes, "name": "Cycles" });
    let renamed = mutate(&ada, "updateProductCategory", input, "productCategory { id name }").await;
    assert_eq!(renamed["productCategory"], json!({ "id": bikes, "name": "Cycles" }));
    let input = json!({ "productTagId": red, "name": "crimson" });
    let renamed = mutate(&ada, "updateProductTag", input, "productTag { id name }").await;
    assert_eq!(renamed["productTag"], json!({ "id": red, "name": "crimson" }));
}

#[tokio::test]
async fn only_staff_write_the_catalogue() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bob = shop.sign_up("bob").await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let comet = product(&ada, "Comet", "1", &bikes, &[]).await;
    for (mutation, input) in [
        ("createProductCategory", json!({ "name": "x" })),
        ("updateProductCategory", json!({ "productCategoryId": bikes, "name": "x" })),
        ("createProductTag", json!({ "name": "x" })),
        ("updateProductTag", json!({ "productTagId": red, "name": "x" })),
        ("createProduct", product_input("x", "1", &bikes, &[])),
        ("updateProduct", json!({ "productId": comet["id"], "name": "x" })),
        ("deleteProduct", json!({ "productId": comet["id"] })),
    ] {
        assert_eq!(refused(&bob, mutation, input.clone()).await.of(), ("FORBIDDEN", None), "{mutation}");
        let anonymous = refused(&shop.anonymous(), mutation, input).await;
        assert_eq!(anonymous.of(), ("UNAUTHENTICATED", None), "{mutation}");
    }
}

#[tokio::test]
async fn invalid_fields_of_a_product_are_named() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let with = |field: &str, value: Value| {
        let mut input = product_input("Comet", "1", &bikes, &[]);
        input[field] = value;
        input
    };
    let price = |amount: &str, code: &str| json!({ "amount": amount, "currencyCode": code });
    for (field, value) in [
        ("sku", json!("")),
        ("name", json!("x".repeat(201))),
        ("description", json!(" ")),
        ("price", price("1.005", "EUR")),
        ("price", price("-1", "EUR")),
        ("price", price("1e9", "EUR")),
        ("price", price("1", "eur")),
        ("price", price("10000000000", "EUR")),
        ("tagIds", json!(["nonsense"])),
        ("categoryId", json!("nonsense")),
    ] {
        let refused = refused(&ada, "createProduct", with(field, value.clone())).await;
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some(field)), "{value}: {}", refused.message);
    }
    let unknown =
        onehop::graphql::GlobalId::ProductCategory(onehop::webstore::ids::CategoryId(uuid::Uuid::nil()));
    let refused = refused(&ada, "createProduct", with("categoryId", json!(unknown.encode()))).await;
    assert_eq!(refused.of(), ("NOT_FOUND", Some("categoryId")));
}

#[tokio::test]
async fn two_renames_of_a_category_at_once_both_count() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let rename = |name: &'static str| {
        let input = json!({ "productCategoryId": bikes, "name": name });
        mutate(&ada, "updateProductCategory", input, "productCategory { name }")
    };
    let (one, other) = tokio::join!(rename("Cycles"), rename("Wheels"));
    let names = [one, other].map(|renamed| renamed["productCategory"]["name"].clone());
    assert_eq!(names, ["Cycles", "Wheels"]);
    let now = shop.anonymous().data("{ productCategories { name } }", json!({})).await;
    assert!(names.contains(&now["productCategories"][0]["name"]), "{now}");
}
