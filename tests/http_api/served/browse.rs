//! Stored items of a served model by the operations API: who may read them, pages, keys, and the commands
//! beside a running server.

use std::collections::{BTreeSet, HashSet};

use onehop::operations::OperatorKey;
use serde_json::{Value, json};

use super::server::{Client, PASSWORD, ServedServer};
use crate::api::binary::{Serving, onehop, run_on};

const TRACKER: &str = include_str!("models/tracker.graphql");

/// A server of the tracker, with tasks in two tenants, as its operator sees it.
struct Browsed {
    server: ServedServer,
    client: Client,
    key: OperatorKey,
    /// The access token of a user.
    token: String,
}

impl Browsed {
    async fn start(text: &str) -> Self {
        let server = ServedServer::start(text).await;
        let key = OperatorKey::random().unwrap();
        let operator_key = Some(key.clone());
        let client =
            Client::with_options(&server.app, HashSet::new(), |options| options.operator_key = operator_key)
                .await;
        let query = "mutation($input: CreateUserInput!) { createUser(input: $input) { accessToken } }";
        let input = json!({ "input": { "name": "Ada", "email": "ada@example.com", "password": PASSWORD } });
        let data = server.data(None, query, input).await;
        let token = data["createUser"]["accessToken"].as_str().unwrap().to_owned();
        Self { server, client, key, token }
    }

    /// Runs a mutation with an input, and returns a field of its payload.
    async fn create(&self, type_name: &str, field: &str, input: Value) -> String {
        let query = format!(
            "mutation($input: Create{type_name}Input!) {{ create{type_name}(input: $input) {{ {field} {{ id }} }} }}"
        );
        let data = self.server.data(Some(&self.token), &query, json!({ "input": input })).await;
        data[format!("create{type_name}")][field]["id"].as_str().unwrap().to_owned()
    }

    async fn project(&self, tenant: &str, name: &str) -> String {
        self.create("Project", "project", json!({ "tenant": tenant, "name": name })).await
    }

    async fn task(&self, project: &str, title: &str) -> String {
        self.create("Task", "task", json!({ "projectId": project, "title": title, "priority": 3 })).await
    }

    /// The response to the operator.
    async fn ask(&self, query: &str) -> Value {
        let (status, body) = self.client.ask_operations(Some(self.key.reveal()), query).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn read(&self, query: &str) -> Value {
        let mut response = self.ask(query).await;
        assert_eq!(response.get("errors"), None, "{query}");
        response["data"].take()
    }

    /// All pages of a field, with this many items each: the ids in the API.
    async fn all(&self, field: &str, arguments: &str, first: usize) -> Vec<String> {
        let (mut ids, mut after) = (Vec::new(), Value::Null);
        for _ in 0..100 {
            let query = format!(
                "{{ {field}({arguments}, first: {first}, after: {after}) {{ items {{ nodeId }} end }} }}"
            );
            let page = self.read(&query).await[field].take();
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= first, "{page}");
            ids.extend(items.iter().map(|item| item["nodeId"].as_str().unwrap().to_owned()));
            after = page["end"].clone();
            if after.is_null() {
                return ids;
            }
        }
        panic!("the pages have no end");
    }
}

/// The queries that need the key.
const GUARDED: [&str; 5] = [
    "{ model { name } }",
    "{ items(type: \"User\") { items { body } } }",
    "{ item(type: \"User\", partitionKey: [\"1\"], id: \"1\") { body } }",
    "{ entries(list: \"User.assigned\", partitionKey: [\"1\"], id: \"1\") { items { body } } }",
    "{ predictedCharges { rule } }",
];

#[tokio::test]
async fn without_the_operator_key_no_item_leaves() {
    let browsed = Browsed::start(TRACKER).await;
    let other = OperatorKey::random().unwrap();
    let cut = &browsed.key.reveal()[1..];
    let (status, body) = browsed.client.ask_operations(Some(""), GUARDED[1]).await;
    assert_eq!((status, body.contains("ada@")), (401, false), "{body}");
    for token in [None, Some(other.reveal()), Some(cut), Some(&*browsed.token)] {
        for query in GUARDED {
            let (status, body) = browsed.client.ask_operations(token, query).await;
            let response: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(status, 200, "{body}");
            assert_eq!(response["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{body}");
            assert_eq!(response["data"], Value::Null, "{body}");
            assert!(!body.contains("ada@example.com") && !body.contains(browsed.key.reveal()), "{body}");
        }
        let (_, body) = browsed.client.ask_operations(token, "{ projections { name } }").await;
        assert!(body.contains("assigned"), "public queries need no key: {body}");
    }
    // The first listener of this server has no key at all.
    let (_, body) = browsed.server.ask_operations(Some(browsed.key.reveal()), GUARDED[1]).await;
    assert!(body.contains("UNAUTHENTICATED") && !body.contains("ada@"), "{body}");
    let seen = browsed.read("{ items(type: \"User\") { items { body } } }").await;
    assert_eq!(seen["items"]["items"][0]["body"]["email"], "ada@example.com");
}

#[tokio::test]
async fn the_operator_key_gives_no_writes_over_http() {
    let browsed = Browsed::start(TRACKER).await;
    for query in ["mutation { verify { repaired } }", "mutation { replay { changes } }"] {
        let response = browsed.ask(query).await;
        assert_eq!(response["data"], Value::Null, "{response}");
        assert!(response["errors"][0]["message"].is_string(), "{response}");
    }
}

#[tokio::test]
async fn pages_of_stored_items_are_complete() {
    let browsed = Browsed::start(TRACKER).await;
    let (mut projects, mut tasks) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..7 {
        let project = browsed.project(&format!("tenant-{}", number % 3), &format!("Project {number}")).await;
        for task in 0..3 {
            tasks.insert(browsed.task(&project, &format!("Task {number} {task}")).await);
        }
        projects.insert(project);
    }
    let deleted = tasks.pop_first().unwrap();
    let query = "mutation($input: DeleteTaskInput!) { deleteTask(input: $input) { deletedTaskId } }";
    browsed.server.data(Some(&browsed.token), query, json!({ "input": { "taskId": deleted } })).await;
    for first in [1, 4, 20, 50] {
        for (name, expected) in [("Project", &projects), ("Task", &tasks)] {
            let found = browsed.all("items", &format!("type: \"{name}\""), first).await;
            assert_eq!(found.len(), expected.len(), "{name} by {first}: each once");
            assert_eq!(&found.into_iter().collect::<BTreeSet<_>>(), expected, "{name} by {first}");
        }
    }
    let after = "e30";
    for query in [
        format!("{{ items(type: \"Task\", after: \"{after}\") {{ end }} }}"),
        "{ items(type: \"Task\", first: 51) { end } }".to_owned(),
        "{ items(type: \"None\") { end } }".to_owned(),
        "{ entries(list: \"Project.none\") { end } }".to_owned(),
        "{ entries(list: \"Project.tasks\") { end } }".to_owned(),
    ] {
        let response = browsed.ask(&query).await;
        assert_eq!(response["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{query}: {response}");
    }
}

#[tokio::test]
async fn a_hierarchical_key_and_lists_lead_to_items() {
    let browsed = Browsed::start(TRACKER).await;
    let project = browsed.project("north", "Bridges").await;
    let mut tasks = Vec::new();
    for number in 0..5 {
        tasks.push(browsed.task(&project, &format!("Task {number}")).await);
    }
    let items =
        browsed.read("{ items(type: \"Task\") { items { id partitionKey nodeId writtenAt bytes } } }").await;
    let item = &items["items"]["items"][0];
    assert_eq!(item["partitionKey"][0], "north");
    assert_eq!(item["partitionKey"].as_array().unwrap().len(), 2, "{item}");
    assert!(item["writtenAt"].is_string() && item["bytes"].as_u64().unwrap() > 50, "{item}");
    let query = format!(
        "{{ item(type: \"Task\", partitionKey: {}, id: {}) {{ nodeId body }} }}",
        item["partitionKey"], item["id"]
    );
    let mut response = browsed.ask(&query).await;
    assert_eq!(response["extensions"]["requestCharge"], json!(1.0), "one point read");
    let found = response["data"]["item"].take();
    assert_eq!((&found["nodeId"], &found["body"]["tenant"]), (&item["nodeId"], &json!("north")));
    let elsewhere = query.replace("north", "south");
    assert_eq!(browsed.read(&elsewhere).await["item"], Value::Null);

    let projects = browsed.read("{ items(type: \"Project\") { items { id partitionKey } } }").await;
    let owner = &projects["items"]["items"][0];
    let of = format!("list: \"Project.tasks\", partitionKey: {}, id: {}", owner["partitionKey"], owner["id"]);
    for first in [2, 50] {
        assert_eq!(browsed.all("entries", &of, first).await, tasks, "in the order of the list");
    }
}

#[tokio::test]
async fn read_models_are_shown_with_their_charges() {
    let browsed = Browsed::start(TRACKER).await;
    let project = browsed.project("north", "Bridges").await;
    browsed.task(&project, "Arch").await;
    browsed.server.settle().await;
    let query =
        "{ model { name containers { name key } types { name key keySource fields { name target targetKey } }
        readModels { kind summary source target projections } } projections { name pendingChanges } }";
    let data = browsed.read(query).await;
    let model = &data["model"];
    assert_eq!(model["name"], "tracker");
    let tasks = model["containers"].as_array().unwrap().iter().find(|of| of["name"] == "tasks").unwrap();
    assert_eq!(tasks["key"], json!(["tenant", "projectId"]));
    let task = model["types"].as_array().unwrap().iter().find(|of| of["name"] == "Task").unwrap();
    assert_eq!(task["keySource"], "PROPERTIES");
    let reference = task["fields"].as_array().unwrap().iter().find(|of| of["name"] == "project").unwrap();
    assert_eq!((&reference["target"], &reference["targetKey"]), (&json!("Project"), &json!(["tenant"])));
    let known: BTreeSet<&str> =
        data["projections"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    let rules = model["readModels"].as_array().unwrap();
    assert!(rules.len() >= 3, "two lists and a copy: {rules:?}");
    for rule in rules {
        for name in rule["projections"].as_array().unwrap() {
            assert!(known.contains(name.as_str().unwrap()), "{rule}");
        }
    }
    let charges = browsed.ask("{ predictedCharges { rule change fanOut operations requestCharge } }").await;
    let predicted = charges["data"]["predictedCharges"].as_array().unwrap();
    assert!(predicted.iter().any(|charge| charge["requestCharge"].as_f64().unwrap() > 5.0), "{charges}");
    assert!(charges["extensions"]["requestCharge"].as_f64().unwrap() > 1.0, "{charges}");
}

const VAULT: &str = r#"
extend schema @model(name: "vault") @container(name: "users", key: "/id") @container(name: "devices", key: "/id")
type User @item(container: "users", write: UPDATE) @account(login: "email") {
  id: ID!
  email: String! @unique(normalize: EMAIL)
  name: String!
}
type Device @item(container: "devices", write: CREATE) {
  id: ID!
  label: String!
  pinHash: String!
  note: String!
  codes: [Code!]!
}
type Code @embedded { name: String! secret: String! }
type Query { device(id: ID!): Device devices: [Device!]! @find }
"#;

#[tokio::test]
async fn secrets_are_not_shown_to_the_operator() {
    let browsed = Browsed::start(VAULT).await;
    let note = "$argon2id$v=19$m=19456$c2FsdA$aGFzaA";
    let codes = json!([{ "name": "door", "secret": "open-sesame" }]);
    let input = json!({ "label": "Safe", "pinHash": "77d1", "note": note, "codes": codes });
    browsed.create("Device", "device", input).await;
    for query in [
        "{ items(type: \"Device\") { items { body } } }",
        "{ entries(list: \"Query.devices\") { items { body } } }",
        "{ items(type: \"User\") { items { body } } }",
    ] {
        let (_, text) = browsed.client.ask_operations(Some(browsed.key.reveal()), query).await;
        for secret in ["77d1", "argon2id", "open-sesame", PASSWORD] {
            assert!(!text.contains(secret), "{query}: {text}");
        }
        assert!(text.contains("Safe") || text.contains("Ada"), "{text}");
    }
}

/// A file with the model, and a running server of it.
fn serve(directory: &std::path::Path, arguments: &[&str]) -> Serving {
    let model = directory.join("tracker.graphql");
    std::fs::write(&model, TRACKER).unwrap();
    let serve = [&["--model", model.to_str().unwrap()], arguments].concat();
    Serving::start(&directory.join("data"), &serve)
}

#[tokio::test]
async fn a_server_of_a_model_works_for_commands() {
    let directory = tempfile::tempdir().unwrap();
    let serving = serve(directory.path(), &[]);
    let data = directory.path().join("data");
    let backup = directory.path().join("backup");
    for (arguments, expected) in [
        (&["verify"][..], "clean"),
        (&["verify", "--json"], "\"drifts\""),
        (&["rebuild"], "0 parked"),
        (&["check"], "sound"),
        (&["dead-letters", "list"], "no dead letters"),
        (&["replay"], "0 still parked"),
        (&["backup", backup.to_str().unwrap()], "items as of"),
    ] {
        let (status, printed) = run_on(&data, arguments).await;
        assert_eq!((status, printed.contains(expected)), (0, true), "{arguments:?}: {printed}");
    }
    let (status, printed) = run_on(&data, &["seed", "--users", "1"]).await;
    assert_eq!((status, printed.contains("the server serves a model")), (2, true), "{printed}");
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");
    assert!(!log.contains("key="), "no log has the operator key: {log}");

    // Without a server the commands need the model.
    let model = directory.path().join("tracker.graphql");
    let with_model = ["--model", model.to_str().unwrap()];
    for arguments in [&["verify"][..], &["dead-letters", "list"], &["replay"], &["rebuild"]] {
        let (status, printed) = run_on(&data, &[arguments, &with_model].concat()).await;
        assert_eq!(status, 0, "{arguments:?}: {printed}");
        assert_eq!(run_on(&data, arguments).await.0, 2, "these are no data of the built-in domains");
    }
}

#[tokio::test]
async fn the_address_with_the_key_is_printed_where_it_is_safe() {
    let directory = tempfile::tempdir().unwrap();
    let serving = serve(directory.path(), &[]);
    let printed = serving.browse.clone().unwrap();
    let (address, key) = printed.split_once("/browse#key=").unwrap();
    assert_eq!((address, key.len()), (&*serving.address, 43));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({ "query": "{ model { name } }" });
    let request = http.post(format!("{address}/operations/graphql")).bearer_auth(key).json(&body);
    let answered = request.send().await.unwrap();
    assert_eq!(answered.headers()["cache-control"], "no-store");
    assert!(answered.text().await.unwrap().contains("tracker"));
    let rebound = http.post(format!("{address}/operations/graphql")).header("host", "evil.example");
    assert_eq!(rebound.bearer_auth(key).json(&body).send().await.unwrap().status(), 421);
    let form = http.post(format!("{address}/operations/graphql")).header("content-type", "text/plain");
    assert_eq!(form.bearer_auth(key).body(body.to_string()).send().await.unwrap().status(), 415);
    drop(serving);
    for arguments in
        [&["--production"][..], &["--listen", "0.0.0.0:0"], &["--browse=off"], &["--operations=off"]]
    {
        let mut command = onehop(&["serve", "--data", directory.path().join("data").to_str().unwrap()]);
        let model = directory.path().join("tracker.graphql");
        command.args(["--model", model.to_str().unwrap()]).args(arguments);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        assert_eq!(Serving::start_as(command).browse, None, "{arguments:?}");
    }
    let asked = serve(directory.path(), &["--production", "--operations=on", "--browse=on"]);
    assert!(asked.browse.is_some(), "it is asked for");
}

const METERS: &str = r#"
extend schema
  @model(name: "meters")
  @container(name: "users", key: "/id")
  @container(name: "years", key: ["/year", "/isClosed"])

type User @item(container: "users") @account(login: "email") {
  id: ID!
  name: String!
  email: String! @unique(normalize: EMAIL)
}

type Year @item(container: "years", partition: ["year", "isClosed"], write: CREATE) {
  id: ID!
  year: Int!
  isClosed: Boolean!
}
"#;

#[tokio::test]
async fn numbers_and_booleans_in_keys_are_shown_as_in_json() {
    let browsed = Browsed::start(METERS).await;
    browsed.create("Year", "year", json!({ "year": 2026, "isClosed": false })).await;
    let page = browsed.read("{ items(type: \"Year\") { items { id partitionKey } } }").await;
    let item = &page["items"]["items"][0];
    assert_eq!(item["partitionKey"], json!(["2026", "false"]));
    let query = format!(
        "{{ item(type: \"Year\", partitionKey: {}, id: {}) {{ body }} }}",
        item["partitionKey"], item["id"]
    );
    assert_eq!(browsed.read(&query).await["item"]["body"]["year"], 2026);
}
