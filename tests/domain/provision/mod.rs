//! `onehop provision` on Microsoft's in-memory emulator, and the files for Azure Resource Manager that must
//! say the same.

mod deploy;
mod throughput;

use onehop_testing::emulator;

use azure_data_cosmos::CosmosClient;
use azure_data_cosmos::models::{
    CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, ContainerProperties, IndexingPolicy,
    TimeToLive,
};
use onehop::app::container_specs;
use onehop::app::provisioning::{Provisioner, ThroughputPlan, container_definitions, in_words};
use onehop::served::ServedModel;
use onehop_model::Model;
use onehop_store::cosmos::RetryPolicy;
use onehop_store::cosmos::provision::{ProvisionError, ProvisionStep, Throughput, ThroughputScope};

use emulator::Emulator;

const DATABASE: &str = "fresh";

/// An account without the database.
async fn account() -> CosmosClient {
    Emulator::new(&[], 1).client(Vec::new(), RetryPolicy::default()).await
}

fn provisioner(client: &CosmosClient, throughput: Option<(Throughput, ThroughputScope)>) -> Provisioner {
    let throughput = ThroughputPlan { provisioned: throughput, leases_share: false };
    Provisioner::over(client.clone(), DATABASE, &container_specs(), &throughput)
}

/// Brings the account up to date and returns the steps that were taken.
async fn bring_up_to_date(provisioner: &Provisioner) -> Vec<ProvisionStep> {
    let plan = provisioner.plan().await.unwrap();
    let mut told = 0;
    provisioner.apply(&plan, |_| told += 1).await.unwrap();
    assert_eq!(told, plan.steps.len());
    plan.steps
}

async fn container(client: &CosmosClient, name: &str) -> ContainerProperties {
    let database = client.database_client(DATABASE.to_owned());
    let container = database.container_client(name.to_owned(), None).await.unwrap();
    container.read(None).await.unwrap().into_model().unwrap()
}

#[tokio::test]
async fn provisioning_an_empty_account_is_idempotent() {
    let client = account().await;
    let provisioner = provisioner(&client, None);
    let steps = bring_up_to_date(&provisioner).await;
    assert_eq!(steps.len(), 1 + container_specs().len());
    assert!(bring_up_to_date(&provisioner).await.is_empty());
    let posts = container(&client, "posts").await;
    assert_eq!(posts.partition_key, "/postId".into());
    assert_eq!(posts.default_ttl, TimeToLive::NoDefault);
    let paths = posts.indexing_policy.unwrap().included_paths;
    let paths: Vec<&str> = paths.iter().map(|path| path.path.as_str()).collect();
    assert_eq!(paths, ["/type/?", "/deleted/?", "/creationDate/?", "/userId/?", "/postId/?"]);
}

#[tokio::test]
async fn what_an_interrupted_run_left_out_is_made_by_the_next() {
    let client = account().await;
    let provisioner = provisioner(&client, None);
    let mut plan = provisioner.plan().await.unwrap();
    plan.steps.truncate(3);
    provisioner.apply(&plan, |_| {}).await.unwrap();
    assert_eq!(bring_up_to_date(&provisioner).await.len(), container_specs().len() - 2);
    assert!(provisioner.plan().await.unwrap().steps.is_empty());
}

#[tokio::test]
async fn a_different_container_is_replaced_with_its_other_settings() {
    let client = account().await;
    let provisioner = provisioner(&client, None);
    bring_up_to_date(&provisioner).await;
    let database = client.database_client(DATABASE.to_owned());
    let feed = database.container_client("feed", None).await.unwrap();
    let mut drifted = container(&client, "feed").await;
    let mut policy = IndexingPolicy::default().with_included_path("/*");
    policy.automatic = true;
    drifted.indexing_policy = Some(policy);
    drifted.default_ttl = TimeToLive::Seconds(60);
    drifted.analytical_storage_ttl = TimeToLive::NoDefault;
    feed.replace(drifted, None).await.unwrap();

    let plan = provisioner.plan().await.unwrap();
    let words = in_words(&plan);
    assert!(words.contains("replace the container feed"), "{words}");
    assert!(words.contains("indexing policy: is {") && words.contains("time to live: is 60 s"), "{words}");
    assert!(words.contains("should be on, without a default"), "{words}");
    assert_eq!(bring_up_to_date(&provisioner).await.len(), 1);
    assert!(provisioner.plan().await.unwrap().steps.is_empty());
    let mended = container(&client, "feed").await;
    assert_eq!(mended.default_ttl, TimeToLive::NoDefault);
    assert_eq!(mended.analytical_storage_ttl, TimeToLive::NoDefault, "nobody asked for another");
}

#[tokio::test]
async fn the_order_of_indexed_paths_does_not_matter() {
    let client = account().await;
    let provisioner = provisioner(&client, None);
    bring_up_to_date(&provisioner).await;
    let database = client.database_client(DATABASE.to_owned());
    let posts = database.container_client("posts", None).await.unwrap();
    let mut turned = container(&client, "posts").await;
    let policy = turned.indexing_policy.as_mut().unwrap();
    policy.included_paths.reverse();
    policy.excluded_paths.reverse();
    policy.composite_indexes.reverse();
    posts.replace(turned, None).await.unwrap();
    assert!(provisioner.plan().await.unwrap().steps.is_empty());
}

#[tokio::test]
async fn former_composite_indexes_are_removed_by_a_second_run() {
    let client = account().await;
    let provisioner = provisioner(&client, None);
    bring_up_to_date(&provisioner).await;
    let database = client.database_client(DATABASE.to_owned());
    let posts = database.container_client("posts", None).await.unwrap();
    let mut former = container(&client, "posts").await;
    let property = |path: &'static str| CompositeIndexProperty::new(path, CompositeIndexOrder::Descending);
    let index = ["/creationDate", "/id"].map(property).into_iter();
    let index = index.fold(CompositeIndex::default(), CompositeIndex::with_property);
    former.indexing_policy.as_mut().unwrap().composite_indexes = vec![index];
    posts.replace(former, None).await.unwrap();

    let words = in_words(&provisioner.plan().await.unwrap());
    assert!(words.contains("keep the former composite indexes of the container posts until"), "{words}");
    let indexes = async || container(&client, "posts").await.indexing_policy.unwrap().composite_indexes.len();
    assert_eq!(bring_up_to_date(&provisioner).await.len(), 2);
    assert_eq!(indexes().await, 2);
    assert_eq!(bring_up_to_date(&provisioner).await.len(), 1);
    assert_eq!(indexes().await, 1);
    assert!(provisioner.plan().await.unwrap().steps.is_empty());
}

#[tokio::test]
async fn another_partition_key_is_refused_with_what_to_do() {
    let client = account().await;
    client.create_database(DATABASE, None).await.unwrap();
    let database = client.database_client(DATABASE.to_owned());
    let other = ContainerProperties::new("posts", "/somethingElse".into());
    database.create_container(other, None).await.unwrap();
    let refused = provisioner(&client, None).plan().await.unwrap_err();
    assert!(matches!(refused, ProvisionError::PartitionKey { .. }), "{refused}");
    let words = refused.to_string();
    for part in ["posts", "/somethingElse", "/postId", "--cosmos-database", "onehop copy"] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn the_committed_definitions_are_those_of_the_program() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/containers.json");
    assert!(
        std::fs::read_to_string(path).unwrap() == container_definitions(&container_specs()).unwrap(),
        "deploy/containers.json differs; write it again with `onehop provision --print-definitions > \
         deploy/containers.json` and look at the difference"
    );
}

/// A model with a hierarchical key, a time to live, a path without an index, and an order of two fields.
const SERVED: &str = r#"
extend schema @model(name: "depot")
  @container(name: "wagons", key: ["/line", "/siding"], exclude: "/note")
  @container(name: "boards", key: "/type")
  @container(name: "alarms", key: "/line", ttl: 600)
type Wagon @item(container: "wagons", partition: ["line", "siding"], write: [CREATE, UPDATE, DELETE]) @auth(allow: PUBLIC) {
  id: ID!
  line: String!
  siding: String!
  tons: Int!
  number: String! @unique
  note: String
}
type Alarm @item(container: "alarms", partition: "line", write: CREATE) @auth(allow: PUBLIC) { id: ID! line: String! }
type Query {
  wagon(id: ID!): Wagon
  heaviest: [Wagon!]! @list(into: "boards", fields: ["number"]) @order(by: "tons", desc: true) @order(by: "number")
}
"#;

#[tokio::test]
async fn the_containers_of_a_model_are_provisioned_once() {
    let model = ServedModel::new(Model::read("depot.graphql", SERVED).unwrap()).unwrap();
    let client = account().await;
    let throughput = ThroughputPlan::default();
    let provisioner = Provisioner::over(client.clone(), DATABASE, model.containers(), &throughput);
    let steps = bring_up_to_date(&provisioner).await;
    assert_eq!(steps.len(), 1 + model.containers().len());
    assert!(bring_up_to_date(&provisioner).await.is_empty());
    let wagons = container(&client, "wagons").await;
    assert_eq!(wagons.partition_key, ("/line", "/siding").into());
    let policy = wagons.indexing_policy.unwrap();
    assert!(policy.included_paths.iter().all(|path| !path.path.starts_with("/note")), "{policy:?}");
    assert_eq!(container(&client, "alarms").await.default_ttl, TimeToLive::Seconds(600));
    let boards = container(&client, "boards").await.indexing_policy.unwrap().composite_indexes;
    let paths = |index: &CompositeIndex| -> Vec<String> {
        index.properties.iter().map(|property| property.path.to_string()).collect()
    };
    let found: Vec<Vec<String>> = boards.iter().map(paths).collect();
    assert!(found.contains(&["/type", "/tons", "/number", "/id"].map(str::to_owned).to_vec()), "{found:?}");
    for own in ["accounts", "leases", "dead-letters"] {
        container(&client, own).await;
    }
}
