//! Lists by values of a model file: entries under each text of an array, and under a value of an enum.

use serde_json::{Value, json};

use onehop_read_models::{ReadModels, Rule};
use onehop_store::ContainerName;

use crate::from_model::{Served, model, with};

const MODEL: &str = r#"
extend schema
  @model(name: "helpdesk")
  @container(name: "tickets", key: "/ticketId")
  @container(name: "byLabel", key: "/label")
  @container(name: "byPriority", key: ["/open", "/priority"])

type Ticket @item(container: "tickets", partition: "id", write: [CREATE, UPDATE, DELETE]) {
  id: ID!
  title: String!
  labels: [String!]!
  priority: Int
  open: Boolean!
  revision: Int! @version(of: ["labels"]) @default(value: 1, sparse: true)
}

type Query {
  labelled(label: String!): [Ticket!] @list(into: "byLabel", by: "labels", fields: ["title"]) @order(by: "title")
  urgent(open: Boolean!, level: Int!): [Ticket!]
    @list(into: "byPriority", by: ["open", "priority"], fields: ["title"]) @order(by: "title")
}
"#;

const TICKETS: ContainerName = ContainerName("tickets");
const BY_LABEL: ContainerName = ContainerName("byLabel");
const BY_PRIORITY: ContainerName = ContainerName("byPriority");

fn ticket(id: &str, labels: &[&str], version: u32) -> Value {
    json!({
        "id": id, "type": "ticket", "ticketId": id, "title": format!("Ticket {id}"), "labels": labels,
        "open": true, "version": version,
    })
}

#[tokio::test]
async fn an_item_has_an_entry_under_each_of_its_values() {
    let helpdesk = Served::new(&model(MODEL)).await;
    helpdesk.put(TICKETS, "t1", &ticket("t1", &["c++", "ui", "ui"], 1)).await;
    helpdesk.put(TICKETS, "t2", &ticket("t2", &["ui"], 1)).await;
    helpdesk.assert_clean().await;
    let listed = json!({
        "id": "t1", "type": "ticket", "title": "Ticket t1", "version": 1, "label": "c++", "ticketId": "t1",
    });
    assert_eq!(helpdesk.find(BY_LABEL, "c++", "t1").await, Some(listed));
    assert!(helpdesk.find(BY_LABEL, "ui", "t2").await.is_some());
    let changed = with(&ticket("t1", &["ui", "docs"], 2), json!({ "revision": 2 }));
    helpdesk.put(TICKETS, "t1", &changed).await;
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(BY_LABEL, "c++", "t1").await, None);
    assert_eq!(helpdesk.find(BY_LABEL, "docs", "t1").await.expect("an entry")["version"], 2);
    // The mark of a deletion need not have the values.
    for id in ["t1", "t2"] {
        let deleted = with(&ticket(id, &[], 3), json!({ "deleted": true, "ttl": 1_000_000 }));
        helpdesk.put(TICKETS, id, &deleted).await;
    }
    helpdesk.assert_clean().await;
    for (label, id) in [("ui", "t1"), ("docs", "t1"), ("ui", "t2")] {
        assert_eq!(helpdesk.find(BY_LABEL, label, id).await, None, "{label} {id}");
    }
}

#[tokio::test]
async fn an_entry_moves_with_values_that_are_no_texts() {
    let helpdesk = Served::new(&model(MODEL)).await;
    helpdesk.put(TICKETS, "t1", &ticket("t1", &[], 1)).await;
    helpdesk.put(TICKETS, "t2", &with(&ticket("t2", &[], 1), json!({ "priority": 3 }))).await;
    helpdesk.assert_clean().await;
    let key = |open: bool, priority: u32| {
        onehop_store::joined_key([
            &*onehop_store::key_text(&json!(open)).expect("a key"),
            &*onehop_store::key_text(&json!(priority)).expect("a key"),
        ])
    };
    let entry = helpdesk.find(BY_PRIORITY, &key(true, 3), "t2").await.expect("an entry");
    assert_eq!((&entry["open"], &entry["priority"]), (&json!(true), &json!(3)));
    let closed = with(&ticket("t2", &[], 2), json!({ "priority": 3, "open": false }));
    helpdesk.put(TICKETS, "t2", &closed).await;
    helpdesk.assert_clean().await;
    assert_eq!(helpdesk.find(BY_PRIORITY, &key(true, 3), "t2").await, None);
    assert!(helpdesk.find(BY_PRIORITY, &key(false, 3), "t2").await.is_some());
}

/// The entries of an item depend on counted changes alone where a projection writes none of their fields.
#[test]
fn changes_of_items_without_entries_cost_nothing_where_they_are_counted() {
    let counted = |text: &str| {
        let read_models = ReadModels::from_model(&model(text)).expect("read models");
        let changes = read_models.rules().iter().filter_map(|rule| match rule {
            Rule::List(list) => Some((list.name, list.entry_changes)),
            _ => None,
        });
        changes.collect::<Vec<_>>()
    };
    assert_eq!(counted(MODEL), [("Query.labelled", Some("revision")), ("Query.urgent", None)]);
    let all = MODEL.replace("of: [\"labels\"]", "of: [\"labels\", \"open\", \"priority\"]");
    assert_eq!(counted(&all), [("Query.labelled", Some("revision")), ("Query.urgent", Some("revision"))]);
    let derived = MODEL.replace("partition: \"id\", write", "partition: \"id\", idFrom: [\"title\"], write");
    assert_eq!(counted(&derived), [("Query.labelled", None), ("Query.urgent", None)]);
}
