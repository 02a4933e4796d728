//! Sessions of customers over HTTP: renewal, sign-out, changed passwords and addresses, and the cookie of
//! pages.

use std::time::Duration;

use onehop::domain::accounts::sessions::REFRESH_TOKEN_GRACE;
use reqwest::Method;
use serde_json::{Value, json};

use super::shop::{CUSTOMER, customer_input, mutate, open, open_with, refused, run, sign_up_customer};
use crate::api::caller::Caller;
use crate::api::server::{PASSWORD as USERS_PASSWORD, Server};
use onehop::accounts::brute_force_protection::AttemptLimits;
use onehop::api::ApiOptions;
use onehop_testing::websocket::WebSocketClient;

const PASSWORD: &str = "a long password";
const NEW_PASSWORD: &str = "another long sentence";
const TOKENS: &str = "accessToken refreshToken expiresAt";
const VIEWER: &str = "{ viewerCustomer { emailAddress } }";

fn credentials(address: &str, password: &str) -> Value {
    json!({ "emailAddress": address, "password": password })
}

async fn sign_in(shop: &Server) -> Value {
    mutate(&shop.anonymous(), "signInCustomer", credentials("eva@example.com", PASSWORD), TOKENS).await
}

fn text(payload: &Value, field: &str) -> String {
    payload[field].as_str().unwrap_or_else(|| panic!("{payload}")).to_owned()
}

async fn is_good(caller: &Caller<'_>) -> bool {
    let answer = caller.ask(VIEWER, json!({})).await;
    assert!([200, 401].contains(&answer.status), "{answer:?}");
    answer.status == 200
}

async fn renew(shop: &Server, refresh_token: &str) -> Result<Value, String> {
    let input = json!({ "refreshToken": refresh_token });
    let mut answer = run(&shop.anonymous(), "renewCustomerSession", input, TOKENS).await;
    match answer.body["data"]["renewCustomerSession"].take() {
        Value::Null => Err(answer.refused().code),
        renewed => Ok(renewed),
    }
}

#[tokio::test]
async fn a_customer_signs_out_of_one_session_or_everywhere() {
    let shop = open().await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let [one, other] = [sign_in(&shop).await, sign_in(&shop).await];
    let [one_token, other_token] = [&one, &other].map(|payload| text(payload, "accessToken"));
    let sign_out = "mutation { signOutCustomer { customerId } }";
    let signed_out = shop.bearing(&one_token).data(sign_out, json!({})).await;
    assert_eq!(signed_out["signOutCustomer"]["customerId"], eva.id.as_str());
    assert!(!is_good(&shop.bearing(&one_token)).await && is_good(&shop.bearing(&other_token)).await);
    assert_eq!(renew(&shop, &text(&one, "refreshToken")).await.unwrap_err(), "UNAUTHENTICATED");
    eva.data("mutation { signOutCustomer(everywhere: true) { customerId } }", json!({})).await;
    assert!(!is_good(&eva).await && !is_good(&shop.bearing(&other_token)).await);
    assert_eq!(shop.anonymous().refused(sign_out, json!({})).await.code, "UNAUTHENTICATED");
    let bob = shop.sign_up("bob").await;
    assert_eq!(bob.refused(sign_out, json!({})).await.code, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_customers_refresh_token_rotates_and_ends_its_session() {
    let shop = open().await;
    sign_up_customer(&shop, "eva@example.com").await;
    let first = sign_in(&shop).await;
    let (old, token) = (text(&first, "refreshToken"), text(&first, "accessToken"));
    let second = renew(&shop, &old).await.unwrap();
    assert_eq!(text(&second, "refreshToken"), text(&renew(&shop, &old).await.unwrap(), "refreshToken"));
    assert_ne!(text(&second, "refreshToken"), old);
    assert!(is_good(&shop.bearing(&token)).await);
    shop.clock.advance(REFRESH_TOKEN_GRACE + Duration::from_secs(1));
    assert_eq!(renew(&shop, &old).await.unwrap_err(), "UNAUTHENTICATED");
    assert!(!is_good(&shop.bearing(&token)).await);
    assert_eq!(renew(&shop, &text(&second, "refreshToken")).await.unwrap_err(), "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_connection_of_a_customer_ends_with_its_session() {
    let shop = open().await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let payload = json!({ "authorization": format!("Bearer {}", eva.token()) });
    let mut socket = WebSocketClient::open_with(shop.address(), payload).await;
    eva.data("mutation { signOutCustomer { customerId } }", json!({})).await;
    assert_eq!(socket.closed().await.0, 4403);
}

#[tokio::test]
async fn a_customers_changed_password_ends_all_sessions() {
    let shop = open().await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    let other = text(&sign_in(&shop).await, "accessToken");
    let change = |current: &str, new: &str| json!({ "currentPassword": current, "newPassword": new });
    for (current, new, field, code) in [
        ("not the password", NEW_PASSWORD, "currentPassword", "FORBIDDEN"),
        (PASSWORD, PASSWORD, "newPassword", "BAD_USER_INPUT"),
        (PASSWORD, "short", "newPassword", "BAD_USER_INPUT"),
        (PASSWORD, "password123", "newPassword", "BAD_USER_INPUT"),
    ] {
        let refused = refused(&eva, "changeCustomerPassword", change(current, new)).await;
        assert_eq!(refused.of(), (code, Some(field)), "{new}");
    }
    let changed = mutate(&eva, "changeCustomerPassword", change(PASSWORD, NEW_PASSWORD), TOKENS).await;
    assert!(is_good(&shop.bearing(&text(&changed, "accessToken"))).await);
    assert!(renew(&shop, &text(&changed, "refreshToken")).await.is_ok());
    assert!(!is_good(&eva).await && !is_good(&shop.bearing(&other)).await);
    let old = refused(&shop.anonymous(), "signInCustomer", credentials("eva@example.com", PASSWORD)).await;
    assert_eq!(old.code, "INVALID_CREDENTIALS");
    let new = credentials("eva@example.com", NEW_PASSWORD);
    mutate(&shop.anonymous(), "signInCustomer", new, TOKENS).await;
}

#[tokio::test]
async fn a_customer_takes_another_e_mail_address() {
    let shop = open().await;
    let eva = sign_up_customer(&shop, "eva@example.com").await;
    sign_up_customer(&shop, "max@example.com").await;
    let change =
        |address: &str, password: &str| json!({ "emailAddress": address, "currentPassword": password });
    for (address, password, code, field) in [
        ("max@example.com", PASSWORD, "CONFLICT", "emailAddress"),
        ("eva@\u{200b}example.com", PASSWORD, "BAD_USER_INPUT", "emailAddress"),
        ("eva@example.org", "not the password", "FORBIDDEN", "currentPassword"),
    ] {
        let refused = refused(&eva, "changeCustomerEmailAddress", change(address, password)).await;
        assert_eq!(refused.of(), (code, Some(field)), "{address}");
    }
    let payload = format!("customer {{ {CUSTOMER} }}");
    for address in ["Eva@example.com", "eva@example.org", "eva@example.org"] {
        let changed = mutate(&eva, "changeCustomerEmailAddress", change(address, PASSWORD), &payload).await;
        assert_eq!(changed["customer"]["emailAddress"], address);
    }
    assert!(is_good(&eva).await, "sessions go on");
    let old = refused(&shop.anonymous(), "signInCustomer", credentials("eva@example.com", PASSWORD)).await;
    assert_eq!(old.code, "INVALID_CREDENTIALS");
    mutate(&shop.anonymous(), "signInCustomer", credentials("EVA@example.org", PASSWORD), TOKENS).await;
    sign_up_customer(&shop, "eva@example.com").await;
    let report = shop.app.verify(false, &onehop::app::work::ProgressSink::none()).await.unwrap();
    assert!(report.drifts.is_empty(), "{report:?}");
}

#[tokio::test]
async fn sign_ups_lock_no_customer_out_and_tell_of_few() {
    let attempts = AttemptLimits { taken_names_per_address: 4, ..AttemptLimits::default() };
    let attempts = AttemptLimits { sign_ups_per_address: 0, ..attempts };
    let shop = open_with(ApiOptions { attempts, ..ApiOptions::default() }).await;
    sign_up_customer(&shop, "eva@example.com").await;
    for _ in 0..4 {
        let taken = refused(&shop.anonymous(), "createCustomer", customer_input("eva@example.com")).await;
        assert_eq!(taken.of(), ("CONFLICT", Some("emailAddress")));
    }
    for address in ["eva@example.com", "nobody@example.com"] {
        let refused = refused(&shop.anonymous(), "createCustomer", customer_input(address)).await;
        assert_eq!(refused.code, "LIMIT_EXCEEDED", "{address}");
        assert!(refused.message.contains("taken-names-per-address"), "{}", refused.message);
    }
    sign_in(&shop).await;
    shop.sign_up("bob").await;
}

/// A page of this server, with the cookies that it got.
async fn send(
    shop: &Server,
    method: Method,
    path: &str,
    cookie: &str,
    body: &Value,
) -> (u16, Option<String>, String) {
    let mut request = shop.http.request(method, shop.url(path));
    request =
        request.header("origin", format!("http://{}", shop.address())).header("onehop-session", "cookie");
    if !cookie.is_empty() {
        request = request.header("cookie", cookie);
    }
    if !body.is_null() {
        request = request.json(body);
    }
    let response = request.send().await.unwrap();
    let set = response.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), set, response.text().await.unwrap())
}

fn pair(cookie: Option<String>) -> String {
    cookie.expect("a cookie").split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_page_has_a_cookie_for_the_customer_beside_the_users() {
    let shop = open().await;
    shop.sign_up("bob").await;
    sign_up_customer(&shop, "eva@example.com").await;
    let query =
        "mutation($i: SignInCustomerInput!) { signInCustomer(input: $i) { accessToken refreshToken } }";
    let body = json!({ "query": query, "variables": { "i": credentials("eva@example.com", PASSWORD) } });
    let (status, cookie, body) = send(&shop, Method::POST, "/graphql", "", &body).await;
    assert!(status == 200 && body.contains("\"refreshToken\":null"), "{body}");
    assert!(cookie.as_ref().unwrap().contains("Path=/session/customer; "), "{cookie:?}");
    let eva = pair(cookie);
    let query = "mutation($i: SignInInput!) { signIn(input: $i) { refreshToken } }";
    let input = json!({ "username": "bob", "password": USERS_PASSWORD });
    let body = json!({ "query": query, "variables": { "i": input } });
    let bob = pair(send(&shop, Method::POST, "/graphql", "", &body).await.1);
    assert!(eva.starts_with("onehop-customer-session=") && bob.starts_with("onehop-session="));

    let both = format!("{bob}; {eva}");
    let (status, renewed, body) = send(&shop, Method::POST, "/session/customer", &both, &Value::Null).await;
    let tokens: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &tokens["customer"]["firstName"]), (200, &json!("Eva")));
    assert!(tokens["expiresAt"].is_string() && tokens.get("user").is_none(), "{tokens}");
    let token = text(&tokens, "accessToken");
    assert!(is_good(&shop.bearing(&token)).await);
    // A token of one kind in the cookie of the other is no session.
    for (path, name, value) in
        [("/session", "onehop-session", &eva), ("/session/customer", "onehop-customer-session", &bob)]
    {
        let value = value.split_once('=').unwrap().1;
        let (status, removed, _) =
            send(&shop, Method::POST, path, &format!("{name}={value}"), &Value::Null).await;
        assert_eq!((status, removed.unwrap().contains("Max-Age=0")), (204, true), "{path}");
    }
    let renewed = pair(renewed);
    let (status, removed, _) =
        send(&shop, Method::DELETE, "/session/customer", &format!("{bob}; {renewed}"), &Value::Null).await;
    assert!(status == 204 && removed.unwrap().starts_with("onehop-customer-session=;"));
    assert!(!is_good(&shop.bearing(&token)).await);
    assert_eq!(send(&shop, Method::POST, "/session", &bob, &Value::Null).await.0, 200, "bob stays signed in");
}
