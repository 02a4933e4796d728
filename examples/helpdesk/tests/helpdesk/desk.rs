//! The helpdesk through its public functions: copies, lists, counts, live events, and the report on its
//! designs.

use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;
use onehop_change_feed::{Processor, Settings, handler};
use onehop_helpdesk::{Desk, Webhook, charges};
use onehop_runtime::clock::SystemClock;
use onehop_store::embedded::EmbeddedStore;
use onehop_store::{ContainerSpec, Ledger};
use onehop_study::render;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct World {
    desk: Desk,
    processor: Arc<Processor>,
    ledger: Ledger,
    _directory: TempDir,
}

impl World {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let desk = Desk::open(directory.path()).unwrap();
        let processor = Arc::new(desk.read_model_processor(CancellationToken::new()).await.unwrap());
        Self { desk, processor, ledger: Ledger::new(), _directory: directory }
    }

    async fn agent(&self, name: &str) -> String {
        self.desk.hire(name, &self.ledger).await.unwrap().id
    }

    async fn ticket(&self, agent: &str, title: &str) -> String {
        self.desk.open_ticket(agent, title, &self.ledger).await.unwrap().id
    }
}

#[tokio::test]
async fn copies_of_a_name_follow_a_rename() {
    let world = World::new().await;
    let (desk, ledger) = (&world.desk, &world.ledger);
    let ada = world.agent("Ada").await;
    let ticket = world.ticket(&ada, "No paper").await;
    desk.add_message(&ticket, &ada, "Noted.", ledger).await.unwrap();
    desk.rename(&ada, "Ada L.", ledger).await.unwrap();
    world.processor.drain().await.unwrap();

    let (found, messages) = desk.ticket(&ticket, ledger).await.unwrap();
    assert_eq!((found.agent_name.as_str(), messages[0].author_name.as_str()), ("Ada L.", "Ada L."));
    assert_eq!(desk.board(ledger).await.unwrap()[0].agent_name.as_deref(), Some("Ada L."));
    assert!(desk.verify(Arc::clone(&world.processor)).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_closed_ticket_leaves_the_board() {
    let world = World::new().await;
    let (desk, ledger) = (&world.desk, &world.ledger);
    let ada = world.agent("Ada").await;
    let (first, second) = (world.ticket(&ada, "First").await, world.ticket(&ada, "Second").await);
    world.processor.drain().await.unwrap();
    assert_eq!(desk.board(ledger).await.unwrap().len(), 2);

    desk.close_ticket(&first, ledger).await.unwrap();
    world.processor.drain().await.unwrap();
    let board = desk.board(ledger).await.unwrap();
    assert_eq!(board.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), [second]);
    let mut own = desk.tickets_of(&ada, ledger).await.unwrap();
    own.sort_by_key(|entry| entry.title.clone());
    let states: Vec<_> = own.iter().map(|entry| entry.status.as_deref().unwrap()).collect();
    assert_eq!(states, ["CLOSED", "OPEN"]);
}

#[tokio::test]
async fn messages_at_the_same_time_are_all_counted() {
    let world = World::new().await;
    let ada = world.agent("Ada").await;
    let ticket = world.ticket(&ada, "Many answers").await;
    let messages = (0..10).map(|_| world.desk.add_message(&ticket, &ada, "Me, too.", &world.ledger));
    assert!(join_all(messages).await.iter().all(Result::is_ok));
    let (found, messages) = world.desk.ticket(&ticket, &world.ledger).await.unwrap();
    assert_eq!((found.message_count, messages.len()), (10, 10));
}

#[tokio::test]
async fn a_rename_announces_no_message_again() {
    let world = World::new().await;
    let (desk, ledger) = (&world.desk, &world.ledger);
    let ada = world.agent("Ada").await;
    let ticket = world.ticket(&ada, "Live").await;
    let mut live = desk.live_messages().await.unwrap();
    let first = desk.add_message(&ticket, &ada, "One", ledger).await.unwrap();
    assert_eq!(live.next().await.unwrap(), [first]);

    desk.rename(&ada, "Ada L.", ledger).await.unwrap();
    world.processor.drain().await.unwrap();
    let second = desk.add_message(&ticket, &ada, "Two", ledger).await.unwrap();
    assert_eq!(live.next().await.unwrap(), [second]);
}

#[tokio::test]
async fn a_ticket_is_read_from_one_logical_partition() {
    let world = World::new().await;
    let ada = world.agent("Ada").await;
    let ticket = world.ticket(&ada, "One hop").await;
    let ledger = Ledger::new();
    world.desk.ticket(&ticket, &ledger).await.unwrap();
    assert_eq!(ledger.operations().len(), 2);
    assert!(ledger.total().0 > 0.0);
}

#[tokio::test]
async fn a_processor_names_the_container_that_is_absent() {
    let directory = tempfile::tempdir().unwrap();
    let own = [ContainerSpec::new("tickets", "ticketId")];
    let store = Arc::new(EmbeddedStore::open(directory.path(), &own).unwrap());
    let (clock, stop) = (Arc::new(SystemClock), CancellationToken::new());
    let projections = vec![handler(Webhook::new("http://127.0.0.1/"))];
    let opened = Processor::open(store, clock, projections, Settings::new("helpdesk"), stop).await;
    let error = opened.err().expect("a fault").to_string();
    assert!(error.contains("there is no container dead-letters"), "{error}");
}

#[test]
fn the_report_compares_both_designs() {
    let report = charges::compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("study")).unwrap();
    let text = render::table(&report);
    let charge = |request: &str, design: &str| -> f64 {
        let row = text.lines().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(request) && words.next() == Some(design)
        });
        let row = row.unwrap_or_else(|| panic!("{request} under {design}: {text}"));
        row.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    assert!(charge("TicketPage", "copies") < charge("TicketPage", "references") / 2.0);
    assert!(charge("OpenTicket", "copies") > charge("OpenTicket", "references"));
}
