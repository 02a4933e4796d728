//! Read models of a model file: the rules follow from it, run, and are verified; a part that the rules cannot
//! express is named.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use onehop_change_feed::{Processor, Settings};
use onehop_model::Model;
use onehop_read_models::verify::{Settle, Verifier};
use onehop_read_models::{ProjectionNames, ReadModels, container_specs};
use onehop_runtime::clock::{Clock, ManualClock};
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{ContainerName, Fault, Ledger, NewItem, OperationKind, PartitionKey, Store, WriteOp};
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const HELPDESK: &str = include_str!("helpdesk.graphql");
const AGENTS: ContainerName = ContainerName("agents");
const TICKETS: ContainerName = ContainerName("tickets");
const BOARD: ContainerName = ContainerName("board");
const NOW_MS: i64 = 1_750_000_000_000;

pub fn model(text: &str) -> Model {
    Model::read("helpdesk.graphql", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A store with the containers of a model, and the processor of its read models.
pub struct Served {
    store: Arc<dyn Store>,
    processor: Processor,
    read_models: ReadModels,
    _directory: TempDir,
}

impl Served {
    pub async fn new(model: &Model) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = EmbeddedConfig {
            durability: Durability::Relaxed,
            cache_bytes: 1024 * 1024,
            ..EmbeddedConfig::new(directory.path())
        };
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW_MS));
        let mut specs = container_specs(model).expect("containers");
        specs.extend_from_slice(onehop_change_feed::SPECS);
        let store: Arc<dyn Store> =
            Arc::new(EmbeddedStore::open_with(&config, &specs, Arc::clone(&clock)).expect("the store opens"));
        let read_models = ReadModels::from_model(model).expect("read models");
        let processor = processor_of(&read_models, Arc::clone(&store)).await;
        Self { store, processor, read_models, _directory: directory }
    }

    /// A further processor, which takes the leases over.
    async fn processor_over(&self, store: Arc<dyn Store>) -> Processor {
        processor_of(&self.read_models, store).await
    }

    pub async fn put(&self, container: ContainerName, key: &str, item: &Value) {
        let id = item["id"].as_str().expect("an id");
        let write = WriteOp::Upsert(NewItem::encode(id, item));
        self.store.write(container, &key.into(), write, &Ledger::new()).await.expect("a write");
    }

    pub async fn find(&self, container: ContainerName, key: &str, id: &str) -> Option<Value> {
        let item = self.store.read(container, &PartitionKey::from(key), id, &Ledger::new()).await;
        item.expect("a read").map(|item| item.decode().expect("JSON"))
    }

    /// Asserts that the read models are right once they are up to date.
    pub async fn assert_clean(&self) {
        self.processor.drain().await.expect("the change feed is drained");
        let verifier =
            Verifier::new(self.read_models.clone(), Arc::clone(&self.store), Arc::new(AsItIs), Vec::new());
        let report = verifier.verify(|_| {}).await.expect("a verification");
        assert!(report.is_clean(), "{report:#?}");
        for status in self.processor.status().await.expect("statuses") {
            assert_eq!((status.dead_letters, &status.last_error), (0, &None), "{status:#?}");
        }
    }
}

async fn processor_of(read_models: &ReadModels, store: Arc<dyn Store>) -> Processor {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW_MS));
    let (settings, stop) = (Settings::new("test").without_delays(), CancellationToken::new());
    let processor = Processor::open(store, clock, read_models.projections(), settings, stop).await;
    processor.expect("the processor opens")
}

struct AsItIs;

#[async_trait]
impl Settle for AsItIs {
    async fn settle(&self) -> Result<(), Fault> {
        Ok(())
    }
}

fn agent(name: &str, version: u32) -> Value {
    json!({ "id": "a1", "type": "agent", "agentId": "a1", "name": name, "version": version })
}

fn ticket(id: &str, day: u32) -> Value {
    json!({
        "id": id, "type": "ticket", "ticketId": id, "title": format!("Ticket {id}"), "assigneeId": "a1",
        "assigneeName": "Ada", "messageCount": 0, "createdAt": format!("2027-01-{day:02}"), "version": 1,
    })
}

pub fn with(item: &Value, fields: Value) -> Value {
    let mut item = item.clone();
    let body = item.as_object_mut().expect("an object");
    body.extend(fields.as_object().expect("an object").clone());
    item
}

#[tokio::test]
async fn the_read_models_of_a_file_follow_the_write_side() {
    let helpdesk = Served::new(&model(HELPDESK)).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    for (id, day) in [("t1", 1), ("t2", 2), ("t3", 3)] {
        helpdesk.put(TICKETS, id, &ticket(id, day)).await;
    }
    let message = json!({
        "id": "m1", "type": "message", "ticketId": "t3", "authorId": "a1", "authorName": "Ada", "text": "Hello",
        "createdAt": "2027-01-04", "version": 1,
    });
    helpdesk.put(TICKETS, "t3", &message).await;
    helpdesk.put(TICKETS, "t3", &with(&ticket("t3", 3), json!({ "messageCount": 1, "version": 2 }))).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada L.", 2)).await;
    helpdesk.assert_clean().await;
    // The entry has the key of its container, which its item calls otherwise, and no count of 0.
    let listed = json!({
        "id": "t1", "type": "ticket", "title": "Ticket t1", "createdAt": "2027-01-01", "version": 2,
        "agentId": "a1",
    });
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await, Some(listed));
    assert_eq!(helpdesk.find(AGENTS, "a1", "t3").await.expect("an entry")["messageCount"], 1);
    assert_eq!(helpdesk.find(TICKETS, "t3", "m1").await.expect("a message")["authorName"], "Ada L.");
    assert_eq!(helpdesk.find(BOARD, "ticket", "t1").await, None);
    assert_eq!(helpdesk.find(BOARD, "ticket", "t2").await.expect("an entry")["assigneeName"], "Ada L.");
    let stored = helpdesk.find(TICKETS, "t3", "t3").await.expect("a ticket");
    let deletion = json!({ "deleted": true, "ttl": 1_000_000, "version": 9 });
    helpdesk.put(TICKETS, "t3", &with(&stored, deletion)).await;
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(TICKETS, "t3", "m1").await, None);
    assert!(helpdesk.find(BOARD, "ticket", "t1").await.is_some());
}

/// The help desk, whose assignees change, with a list of the open tickets of each agent.
fn changing() -> Model {
    model(&changing_text())
}

fn changing_text() -> String {
    let open = "@where(field: \"status\", is: OPEN) @order(by: \"createdAt\"";
    HELPDESK
        .replace(
            "assignee: Agent! @reference @caller",
            "status: Status! @default(value: OPEN)\n  assignee: Agent! @reference",
        )
        .replacen("@order(by: \"createdAt\"", open, 1)
        .replace("type Query", "enum Status { OPEN CLOSED @stored(as: \"closed\") }\n\ntype Query")
}

#[tokio::test]
async fn an_entry_moves_with_its_item() {
    let helpdesk = Served::new(&changing()).await;
    let bob = json!({ "id": "b1", "type": "agent", "agentId": "b1", "name": "Bob", "version": 1 });
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    helpdesk.put(AGENTS, "b1", &bob).await;
    helpdesk.put(TICKETS, "t1", &ticket("t1", 1)).await;
    helpdesk.assert_clean().await;
    assert!(helpdesk.find(AGENTS, "a1", "t1").await.is_some());
    let moved = json!({ "assigneeId": "b1", "assigneeName": "Bob", "version": 2 });
    helpdesk.put(TICKETS, "t1", &with(&ticket("t1", 1), moved)).await;
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await, None);
    assert_eq!(helpdesk.find(AGENTS, "b1", "t1").await.expect("an entry")["agentId"], "b1");
    let back = json!({ "deleted": true, "ttl": 1_000_000, "version": 3 });
    helpdesk.put(TICKETS, "t1", &with(&ticket("t1", 1), back)).await;
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await, None);
    assert_eq!(helpdesk.find(AGENTS, "b1", "t1").await, None);
}

/// The list of `changing`, with a count that a projection keeps.
fn counted() -> Model {
    let count = "name: String! @unique\n  ticketCount: Int! @count(of: \"tickets\", kept: BEHIND)";
    model(&changing_text().replace("name: String! @unique", count))
}

#[tokio::test]
async fn a_mark_in_a_counted_list_becomes_an_entry_again() {
    let helpdesk = Served::new(&counted()).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    for (version, status, count) in [(1, "OPEN", 1), (2, "closed", 0), (3, "OPEN", 1)] {
        let changed = json!({ "status": status, "version": version });
        helpdesk.put(TICKETS, "t1", &with(&ticket("t1", 1), changed)).await;
        helpdesk.assert_clean().await;
        assert_eq!(
            helpdesk.find(AGENTS, "a1", "t1").await.expect("an entry").get("deleted").is_some(),
            count == 0
        );
        assert_eq!(helpdesk.find(AGENTS, "a1", "a1").await.expect("an agent")["ticketCount"], count);
    }
}

/// A process read the first version of a ticket, and another process wrote the entry of the second one before
/// the first process could write its own.
#[tokio::test]
async fn a_late_entry_of_a_counted_list_replaces_no_newer_one() {
    let second = with(&ticket("t1", 1), json!({ "title": "Second", "version": 2 }));
    let other = Served::new(&counted()).await;
    other.put(AGENTS, "a1", &agent("Ada", 1)).await;
    other.put(TICKETS, "t1", &second).await;
    other.assert_clean().await;
    let newer = other.find(AGENTS, "a1", "t1").await.expect("an entry");
    let helpdesk = Served::new(&counted()).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    helpdesk.processor.drain().await.expect("the change feed is drained");
    let writes = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&writes);
    let store = SteppedStore::new(Arc::clone(&helpdesk.store), move |operation: PendingOperation<'_>| {
        let is_write = operation.kind == OperationKind::Batch && operation.is_in(AGENTS, &"a1".into());
        is_write && seen.fetch_add(1, Ordering::SeqCst) == 0
    });
    let late = helpdesk.processor_over(store.clone()).await;
    helpdesk.put(TICKETS, "t1", &ticket("t1", 1)).await;
    let meanwhile = async {
        store.until_stopped().await;
        helpdesk.put(TICKETS, "t1", &second).await;
        helpdesk.put(AGENTS, "a1", &newer).await;
        store.resume();
    };
    let (drained, ()) = tokio::join!(late.drain(), meanwhile);
    drained.expect("the change feed is drained");
    // The refused entry, and the count.
    assert_eq!(writes.load(Ordering::SeqCst), 2);
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await.expect("an entry")["version"], 2);
}

#[tokio::test]
async fn an_entry_is_there_while_its_conditions_hold() {
    let helpdesk = Served::new(&changing()).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    // Without a status a ticket is open.
    helpdesk.put(TICKETS, "t1", &ticket("t1", 1)).await;
    helpdesk.put(TICKETS, "t2", &with(&ticket("t2", 2), json!({ "status": "closed" }))).await;
    for (version, status, is_listed) in [(1, None, true), (2, Some("closed"), false), (3, Some("OPEN"), true)]
    {
        if let Some(status) = status {
            let changed = json!({ "status": status, "version": version });
            helpdesk.put(TICKETS, "t1", &with(&ticket("t1", 1), changed)).await;
        }
        helpdesk.assert_clean().await;
        assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await.is_some(), is_listed, "version {version}");
        assert_eq!(helpdesk.find(AGENTS, "a1", "t2").await, None);
    }
}

#[tokio::test]
async fn a_list_under_query_has_all_items_that_meet_its_conditions() {
    let listed_max = "@list(into: \"board\", keep: 2, fields: [\"title\", \"assignee\"])";
    let text =
        HELPDESK.replace(listed_max, "@list(into: \"board\") @where(field: \"messageCount\", atLeast: 1)");
    let helpdesk = Served::new(&model(&text)).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    let messages = |count: u32, version: u32| {
        with(&ticket("t1", 1), json!({ "messageCount": count, "version": version }))
    };
    for (version, count) in [(1, 0), (2, 1), (3, 0)] {
        helpdesk.put(TICKETS, "t1", &messages(count, version)).await;
        helpdesk.processor.drain().await.expect("the change feed is drained");
        assert_eq!(helpdesk.find(BOARD, "ticket", "t1").await.is_some(), count > 0, "version {version}");
    }
}

/// The messages are written without the ticket, and the ticket has no count at first.
#[tokio::test]
async fn a_count_written_behind_follows_its_items() {
    let text = HELPDESK.replace("@count(of: \"messages\")", "@count(of: \"messages\", kept: BEHIND)");
    let helpdesk = Served::new(&model(&text)).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    let mut first = ticket("t1", 1);
    first.as_object_mut().expect("an object").remove("messageCount");
    helpdesk.put(TICKETS, "t1", &first).await;
    helpdesk.assert_clean().await;
    let message = |id: &str| {
        json!({
            "id": id, "type": "message", "ticketId": "t1", "authorId": "a1", "authorName": "Ada", "text": "Hello",
            "createdAt": "2027-01-04", "version": 1,
        })
    };
    helpdesk.put(TICKETS, "t1", &message("m1")).await;
    helpdesk.put(TICKETS, "t1", &message("m2")).await;
    helpdesk.assert_clean().await;
    let stored = helpdesk.find(TICKETS, "t1", "t1").await.expect("a ticket");
    assert_eq!((&stored["messageCount"], &stored["causedBy"]), (&json!(2), &json!("Ticket.messageCount@2")));
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await.expect("an entry")["messageCount"], 2);
    for id in ["m1", "m2"] {
        let deleted = json!({ "deleted": true, "ttl": 1_000_000, "version": 2 });
        helpdesk.put(TICKETS, "t1", &with(&message(id), deleted)).await;
    }
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(TICKETS, "t1", "t1").await.expect("a ticket")["messageCount"], 0);
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await.expect("an entry").get("messageCount"), None);
    // A damaged count is found and repaired.
    let stored = helpdesk.find(TICKETS, "t1", "t1").await.expect("a ticket");
    helpdesk.put(TICKETS, "t1", &with(&stored, json!({ "messageCount": 7 }))).await;
    helpdesk.processor.drain().await.expect("the change feed is drained");
    let store = Arc::clone(&helpdesk.store);
    let verifier = Verifier::new(helpdesk.read_models.clone(), store, Arc::new(AsItIs), Vec::new());
    assert_eq!(verifier.verify(|_| {}).await.expect("a verification").drifts.len(), 1);
    verifier.repair(|_| {}).await.expect("a repair");
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(TICKETS, "t1", "t1").await.expect("a ticket")["messageCount"], 0);
}

#[tokio::test]
async fn verification_finds_entries_against_their_conditions() {
    let helpdesk = Served::new(&changing()).await;
    helpdesk.put(AGENTS, "a1", &agent("Ada", 1)).await;
    helpdesk.put(TICKETS, "t1", &with(&ticket("t1", 1), json!({ "status": "closed" }))).await;
    helpdesk.assert_clean().await;
    let entry = json!({ "id": "t1", "type": "ticket", "title": "Ticket t1", "agentId": "a1", "version": 1 });
    helpdesk.put(AGENTS, "a1", &entry).await;
    let verifier = Verifier::new(
        helpdesk.read_models.clone(),
        Arc::clone(&helpdesk.store),
        Arc::new(AsItIs),
        Vec::new(),
    );
    let report = verifier.repair(|_| {}).await.expect("a repair");
    assert_eq!((report.drifts.len(), report.repaired), (0, 1), "{report:#?}");
    assert_eq!(helpdesk.find(AGENTS, "a1", "t1").await, None);
    helpdesk.assert_clean().await;
}

#[test]
fn containers_have_the_indexes_that_the_rules_need() {
    let specs = container_specs(&model(HELPDESK)).unwrap();
    let described: Vec<_> = specs
        .iter()
        .map(|spec| (spec.name.as_str(), spec.partition_key, spec.order_by, spec.equality, spec.newest_types))
        .collect();
    let order = Some("createdAt");
    assert_eq!(
        described,
        [
            ("agents", "agentId", order, &[][..], &[][..]),
            ("tickets", "ticketId", order, &["assigneeId", "authorId"][..], &["ticket"][..]),
            ("board", "type", order, &[][..], &[][..]),
        ]
    );
    assert!(specs.iter().all(|spec| spec.soft_deletes));
}

#[test]
fn projections_have_stable_names() {
    let names = |read_models: ReadModels| -> Vec<_> {
        read_models.projections().iter().map(|projection| projection.name()).collect()
    };
    let default = ReadModels::from_model(&model(HELPDESK)).unwrap();
    assert_eq!(
        names(default),
        ["Agent.name", "tickets-catch-up", "Agent.tickets", "Query.board", "Ticket.owned"]
    );
    let given = ProjectionNames::default().copy("Agent.name", "names").owned("Ticket", "deletions");
    let given = ReadModels::from_model_with(&model(HELPDESK), &given.catch_up("tickets", "copies")).unwrap();
    assert_eq!(names(given), ["names", "copies", "Agent.tickets", "Query.board", "deletions"]);
}

/// The errors of a help desk in which one text is another.
fn errors(old: &str, new: &str) -> Vec<String> {
    let text = HELPDESK.replacen(old, new, 1);
    assert_ne!(text, HELPDESK);
    let errors = ReadModels::from_model(&model(&text)).map(|_| Vec::new()).unwrap_or_else(|errors| errors);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn unsupported_containers_are_named() {
    let container = "@container(name: \"board\", key: \"/type\"";
    let with = |argument: &str| errors(container, &format!("{container}, {argument}"));
    assert_eq!(
        with("ttl: 60"),
        ["Query.board: @list: neither its items nor its entries may expire, which no projection sees: use \
             `@partition` or `@find`"]
    );
    assert_eq!(with("place: MIRROR"), Vec::<String>::new());
    let followed = format!("@container(name: \"legacy\", key: \"/id\", followed: true)\n  {container}");
    assert_eq!(
        errors(container, &followed)[0],
        "container `legacy`: @container: `followed` containers are not supported"
    );
    for exclude in ["exclude: \"/createdAt\"", "exclude: \"/title\""] {
        assert_eq!(with(exclude), Vec::<String>::new());
    }
}

#[test]
fn lists_with_keep_are_derived_in_any_form() {
    let board = "@list(into: \"board\", keep: 2, fields: [\"title\", \"assignee\"])";
    let none = Vec::<String>::new();
    assert_eq!(errors(board, &format!("{board} @where(field: \"title\", is: \"x\")")), none);
    assert_eq!(errors("by: \"assignee\", fields", "by: \"assignee\", keep: 5, fields"), none);
    assert_eq!(errors(board, &board.replace(")", ", type: \"card\")")), none);
    let order = "keep: 2, fields: [\"title\", \"assignee\"])\n    @order(by: \"createdAt\"";
    assert_eq!(errors(order, &order.replace("createdAt", "title")), none);
}

#[test]
fn unsupported_item_types_and_counts_are_named() {
    assert_eq!(
        errors("@count(of: \"messages\")", "@count(of: \"messages\", kept: BEHIND, within: 5)"),
        Vec::<String>::new()
    );
    assert_eq!(
        errors("write: [CREATE, DELETE]) @owned", "write: [CREATE, DELETE], version: \"_lsn\") @owned"),
        ["Message: @item: the version of an item is its property `version`"]
    );
    assert_eq!(
        errors("@owned(by: \"ticket\")", "@owned(by: \"ticket\") @deletes(by: TTL)"),
        ["Ticket.messageCount: @count: the counted items expire unseen: use `kept: QUERY`"]
    );
    assert_eq!(
        errors("@owned(by: \"ticket\")", "@owned(by: \"ticket\") @deletes(by: ALL_VERSIONS)"),
        ["Message: @deletes: deletions are SOFT, TTL or HARD"]
    );
    assert_eq!(
        errors("title: String!", "title: String! @stored(former: \"name\")"),
        ["Ticket.title: @stored: `former` is not supported: rules read `name` nowhere"]
    );
}
