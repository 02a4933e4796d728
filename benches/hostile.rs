//! The time to refuse the hostile documents and variables of `tests/http_api/hostile`, each as large as the
//! limits allow: the shortest of several runs, which is the CPU time without a wait. It fails when one takes
//! longer than the promise.

#[allow(dead_code, reason = "the tests take more")]
#[path = "../tests/http_api/hostile/endpoint.rs"]
mod endpoint;
#[path = "../tests/http_api/hostile/shapes.rs"]
mod shapes;
#[path = "../tests/support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use onehop_graphql_server::document::DocumentError;
use onehop_graphql_server::document_cache::Documents;
use onehop_graphql_server::document_limits::{DOCUMENT_BYTES_MAX, DocumentLimits};
use onehop_graphql_server::endpoint::GraphqlEndpoint;
use onehop_graphql_server::json_size::{VARIABLES_BYTES_MAX, VariableLimits};
use serde_json::json;

use endpoint::{answer, post};
use shapes::{DOCUMENTS, VARIABLES, largest};

/// The limit of refusing one request.
const PROMISE: Duration = Duration::from_millis(50);

const RUNS: usize = 5;

/// The number of slowest cases that are shown.
const SHOWN: usize = 12;

struct Measured {
    what: String,
    time: Duration,
    bytes: usize,
    is_refused: bool,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut measured = runtime.block_on(measure_all());
    measured.sort_by_key(|measured| std::cmp::Reverse(measured.time));
    println!("{} hostile requests; the {SHOWN} that took longest:\n", measured.len());
    println!("{:>8} {:>9}  {:<9} ", "ms", "bytes", "");
    for Measured { what, time, bytes, is_refused } in &measured[..SHOWN] {
        let outcome = if *is_refused { "refused" } else { "answered" };
        println!("{:>8.2} {bytes:>9}  {outcome:<9} {what}", time.as_secs_f64() * 1000.0);
    }
    let broken = measured.iter().filter(|measured| measured.is_refused && measured.time > PROMISE).count();
    if broken > 0 {
        println!("\n{broken} took longer than {PROMISE:?} to refuse");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn measure_all() -> Vec<Measured> {
    let endpoint = endpoint::endpoint().await;
    let mut measured = Vec::new();
    let documents = DocumentLimits::default();
    for (name, shape) in DOCUMENTS {
        let by_bytes = largest(DOCUMENT_BYTES_MAX, |n| shape(n).len() <= DOCUMENT_BYTES_MAX);
        let by_all = largest(DOCUMENT_BYTES_MAX, |n| !is_over_limit(&documents, &shape(n)));
        for document in [by_bytes, by_all, by_all + 1].map(shape) {
            let body = json!({ "query": document }).to_string();
            measured.push(measure(&endpoint, format!("document: {name}"), body).await);
        }
    }
    let variables = VariableLimits::default();
    for (name, shape) in VARIABLES {
        let by_bytes = largest(VARIABLES_BYTES_MAX, |n| shape(n).len() <= VARIABLES_BYTES_MAX);
        let by_all = largest(VARIABLES_BYTES_MAX, |n| variables.check(&shape(n)).is_ok());
        for json in [by_bytes, by_bytes + 1, by_all, by_all + 1].map(shape) {
            let body = format!("{{\"query\":\"{{viewer{{id}}}}\",\"variables\":{json}}}");
            measured.push(measure(&endpoint, format!("variables: {name}"), body).await);
        }
    }
    measured
}

fn is_over_limit(limits: &DocumentLimits, text: &str) -> bool {
    matches!(Documents::new(*limits).parse(text), Err(DocumentError::OverLimit(_)))
}

/// A document that was parsed is kept, so each run differs by its first characters.
async fn measure(endpoint: &GraphqlEndpoint, what: String, body: String) -> Measured {
    let (mut time, mut is_refused) = (Duration::MAX, false);
    for run in 0..RUNS {
        let request = post(body.replacen("\"query\":\"", &format!("\"query\":\"{}", ",".repeat(run)), 1));
        let start = Instant::now();
        let response = endpoint.handle(request).await;
        time = time.min(start.elapsed());
        is_refused = answer(response).await.is_refused();
    }
    Measured { what, time, bytes: body.len(), is_refused }
}
