//! Memos whose sources other processes write.

use std::sync::{Arc, Mutex};

use onehop_change_feed::{Projection, ProjectionError, ReadRequest, Settings, Step, StepInput};
use onehop_store::{Change, ContainerName, Ledger, NewItem, Store as _, WriteOp};
use serde_json::{Value, json};

use crate::toy::{COPIES, THINGS, World, shared};

/// Writes down its memo at each change.
struct Memoist(Arc<Mutex<Vec<u64>>>);

impl Projection for Memoist {
    fn name(&self) -> &'static str {
        "memoist"
    }

    fn source(&self) -> ContainerName {
        THINGS
    }

    fn step(&self, _change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        if input.is_first() {
            let read = ReadRequest::item(COPIES, "memo".into(), "memo");
            return Ok(Step::ask(vec![ReadRequest::cached("memo", read)]));
        }
        let item = input.item(0)?.ok_or_else(|| ProjectionError::text("it is not there"))?;
        let number = item.decode::<Value>()?["number"].as_u64();
        self.0.lock().expect("no panic while locked").extend(number);
        Ok(Step::done())
    }
}

async fn write_memo(world: &World, number: u64) {
    let body = json!({"id": "memo", "home": "memo", "type": "memo", "number": number});
    let write = WriteOp::Upsert(NewItem::encode("memo", &body));
    world.store.write(COPIES, &"memo".into(), write, &Ledger::new()).await.expect("a write");
}

/// The memo in two pages of two changes each, between which another process wrote.
async fn heard(settings: Settings) -> Vec<u64> {
    let world = World::new(1);
    let heard = Arc::default();
    let instance = world.instance_of(Arc::new(Memoist(Arc::clone(&heard))), settings).await;
    for number in 1..=2 {
        write_memo(&world, number).await;
        world.put(1, 2 * number).await;
        world.put(1, 2 * number + 1).await;
        instance.run_once().await.expect("a turn");
    }
    heard.lock().expect("no panic while locked").clone()
}

#[tokio::test]
async fn a_memo_is_not_older_than_the_page_where_others_write() {
    assert_eq!(heard(shared("ada")).await, [1, 1, 2, 2]);
}

#[tokio::test]
async fn alone_a_memo_is_kept_from_page_to_page() {
    assert_eq!(heard(Settings::new("ada").without_delays()).await, [1, 1, 1, 1]);
}
