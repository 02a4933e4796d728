//! `GET` with conditions, and positions: answers without an execution, and waits before it.

use std::sync::atomic::Ordering;

use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::json;

use crate::http::client::{Exchange, GRAPHQL_RESPONSE, get, post, request};
use crate::http::toy::{Options, Toy};

fn executed(toy: &Toy) -> usize {
    toy.state.executed.load(Ordering::SeqCst)
}

async fn write(toy: &Toy) {
    assert_eq!(post(json!({ "query": "mutation { count }" })).send(toy.address).await.status, 200);
}

fn query() -> Exchange {
    get(&[("query", "{ item(id: \"x\") }")]).header("Accept", "application/json")
}

#[tokio::test]
async fn an_unchanged_response_is_304_without_execution() {
    let toy = Toy::start().await;
    let first = query().send(toy.address).await;
    let tag = first.header("etag").expect("a tag").to_owned();
    assert_eq!(first.header("cache-control"), Some("private, no-cache"));
    assert_eq!(first.header("vary"), Some("accept, accept-encoding, authorization, onehop-position"));
    assert_eq!(executed(&toy), 1);
    for named in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}")] {
        let same = query().header("If-None-Match", &named).send(toy.address).await;
        assert_eq!((same.status, same.text.as_str(), same.header("etag")), (304, "", Some(tag.as_str())));
    }
    assert_eq!(executed(&toy), 1);
}

#[tokio::test]
async fn a_write_makes_another_answer() {
    let toy = Toy::start().await;
    let tag = query().send(toy.address).await.header("etag").expect("a tag").to_owned();
    write(&toy).await;
    let answer = query().header("If-None-Match", &tag).send(toy.address).await;
    assert_eq!(answer.status, 200);
    assert_ne!(answer.header("etag"), Some(tag.as_str()));
}

#[tokio::test]
async fn a_tag_is_good_for_its_own_request_and_its_own_caller() {
    let toy = Toy::start().await;
    let tag = query().send(toy.address).await.header("etag").expect("a tag").to_owned();
    let others = [
        get(&[("query", "{ item(id: \"y\") }")]).header("Accept", "application/json"),
        get(&[("query", "{ item(id: \"x\") }")]).header("Accept", "application/graphql-response+json"),
        query().header("Accept-Encoding", "gzip"),
        query().header("Authorization", "Bearer somebody"),
    ];
    for other in others {
        assert_eq!(other.header("If-None-Match", &tag).send(toy.address).await.status, 200);
    }
}

#[tokio::test]
async fn an_expired_token_is_refused_before_the_entity_tag() {
    let toy = Toy::start().await;
    let signed_in = |token: &str| query().header("Authorization", &format!("Bearer {token}"));
    let tag = signed_in("good").send(toy.address).await.header("etag").expect("a tag").to_owned();
    assert_eq!(signed_in("good").header("If-None-Match", &tag).send(toy.address).await.status, 304);
    assert_eq!(signed_in("forged").header("If-None-Match", &tag).send(toy.address).await.status, 401);
}

#[tokio::test]
async fn an_answer_of_which_nothing_is_known_is_compared_by_its_bytes() {
    let toy = Toy::start().await;
    let untraced = || get(&[("query", "query untraced { item(id: \"x\") }")]);
    let tag = untraced().send(toy.address).await.header("etag").expect("a tag").to_owned();
    write(&toy).await;
    let before = executed(&toy);
    let same = untraced().header("If-None-Match", &tag).send(toy.address).await;
    assert_eq!((same.status, same.text.as_str()), (304, ""));
    assert_eq!(executed(&toy), before + 1);
    let other = get(&[("query", "query untraced { item(id: \"y\") }")]);
    assert_eq!(other.header("If-None-Match", &tag).send(toy.address).await.status, 200);
}

#[tokio::test]
async fn errors_and_answers_to_posts_have_no_tag() {
    let toy = Toy::start().await;
    let failed = get(&[("query", "{ fails }")]).send(toy.address).await;
    let posted = post(json!({ "query": "{ item(id: \"x\") }" })).send(toy.address).await;
    for answer in [failed, posted] {
        assert_eq!((answer.header("etag"), answer.header("cache-control")), (None, Some("no-store")));
    }
}

#[tokio::test]
async fn a_head_request_has_the_tag_of_its_get() {
    let toy = Toy::start().await;
    let target = "/graphql?query=%7Bitem(id%3A%22x%22)%7D";
    let of = |method| request(method, target).header("Accept", "application/json");
    let got = of("GET").send(toy.address).await;
    let headed = of("HEAD").send(toy.address).await;
    assert!(got.header("etag").is_some());
    assert_eq!(headed.header("etag"), got.header("etag"));
}

#[tokio::test]
async fn the_write_position_is_sent_and_read_in_a_header() {
    let toy = Toy::start().await;
    let written = post(json!({ "query": "mutation { count }" })).send(toy.address).await;
    assert_eq!(written.header("onehop-position"), Some("1"));
    assert_eq!(written.json()["extensions"]["position"], "1");
    for (position, reached) in [("1", true), ("2", false)] {
        let by_header = post(json!({ "query": "{ item(id: \"x\") }" })).header("Onehop-Position", position);
        let by_extension =
            post(json!({ "query": "{ item(id: \"x\") }", "extensions": { "position": position } }));
        let by_get = query().header("Onehop-Position", position);
        for asked in [by_header, by_extension, by_get] {
            let answer = asked.send(toy.address).await;
            assert_eq!(answer.json()["extensions"]["reached"], reached, "{answer:?}");
            let why = if reached { json!(null) } else { json!("TIMED_OUT") };
            assert_eq!(answer.json()["extensions"]["notReached"], why, "{answer:?}");
            assert_eq!(answer.header("etag"), None);
        }
    }
    assert_eq!(toy.state.waited.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn a_mutation_waits_for_no_position() {
    let toy = Toy::start().await;
    let mutation = post(json!({ "query": "mutation { count }" })).header("Onehop-Position", "7");
    assert_eq!(mutation.send(toy.address).await.status, 200);
    assert_eq!(toy.state.waited.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_is_no_position_is_refused_by_its_name() {
    let toy = Toy::start().await;
    for position in [json!("x"), json!(7), json!({ "a": 1 })] {
        let request = json!({ "query": "{ item(id: \"x\") }", "extensions": { "position": position } });
        let answer = post(request).send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BAD_USER_INPUT"), "{answer:?}");
        assert_eq!(answer.json()["errors"][0]["extensions"]["field"], "extensions.position");
    }
    assert_eq!(executed(&toy), 0);
}

#[tokio::test]
async fn who_is_not_known_or_over_budget_waits_for_nothing() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    for bearer in ["Bearer ada", ""] {
        let spend = post(json!({ "query": "{ viewer }" })).header("Authorization", bearer);
        let spend = if bearer.is_empty() { post(json!({ "query": "{ viewer }" })) } else { spend };
        assert_eq!(spend.send(toy.address).await.status, 200);
    }
    let query = json!({ "query": "{ viewer }", "extensions": { "position": "7" } });
    for (bearer, status) in [(Some("Bearer forged"), 401), (Some("Bearer ada"), 429), (None, 429)] {
        let mut request = post(query.clone()).accept(GRAPHQL_RESPONSE);
        if let Some(bearer) = bearer {
            request = request.header("Authorization", bearer);
        }
        assert_eq!(request.send(toy.address).await.status, status, "{bearer:?}");
    }
    assert_eq!(toy.state.waited.load(Ordering::SeqCst), 0);
}

fn of_ada(request: Exchange) -> Exchange {
    request.header("Authorization", "Bearer ada")
}

async fn write_as_ada(toy: &Toy) {
    let mutation = post(json!({ "query": "mutation { count }" }));
    assert_eq!(of_ada(mutation).send(toy.address).await.status, 200);
}

#[tokio::test]
async fn the_last_write_of_a_user_is_waited_for_until_reached() {
    let toy = Toy::start().await;
    let waited = || toy.state.waited.load(Ordering::SeqCst);
    let plain = || post(json!({ "query": "{ viewer }" }));
    write_as_ada(&toy).await;
    plain().send(toy.address).await;
    plain().header("Authorization", "Bearer grace").send(toy.address).await;
    assert_eq!(waited(), 0);
    toy.state.lags.store(true, Ordering::SeqCst);
    for times in 1..=2 {
        let answer = of_ada(plain()).send(toy.address).await.json();
        assert_eq!((&answer["extensions"]["reached"], waited()), (&json!(false), times), "{answer}");
    }
    toy.state.lags.store(false, Ordering::SeqCst);
    for _ in 0..2 {
        let answer = of_ada(plain()).send(toy.address).await.json();
        assert_eq!((answer["extensions"].get("reached"), waited()), (None, 3), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_that_the_last_write_is_not_in_has_no_tag() {
    let toy = Toy::start().await;
    write_as_ada(&toy).await;
    let tag = of_ada(query()).send(toy.address).await.header("etag").expect("a tag").to_owned();
    let again = || of_ada(query()).header("If-None-Match", &tag).send(toy.address);
    assert_eq!(again().await.status, 304);
    write_as_ada(&toy).await;
    toy.state.lags.store(true, Ordering::SeqCst);
    let early = again().await;
    assert_eq!((early.status, early.header("etag")), (200, None));
    assert_eq!(early.json()["extensions"]["notReached"], "TIMED_OUT");
    toy.state.lags.store(false, Ordering::SeqCst);
    let late = again().await;
    assert!(late.status == 200 && late.header("etag").is_some_and(|late| late != tag), "{late:?}");
    assert_eq!(late.json()["extensions"].get("reached"), None);
}
