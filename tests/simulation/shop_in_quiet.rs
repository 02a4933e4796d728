//! The web store at the end of a run: products, their lists and searches, orders, and the ranking of
//! customers.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_runtime::planted;
use serde_json::{Value, json};

use crate::blog::PASSWORD;
use crate::catalogue::{PRODUCT, values_of_product};
use crate::finale::{Pages, ask, ask_as, saw};
use crate::history::NOTHING;
use crate::orders::{ORDER, count_of_orders, ordered, placed_order, state_in, state_of_order};
use crate::process::STAFF_NAME;
use crate::world::World;

/// The fields that a list shows of a product.
const LISTED: &str = "id name price { amount } isSoldOut";
/// The most products that are searched for.
const SEARCHED_MAX: usize = 6;
/// The most items of a page.
const PAGE_MAX: usize = 100;

/// Reads products in every way, orders, and the ranking of customers beside the query across partitions.
pub async fn read_shop(world: &Arc<World>, number: u32) {
    read_products(world, number).await;
    let Some(token) = staff_token(world, number).await else { return };
    let ranked_max = planted::size(20, 3);
    let start = world.history.now();
    let ranked = ask_as(
        world,
        number,
        Some(&token),
        format!("{{ topCustomers(first: {ranked_max}) {{ nodes {{ id salesOrderCount }} }} }}"),
        json!({}),
    )
    .await;
    let across = ask_as(
        world,
        number,
        Some(&token),
        format!("{{ topCustomersAcrossPartitions(first: {ranked_max}) {{ id salesOrderCount }} }}"),
        json!({}),
    )
    .await;
    let empty = Vec::new();
    let ranked = ranked["topCustomers"]["nodes"].as_array().unwrap_or(&empty);
    let across = across["topCustomersAcrossPartitions"].as_array().unwrap_or(&empty);
    let place = |customer: &Value| (customer["id"].clone(), customer["salesOrderCount"].clone());
    let [one, other] = [ranked, across].map(|customers| customers.iter().map(place).collect::<Vec<_>>());
    if one != other {
        world.history.broken("the ranking has all customers", format!("{one:?} and {other:?}"));
    }
    for customer in ranked {
        let (Some(id), Some(count)) = (customer["id"].as_str(), customer["salesOrderCount"].as_u64()) else {
            continue;
        };
        let pages = Pages::of_orders(world, number, &token, format!("customer(id: {id:?})"));
        let orders = pages.nodes("salesOrders", ORDER).await;
        let end = world.history.now();
        if orders.len() as u64 != count {
            world.history.broken("counts are exact", format!("{customer}, and {} orders", orders.len()));
        }
        // Orders whose creation got no answer are unknown.
        let known = world.history.registers_with(&format!("order of {id}: "));
        let is_known = |order: &Value| {
            order["id"].as_str().is_some_and(|order| known.contains(&format!("order of {id}: {order}")))
        };
        if orders.iter().all(is_known) {
            world.history.counted(count_of_orders(id, count, (start, end)));
        }
        for order in &orders {
            let order_id = order["id"].as_str().unwrap_or_default();
            if known.contains(&format!("order of {id}: {order_id}")) {
                saw(world, &state_of_order(order_id), state_in(world, order), start);
                saw(world, &placed_order(order_id), &ordered(order), start);
            }
        }
        for register in known {
            let is_listed =
                orders.iter().any(|order| order["id"].as_str().is_some_and(|id| register.ends_with(id)));
            saw(world, &register, if is_listed { "1" } else { NOTHING }, start);
        }
    }
}

/// Reads each product, and the lists and searches that show it.
async fn read_products(world: &Arc<World>, number: u32) {
    let ids = world.catalogue.lock().products.clone();
    let mut products = BTreeMap::new();
    for id in ids {
        let start = world.history.now();
        let query = format!("query($id: ID!) {{ product(id: $id) {{ {PRODUCT} }} }}");
        let found = ask(world, number, query, json!({ "id": id })).await["product"].take();
        for (register, value) in values_of_product(&id, &found) {
            saw(world, &register, &value, start);
        }
        let category = std::iter::once((&found["category"], "productCategory"));
        let tags = found["tags"].as_array().into_iter().flatten().map(|tag| (tag, "productTag"));
        for (kind, name) in category.chain(tags) {
            if let (Some(id), Some(value)) = (kind["id"].as_str(), kind["name"].as_str()) {
                saw(world, &format!("{name} {id}"), value, start);
            }
        }
        if !found.is_null() {
            products.insert(id, found);
        }
    }
    let (categories, tags) = {
        let catalogue = world.catalogue.lock();
        (catalogue.categories.clone(), catalogue.tags.clone())
    };
    for id in &categories {
        let is_in = |product: &Value| product["category"]["id"] == id.as_str();
        agree_with_list(world, number, (id, "ProductCategory"), &products, &is_in).await;
    }
    for id in &tags {
        let is_in = |product: &Value| {
            product["tags"].as_array().is_some_and(|tags| tags.iter().any(|tag| tag["id"] == id.as_str()))
        };
        agree_with_list(world, number, (id, "ProductTag"), &products, &is_in).await;
    }
    let searched = products.len() <= PAGE_MAX;
    for (id, product) in products.iter().filter(|_| searched).take(SEARCHED_MAX) {
        let query = format!("query($q: String!) {{ searchProducts(query: $q, first: {PAGE_MAX}) {{ id }} }}");
        let found = ask(world, number, query, json!({ "q": product["name"] })).await;
        let is_found = |found: &Value| found["id"] == id.as_str();
        if !found["searchProducts"].as_array().is_some_and(|found| found.iter().any(is_found)) {
            world.history.broken("a search finds each product", format!("{product}: {found}"));
        }
    }
}

/// Compares a list of products, by name, with the products themselves.
async fn agree_with_list(
    world: &Arc<World>,
    number: u32,
    list: (&str, &str),
    products: &BTreeMap<String, Value>,
    is_in: &(dyn Fn(&Value) -> bool + Sync),
) {
    let listed = Pages::of_node(world, number, list).nodes("products", LISTED).await;
    let shown =
        |product: &Value| json!([product["id"], product["name"], product["price"], product["isSoldOut"]]);
    let known: Vec<&Value> = listed
        .iter()
        .filter(|product| product["id"].as_str().is_some_and(|id| products.contains_key(id)))
        .collect();
    let mut expected: Vec<Value> = products.values().filter(|product| is_in(product)).map(shown).collect();
    expected.sort_by_key(|product| product[0].to_string());
    let mut found: Vec<Value> = known.iter().map(|product| shown(product)).collect();
    found.sort_by_key(|product| product[0].to_string());
    if found != expected {
        let detail = format!("{list:?}: {found:?} and not {expected:?}");
        world.history.broken("a list of products has each of them as it is", detail);
    }
    let names: Vec<&str> = listed.iter().filter_map(|product| product["name"].as_str()).collect();
    if !names.is_sorted() {
        world.history.broken("a list of products is in the order of names", format!("{list:?}: {names:?}"));
    }
}

async fn staff_token(world: &Arc<World>, number: u32) -> Option<String> {
    let query = "mutation($i: SignInInput!) { signIn(input: $i) { accessToken } }";
    let input = json!({ "i": { "username": STAFF_NAME, "password": PASSWORD } });
    let data = ask(world, number, query.to_owned(), input).await;
    data["signIn"]["accessToken"].as_str().map(str::to_owned)
}
