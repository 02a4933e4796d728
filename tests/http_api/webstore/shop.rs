//! A web store for a test: a server whose member of staff is Ada, and her catalogue.

use onehop::api::ApiOptions;
use serde_json::{Value, json};

use crate::api::caller::{Answer, Caller, Refused, id_of};
use crate::api::server::{Decorate, Server, Setup};
use crate::support::failing_reads::ReadFaults;

/// The selection of a product where a test looks at all of it.
pub const PRODUCT: &str =
    "id sku name description price { amount currencyCode } isSoldOut category { id name } tags { id name }";

/// The selection of a customer where a test looks at all of it.
pub const CUSTOMER: &str = "id title firstName lastName emailAddress phoneNumber creationDate salesOrderCount \
    addresses { addressLine1 addressLine2 city state country zipCode }";

/// The input for a sign-up with an address.
pub fn customer_input(email_address: &str) -> Value {
    json!({
        "firstName": "Eva", "lastName": "Stone", "emailAddress": email_address, "password": "a long password",
    })
}

/// A new customer, signed in.
pub async fn sign_up_customer<'a>(shop: &'a Server, email_address: &str) -> Caller<'a> {
    let payload = "customer { id } accessToken";
    let made = mutate(&shop.anonymous(), "createCustomer", customer_input(email_address), payload).await;
    let mut customer = shop.bearing(made["accessToken"].as_str().unwrap());
    customer.id = id_of(&made["customer"]);
    customer
}

/// A server with staff.
pub async fn open() -> Server {
    open_with(ApiOptions::default()).await
}

/// A server with staff and these options.
pub async fn open_with(options: ApiOptions) -> Server {
    open_as(Setup { options, ..Setup::default() }).await
}

/// A server with staff, whose reads can be told to fail.
pub async fn open_failing(faults: &ReadFaults) -> Server {
    let faults = faults.clone();
    let decorate: Decorate = Box::new(move |store| faults.over(store));
    open_as(Setup { decorate: Some(decorate), ..Setup::default() }).await
}

async fn open_as(setup: Setup) -> Server {
    Server::start_with(Setup { staff: &["ada"], missing_staff: &["boss"], ..setup }).await
}

/// The member of staff, signed in.
pub async fn staff_member(shop: &Server) -> Caller<'_> {
    shop.sign_in("ada").await
}

/// The answer to a mutation with this input and this selection of its payload.
pub async fn run(caller: &Caller<'_>, mutation: &str, input: Value, payload: &str) -> Answer {
    let input_type = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
    let query = format!("mutation($input: {input_type}!) {{ {mutation}(input: $input) {{ {payload} }} }}");
    caller.ask(&query, json!({ "input": input })).await
}

/// The payload of a mutation that succeeds.
pub async fn mutate(caller: &Caller<'_>, mutation: &str, input: Value, payload: &str) -> Value {
    let mut answer = run(caller, mutation, input, payload).await;
    assert!(answer.body.get("errors").is_none(), "{mutation}: {answer:?}");
    answer.body["data"][mutation].take()
}

/// Why a mutation is refused.
pub async fn refused(caller: &Caller<'_>, mutation: &str, input: Value) -> Refused {
    run(caller, mutation, input, "__typename").await.refused()
}

/// The id of a new category.
pub async fn category(staff: &Caller<'_>, name: &str) -> String {
    let payload = "productCategory { id }";
    let made = mutate(staff, "createProductCategory", json!({ "name": name }), payload).await;
    id_of(&made["productCategory"])
}

/// The id of a new tag.
pub async fn tag(staff: &Caller<'_>, name: &str) -> String {
    let made = mutate(staff, "createProductTag", json!({ "name": name }), "productTag { id }").await;
    id_of(&made["productTag"])
}

/// The input for a new product.
pub fn product_input(name: &str, price: &str, category: &str, tags: &[&str]) -> Value {
    json!({
        "sku": format!("SKU-{name}"), "name": name, "description": format!("The {name}."),
        "price": { "amount": price, "currencyCode": "EUR" }, "categoryId": category, "tagIds": tags,
    })
}

/// A new product.
pub async fn product(staff: &Caller<'_>, name: &str, price: &str, category: &str, tags: &[&str]) -> Value {
    let input = product_input(name, price, category, tags);
    let payload = format!("product {{ {PRODUCT} }}");
    mutate(staff, "createProduct", input, &payload).await["product"].take()
}

/// The data of a query and the operations on the store that it took, as kind and container of each.
pub async fn counted(caller: &Caller<'_>, query: &str, variables: Value) -> (Value, Vec<Value>) {
    let request = json!({ "query": query, "variables": variables, "extensions": { "operations": true } });
    let mut answer = caller.send(request).await;
    assert!(answer.body.get("errors").is_none(), "{query}: {answer:?}");
    let operations = answer.body["extensions"]["operations"].as_array().unwrap().clone();
    (answer.body["data"].take(), operations)
}

/// Asserts that a query took one operation on one logical partition.
#[track_caller]
pub fn assert_one_hop(operations: &[Value]) {
    let [operation] = operations else { panic!("not one operation: {operations:?}") };
    assert_eq!(
        (&operation["times"], &operation["physicalPartitions"]),
        (&json!(1), &json!(1)),
        "{operation}"
    );
}
