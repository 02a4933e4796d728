//! `/metrics`: the counters, the secrets that never show, and the listener that serves it.

use serde_json::json;

use crate::api::binary::Serving;
use onehop_graphql_server::host_allowlist::HostAllowlist;

use crate::api::server::{PASSWORD, Server, Setup};

/// The format that Prometheus accepts first.
const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3";

async fn metrics(server: &Server) -> String {
    let request = server.http.get(server.url("/metrics")).header("accept", OPEN_METRICS);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(content_type.starts_with("application/openmetrics-text; version=1.0.0"), "{content_type}");
    let text = response.text().await.unwrap();
    assert!(text.ends_with("# EOF\n"));
    text
}

/// The value of the one series with this name whose labels hold all of these.
fn value(metrics: &str, name: &str, labels: &[&str]) -> f64 {
    let lines = metrics.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    });
    let lines: Vec<&str> = lines.collect();
    let [line] = lines[..] else { panic!("not one series {name} {labels:?}: {lines:?}") };
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn operations_are_counted_by_their_names_with_their_charges() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    author.post("counted").await;
    server.settle().await;
    for _ in 0..3 {
        server.anonymous().data("query Front { feed { nodes { title } } }", json!({})).await;
    }
    server.anonymous().ask("query Wrong { post(id: \"nonsense\") { title } }", json!({})).await;
    let metrics = metrics(&server).await;
    let of = |name: &'static str| {
        [format!("graphql_operation_name=\"{name}\""), "graphql_operation_type=\"query\"".to_owned()]
    };
    let [front, query] = of("Front");
    let counted =
        |outcome| value(&metrics, "graphql_operation_duration_seconds_count", &[&front, &query, outcome]);
    assert!((counted("outcome=\"ok\"") - 3.0).abs() < f64::EPSILON);
    assert!(value(&metrics, "graphql_operation_request_charge_total", &[&front]) > 0.0);
    let [wrong, _] = of("Wrong");
    let failed = value(&metrics, "graphql_operation_duration_seconds_count", &[&wrong, "outcome=\"error\""]);
    assert!((failed - 1.0).abs() < f64::EPSILON);
    let by_code = ["error_code=\"BAD_USER_INPUT\"", "graphql_operation_type=\"query\""];
    assert!((value(&metrics, "graphql_operation_errors_total", &by_code) - 1.0).abs() < f64::EPSILON);
    let posts = ["http_route=\"/graphql\"", "http_request_method=\"POST\"", "status_code=\"200\""];
    assert!(value(&metrics, "http_server_request_duration_seconds_count", &posts) >= 5.0);
}

#[tokio::test]
async fn operations_on_the_store_are_counted_by_container_and_kind() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    author.post("stored").await;
    let metrics = metrics(&server).await;
    let created = ["db_collection_name=\"posts\"", "db_operation_name=\"create\""];
    let charged = value(&metrics, "azure_cosmosdb_client_operation_request_charge_count", &created);
    assert!((charged - 1.0).abs() < f64::EPSILON);
    assert!(value(&metrics, "azure_cosmosdb_client_operation_request_charge_sum", &created) > 0.0);
    let ended = [created[0], created[1], "error_type=\"\""];
    let timed = value(&metrics, "db_client_operation_duration_seconds_count", &ended);
    assert!((timed - 1.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn projections_show_what_waits_for_them() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    author.post("waits").await;
    let feed = ["projection=\"feed\""];
    let waiting = metrics(&server).await;
    assert!((value(&waiting, "onehop_projection_pending_changes", &feed) - 1.0).abs() < f64::EPSILON);
    assert!(value(&waiting, "onehop_projection_lag_seconds", &feed) > 0.0);
    server.settle().await;
    let settled = metrics(&server).await;
    assert!(value(&settled, "onehop_projection_pending_changes", &feed).abs() < f64::EPSILON);
    assert!(value(&settled, "onehop_projection_changes_total", &feed) >= 1.0);
    assert!(value(&settled, "onehop_projection_dead_letters", &feed).abs() < f64::EPSILON);
}

#[tokio::test]
async fn metric_labels_have_no_client_text_but_operation_names() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    let secret = "a-secret-variable";
    author.data("query Named($id: ID!) { node(id: $id) { id } }", json!({ "id": author.id })).await;
    author.ask("query Failing($id: ID!) { node(id: $id) { id } }", json!({ "id": secret })).await;
    let path = server.url("/a-secret-path?a-secret-parameter");
    server.http.get(path).send().await.unwrap();
    let metrics = metrics(&server).await;
    assert!(metrics.contains("graphql_operation_name=\"Named\""));
    for hidden in
        [secret, PASSWORD, author.token(), &author.id, "a-secret-path", "a-secret-parameter", "node("]
    {
        assert!(!metrics.contains(hidden), "{hidden}");
    }
}

#[tokio::test]
async fn a_name_in_use_has_a_series_whatever_names_are_made_up() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    for number in 0..250 {
        anonymous.ask(&format!("query Evil{number} {{ __typename }}"), json!({})).await;
    }
    for _ in 0..2 {
        anonymous.ask("query LegitFeed { __typename }", json!({})).await;
    }
    anonymous.ask("query OneMoreEvil { __typename }", json!({})).await;
    let metrics = metrics(&server).await;
    assert!(metrics.contains("graphql_operation_name=\"LegitFeed\""));
    let series = metrics
        .lines()
        .filter(|line| line.starts_with("onehop_graphql_request_charge") || line.contains("_count{"));
    let named = series.filter(|line| line.contains("graphql_operation_name=\"")).count();
    assert!(named <= 2 * onehop::telemetry::OPERATION_NAMES_MAX, "{named}");
}

#[tokio::test]
async fn metrics_under_a_name_that_is_not_ours_are_refused() {
    let mut setup = Setup::default();
    setup.options.exposure.hosts = HostAllowlist::OfThisMachineAnd(Vec::new());
    let server = Server::start_with(setup).await;
    let ask = async |path: &str, host: &str| {
        let response = server.http.get(server.url(path)).header("host", host).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(ask("/metrics", "evil.example").await.0, 421);
    assert_eq!(ask("/metrics", "10.1.2.3:8080").await.0, 200);
    assert_eq!(ask("/metrics", "localhost").await.0, 200);
    for path in ["/healthz", "/readyz"] {
        let (status, text) = ask(path, "evil.example").await;
        assert_eq!((status == 200 || status == 503, text.as_str()), (true, ""), "{path}");
        assert!(!ask(path, "127.0.0.1").await.1.is_empty());
    }
}

#[tokio::test]
async fn the_api_serves_no_metrics_where_they_are_switched_off() {
    let mut setup = Setup::default();
    setup.options.metrics = false;
    let server = Server::start_with(setup).await;
    let response = server.http.get(server.url("/metrics")).send().await.unwrap();
    assert!(!response.text().await.unwrap().contains("# TYPE"));
}

#[tokio::test]
async fn production_serves_metrics_on_their_own_address_only() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &["--production", "--metrics-listen", "127.0.0.1:0"]);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let text = async |url: String| http.get(url).send().await.unwrap().text().await.unwrap();
    let own = serving.metrics.clone().expect("a line that says where");
    let foreign = http.get(&own).header("host", "evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), 421);
    assert!(text(own).await.contains("# TYPE process_start_time_seconds gauge\n"));
    assert!(!text(format!("{}/metrics", serving.address)).await.contains("# TYPE"));
    assert_eq!(tokio::task::spawn_blocking(move || serving.stop()).await.unwrap().0, 0);
}

#[test]
fn each_alert_links_to_its_section_of_the_runbook() {
    let file =
        |name: &str| std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (rules, runbook) = (file("deploy/prometheus-alerts.yml"), file("docs/runbook.md"));
    let of = |prefix: &'static str| {
        let found = rules.lines().filter_map(move |line| line.trim().strip_prefix(prefix));
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    let alerts = of("- alert: ");
    assert!(alerts.len() > 15);
    let links: Vec<String> =
        alerts.iter().map(|alert| format!("docs/runbook.md#{}", alert.to_lowercase())).collect();
    assert_eq!(of("runbook_url: "), links);
    let sections: Vec<&str> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, alerts);
}

/// Names of metrics in an expression of Prometheus.
fn named(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let prefixes = ["http_", "graphql_", "db_client_", "azure_", "onehop_", "process_"];
    words.filter(move |word| {
        prefixes.iter().any(|prefix| word.starts_with(prefix))
            && ["_total", "_bucket", "_count", "_sum", "_seconds", "_bytes"]
                .iter()
                .any(|end| word.ends_with(end))
    })
}

#[tokio::test]
async fn the_dashboard_and_the_alerts_ask_for_metrics_that_there_are() {
    let server = Server::start().await;
    server.sign_up("author").await.post("counted").await;
    server.anonymous().ask("query Wrong { post(id: \"nonsense\") { title } }", json!({})).await;
    let metrics = metrics(&server).await;
    let file = |name: &str| {
        std::fs::read_to_string(format!("{}/deploy/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let dashboard: serde_json::Value = serde_json::from_str(&file("grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut expressions: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    assert!(expressions.len() > 10);
    expressions.push(file("prometheus-alerts.yml"));
    for name in expressions.iter().flat_map(|expression| named(expression)) {
        // An account commits to no disk.
        if server.app.data_directory().is_some() || !name.starts_with("onehop_store_") {
            assert!(metrics.lines().any(|line| line.starts_with(name)), "{name}");
        }
    }
}
