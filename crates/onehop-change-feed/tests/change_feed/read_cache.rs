//! Memos whose sources other processes write.

use std::sync::{Arc, Mutex};

use onehop_change_feed::{Projection, ProjectionError, ReadRequest, Settings, Step, StepInput};
use onehop_store::{Change, ContainerName, Direction, Ledger, NewItem, Store as _, WriteOp};
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

/// Writes down the sum of all memos at each change. Of the page of memos the last has the id `a`.
struct Summing(Arc<Mutex<Vec<u64>>>);

impl Projection for Summing {
    fn name(&self) -> &'static str {
        "summing"
    }

    fn source(&self) -> ContainerName {
        THINGS
    }

    fn step(&self, _change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        if input.is_first() {
            let read = ReadRequest::Partition {
                container: COPIES,
                partition_key: "memo".into(),
                item_type: "memo",
                order_by: None,
                direction: Direction::NewestFirst,
                after: None,
                limit: 10,
            };
            return Ok(Step::ask(vec![ReadRequest::guarded("memos", read)]));
        }
        let numbers = input.page(0)?.items.iter().map(|item| item.decode::<Value>());
        let numbers: Vec<Value> = numbers.collect::<Result<_, _>>()?;
        let sum = numbers.iter().filter_map(|memo| memo["number"].as_u64()).sum();
        self.0.lock().expect("no panic while locked").push(sum);
        Ok(Step::done())
    }
}

async fn write_memo(world: &World, id: &str, number: u64) {
    let body = json!({"id": id, "home": "memo", "type": "memo", "number": number});
    let write = WriteOp::Upsert(NewItem::encode(id, &body));
    world.store.write(COPIES, &"memo".into(), write, &Ledger::new()).await.expect("a write");
}

/// The memo in two pages of two changes each, between which another process wrote.
async fn heard(settings: Settings) -> Vec<u64> {
    let world = World::new(1);
    let heard = Arc::default();
    let instance = world.instance_of(Arc::new(Memoist(Arc::clone(&heard))), settings).await;
    for number in 1..=2 {
        write_memo(&world, "memo", number).await;
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

/// The sums of pages of two changes each, before which another process writes these memos.
async fn summed(settings: Settings, writes: &[(&str, u64)]) -> Vec<u64> {
    let world = World::new(1);
    let summed = Arc::default();
    let instance = world.instance_of(Arc::new(Summing(Arc::clone(&summed))), settings).await;
    write_memo(&world, "a", 1).await;
    write_memo(&world, "b", 10).await;
    for (page, (id, number)) in (1..).zip([("c", 100)].iter().chain(writes)) {
        write_memo(&world, id, *number).await;
        world.put(1, 2 * page).await;
        world.put(1, 2 * page + 1).await;
        instance.run_once().await.expect("a turn");
    }
    summed.lock().expect("no panic while locked").clone()
}

#[tokio::test]
async fn a_guarded_page_is_read_again_when_its_last_item_was_written() {
    let writes = [("b", 20), ("a", 2), ("b", 30)];
    assert_eq!(summed(shared("ada"), &writes).await, [111, 111, 111, 111, 122, 122, 122, 122]);
    let alone = Settings::new("ada").without_delays();
    assert_eq!(summed(alone, &writes).await, [111; 8], "alone it is kept until a write of its own");
}
