//! Categories, tags and products: writes of staff, public reads, refusals.

use std::time::Duration;

use onehop_runtime::clock::{Clock, format_timestamp};
use serde_json::{Value, json};

use super::shop::{
    PRODUCT, assert_one_hop, category, counted, mutate, open, product, product_input, refused, run,
    staff_member, tag,
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
async fn products_are_found_by_the_words_of_their_names() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, parts) = (category(&ada, "Bikes").await, category(&ada, "Parts").await);
    for (name, category) in
        [("Red bell", &parts), ("City bike, red", &bikes), ("Bell", &parts), ("Comet", &bikes)]
    {
        product(&ada, name, "1", category, &[]).await;
    }
    let query = "query($query: String!, $first: Int) {
        searchProducts(query: $query, first: $first) { name category { name } price { amount } } }";
    let search = async |query_text: &str, first: i32| {
        let found = shop.anonymous().data(query, json!({ "query": query_text, "first": first })).await;
        let products = found["searchProducts"].as_array().unwrap().iter();
        products.map(|of| of["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(search("RED", 20).await, ["City bike, red", "Red bell"], "by name, of all categories");
    assert_eq!(search("red be", 20).await, ["Red bell"]);
    assert_eq!(search("be", 1).await, ["Bell"]);
    assert!(search("omet", 20).await.is_empty(), "a word is found at its beginning");
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
async fn products_state_their_creation_without_a_further_read() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    shop.clock.advance(Duration::from_secs(60));
    let before = format_timestamp(shop.clock.now_ms());
    let comet = product(&ada, "Comet", "1", &bikes, &[&red]).await;
    let after = format_timestamp(shop.clock.now_ms());
    shop.settle().await;
    let alone = "query($id: ID!) { product(id: $id) { creationDate } }";
    let (data, operations) = counted(&shop.anonymous(), alone, json!({ "id": comet["id"] })).await;
    let date = data["product"]["creationDate"].as_str().unwrap();
    assert!((before.as_str()..=after.as_str()).contains(&date), "{date}");
    assert_one_hop(&operations);
    let listed =
        "query($id: ID!) { node(id: $id) { ... on ProductTag { products { nodes { creationDate } } } } }";
    let data = shop.anonymous().data(listed, json!({ "id": red })).await;
    assert_eq!(data["node"]["products"]["nodes"], json!([{ "creationDate": date }]));
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

#[tokio::test]
async fn a_cursor_of_another_list_of_products_is_refused() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, parts) = (category(&ada, "Bikes").await, category(&ada, "Parts").await);
    let (red, blue) = (tag(&ada, "red").await, tag(&ada, "blue").await);
    product(&ada, "Comet", "1", &bikes, &[&red, &blue]).await;
    product(&ada, "Brake", "1", &parts, &[&red, &blue]).await;
    shop.settle().await;
    let page = "products(after: $after) { nodes { name } pageInfo { endCursor } }";
    let category = format!("... on ProductCategory {{ {page} }}");
    let tag = format!("... on ProductTag {{ {page} }}");
    let query = format!("query($id: ID!, $after: String) {{ node(id: $id) {{ {category} {tag} }} }}");
    let lists = [&bikes, &parts, &red, &blue];
    for id in lists {
        let first = shop.anonymous().data(&query, json!({ "id": id })).await;
        let cursor = &first["node"]["products"]["pageInfo"]["endCursor"];
        for other in lists {
            let variables = json!({ "id": other, "after": cursor });
            if other == id {
                let next = shop.anonymous().data(&query, variables).await;
                assert_eq!(next["node"]["products"]["nodes"], json!([]));
            } else {
                let refused = shop.anonymous().refused(&query, variables).await;
                assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("after")));
            }
        }
    }
}

#[tokio::test]
async fn an_sku_belongs_to_one_product_whatever_its_case() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, parts) = (category(&ada, "Bikes").await, category(&ada, "Parts").await);
    let comet = product(&ada, "Comet", "1", &bikes, &[]).await;
    let mut twin = product_input("Twin", "1", &parts, &[]);
    twin["sku"] = json!("sku-COMET");
    let taken = refused(&ada, "createProduct", twin.clone()).await;
    assert_eq!(taken.of(), ("CONFLICT", Some("sku")));
    mutate(&ada, "deleteProduct", json!({ "productId": comet["id"] }), "deletedProductId").await;
    let made = mutate(&ada, "createProduct", twin, "product { sku }").await;
    assert_eq!(made["product"]["sku"], "sku-COMET");
}

#[tokio::test]
async fn of_many_products_with_one_sku_one_is_created() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let categories = [category(&ada, "Bikes").await, category(&ada, "Parts").await];
    let created = (0..8).map(|number| {
        let mut input = product_input(&format!("Twin {number}"), "1", &categories[number % 2], &[]);
        input["sku"] = json!("ONE");
        run(&ada, "createProduct", input, "product { id }")
    });
    let answers = futures::future::join_all(created).await;
    let made = answers.iter().filter(|answer| answer.body.get("errors").is_none()).count();
    assert_eq!(made, 1);
}

#[tokio::test]
async fn null_removes_the_tags_of_a_product() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
    let comet = product(&ada, "Comet", "1", &bikes, &[&red]).await;
    let change = |tags: Value| json!({ "productId": comet["id"], "name": "Comet", "tagIds": tags });
    let changed = mutate(&ada, "updateProduct", change(Value::Null), "product { tags { name } }").await;
    assert_eq!(changed["product"]["tags"], json!([]));
}

#[tokio::test]
async fn an_amount_without_quotes_names_the_form_that_is_expected() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let mut input = product_input("Comet", "1", &bikes, &[]);
    for amount in [json!(12.5), json!(12), json!(true)] {
        input["price"]["amount"] = amount.clone();
        let refused = refused(&ada, "createProduct", input.clone()).await;
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("amount")), "{amount}");
        assert_eq!(refused.extensions["path"], json!(["price", "amount"]));
        assert!(refused.message.contains(r#"a string such as "12.50""#), "{refused:?}");
    }
    let literal = format!(
        "mutation {{ createProduct(input: {{ sku: \"A\", name: \"A\", description: \"A\", tagIds: [], \
         categoryId: \"{bikes}\", price: {{ amount: 12.5, currencyCode: \"EUR\" }} }}) {{ __typename }} }}"
    );
    let refused = ada.ask(&literal, Value::Null).await.refused();
    assert_eq!(refused.code, "GRAPHQL_VALIDATION_FAILED");
    assert!(refused.message.contains("input.price.amount"), "{refused:?}");
    assert!(refused.message.contains(r#"a string such as "12.50""#), "{refused:?}");
}

#[tokio::test]
async fn all_errors_of_a_product_have_their_paths() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let red = tag(&ada, "red").await;
    let input = json!({
        "sku": "", "name": "Comet", "description": "", "price": { "amount": "1.234", "currencyCode": "EUR" },
        "categoryId": red, "tagIds": [red, "nothing"],
    });
    let refused = refused(&ada, "createProduct", input).await;
    let paths: Vec<&Value> =
        refused.extensions["fields"].as_array().unwrap().iter().map(|field| &field["path"]).collect();
    let expected = [
        json!(["categoryId"]),
        json!(["tagIds", 1]),
        json!(["sku"]),
        json!(["description"]),
        json!(["price", "amount"]),
    ];
    assert_eq!(paths, expected.iter().collect::<Vec<_>>());
}
