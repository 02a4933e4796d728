//! Accounts with answers beyond the emulator: with a throughput that the containers of a database share, and
//! with several write regions.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use onehop::app::provisioning::{Provisioner, ThroughputPlan, warnings};
use onehop::app::{container_specs, warn_of_shared_leases};
use onehop_change_feed::LEASES;
use onehop_store::cosmos::provision::{Throughput, ThroughputSharing};
use onehop_store::cosmos::{Consistency, CosmosStore, RetryPolicy};
use serde_json::{Value, json};

use crate::api::compare_account::Account;
use crate::api::logs::KeptLog;

const BODY_BYTES_MAX: usize = 1 << 20;

/// Answers the question for a database's throughput. Its resource id has 4 bytes, a container's has 8.
async fn share_throughput(request: Request, next: Next) -> Response {
    if request.uri().path() != "/offers" {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap();
    let question: Value = serde_json::from_slice(&body).unwrap();
    let resource = question["parameters"][0]["value"].as_str().unwrap().to_owned();
    if resource.len() > "AAAAAA==".len() {
        return next.run(Request::from_parts(parts, Body::from(body))).await;
    }
    let offer = json!({
        "id": "shared", "_rid": "shared", "_self": "offers/shared/", "_etag": "\"1\"", "_ts": 1_750_000_000,
        "resource": resource, "offerResourceId": resource, "offerType": "Invalid", "offerVersion": "V2",
        "content": { "offerThroughput": 4000 },
    });
    axum::Json(json!({ "_rid": "", "_count": 1, "Offers": [offer] })).into_response()
}

/// Says of the account that each of its regions is written to.
async fn write_everywhere(request: Request, next: Next) -> Response {
    let is_account = request.uri().path() == "/";
    let response = next.run(request).await;
    if !is_account {
        return response;
    }
    let body = to_bytes(response.into_body(), BODY_BYTES_MAX).await.unwrap();
    let mut account: Value = serde_json::from_slice(&body).unwrap();
    account["enableMultipleWriteLocations"] = json!(true);
    axum::Json(account).into_response()
}

fn plan(leases_share: bool) -> ThroughputPlan {
    ThroughputPlan { provisioned: None, leases_share }
}

#[tokio::test]
async fn leases_that_share_throughput_are_warned_about_once() {
    let log = KeptLog::start();
    let account = Account::behind(|router| router.layer(from_fn(share_throughput))).await;
    let client = account.client().await;
    let provisioner = Provisioner::over(client.clone(), "onehop", &container_specs(), &plan(true));
    provisioner.apply(&provisioner.plan().await.unwrap(), |_| {}).await.unwrap();

    let specs = container_specs();
    let (consistency, retry_policy) = (Consistency::Account, RetryPolicy::default());
    let store = CosmosStore::with_client(client.clone(), "onehop", &specs, consistency, retry_policy);
    let store = store.await.unwrap();
    let sharing = store.throughput_sharing(LEASES).await.unwrap();
    assert_eq!(sharing, ThroughputSharing::Shared(Throughput::Manual { ru: 4000 }));
    warn_of_shared_leases(&store).await;
    let logged = log.written();
    let warnings_logged =
        logged.lines().filter(|line| line.contains("shares the throughput of the database"));
    let warnings_logged: Vec<&str> = warnings_logged.collect();
    assert_eq!(warnings_logged.len(), 1, "{warnings_logged:?}");
    assert!(
        warnings_logged[0].contains("WARN") && warnings_logged[0].contains("4000 RU/s"),
        "{warnings_logged:?}"
    );

    let found =
        Provisioner::over(client.clone(), "onehop", &container_specs(), &plan(false)).plan().await.unwrap();
    assert_eq!((found.steps.len(), &found.sharing[..]), (0, &["leases".to_owned()][..]));
    let words = warnings(&found);
    for part in ["container leases", "delete the container", "--throughput-leases shared"] {
        assert!(words.contains(part), "{words}");
    }
    let accepted = Provisioner::over(client, "onehop", &container_specs(), &plan(true)).plan().await.unwrap();
    assert_eq!(warnings(&accepted), "");
}

#[tokio::test]
async fn leases_missing_from_a_shared_database_get_their_own() {
    let account = Account::behind(|router| router.layer(from_fn(share_throughput))).await;
    let client = account.client().await;
    client.create_database("onehop", None).await.unwrap();
    let steps =
        Provisioner::over(client, "onehop", &container_specs(), &plan(false)).plan().await.unwrap().steps;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    assert!(
        steps.contains(&"create the container leases with autoscale up to 1000 RU/s".to_owned()),
        "{steps:?}"
    );
    assert!(steps.contains(&"create the container posts".to_owned()), "{steps:?}");
}

#[tokio::test]
async fn every_command_refuses_several_write_regions() {
    let account = Account::behind(|router| router.layer(from_fn(write_everywhere))).await;
    for command in [&["provision"][..], &["verify", "--store", "cosmos"]] {
        let output = account.run(command, &[]).await;
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {printed}");
        for part in ["several write regions (East US)", "If-Match", "enableMultipleWriteLocations: false"] {
            assert!(printed.contains(part), "{command:?}: {printed}");
        }
    }
}
