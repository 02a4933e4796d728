//! The log of the program: its start, its requests, and its refusals.

use serde_json::{Value, json};

use crate::api::binary::{Serving, refusing_address, run};

#[tokio::test]
async fn access_log_names_operation_status_charge_and_request_id() {
    let data = tempfile::tempdir().unwrap();
    let settings = ["--log-format", "json", "--access-log", "--slow-ms", "3600000", "--drain-seconds", "0"];
    let serving = Serving::start(data.path(), &settings);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/graphql", serving.address);
    let query = json!({ "query": "query Newest { feed { nodes { title } } }" });
    let answer = http.post(&url).header("x-request-id", "edge-7").json(&query).send().await.unwrap();
    assert_eq!(answer.headers()["x-request-id"], "edge-7");
    let made = http.post(&url).header("x-request-id", "two words").json(&query).send().await.unwrap();
    let made = made.headers()["x-request-id"].to_str().unwrap().to_owned();
    let health = http.get(format!("{}/healthz", serving.address)).send().await.unwrap();
    assert!(health.headers().contains_key("x-request-id"));
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let start = &lines.iter().find(|line| line["message"] == "starting").expect("a first line");
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(start["recovery"], "the directory is new");
    assert!(start["settings"].as_str().unwrap().contains("--access-log"), "{start}");
    let answered: Vec<&Value> = lines.iter().filter(|line| line["message"] == "answered").collect();
    let ids: Vec<_> = answered.iter().map(|line| line["span"]["request_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["edge-7", &made]);
    for line in answered {
        assert_eq!((&line["status"], &line["route"]), (&json!(200), &json!("/graphql")));
        assert_eq!(line["span"]["operation"], "Newest");
        assert!(line["span"]["request_charge"].as_f64().unwrap() > 0.0 && line["ms"].as_f64().unwrap() > 0.0);
    }
}

#[tokio::test]
async fn refused_requests_are_one_line_with_their_number() {
    let data = tempfile::tempdir().unwrap();
    let quota = ["--caller-ru-per-second", "1", "--log-format", "json"];
    let serving = Serving::start(data.path(), &quota);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/graphql", serving.address);
    let query = json!({ "query": "{ feed(first: 100) { nodes { title } } }" });
    let mut refused = 0;
    while refused < 50 {
        let answer = http.post(&url).json(&query).send().await.unwrap();
        refused += u64::from(answer.status() == 429);
    }
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let summaries: Vec<Value> = lines.filter(|line| line["message"] == "requests were refused").collect();
    // A machine that takes longer than a minute for this writes more than one summary.
    let counted: u64 = summaries.iter().map(|line| line["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, refused, "{log}");
    assert!(summaries[0]["reasons"].as_str().unwrap().ends_with("429 caller-ru-per-second"), "{log}");
    assert!(log.lines().count() < 20, "{log}");
}

#[tokio::test]
async fn health_of_a_server_is_an_exit_status() {
    let data = tempfile::tempdir().unwrap();
    let serving = Serving::start(data.path(), &[]);
    let address = serving.address.strip_prefix("http://").unwrap().to_owned();
    for arguments in [&["health", "--listen", &address][..], &["health", "--ready", "--listen", &address]] {
        assert_eq!(run(arguments).await.status.code(), Some(0));
    }
    let (nobody, _socket) = refusing_address();
    let output = run(&["health", "--listen", &nobody.to_string()]).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(printed.contains(&nobody.to_string()), "{printed}");
}
