//! Quotas of callers: as in the settings, and charged with the real use of requests.

use onehop::accounts::account_id::NEW_ACCOUNT_AGE;
use onehop::api::ApiOptions;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::prepare::REQUEST_RU;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::{Value, json};

use crate::api::binary::Serving;
use crate::api::caller::Answer;
use crate::api::server::{Server, Setup};

const FEED: &str = "{ feed(first: 1) { nodes { id } } }";

/// The request units that a caller has left, as an answer says.
pub fn left(answer: &Answer) -> f64 {
    let header = answer.headers["ratelimit"].to_str().unwrap();
    let left = header.strip_prefix("\"request-charge\";r=").and_then(|rest| rest.split(';').next());
    left.unwrap_or_else(|| panic!("{header}")).parse().unwrap()
}

#[tokio::test]
async fn a_quota_decreases_by_the_stated_request_charges() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1_000, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let ada = server.sign_up("ada").await;
    // A new account spends the quota of its network as well, which has paid for the sign-up.
    let first = left(&ada.ask("{ __typename }", json!({})).await);
    let (mut charged, mut last) = (0.0, first);
    for number in 0..4 {
        let input = json!({ "title": format!("Post {number}"), "content": "All about it." });
        let query = "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } } }";
        let answer = ada.ask(query, json!({ "input": input })).await;
        charged += answer.body["extensions"]["requestCharge"].as_f64().unwrap();
        last = left(&answer);
    }
    assert!(charged > 4.0, "{charged}");
    // Told in whole units; meanwhile the clock has gone on by milliseconds. Each request is charged for its
    // preparation, too.
    let prepared = first - charged - last;
    assert!((-1.0..4.0).contains(&(prepared - 4.0 * REQUEST_RU)), "{first} {charged} {last}");
}

#[tokio::test]
async fn an_account_spends_its_networks_quota_for_a_day() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1_000, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let of_network = async || left(&server.anonymous().ask("{ __typename }", json!({})).await);
    server.sign_up("ada").await;
    for is_new in [true, false] {
        let ada = server.sign_in("ada").await;
        let before = of_network().await;
        let mut charged = 0.0;
        for _ in 0..8 {
            let answer = ada.ask(FEED, json!({})).await;
            charged += answer.body["extensions"]["requestCharge"].as_f64().unwrap();
        }
        let spent = before - of_network().await;
        // Told in whole units, with the preparation of requests; meanwhile the clock has gone on by
        // milliseconds.
        let expected = if is_new { charged - 1.0..charged + 6.0 } else { -1.0..3.0 };
        assert!(charged >= 8.0 && expected.contains(&spent), "{is_new}: {charged} {spent}");
        server.clock.advance(NEW_ACCOUNT_AGE);
    }
}

#[tokio::test]
async fn a_page_costs_what_the_query_in_it_costs() {
    const PAGES: u32 = 20;
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1_000, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let ada = server.sign_up("ada").await;
    let write = "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } } }";
    let written = ada.ask(write, json!({ "input": { "title": "Post", "content": "All about it." } })).await;
    let id = written.body["data"]["createPost"]["post"]["id"].as_str().unwrap();
    let before = left(&server.anonymous().ask("{ __typename }", json!({})).await);
    let mut charge = 0.0;
    for _ in 0..PAGES {
        let page = server.http.get(server.url(&format!("/posts/{id}"))).send().await.unwrap();
        charge = embedded_charge(&page.text().await.unwrap());
    }
    let last = left(&server.anonymous().ask("{ __typename }", json!({})).await);
    // Told in whole units. Less than 1 RU pays for the preparation of a query.
    let (spent, pages) = (before - last, f64::from(PAGES));
    let expected = charge * pages - 2.0..(charge + 1.0) * pages;
    assert!(charge >= 1.0 && expected.contains(&spent), "{charge} {spent}");
}

/// The charge of the queries whose responses are embedded in a page.
fn embedded_charge(page: &str) -> f64 {
    let (_, rest) = page.split_once("id=\"embedded\">").expect("embedded responses");
    let (json, _) = rest.split_once("</script>").expect("an end");
    let embedded: Value = serde_json::from_str(json).expect("JSON");
    let charges = embedded
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["response"]["extensions"]["requestCharge"].as_f64().expect("a charge"));
    charges.sum()
}

#[tokio::test]
async fn budgets_are_what_the_settings_say() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--caller-ru-per-second=1", "--trusted-proxies=1"];
    let arguments = [&arguments[..], &["--trusted-proxies-header=forwarded"]].concat();
    let serving = Serving::start(directory.path(), &arguments);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let send = |query: &str, address: &str| {
        let request =
            http.post(format!("{}/graphql", serving.address)).body(json!({ "query": query }).to_string());
        let request = request.header("content-type", "application/json");
        let request =
            request.header("forwarded", format!("for={address}")).header("x-forwarded-for", "1.1.1.1");
        async { request.send().await.unwrap() }
    };
    let sign_up = "mutation {
        createUser(input: { username: \"newcomer\", password: \"one and two\" }) { accessToken } }";
    let first = send(sign_up, "192.0.2.1").await;
    let policy = "\"request-charge\";q=10;qu=\"request-units\";w=10";
    assert_eq!(
        (first.status().as_u16(), &first.headers()["ratelimit-policy"]),
        (200, &policy.parse().unwrap())
    );
    let refused = send(FEED, "192.0.2.1").await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    let told: Value = refused.json().await.unwrap();
    assert_eq!(told["errors"][0]["extensions"]["limit"], "caller-ru-per-second");
    assert_eq!(send(FEED, "192.0.2.2").await.status(), 200);
    let (status, _) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0);
}

/// The request units that are left after a query of the public operations API.
async fn left_after_operations(server: &Server, query: &str) -> f64 {
    let request = server.http.post(server.url("/operations/graphql")).json(&json!({ "query": query }));
    let response = request.send().await.unwrap();
    let header = response.headers()["ratelimit"].to_str().unwrap().to_owned();
    let body: Value = response.json().await.unwrap();
    let left = header.strip_prefix("\"request-charge\";r=").and_then(|rest| rest.split(';').next());
    left.unwrap_or_else(|| panic!("{header}: {body}")).parse().unwrap()
}

#[tokio::test]
async fn a_list_of_dead_letters_is_charged_to_its_reader() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1_000, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let from_memory = left_after_operations(&server, "{ partitions { container } }").await;
    let listed = left_after_operations(&server, "{ deadLetters { deadLetters { id } unlisted } }").await;
    let one = left_after_operations(&server, "{ deadLetter(id: \"none\") { id } }").await;
    // Each query is charged 10 RU beside its reads: here a query for each projection, and a point read. The
    // rest is stated in whole units.
    assert!(from_memory - listed >= 20.0, "{from_memory} {listed}");
    assert!(listed - one >= 10.0, "{listed} {one}");
}
