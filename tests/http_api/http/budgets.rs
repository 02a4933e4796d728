//! Callers that ask for more than their budget: refused until it has filled again, under every trick. In the
//! toy each request is charged 1 RU.

use std::net::SocketAddr;
use std::sync::Arc;

use onehop_graphql_server::client_address::{ForwardingHeader, Proxies};
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::admit::ConcurrencyLimits;
use onehop_graphql_server::pipeline::prepare::PreparationLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use onehop_runtime::clock::ManualClock;
use serde_json::json;

use crate::http::client::{Answer, Exchange, GRAPHQL_RESPONSE, JSON, get, post};
use crate::http::toy::{CHARGED, EVENT_CHARGE, Options, Toy};
use onehop_testing::websocket::WebSocketClient;

const QUERY: &str = "{ viewer }";

/// A budget of 1 RU a second that holds 3, and the clock by which it fills.
async fn toy(proxies: Proxies) -> (Toy, Arc<ManualClock>) {
    let callers = RateLimits { proxies, ru_per_second: 1, burst_seconds: 3 };
    let preparation = PreparationLimits { is_charged: false, ..PreparationLimits::default() };
    let limits = RequestLimits { callers, preparation, ..RequestLimits::default() };
    let options = Options { limits, ..Options::default() };
    let clock = options.clock.clone();
    (Toy::start_with(options).await, clock)
}

fn behind(trusted: u8) -> Proxies {
    Proxies { trusted, header: ForwardingHeader::XForwardedFor }
}

fn ask() -> Exchange {
    post(json!({ "query": QUERY })).accept(GRAPHQL_RESPONSE)
}

/// Spends the budget of the sender of these requests.
async fn spend(address: SocketAddr, request: impl Fn() -> Exchange) {
    for _ in 0..3 {
        assert_eq!(request().send(address).await.status, 200);
    }
}

fn retry_after_ms(answer: &Answer) -> u64 {
    answer.json()["errors"][0]["extensions"]["retryAfterMs"].as_u64().unwrap()
}

#[tokio::test]
async fn a_caller_over_budget_gets_429_and_hears_when_to_come_again() {
    let (toy, clock) = toy(behind(0)).await;
    spend(toy.address, ask).await;
    for accept in [GRAPHQL_RESPONSE, JSON] {
        let answer = post(json!({ "query": QUERY })).accept(accept).send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (429, "LIMIT_EXCEEDED"));
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.header("ratelimit"), Some("\"request-charge\";r=0;t=1"));
        let extensions = &answer.json()["errors"][0]["extensions"];
        assert_eq!((&extensions["limit"], &extensions["max"]), (&json!("caller-ru-per-second"), &json!(1)));
        assert_eq!(retry_after_ms(&answer), 1);
    }
    clock.advance_ms(1);
    assert_eq!(ask().send(toy.address).await.status, 200);
    let overdrawn = ask().send(toy.address).await;
    assert_eq!((overdrawn.status, retry_after_ms(&overdrawn)), (429, 1_000), "the debt is paid first");
}

#[tokio::test]
async fn every_answer_tells_the_policy_and_what_is_left() {
    let (toy, _) = toy(behind(0)).await;
    let policy = Some("\"request-charge\";q=3;qu=\"request-units\";w=3");
    for (request, left) in [
        (ask(), "2"),
        (get(&[("query", QUERY)]), "1"),
        (post(json!({ "query": "{" })), "1"),
        (post(json!({ "query": QUERY })).accept("text/plain"), "1"),
        (ask().accept("text/event-stream"), "0"),
    ] {
        let answer = request.send(toy.address).await;
        assert_eq!(answer.header("ratelimit-policy"), policy, "{answer:?}");
        let limit = answer.header("ratelimit").unwrap();
        assert!(limit.starts_with(&format!("\"request-charge\";r={left};t=")), "{answer:?}");
    }
}

#[tokio::test]
async fn new_accounts_share_the_quota_of_their_network() {
    let (toy, _) = toy(behind(1)).await;
    let from = |user: &'static str, address: &'static str| {
        let request = ask().header("X-Forwarded-For", address);
        if user.is_empty() { request } else { request.header("Authorization", &format!("Bearer {user}")) }
    };
    spend(toy.address, || from("new-1", "192.0.2.1")).await;
    for (user, address, status) in [
        ("new-1", "192.0.2.2", 429),
        ("new-2", "192.0.2.1", 429),
        ("", "192.0.2.1", 429),
        ("ada", "192.0.2.1", 200),
        ("new-2", "192.0.2.2", 200),
    ] {
        let answer = from(user, address).send(toy.address).await;
        assert_eq!(answer.status, status, "{user:?} from {address}");
    }
    let left = from("new-3", "192.0.2.2").send(toy.address).await;
    let limit = left.header("ratelimit").unwrap();
    assert!(limit.starts_with("\"request-charge\";r=1;"), "the least of both: {limit}");
}

#[tokio::test]
async fn a_user_has_one_quota_on_all_networks() {
    let (toy, _) = toy(behind(1)).await;
    let from = |address: &'static str| {
        ask().header("Authorization", "Bearer ada").header("X-Forwarded-For", address)
    };
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        assert_eq!(from(address).send(toy.address).await.status, 200);
    }
    assert_eq!(from("192.0.2.4").send(toy.address).await.status, 429);
    let grace = ask().header("Authorization", "Bearer grace").header("X-Forwarded-For", "192.0.2.1");
    assert_eq!(grace.send(toy.address).await.status, 200);
    assert_eq!(ask().header("X-Forwarded-For", "192.0.2.1").send(toy.address).await.status, 200);
}

#[tokio::test]
async fn a_forged_user_learns_nothing_of_the_users_quota() {
    let (toy, _) = toy(behind(0)).await;
    let forged = ask().header("Authorization", "Bearer forged").send(toy.address).await;
    assert_eq!((forged.status, forged.header("ratelimit")), (401, None));
    assert!(forged.header("ratelimit-policy").is_some());
    let ada = ask().header("Authorization", "Bearer ada").send(toy.address).await;
    assert_eq!(ada.header("ratelimit"), Some("\"request-charge\";r=2;t=3"));
    let anonymous = ask().send(toy.address).await;
    assert_eq!(anonymous.header("ratelimit"), Some("\"request-charge\";r=2;t=3"));
}

#[tokio::test]
async fn a_client_does_not_change_its_address_by_a_header() {
    let (toy, _) = toy(behind(0)).await;
    let names = ["X-Forwarded-For", "Forwarded", "X-Real-IP"];
    let mut number = 0;
    for name in names {
        number += 1;
        let answer = ask().header(name, &format!("192.0.2.{number}")).send(toy.address).await;
        assert_eq!(answer.status, 200);
    }
    for name in names {
        number += 1;
        let answer = ask().header(name, &format!("192.0.2.{number}")).send(toy.address).await;
        assert_eq!(answer.status, 429, "{name}");
    }
}

#[tokio::test]
async fn a_client_behind_a_proxy_cannot_forge_its_address() {
    let (toy, _) = toy(behind(1)).await;
    let told = |spoofed: &str| ask().header("X-Forwarded-For", &format!("{spoofed}, 192.0.2.1"));
    for spoofed in ["1.1.1.1", "2.2.2.2", "3.3.3.3"] {
        assert_eq!(told(spoofed).send(toy.address).await.status, 200);
    }
    assert_eq!(told("4.4.4.4").send(toy.address).await.status, 429);
    assert_eq!(ask().header("X-Forwarded-For", "4.4.4.4, 192.0.2.2").send(toy.address).await.status, 200);
}

#[tokio::test]
async fn a_site_with_a_whole_network_of_ipv6_has_one_budget() {
    let (toy, _) = toy(behind(1)).await;
    let from = |host: usize| ask().header("X-Forwarded-For", &format!("2001:db8:0:1:{host:x}::{host:x}"));
    for host in 1..=3 {
        assert_eq!(from(host).send(toy.address).await.status, 200);
    }
    assert_eq!(from(4).send(toy.address).await.status, 429);
    assert_eq!(ask().header("X-Forwarded-For", "2001:db8:0:2::1").send(toy.address).await.status, 200);
}

#[tokio::test]
async fn a_crowd_of_other_addresses_does_not_make_a_debt_forgotten() {
    let (toy, _) = toy(behind(1)).await;
    let debtor = || ask().header("X-Forwarded-For", "192.0.2.1");
    spend(toy.address, debtor).await;
    for number in 0..2_000_u32 {
        let [_, b, c, d] = number.to_be_bytes();
        let other = ask().header("X-Forwarded-For", &format!("10.{b}.{c}.{d}"));
        assert_eq!(other.send(toy.address).await.status, 200);
    }
    assert_eq!(debtor().send(toy.address).await.status, 429);
}

#[tokio::test]
async fn a_websocket_stays_open_after_an_operation_over_quota() {
    let (toy, clock) = toy(behind(0)).await;
    let mut socket = WebSocketClient::open(toy.address).await;
    for _ in 0..3 {
        socket.subscribe("1", QUERY).await;
        socket.hear_of("next", "1").await;
        socket.hear_of("complete", "1").await;
    }
    for query in [QUERY, "subscription { countsTo(last: 2) }"] {
        socket.subscribe("1", query).await;
        let errors = socket.hear_of("error", "1").await;
        let extensions = &errors[0]["extensions"];
        assert_eq!((&extensions["code"], &extensions["retryAfterMs"]), (&json!("LIMIT_EXCEEDED"), &json!(1)));
    }
    assert_eq!(ask().send(toy.address).await.status, 429, "the budget is that of requests");
    clock.advance_ms(1);
    socket.subscribe("1", QUERY).await;
    socket.hear_of("next", "1").await;
}

#[tokio::test]
async fn an_event_stream_over_budget_is_a_status() {
    let (toy, _) = toy(behind(0)).await;
    spend(toy.address, ask).await;
    for query in [QUERY, "subscription { countsTo(last: 2) }"] {
        let answer = post(json!({ "query": query })).accept("text/event-stream").send(toy.address).await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")), "{query}");
    }
}

#[tokio::test]
async fn the_listeners_of_an_event_pay_for_it_together() {
    let (toy, clock) = toy(behind(0)).await;
    let subscription =
        json!({ "query": "subscription { numbers { value } }", "extensions": { CHARGED: true } });
    let ada = json!({ "authorization": "Bearer ada" });
    let mut listeners =
        [WebSocketClient::open_with(toy.address, ada).await, WebSocketClient::open(toy.address).await];
    for listener in &mut listeners {
        listener.request("1", subscription.clone()).await;
        listener.settle().await;
    }
    toy.state.tell(1);
    for listener in &mut listeners {
        listener.hear_of("next", "1").await;
    }
    let half_ms = u64::from(EVENT_CHARGE / 2 - 3) * 1_000 + 1;
    let as_ada = || ask().header("Authorization", "Bearer ada");
    for answer in [ask().send(toy.address).await, as_ada().send(toy.address).await] {
        assert_eq!((answer.status, retry_after_ms(&answer)), (429, half_ms));
    }
    clock.advance_ms(half_ms.cast_signed());
    assert_eq!(ask().send(toy.address).await.status, 200);
}

#[tokio::test]
async fn a_subscription_ends_when_the_quota_of_its_caller_is_spent() {
    let (toy, clock) = toy(behind(0)).await;
    let subscription =
        json!({ "query": "subscription { numbers { value } }", "extensions": { CHARGED: true } });
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.request("1", subscription.clone()).await;
    socket.settle().await;
    toy.state.tell(1);
    socket.hear_of("next", "1").await;
    toy.state.tell(2);
    let errors = socket.hear_of("error", "1").await;
    assert_eq!(errors[0]["extensions"]["limit"], "caller-ru-per-second", "{errors}");
    assert_eq!(toy.state.resolved.load(std::sync::atomic::Ordering::SeqCst), 1, "no more is executed");
    clock.advance_ms(10_000);
    socket.request("1", subscription).await;
    socket.settle().await;
    toy.state.tell(3);
    assert_eq!(socket.hear_of("next", "1").await["data"]["numbers"]["value"], 3);
}

#[tokio::test]
async fn who_spent_its_quota_leaves_and_the_others_go_on() {
    let (toy, _) = toy(behind(0)).await;
    let subscription =
        json!({ "query": "subscription { numbers { value } }", "extensions": { CHARGED: true } });
    let mut poor = WebSocketClient::open(toy.address).await;
    poor.request("1", subscription.clone()).await;
    poor.settle().await;
    spend(toy.address, ask).await;
    let mut others = Vec::new();
    for name in ["ada", "grace", "alan"] {
        let payload = json!({ "authorization": format!("Bearer {name}") });
        let mut socket = WebSocketClient::open_with(toy.address, payload).await;
        socket.request("1", subscription.clone()).await;
        socket.settle().await;
        others.push(socket);
    }
    toy.state.tell(1);
    assert_eq!(poor.hear_of("error", "1").await[0]["extensions"]["code"], "LIMIT_EXCEEDED");
    for socket in &mut others {
        socket.hear_of("next", "1").await;
    }
}

#[tokio::test]
async fn an_event_waits_for_its_turn_to_execute() {
    let admission = ConcurrencyLimits { executing_max: 1, ..ConcurrencyLimits::default() };
    let limits = RequestLimits { admission, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { numbers { value } }").await;
    socket.settle().await;
    socket.subscribe("2", "{ waits }").await;
    toy.state.begun.notified().await;
    toy.state.tell(1);
    while toy.admission.load().waiting < 1 {
        tokio::task::yield_now().await;
    }
    socket.settle().await;
    toy.state.released.notify_one();
    let mut heard = vec![socket.hear().await["id"].take(), socket.hear().await["id"].take()];
    heard.push(socket.hear().await["id"].take());
    heard.sort_by_key(ToString::to_string);
    assert_eq!(heard, ["1", "2", "2"]);
}

#[tokio::test]
async fn an_event_stream_is_charged_for_its_events() {
    let (toy, _) = toy(behind(0)).await;
    let query = "subscription { countsTo(last: 1) }";
    let request =
        post(json!({ "query": query, "extensions": { CHARGED: true } })).accept("text/event-stream");
    let answer = request.send(toy.address).await;
    assert!(answer.text.contains("countsTo"), "{answer:?}");
    assert_eq!(retry_after_ms(&ask().send(toy.address).await), u64::from(EVENT_CHARGE - 3) * 1_000 + 1);
}

#[tokio::test]
async fn without_quotas_no_request_is_refused_and_no_header_sent() {
    let callers = RateLimits { ru_per_second: 0, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    for _ in 0..10 {
        let answer = ask().send(toy.address).await;
        assert_eq!(answer.status, 200);
        assert_eq!((answer.header("ratelimit"), answer.header("ratelimit-policy")), (None, None));
    }
}
