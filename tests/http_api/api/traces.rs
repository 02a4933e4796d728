//! Traces over OTLP: the spans, their attributes, and the secrets that never occur in them.

use std::path::Path;

use onehop::telemetry::TraceSettings;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};

use crate::api::binary::{Serving, refusing_address, run};
use crate::api::collector::{Collector, number, text};
use crate::api::server::{PASSWORD, Server, Setup};

const STORE: &str = "a-store";
const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID: &str = "b7ad6b7169203331";

async fn traced(collector: &Collector, sample_ratio: f64) -> Server {
    let endpoint = collector.traces_url();
    let traces = Some(TraceSettings { endpoint, sample_ratio, store_system: STORE });
    Server::start_with(Setup { traces, ..Setup::default() }).await
}

/// Asks within a trace of another process.
async fn ask_within(server: &Server, flags: &str, request: Value) -> Value {
    let traceparent = format!("00-{TRACE_ID}-{SPAN_ID}-{flags}");
    let sent = server.http.post(server.url("/graphql")).header("traceparent", traceparent).json(&request);
    sent.send().await.unwrap().json().await.unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let named: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let [span] = named[..] else { panic!("not one span {name}: {spans:#?}") };
    span
}

/// Spans of operations on the store.
fn of_store(spans: &[Span]) -> Vec<&Span> {
    spans.iter().filter(|span| text(&span.attributes, "db.system.name").as_deref() == Some(STORE)).collect()
}

#[tokio::test]
async fn a_query_is_traced_from_its_caller_to_the_store() {
    let collector = Collector::start().await;
    let server = traced(&collector, 1.0).await;
    let author = server.sign_up("author").await;
    author.post("traced").await;
    server.settle().await;
    let query = "query Front { feed(model: V1) { nodes { title author { username } } } }";
    let answer = ask_within(&server, "01", json!({ "query": query })).await;
    server.stop_traces().await;

    let trace = collector.trace_of("Front");
    let request = only(&trace, "POST /graphql");
    assert_eq!((hex(&request.trace_id), hex(&request.parent_span_id)), (TRACE_ID.into(), SPAN_ID.into()));
    assert_eq!(request.kind(), SpanKind::Server);
    assert_eq!(text(&request.attributes, "http.route").as_deref(), Some("/graphql"));
    assert!(number(&request.attributes, "http.response.status_code").is_some_and(|status| status == 200.0));
    let executed = only(&trace, "query");
    assert_eq!(executed.parent_span_id, request.span_id);
    // The author was looked up by the data loader, in a task of its own.
    let operations = of_store(&trace);
    assert!(operations.iter().any(|span| span.name.ends_with(" users")), "{trace:#?}");
    assert!(operations.iter().all(|span| span.parent_span_id == executed.span_id));
    assert!(operations.iter().all(|span| span.kind() == SpanKind::Client));

    let total = answer["extensions"]["requestCharge"].as_f64().unwrap();
    let charge = |span: &Span, key| number(&span.attributes, key).unwrap();
    let sum: f64 =
        operations.iter().map(|span| charge(span, "azure.cosmosdb.operation.request_charge")).sum();
    assert!((sum - total).abs() < 0.01 && sum > 0.0, "{sum} {total}");
    assert!((charge(executed, "onehop.request_charge") - total).abs() < 0.01);

    let resource = collector.resource();
    assert_eq!(text(&resource, "service.name").as_deref(), Some("onehop"));
    assert_eq!(text(&resource, "service.version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn a_span_lies_within_its_parents_time() {
    let collector = Collector::start().await;
    let server = traced(&collector, 1.0).await;
    server.anonymous().data("query Front { feed { nodes { title } } }", json!({})).await;
    server.stop_traces().await;
    let trace = collector.trace_of("Front");
    for span in &trace {
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        if let Some(parent) = trace.iter().find(|parent| parent.span_id == span.parent_span_id) {
            assert!(span.end_time_unix_nano <= parent.end_time_unix_nano, "{trace:#?}");
        }
    }
    assert!(trace.len() >= 3);
}

#[tokio::test]
async fn a_batch_is_in_the_trace_of_a_command_that_it_is_for() {
    let collector = Collector::start().await;
    let server = traced(&collector, 1.0).await;
    let author = server.sign_up("author").await;
    let post = author.post("liked").await;
    let mutation = "mutation Like($id: ID!) { likePost(input: { postId: $id }) { like { id } } }";
    author.data(mutation, json!({ "id": post })).await;
    server.stop_traces().await;
    let trace = collector.trace_of("Like");
    let executed = only(&trace, "mutation");
    let wrote =
        of_store(&trace).into_iter().find(|span| span.name == "batch posts" || span.name == "create posts");
    assert_eq!(wrote.map(|span| &span.parent_span_id), Some(&executed.span_id), "{trace:#?}");
}

#[tokio::test]
async fn what_fails_says_so_by_its_code() {
    let collector = Collector::start().await;
    let server = traced(&collector, 1.0).await;
    let query = "query Wrong { post(id: \"nonsense\") { title } }";
    let code = server.anonymous().refused(query, json!({})).await.code;
    server.stop_traces().await;
    let trace = collector.trace_of("Wrong");
    let executed = only(&trace, "query");
    assert_eq!(text(&executed.attributes, "error.type"), Some(code));
    assert_eq!(executed.status.as_ref().unwrap().message, "");
}

#[tokio::test]
async fn spans_have_no_client_text_but_the_operation_name() {
    let collector = Collector::start().await;
    let server = traced(&collector, 1.0).await;
    let author = server.sign_up("author").await;
    let secret = "a-secret-variable";
    author.data("query Named($id: ID!) { node(id: $id) { id } }", json!({ "id": author.id })).await;
    author.ask("query Failing($id: ID!) { node(id: $id) { id } }", json!({ "id": secret })).await;
    author.mutate("signIn", json!({ "username": "author", "password": PASSWORD })).await;
    author.post("a-secret-title").await;
    server.http.get(server.url("/a-secret-path?a-secret-parameter")).send().await.unwrap();
    server.stop_traces().await;
    let sent = collector.raw();
    assert!(sent.contains("Named") && sent.contains("GET /*"));
    let hidden = [secret, PASSWORD, author.token(), &author.id, "a-secret", "node(", "\"author\"", "Bearer"];
    for hidden in hidden {
        assert!(!sent.contains(hidden), "{hidden}");
    }
}

#[tokio::test]
async fn a_trace_that_its_caller_does_not_record_is_not_recorded() {
    let collector = Collector::start().await;
    let server = traced(&collector, 1.0).await;
    let request = json!({ "query": "query Unrecorded { feed { nodes { title } } }" });
    ask_within(&server, "00", request).await;
    server.http.get(server.url("/readyz")).send().await.unwrap();
    server.stop_traces().await;
    assert_eq!(collector.spans(), []);
}

#[tokio::test]
async fn a_caller_cannot_have_more_recorded_than_the_share() {
    let collector = Collector::start().await;
    let server = traced(&collector, 0.0).await;
    let request = json!({ "query": "query Unrecorded { feed { nodes { title } } }" });
    ask_within(&server, "01", request).await;
    server.stop_traces().await;
    assert_eq!(collector.spans(), []);
}

#[tokio::test]
async fn the_program_sends_its_last_spans_when_it_stops() {
    let (collector, directory) = (Collector::start().await, tempfile::tempdir().unwrap());
    let serving = Serving::start(directory.path(), &["--otlp-endpoint", &collector.endpoint]);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = json!({ "query": "query Last { feed { nodes { title } } }" });
    let url = format!("{}/graphql", serving.address);
    http.post(url).json(&request).send().await.unwrap().error_for_status().unwrap();
    let (status, log) = tokio::task::spawn_blocking(|| serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");
    let trace = collector.trace_of("Last");
    assert!(
        trace
            .iter()
            .any(|span| text(&span.attributes, "db.system.name").as_deref() == Some("onehop.embedded"))
    );
}

#[tokio::test]
async fn a_missing_collector_fails_no_request_and_is_logged() {
    let directory = tempfile::tempdir().unwrap();
    let (nobody, _socket) = refusing_address();
    let serving = Serving::start(directory.path(), &["--otlp-endpoint", &format!("http://{nobody}")]);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = json!({ "query": "{ feed { nodes { title } } }" });
    let url = format!("{}/graphql", serving.address);
    http.post(url).json(&request).send().await.unwrap().error_for_status().unwrap();
    let (status, log) = tokio::task::spawn_blocking(|| serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");
    assert!(log.contains("HttpTracesClient.Export"), "{log}");
}

#[tokio::test]
async fn a_setting_of_traces_that_cannot_be_used_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let refused = async |arguments: [&str; 2]| {
        let data = directory.path().join("data");
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let output = run(&[&fixed[..], &arguments].concat()).await;
        assert_eq!(output.status.code(), Some(2));
        assert!(!Path::new(&data).exists());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(["--otlp-endpoint", "collector"]).await.contains("--otlp-endpoint is not a URL"));
    assert!(
        refused(["--otlp-sample-ratio", "1.5"])
            .await
            .contains("--otlp-sample-ratio 1.5 is not between 0 and 1")
    );
}

#[tokio::test]
async fn lines_of_the_log_within_a_request_name_its_trace_and_span() {
    let collector = Collector::start().await;
    for format in ["json", "human"] {
        let data = tempfile::tempdir().unwrap();
        let settings = ["--log", "debug", "--log-format", format, "--otlp-endpoint", &collector.endpoint];
        let serving = Serving::start(data.path(), &settings);
        let request = reqwest::Client::builder()
            .no_proxy()
            .build()
            .unwrap()
            .post(format!("{}/graphql", serving.address));
        let request = request.header("content-type", "application/json").body("{");
        let request = request.header("traceparent", format!("00-{TRACE_ID}-{SPAN_ID}-01"));
        assert_eq!(request.send().await.unwrap().status(), 400);
        let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
        assert_eq!(status, 0, "{log}");
        let line = log.lines().find(|line| line.contains("request refused")).expect("a line");
        let span_id = if format == "json" {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                (&line["span"]["trace_id"], &line["span"]["name"]),
                (&json!(TRACE_ID), &json!("request"))
            );
            line["span"]["span_id"].as_str().unwrap().to_owned()
        } else {
            let (_, span) = line.split_once(&format!("request{{trace_id={TRACE_ID} span_id=")).expect(line);
            span[..16].to_owned()
        };
        assert!(span_id.bytes().all(|byte| byte.is_ascii_hexdigit()) && span_id != SPAN_ID, "{line}");
        let outside = log.lines().find(|line| line.contains("stopped")).expect("a line");
        assert!(!outside.contains(TRACE_ID), "{outside}");
    }
}
