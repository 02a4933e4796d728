//! Throughput that `onehop provision` sets, refuses and finds, on Microsoft's in-memory emulator. The
//! emulator knows manual throughput of containers alone: it has no autoscale and no throughput of a database.

use std::sync::Arc;

use azure_data_cosmos::CosmosClient;
use onehop::app::container_specs;
use onehop_change_feed::LEASES;
use onehop_store::Indexing;
use onehop_store::cosmos::RetryPolicy;
use onehop_store::cosmos::provision::{
    self, DesiredState, ProvisionError, ProvisionPlan, ProvisionStep, Throughput, ThroughputScope,
    ThroughputSharing,
};
use onehop_testing::emulator::{self, Emulator};
use onehop_testing::request_log::RequestLog;

use super::{DATABASE, account, bring_up_to_date, provisioner};

const SHARED: Option<(Throughput, ThroughputScope)> =
    Some((Throughput::Manual { ru: 400 }, ThroughputScope::Database));

async fn throughput(client: &CosmosClient, name: &str) -> Option<u64> {
    let database = client.database_client(DATABASE.to_owned());
    let container = database.container_client(name.to_owned(), None).await.unwrap();
    container.read_throughput(None).await.unwrap().and_then(|found| found.throughput())
}

#[tokio::test]
async fn throughput_is_per_container_and_changed_on_request() {
    let client = account().await;
    let manual = |ru| Some((Throughput::Manual { ru }, ThroughputScope::Container));
    bring_up_to_date(&provisioner(&client, manual(400))).await;
    assert_eq!(throughput(&client, "posts").await, Some(400));
    assert!(bring_up_to_date(&provisioner(&client, None)).await.is_empty());
    let steps = bring_up_to_date(&provisioner(&client, manual(900))).await;
    assert_eq!(steps.len(), onehop::app::container_specs().len());
    assert!(steps[0].to_string().contains("from 400 RU/s to 900 RU/s"), "{}", steps[0]);
    assert_eq!(throughput(&client, "posts").await, Some(900));
    assert!(bring_up_to_date(&provisioner(&client, manual(900))).await.is_empty());
    let autoscale = Some((Throughput::Autoscale { max_ru: 1000 }, ThroughputScope::Container));
    let refused = provisioner(&client, autoscale).plan().await.unwrap_err();
    assert!(matches!(refused, ProvisionError::OtherThroughput { found: "manual", .. }), "{refused}");
}

#[tokio::test]
async fn throughput_of_what_has_none_cannot_be_changed() {
    let client = account().await;
    bring_up_to_date(&provisioner(&client, None)).await;
    for scope in [ThroughputScope::Database, ThroughputScope::Container] {
        let wanted = Some((Throughput::Manual { ru: 400 }, scope));
        let refused = provisioner(&client, wanted).plan().await.unwrap_err();
        assert!(matches!(refused, ProvisionError::NoThroughput { .. }), "{scope:?}: {refused}");
    }
}

#[tokio::test]
async fn less_than_a_hundredth_of_the_highest_is_refused() {
    let client = account().await;
    let manual = |ru| Some((Throughput::Manual { ru }, ThroughputScope::Container));
    bring_up_to_date(&provisioner(&client, manual(90_000))).await;
    let refused = provisioner(&client, manual(800)).plan().await.unwrap_err();
    assert!(matches!(refused, ProvisionError::Throughput { .. }), "{refused}");
    let words = refused.to_string();
    for part in ["container users", "800 RU/s", "minimum of 900 RU/s", "hundredth", "90000 RU/s"] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(bring_up_to_date(&provisioner(&client, manual(900))).await.len(), container_specs().len());
}

#[tokio::test]
async fn a_throughput_that_the_service_refuses_is_explained() {
    let client = account().await;
    let manual = |ru| Throughput::Manual { ru };
    bring_up_to_date(&provisioner(&client, Some((manual(500), ThroughputScope::Container)))).await;
    let step = ProvisionStep::ReplaceThroughput {
        container: Some("posts".to_owned()),
        from: manual(500),
        to: manual(300),
    };
    let refused = provision::apply(&client, DATABASE, &step).await.unwrap_err();
    assert!(matches!(refused, ProvisionError::ThroughputRefused { .. }), "{refused}");
    let words = refused.to_string();
    for part in ["container posts from 500 RU/s to 300 RU/s", "1 RU/s for each GB", "ever provisioned"] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(throughput(&client, "posts").await, Some(500));
}

#[tokio::test]
async fn leases_get_their_own_throughput_beside_a_shared_one() {
    let log = Arc::new(RequestLog::default());
    let client = Emulator::logged(&[], 1, &log).client(Vec::new(), RetryPolicy::default()).await;
    let plan = provisioner(&client, SHARED).plan().await.unwrap();
    let dedicated = |plan: &ProvisionPlan| -> Vec<(String, Throughput)> {
        let containers = plan.steps.iter().filter_map(|step| match step {
            ProvisionStep::CreateContainer { container, throughput: Some(throughput) } => {
                Some((container.id.to_string(), *throughput))
            }
            _ => None,
        });
        containers.collect()
    };
    assert_eq!(dedicated(&plan), [("leases".to_owned(), Throughput::Autoscale { max_ru: 1000 })]);
    log.take();
    bring_up_to_date(&provisioner(&client, SHARED)).await;
    let asked: Vec<_> = log.take().into_iter().filter_map(|request| request.autoscale_settings).collect();
    assert_eq!(asked, [r#"{"maxThroughput":1000}"#]);

    let wanted = DesiredState::new(DATABASE, &container_specs(), Indexing::Needed, SHARED);
    assert_eq!(dedicated(&wanted.everything()), [], "unless the setting says otherwise");
    let alone = DesiredState { throughput: None, ..wanted };
    let alone = alone.with_dedicated(LEASES, Throughput::Autoscale { max_ru: 1000 });
    assert_eq!(dedicated(&alone.everything()), [], "an account without throughput is left alone");
}

#[tokio::test]
async fn a_store_says_where_its_request_units_come_from() {
    let account = Emulator::new(&container_specs(), 1);
    let sharing = account.open().await.throughput_sharing(LEASES).await.unwrap();
    assert_eq!(sharing, ThroughputSharing::Unprovisioned, "neither the container nor the database has any");
    let client = account.client(Vec::new(), RetryPolicy::default()).await;
    let fresh = (Throughput::Manual { ru: 400 }, ThroughputScope::Container);
    bring_up_to_date(&provisioner(&client, Some(fresh))).await;
    let store = emulator::open_database(client, DATABASE, &container_specs()).await;
    let sharing = store.throughput_sharing(LEASES).await.unwrap();
    assert_eq!(sharing, ThroughputSharing::Dedicated(Throughput::Manual { ru: 400 }));
}
