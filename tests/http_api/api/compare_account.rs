//! `onehop compare --store cosmos`, as a process, on Microsoft's in-memory emulator behind HTTP.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use onehop_store::cosmos::{
    BackgroundSettings, Consistency, CosmosSettings, Credential, RetryPolicy, client_of,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::binary::{onehop, run};
use crate::api::compare::assert_documented;
use crate::api::forward;

const KEY: &str = "dGhlIGtleSB0aGF0IG5vYm9keSBzZWVz";

/// An account without databases, which this process serves until it is dropped.
pub struct Account {
    endpoint: String,
    _server: JoinSet<std::io::Result<()>>,
}

impl Account {
    pub async fn start() -> Self {
        Self::behind(|router| router).await
    }

    /// An account whose answers a layer may spoil.
    pub async fn behind(layer: impl FnOnce(Router) -> Router) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = layer(forward::router(endpoint.parse().unwrap()).unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        Self { endpoint, _server: server }
    }

    pub async fn run(&self, command: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = onehop(command);
        command.env("ONEHOP_COSMOS_ENDPOINT", &self.endpoint).env("ONEHOP_COSMOS_KEY", KEY);
        command.envs(variables.iter().copied());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    async fn compare(&self, more: &[&str]) -> Output {
        let small = ["compare", "--store", "cosmos", "--users", "1", "--samples", "2"];
        self.run(&[&small[..], more].concat(), &[]).await
    }

    pub async fn client(&self) -> azure_data_cosmos::CosmosClient {
        let settings = CosmosSettings {
            endpoint: self.endpoint.clone(),
            database: String::new(),
            credential: Credential::Key(KEY.to_owned()),
            preferred_regions: Vec::new(),
            consistency: Consistency::Account,
            binary_encoding: true,
            background: BackgroundSettings::default(),
            retry_policy: RetryPolicy::default(),
        };
        client_of(&settings).await.unwrap()
    }

    /// The databases among these that exist.
    pub async fn databases<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        let client = self.client().await;
        let mut there = Vec::new();
        for name in names {
            if client.database_client((*name).to_owned()).read(None).await.is_ok() {
                there.push(*name);
            }
        }
        there
    }

    async fn indexing_policy(&self, database: &str, container: &str) -> Value {
        let database = self.client().await.database_client(database.to_owned());
        let container = database.container_client(container.to_owned(), None).await.unwrap();
        let properties = container.read(None).await.unwrap().into_model().unwrap();
        serde_json::to_value(properties.indexing_policy).unwrap()
    }
}

const ALL: [&str; 4] = ["onehop", "onehop-v1", "onehop-v2", "onehop-v3"];

fn refusal(output: &Output) -> String {
    let printed = String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    printed
}

#[tokio::test]
async fn an_account_is_measured_with_the_estimates_beside() {
    let account = Account::start().await;
    let output = account.compare(&["--format", "json", "--estimate-error"]).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("onehop-v1, onehop-v2, onehop-v3"), "{printed}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(!printed.contains(KEY), "{printed}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_documented(&report);
    assert_eq!(
        json!([report["chargeSource"], report["physicalPartitions"], report["indexing"], report["account"]]),
        json!(["measured", 4, "all", { "endpoint": account.endpoint, "databases": ALL[1..] }])
    );
    let embedded = ["compare", "--users=1", "--samples=2", "--format=json"];
    let embedded: Value = serde_json::from_slice(&run(&embedded).await.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10 * 3 + 6);
    let mut errors = Vec::new();
    for (row, embedded) in rows.iter().zip(embedded["rows"].as_array().unwrap()) {
        // The estimates have the four physical partitions of the account, and not one.
        let is_across =
            row["operations"].as_array().unwrap().iter().any(|done| done["physicalPartitions"] == 4);
        let [estimate, of_one] = [&row["estimatedRequestCharge"], &embedded["requestCharge"]]
            .map(|charge| charge.as_f64().unwrap());
        if is_across {
            assert!(estimate > of_one, "{row} {embedded}");
        } else {
            assert_eq!(estimate, of_one, "{row} {embedded}");
        }
        let [charge, estimate, error] = ["requestCharge", "estimatedRequestCharge", "estimateError"]
            .map(|name| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}")));
        assert!((error - (estimate / charge - 1.0)).abs() < 0.001, "{row}");
        errors.push(error.abs());
    }
    let largest = errors.into_iter().fold(0.0, f64::max);
    assert_eq!(report["estimateErrors"]["largest"], largest);
    assert!(report["estimateErrors"]["mean"].as_f64().unwrap() <= largest);

    assert_eq!(account.databases(&ALL).await, ALL[1..], "and the configured database was not made");
    let policy = account.indexing_policy("onehop-v2", "posts").await;
    assert_eq!(
        json!([policy["automatic"], policy["includedPaths"], policy["excludedPaths"]]),
        json!([true, [{ "path": "/*" }], [{ "path": "/\"_etag\"/?" }]])
    );
    let ascending = |path| json!({ "path": path, "order": "ascending" });
    let index = ["/type", "/creationDate", "/id"].map(ascending);
    assert_eq!(policy["compositeIndexes"], json!([index]));
}

#[tokio::test]
async fn an_existing_database_is_refused_before_any_is_made() {
    let account = Account::start().await;
    account.client().await.create_database("blog-v3", None).await.unwrap();
    let printed = refusal(&account.compare(&["--cosmos-database", "blog", "--drop"]).await);
    assert!(printed.contains("\"blog-v3\"") && printed.contains("--cosmos-database"), "{printed}");
    assert_eq!(account.databases(&["blog", "blog-v1", "blog-v2", "blog-v3"]).await, ["blog-v3"]);
}

/// Refuses to write into V2's posts.
async fn spoil_v2(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if request.method() == Method::POST && path == "/dbs/onehop-v2/colls/posts/docs" {
        return StatusCode::FORBIDDEN.into_response();
    }
    next.run(request).await
}

#[tokio::test]
async fn what_a_failed_comparison_made_is_named_or_deleted() {
    let account = Account::behind(|router| router.layer(from_fn(spoil_v2))).await;
    refusal(&account.compare(&["--drop"]).await);
    assert!(account.databases(&ALL).await.is_empty());
    let printed = refusal(&account.compare(&[]).await);
    assert!(
        printed.contains("left in the account until they are deleted: onehop-v1, onehop-v2\n"),
        "{printed}"
    );
    assert_eq!(account.databases(&ALL).await, ["onehop-v1", "onehop-v2"]);
}

#[tokio::test]
async fn a_comparison_waits_while_the_account_throttles_and_deletes_its_databases_on_request() {
    // Far more refusals than a server puts up with for each of the batches that are under way; and some of
    // the change feed.
    let refusals = [3_000, 40].map(|number| Arc::new(AtomicU32::new(number)));
    let [writes, feed] = refusals.clone();
    let throttle = move |request: Request, next: Next| {
        let left = if request.headers().contains_key("a-im") { &feed } else { &writes };
        let is_refused = request.uri().path().ends_with("/posts/docs")
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        async move {
            if is_refused {
                return (StatusCode::TOO_MANY_REQUESTS, [("x-ms-retry-after-ms", "1")]).into_response();
            }
            next.run(request).await
        }
    };
    let account = Account::behind(|router| router.layer(from_fn(throttle))).await;
    let output = account.compare(&["--drop", "--format", "html", "--indexing", "needed"]).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}");
    assert_eq!(refusals.map(|left| left.load(Ordering::Relaxed)), [0, 0]);
    assert!(!printed.contains("onehop-v1"), "{printed}");
    let shown = String::from_utf8(output.stdout).unwrap();
    for part in [&*account.endpoint, "what queries need indexed"] {
        assert!(shown.contains(part), "no {part}: {shown}");
    }
    assert!(!shown.contains("estimate"), "{shown}");
    assert!(account.databases(&ALL).await.is_empty());
}

#[tokio::test]
async fn settings_of_the_other_store_are_refused_by_their_flag() {
    let account = Account::start().await;
    for (arguments, variables, named) in [
        (&["--data", "/nowhere"][..], &[][..], "--data is for --store embedded"),
        (&["--data", "/nowhere"], &[("ONEHOP_DATA", "/elsewhere")], "--data is for --store embedded"),
        (&["--as-the-article"], &[], "--as-the-article is for --store embedded"),
        (&["--store", "embedded", "--estimate-error"], &[], "--estimate-error needs --store cosmos"),
        (&["--store", "embedded", "--drop"], &[], "--drop needs --store cosmos"),
        (&["--cosmos-credential", "developer-tools"], &[("ONEHOP_COSMOS_KEY", "")], "--cosmos-key-file"),
        (&["--indexing", "some"], &[], "--indexing"),
        (&[], &[("ONEHOP_COSMOS_ENDPOINT", "")], "--cosmos-endpoint is needed with --store cosmos"),
    ] {
        let store = if arguments.contains(&"--store") { &[][..] } else { &["--store", "cosmos"] };
        let command = [&["compare", "--users", "1"], store, arguments].concat();
        let printed = refusal(&account.run(&command, variables).await);
        assert!(printed.contains(named), "{arguments:?}: {printed}");
    }
    assert!(account.databases(&ALL).await.is_empty());
}
