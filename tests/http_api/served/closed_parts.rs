//! Fields of embedded objects that some callers alone may read.

use serde_json::{Value, json};

use super::refusals::refused;
use super::server::{BIRDS, PASSWORD, ServedServer};

/// Items, and entries of a list that lack the objects.
const ROOTS: [&str; 2] = ["allSites", "recentSites"];
const LONGITUDE: &str = "longitude: Float!";
const SEATS: &str = "seats: Int!";

/// The model of birds: staff see where a site is, and people who are signed in the seats of its hides.
fn model() -> String {
    let text = BIRDS.replace(LONGITUDE, "longitude: Float @auth(on: READ, allow: STAFF)");
    text.replace(SEATS, "seats: Int @auth(on: READ, allow: SIGNED_IN)")
}

fn query(root: &str) -> String {
    format!(
        "{{ {root}(first: 5) {{ nodes {{ name location {{ latitude longitude }} hides {{ label seats }} }} }} }}"
    )
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// The code and the field of each error.
fn errors(response: &Value) -> Vec<(&str, &str)> {
    let errors = response["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    for error in errors {
        let field = error["path"].as_array().and_then(|path| path.last()).expect("a path");
        found.push((text(&error["extensions"]["code"]), text(field)));
    }
    found
}

#[tokio::test]
async fn a_field_of_an_object_is_for_callers_with_a_grant() {
    let server = ServedServer::start_with_staff(&model(), &["staff@example.com"]).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    server.create_site(&token, "Marsh").await;
    let sign_in = "mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }";
    let input = json!({ "input": { "email": "staff@example.com", "password": PASSWORD } });
    let signed_in = server.data(None, sign_in, input).await;
    let staff = signed_in["signIn"]["accessToken"].as_str().unwrap();
    server.settle().await;
    let site = |longitude: Value, seats: Value| {
        let location = json!({ "latitude": 51.5, "longitude": longitude });
        json!({ "name": "Marsh", "location": location, "hides": [{ "label": "North", "seats": seats }] })
    };
    // Each caller twice, one after the other: no answer is another caller's.
    for root in ROOTS.repeat(2) {
        let query = query(root);
        let anonymous = server.send(None, &query, json!({})).await;
        assert_eq!(anonymous["data"][root]["nodes"], json!([site(Value::Null, Value::Null)]));
        assert_eq!(errors(&anonymous), [("UNAUTHENTICATED", "longitude"), ("UNAUTHENTICATED", "seats")]);
        let member = server.send(Some(&token), &query, json!({})).await;
        assert_eq!(member["data"][root]["nodes"], json!([site(Value::Null, json!(4))]));
        assert_eq!(errors(&member), [("FORBIDDEN", "longitude")]);
        let of_staff = server.data(Some(staff), &query, json!({})).await;
        assert_eq!(of_staff[root]["nodes"], json!([site(json!(-2.25), json!(4))]));
    }
}

#[test]
fn rules_of_owners_and_of_updates_stand_on_the_field_of_the_item() {
    let rules = "seats: Int @auth(on: READ, allow: OWNER, owner: \"helper\") helper: Observer @reference label2: Int @auth(on: UPDATE, allow: STAFF)";
    let found = refused(&BIRDS.replace(SEATS, rules));
    for expected in [
        "Hide.seats: @auth for an OWNER is not served in an embedded type: it stands on the field of the item",
        "Hide.label2: @auth on: UPDATE is not served in an embedded type: updates replace the whole object",
    ] {
        assert!(found.iter().any(|found| found == expected), "{expected}\n{found:#?}");
    }
}
