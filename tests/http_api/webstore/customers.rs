//! Customers: signing up and in, unique e-mail addresses, who sees whom, and that no token acts as another.

use onehop::accounts::write_limits::WriteLimits;
use onehop::api::ApiOptions;
use onehop::webstore::containers::CUSTOMER as CUSTOMER_CONTAINER;
use onehop::webstore::write_limits::{
    EMAIL_ADDRESS_CHANGES, PROFILE_UPDATES, SALES_ORDER_DELETIONS, SALES_ORDERS,
};
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use super::shop::{
    CUSTOMER, assert_one_hop, category, counted, customer_input, mutate, open, open_with, product, refused,
    run, sign_up_customer, staff_member,
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
async fn null_removes_optional_data_and_absence_keeps_it() {
    let shop = open().await;
    let mut input = customer_input("eva@example.com");
    input["title"] = json!("Dr.");
    input["phoneNumber"] = json!("555");
    let made = mutate(&shop.anonymous(), "createCustomer", input, "accessToken").await;
    let eva = shop.bearing(made["accessToken"].as_str().unwrap());
    let payload = "customer { title phoneNumber firstName }";
    for (change, title, phone) in [
        (json!({}), json!("Dr."), json!("555")),
        (json!({ "phoneNumber": null }), json!("Dr."), Value::Null),
        (json!({ "title": null, "phoneNumber": "556", "firstName": null }), Value::Null, json!("556")),
    ] {
        let customer = mutate(&eva, "updateCustomer", change, payload).await["customer"].take();
        assert_eq!(customer, json!({ "title": title, "phoneNumber": phone, "firstName": "Eva" }));
    }
}

#[tokio::test]
async fn writes_of_a_customer_have_limits() {
    let writes = WriteLimits::NONE.with(&SALES_ORDERS, 2).with(&PROFILE_UPDATES, 1);
    let writes = writes.with(&SALES_ORDER_DELETIONS, 1).with(&EMAIL_ADDRESS_CHANGES, 1);
    let shop = open_with(ApiOptions { writes, ..ApiOptions::default() }).await;
    let ada = staff_member(&shop).await;
    let bikes = category(&ada, "Bikes").await;
    let comet = product(&ada, "Comet", "1", &bikes, &[]).await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let order = json!({ "lines": [{ "productId": comet["id"], "quantity": 1 }] });
    let mut placed = Vec::new();
    for _ in 0..2 {
        let made = mutate(&eva, "createSalesOrder", order.clone(), "salesOrder { id }").await;
        placed.push(made["salesOrder"]["id"].clone());
    }
    let address = |name: &str| json!({ "emailAddress": format!("{name}@example.com"), "currentPassword": "a long password" });
    mutate(&eva, "updateCustomer", json!({ "lastName": "Curie" }), "customer { id }").await;
    mutate(&eva, "deleteSalesOrder", json!({ "salesOrderId": placed[0] }), "deletedSalesOrderId").await;
    mutate(&eva, "changeCustomerEmailAddress", address("ev"), "customer { id }").await;
    for (mutation, input, limit) in [
        ("createSalesOrder", order, "sales-orders-per-customer"),
        ("updateCustomer", json!({ "lastName": "X" }), "profile-updates-per-customer"),
        ("deleteSalesOrder", json!({ "salesOrderId": placed[1] }), "sales-order-deletions-per-customer"),
        ("changeCustomerEmailAddress", address("e"), "email-address-changes-per-customer"),
    ] {
        let refused = refused(&eva, mutation, input).await;
        assert_eq!(refused.code, "LIMIT_EXCEEDED", "{mutation}");
        assert!(refused.message.contains(limit), "{}", refused.message);
    }
    let max = sign_up_customer(&shop, "max@example.com").await;
    mutate(&max, "updateCustomer", json!({ "lastName": "X" }), "customer { id }").await;
}

#[tokio::test]
async fn no_password_is_in_a_customer_and_old_ones_are_moved() {
    let shop = open().await;
    let caller = sign_up_customer(&shop, "eva@example.com").await;
    let max = sign_up_customer(&shop, "max@example.com").await;
    let onehop::graphql::GlobalId::Customer(eva) = onehop::graphql::GlobalId::decode(&caller.id).unwrap()
    else {
        panic!("no customer")
    };
    let stored = async || {
        let (key, id) = (eva.partition_key(), eva.to_string());
        let item = shop.app.store.read(CUSTOMER_CONTAINER, &key, &id, &Ledger::new()).await.unwrap().unwrap();
        item.decode::<Value>().unwrap()
    };
    assert!(stored().await.get("password").is_none());
    // As an earlier version stored it.
    let accounts = onehop::domain::containers::ACCOUNTS;
    let place = format!("password:customer:{eva}");
    let password_key = PartitionKey::from(place.as_str());
    let password =
        shop.app.store.read(accounts, &password_key, &place, &Ledger::new()).await.unwrap().unwrap();
    let hash = password.decode::<Value>().unwrap()["passwordHash"].clone();
    let credentials = |password: &str| json!({ "emailAddress": "eva@example.com", "password": password });
    for way in ["repair", "sign-in", "change"] {
        let mut customer = stored().await;
        customer["password"] = json!({ "hash": hash });
        let write = WriteOp::Upsert(NewItem::encode(eva.to_string(), &customer));
        shop.app.store.write(CUSTOMER_CONTAINER, &eva.partition_key(), write, &Ledger::new()).await.unwrap();
        let delete = WriteOp::Delete { id: place.clone(), if_match: None };
        shop.app.store.write(accounts, &password_key, delete, &Ledger::new()).await.unwrap();
        let mut password = "a long password";
        match way {
            "repair" => {
                let report = shop.app.verify(true, &onehop::app::work::ProgressSink::none()).await.unwrap();
                assert_eq!(report.repaired, 1, "{report:?}");
            }
            "sign-in" => {
                mutate(&shop.anonymous(), "signInCustomer", credentials(password), "accessToken").await;
            }
            _ => {
                let change = json!({ "currentPassword": password, "newPassword": "another long sentence" });
                mutate(&caller, "changeCustomerPassword", change, "accessToken").await;
                password = "another long sentence";
            }
        }
        assert!(stored().await.get("password").is_none(), "{way}");
        mutate(&shop.anonymous(), "signInCustomer", credentials(password), "accessToken").await;
    }
    assert!(max.data("{ viewerCustomer { id } }", json!({})).await["viewerCustomer"].is_object());
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
    let subject = onehop::accounts::account_id::AccountId::customer(id.0).to_string();
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
        ("firstName", json!("Ev\u{202e}a"), "firstName"),
        ("lastName", json!("\u{2066}Stone"), "lastName"),
        ("emailAddress", json!("nobody"), "emailAddress"),
        ("emailAddress", json!("eva@example.com\u{200b}"), "emailAddress"),
        ("emailAddress", json!("\u{435}va@example.com"), "emailAddress"),
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

#[tokio::test]
async fn null_removes_what_is_optional_and_absence_keeps_it() {
    let shop = open().await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let payload = "customer { title phoneNumber firstName addresses { city } }";
    let change = async |input: Value| mutate(&eva, "updateCustomer", input, payload).await["customer"].take();
    let address =
        json!({ "addressLine1": "1 Main Street", "city": "Springfield", "country": "US", "zipCode": "1" });
    let given = change(json!({ "title": "Dr", "phoneNumber": "555", "addresses": [address] })).await;
    let kept = change(json!({ "firstName": "Marie" })).await;
    assert_eq!((&kept["title"], &kept["phoneNumber"]), (&json!("Dr"), &json!("555")));
    assert_eq!(kept["addresses"], given["addresses"]);
    let removed = change(json!({ "title": null, "firstName": null, "phoneNumber": null })).await;
    assert_eq!(
        removed,
        json!({ "title": null, "phoneNumber": null, "firstName": "Marie", "addresses": given["addresses"] })
    );
    assert_eq!(change(json!({ "addresses": null })).await["addresses"], json!([]));
}

#[tokio::test]
async fn all_blank_fields_of_all_addresses_have_their_paths() {
    let shop = open().await;
    let mut input = customer_input("eva@example.com");
    let blank = json!({ "addressLine1": "", "city": " ", "country": "", "zipCode": "" });
    let good =
        json!({ "addressLine1": "1 Main Street", "city": "Springfield", "country": "US", "zipCode": "1" });
    input["addresses"] =
        json!([good, blank, { "addressLine1": "x", "city": "", "country": "x", "zipCode": "x" }]);
    input["firstName"] = json!("");
    let refused = refused(&shop.anonymous(), "createCustomer", input).await;
    assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("firstName")));
    let paths: Vec<String> = refused.extensions["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["path"].to_string())
        .collect();
    assert_eq!(
        paths,
        [
            r#"["firstName"]"#,
            r#"["addresses",1,"addressLine1"]"#,
            r#"["addresses",1,"city"]"#,
            r#"["addresses",1,"country"]"#,
            r#"["addresses",1,"zipCode"]"#,
            r#"["addresses",2,"city"]"#,
        ]
    );
}
