//! `onehop compare --store cosmos`, as a process, on Microsoft's in-memory emulator behind HTTP.

use std::process::Output;

use axum::Router;
use onehop_store::cosmos::{
    BackgroundSettings, Consistency, CosmosSettings, Credential, RetryPolicy, client_of,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::binary::onehop;
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
}

const DATABASES: [&str; 4] = ["onehop", "onehop-v1", "onehop-v2", "onehop-v3"];

#[tokio::test]
async fn the_operations_of_a_comparison_are_measured_on_an_account() {
    let account = Account::start().await;
    let command =
        ["compare", "--store", "cosmos", "--users", "2", "--format", "json", "--yes", "--rates", "Q6=1"];
    let output = account.run(&command, &[]).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(!printed.contains(KEY), "{printed}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_documented(&report);
    assert_eq!(
        json!([report["chargeSource"], report["account"]]),
        json!(["measured", { "endpoint": account.endpoint, "databases": DATABASES[1..] }])
    );
    assert!(report["estimateErrors"]["largest"].as_f64().unwrap() > 0.0);
    assert_eq!(
        account.databases(&DATABASES).await,
        DATABASES[1..],
        "and the configured database was not made"
    );
}

#[tokio::test]
async fn a_comparison_without_confirmation_prints_its_budget() {
    let account = Account::start().await;
    let output = account.run(&["compare", "--store", "cosmos", "--users", "1"], &[]).await;
    let printed = String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap();
    assert!(output.status.success() && printed.contains("--yes goes on"), "{printed}");
    assert!(account.databases(&DATABASES).await.is_empty());
}
