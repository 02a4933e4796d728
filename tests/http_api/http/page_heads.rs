//! The metadata in a page's head is read within the budget of the client, and only where no request waits.
//! The page itself is never refused. In the toy the head of each post is charged 1 RU.

use std::{borrow::Cow, net::SocketAddr};

use onehop::http::static_files::WebFile;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::admit::ConcurrencyLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::json;

use crate::http::client::{post, request};
use crate::http::toy::{Options, Toy};

const INDEX: &str = "<head><!-- page --><title>Plain</title><!-- /page --></head>";

async fn toy(limits: RequestLimits) -> (Toy, Options) {
    let web = |path: &str| {
        let bytes = Cow::Borrowed(INDEX.as_bytes());
        (path == "index.html").then_some(WebFile { bytes, sha256: [0; 32] })
    };
    let options = Options { limits, web, ..Options::default() };
    (Toy::start_with(options.clone()).await, options)
}

/// Whether the head of a post's page, which always comes, has the post's title.
async fn is_named(address: SocketAddr) -> bool {
    let page = request("GET", "/posts/hello").send(address).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<title>"), "{page:?}");
    page.text.contains("<title>hello")
}

#[tokio::test]
async fn page_metadata_is_charged_and_left_out_over_quota() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 3, ..RateLimits::default() };
    let (toy, options) = toy(RequestLimits { callers, ..RequestLimits::default() }).await;
    let mut named = Vec::new();
    for _ in 0..5 {
        named.push(is_named(toy.address).await);
    }
    assert_eq!(named, [true, true, true, false, false]);
    let query = post(json!({ "query": "{ viewer }" })).send(toy.address).await;
    assert_eq!(query.status, 429, "it is the budget of queries");
    options.clock.advance_ms(3_000);
    assert!(is_named(toy.address).await);
}

#[tokio::test]
async fn page_metadata_is_left_out_at_the_concurrency_limit() {
    let admission = ConcurrencyLimits { executing_max: 1, ..ConcurrencyLimits::default() };
    let (toy, _) = toy(RequestLimits { admission, ..RequestLimits::default() }).await;
    let executing = post(json!({ "query": "{ waits }" })).send(toy.address);
    let meanwhile = async {
        toy.state.begun.notified().await;
        assert!(!is_named(toy.address).await);
        toy.state.released.notify_one();
    };
    let (answer, ()) = tokio::join!(executing, meanwhile);
    assert_eq!(answer.status, 200);
    assert!(is_named(toy.address).await && is_named(toy.address).await, "each gives its place back");
}
