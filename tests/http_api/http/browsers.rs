//! Protections of browsers: requests that pages of other sites make them send, names that are made to point
//! here, answers that are misread, framed or embedded.

use std::sync::atomic::Ordering;

use axum::http::HeaderValue;
use onehop_graphql_server::host_allowlist::HostAllowlist;
use onehop_graphql_server::router::Exposure;
use serde_json::json;

use crate::http::client::{Exchange, JSON, get, post, post_text, request};
use crate::http::toy::{Options, Toy};

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0";

fn toy_of(exposure: Exposure) -> impl Future<Output = Toy> {
    Toy::start_with(Options { exposure, ..Options::default() })
}

/// A browser's request for a form of another site.
fn form(content_type: &str, body: &str) -> Exchange {
    request("POST", "/graphql")
        .header("Content-Type", content_type)
        .header("User-Agent", BROWSER)
        .header("Origin", "https://evil.example")
        .header("Sec-Fetch-Site", "cross-site")
        .header("Sec-Fetch-Mode", "navigate")
        .accept("text/html,application/xhtml+xml,*/*;q=0.8")
        .body(body)
}

#[tokio::test]
async fn no_form_of_another_site_runs_anything() {
    let toy = Toy::start().await;
    let mutation = json!({ "query": "mutation { count }" }).to_string();
    for (content_type, body) in [
        ("text/plain", mutation.as_str()),
        ("text/plain; charset=application/json", mutation.as_str()),
        ("application/x-www-form-urlencoded", "query=mutation%7Bcount%7D"),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\nmutation{count}\r\n--x--\r\n",
        ),
    ] {
        let answer = form(content_type, body).send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"), "{content_type}");
        assert!(answer.message().contains("apollo-require-preflight"), "{}", answer.message());
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_get_query_of_another_site_is_refused() {
    let toy = Toy::start().await;
    let query = || get(&[("query", "{ viewer }")]);
    for (exchange, status) in [
        (query(), 200),
        (query().accept("*/*").header("User-Agent", "curl/8.5.0"), 200),
        (query().header("User-Agent", BROWSER).header("Sec-Fetch-Site", "same-origin"), 200),
        (query().header("User-Agent", BROWSER).header("Sec-Fetch-Site", "none"), 200),
        (query().header("User-Agent", BROWSER).header("Apollo-Require-Preflight", "true"), 200),
        (query().header("User-Agent", BROWSER).header("Sec-Fetch-Site", "cross-site"), 403),
        (query().header("User-Agent", BROWSER).accept("image/webp,*/*"), 403),
        (query().header("Origin", "https://evil.example").accept(JSON), 403),
    ] {
        let answer = exchange.send(toy.address).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

#[tokio::test]
async fn an_allowed_origin_passes_csrf_protection() {
    let allowed_origins = vec![HeaderValue::from_static("https://blog.example")];
    let toy = toy_of(Exposure { allowed_origins, ..Exposure::default() }).await;
    for (origin, status) in [("https://blog.example", 200), ("https://evil.example", 403)] {
        let exchange = get(&[("query", "{ viewer }")])
            .header("User-Agent", BROWSER)
            .header("Sec-Fetch-Site", "cross-site")
            .header("Origin", origin);
        assert_eq!(exchange.send(toy.address).await.status, status, "{origin}");
    }
}

#[tokio::test]
async fn the_server_answers_to_its_own_names_only() {
    let hosts = HostAllowlist::Only(vec!["onehop.test".to_owned()]);
    let toy = toy_of(Exposure { hosts, ..Exposure::default() }).await;
    assert_eq!(post(json!({ "query": "{ viewer }" })).send(toy.address).await.status, 200);

    let hosts = HostAllowlist::OfThisMachineAnd(Vec::new());
    let toy = toy_of(Exposure { hosts, ..Exposure::default() }).await;
    for exchange in [post(json!({ "query": "mutation { count }" })), request("GET", "/")] {
        let answer = exchange.send(toy.address).await;
        assert_eq!(answer.status, 421, "{answer:?}");
        assert!(answer.text.contains("--allow-host"), "{answer:?}");
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
    assert_eq!(request("GET", "/healthz").send(toy.address).await.status, 200);
}

#[tokio::test]
async fn every_response_has_security_headers_and_no_cookie() {
    let toy = Toy::start().await;
    for exchange in [
        request("GET", "/"),
        request("GET", "/nothing"),
        request("GET", "/healthz"),
        request("GET", "/readyz"),
        request("POST", "/healthz"),
        request("OPTIONS", "/graphql"),
        post(json!({ "query": "{ viewer }" })),
        post(json!({ "query": "{ panics }" })),
        post(json!({ "query": "{" })),
        post_text("{").accept("text/html"),
        form("text/plain", ""),
    ] {
        let answer = exchange.send(toy.address).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}: {answer:?}");
        }
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("frame-ancestors 'none'"), "{answer:?}");
        assert!(answer.header("permissions-policy").is_some_and(|powers| powers.contains("camera=()")));
        assert_eq!((answer.header("set-cookie"), answer.header("strict-transport-security")), (None, None));
        assert_eq!(answer.header("server"), None);
    }
}

#[tokio::test]
async fn what_is_no_page_may_load_nothing() {
    let toy = Toy::start().await;
    for exchange in [post(json!({ "query": "{ viewer }" })), request("GET", "/healthz")] {
        let answer = exchange.send(toy.address).await;
        assert_eq!(
            answer.header("content-security-policy"),
            Some("default-src 'none'; frame-ancestors 'none'")
        );
    }
}

#[tokio::test]
async fn browsers_come_back_over_https_when_the_configuration_says_so() {
    let toy = toy_of(Exposure { hsts_seconds: 31_536_000, ..Exposure::default() }).await;
    let answer = request("GET", "/healthz").send(toy.address).await;
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
}
