//! Customers: signing up and in, unique e-mail addresses, who sees whom, and that no token acts as another.

use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use super::shop::{
    CUSTOMER, assert_one_hop, counted, customer_input, mutate, open, refused, run, sign_up_customer,
    staff_member,
};
use crate::api::caller::id_of;

#[tokio::test]
async fn a_customer_signs_up_and_in_and_changes() {
    let shop = open().await;
    let payload = format!("customer {{ {CUSTOMER} }} accessToken");
    let mut input = customer_input("Eva@Example.com");
    input["addresses"] = json!([{
        "addressLine1": "1 Main Street", "city": "Springfield", "country": "US", "zipCode": "12345"
    }]);
    let made = mutate(&shop.anonymous(), "createCustomer", input, &payload).await;
    let customer = made["customer"].clone();
    assert_eq!(customer["emailAddress"], "Eva@Example.com");
    assert_eq!(customer["salesOrderCount"], 0);
    assert_eq!(customer["addresses"][0]["city"], "Springfield");

    let credentials = json!({ "emailAddress": "eva@example.com", "password": "a long password" });
    let signed_in = mutate(&shop.anonymous(), "signInCustomer", credentials, &payload).await;
    assert_eq!(signed_in["customer"], customer);
    let eva = shop.bearing(signed_in["accessToken"].as_str().unwrap());
    let seen = eva.data(&format!("{{ viewerCustomer {{ {CUSTOMER} }} }}"), json!({})).await;
    assert_eq!(seen["viewerCustomer"], customer);

    let changes = json!({ "lastName": "Curie", "phoneNumber": "555", "addresses": [] });
    let changed = mutate(&eva, "updateCustomer", changes, &format!("customer {{ {CUSTOMER} }}")).await;
    assert_eq!(changed["customer"]["lastName"], "Curie");
    assert_eq!(
        (&changed["customer"]["addresses"], &changed["customer"]["phoneNumber"]),
        (&json!([]), &json!("555"))
    );
    assert_eq!(changed["customer"]["firstName"], customer["firstName"]);
}

#[tokio::test]
async fn an_address_belongs_to_one_customer_whatever_its_case() {
    let shop = open().await;
    sign_up_customer(&shop, "eva@example.com").await;
    let taken = refused(&shop.anonymous(), "createCustomer", customer_input(" EVA@example.COM ")).await;
    assert_eq!(taken.of(), ("CONFLICT", Some("emailAddress")));
    let both = customer_input("bob@example.com");
    let caller = shop.anonymous();
    let (one, other) = tokio::join!(
        run(&caller, "createCustomer", both.clone(), "customer { id }"),
        run(&caller, "createCustomer", both, "customer { id }"),
    );
    let made = [one, other].iter().filter(|answer| answer.body.get("errors").is_none()).count();
    assert_eq!(made, 1);
}

#[tokio::test]
async fn a_repeated_sign_up_gives_the_first_customer() {
    let shop = open().await;
    let mut input = customer_input("eva@example.com");
    input["idempotencyKey"] = json!("k1");
    let first = mutate(&shop.anonymous(), "createCustomer", input.clone(), "customer { id }").await;
    let again = mutate(&shop.anonymous(), "createCustomer", input.clone(), "customer { id }").await;
    assert_eq!(again, first);
    input["password"] = json!("another long password");
    let other = refused(&shop.anonymous(), "createCustomer", input).await;
    assert_eq!(other.of(), ("CONFLICT", Some("idempotencyKey")));
}

#[tokio::test]
async fn a_reservation_without_a_customer_is_taken_over() {
    let shop = open().await;
    sign_up_customer(&shop, "eva@example.com").await;
    // A sign-up that died after its first step leaves a reservation without a customer.
    let accounts = onehop::domain::containers::ACCOUNTS;
    let id = format!("email:{:x}", <sha2::Sha256 as sha2::Digest>::digest("bob@example.com"));
    let left = json!({ "id": id, "type": "emailAddress", "customerId": uuid::Uuid::from_u128(7) });
    let write = WriteOp::Create(NewItem::encode(id.as_str(), &left));
    shop.app.store.write(accounts, &PartitionKey::from(id.as_str()), write, &Ledger::new()).await.unwrap();
    let bob = sign_up_customer(&shop, "bob@example.com").await;
    assert_ne!(bob.id, "");
    let taken = refused(&shop.anonymous(), "createCustomer", customer_input("bob@example.com")).await;
    assert_eq!(taken.of(), ("CONFLICT", Some("emailAddress")));
}

#[tokio::test]
async fn no_token_acts_as_another_kind_of_person() {
    let shop = open().await;
    let bob = shop.sign_up("bob").await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    assert_eq!(bob.data("{ viewerCustomer { id } }", json!({})).await["viewerCustomer"], Value::Null);
    assert_eq!(eva.data("{ viewer { id } }", json!({})).await["viewer"], Value::Null);
    let post = json!({ "title": "T", "content": "C" });
    assert_eq!(refused(&eva, "createPost", post).await.of(), ("UNAUTHENTICATED", None));
    let change = json!({ "lastName": "X" });
    assert_eq!(refused(&bob, "updateCustomer", change).await.of(), ("UNAUTHENTICATED", None));
    let order = json!({ "lines": [] });
    assert_eq!(refused(&bob, "createSalesOrder", order).await.of(), ("UNAUTHENTICATED", None));
    let staff_only = refused(&eva, "createProductTag", json!({ "name": "x" })).await;
    assert_eq!(staff_only.of(), ("FORBIDDEN", None));
    // A token of the same server for the UUID of a customer is a user's.
    let onehop::graphql::GlobalId::Customer(id) = onehop::graphql::GlobalId::decode(&eva.id).unwrap() else {
        panic!("no customer")
    };
    let subject = onehop::accounts::subject::TokenSubject::Customer(id.0).to_string();
    assert!(uuid::Uuid::try_parse(&subject).is_err());
}

#[tokio::test]
async fn a_customer_is_seen_by_the_customer_and_by_staff() {
    let shop = open().await;
    let ada = staff_member(&shop).await;
    let bob = shop.sign_up("bob").await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let other = sign_up_customer(&shop, "max@example.com").await;
    let query = "query($id: ID!) { customer(id: $id) { id emailAddress } node(id: $id) { id } }";
    for (caller, sees) in
        [(&ada, true), (&eva, true), (&bob, false), (&other, false), (&shop.anonymous(), false)]
    {
        let seen = caller.data(query, json!({ "id": eva.id })).await;
        assert_eq!(seen["customer"].is_object(), sees, "{seen}");
        assert_eq!(seen["node"].is_object(), sees, "{seen}");
    }
}

#[tokio::test]
async fn a_customer_is_one_operation() {
    let shop = open().await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    for query in [
        format!("{{ viewerCustomer {{ {CUSTOMER} }} }}"),
        format!("{{ customer(id: \"{}\") {{ {CUSTOMER} }} }}", eva.id),
    ] {
        assert_one_hop(&counted(&eva, &query, json!({})).await.1);
    }
}

#[tokio::test]
async fn a_failed_sign_in_costs_the_same_with_and_without_a_customer() {
    let shop = open().await;
    sign_up_customer(&shop, "eva@example.com").await;
    let mut seen = Vec::new();
    for address in ["eva@example.com", "nobody@example.com", "no address"] {
        let query =
            "mutation($input: SignInCustomerInput!) { signInCustomer(input: $input) { accessToken } }";
        let input = json!({ "emailAddress": address, "password": "a wrong password" });
        let request =
            json!({ "query": query, "variables": { "input": input }, "extensions": { "operations": true } });
        let answer = shop.anonymous().send(request).await;
        assert_eq!(answer.refused().of(), ("INVALID_CREDENTIALS", None), "{address}");
        seen.push(answer.body["extensions"].clone());
    }
    assert_eq!(seen[0]["operations"], seen[1]["operations"]);
    assert_eq!(seen[0]["requestCharge"], seen[2]["requestCharge"]);
}

#[tokio::test]
async fn attempts_at_an_address_are_limited() {
    let shop = open().await;
    sign_up_customer(&shop, "eva@example.com").await;
    let input = json!({ "emailAddress": "EVA@example.com", "password": "a wrong password" });
    let mut codes = Vec::new();
    for _ in 0..25 {
        codes.push(refused(&shop.anonymous(), "signInCustomer", input.clone()).await.code);
    }
    assert_eq!(codes[0], "INVALID_CREDENTIALS");
    assert_eq!(codes[24], "LIMIT_EXCEEDED");
}

#[tokio::test]
async fn invalid_fields_of_a_customer_are_named() {
    let shop = open().await;
    let address = json!({ "addressLine1": "1", "city": "", "country": "US", "zipCode": "1" });
    for (field, value, named) in [
        ("firstName", json!(""), "firstName"),
        ("lastName", json!("x".repeat(101)), "lastName"),
        ("emailAddress", json!("nobody"), "emailAddress"),
        ("password", json!("short"), "password"),
        ("addresses", json!([address]), "city"),
        (
            "addresses",
            json!(vec![json!({ "addressLine1": "1", "city": "1", "country": "1", "zipCode": "1" }); 11]),
            "addresses",
        ),
    ] {
        let mut input = customer_input("eva@example.com");
        input[field] = value;
        let refused = refused(&shop.anonymous(), "createCustomer", input).await;
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some(named)), "{}", refused.message);
    }
    let made = sign_up_customer(&shop, "eva@example.com").await;
    assert_eq!(id_of(&made.data("{ viewerCustomer { id } }", json!({})).await["viewerCustomer"]), made.id);
}
