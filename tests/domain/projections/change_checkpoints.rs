//! Saved notes of long changes, seen through a projection made for it.

use std::sync::{Arc, Mutex};

use onehop::blog::containers::USERS;
use onehop::blog::items::{UserItem, types};
use onehop_change_feed::{
    IntendedWrite, Processor, Projection, ProjectionError, ReadRequest, Settings, Step, StepInput,
};
use onehop_store::{Change, ContainerName, ETag, FaultKind, NewItem, Store, WriteOp};
use tokio_util::sync::CancellationToken;

use crate::projections::world::World;
use onehop_testing::failing_store::WriteFault;

/// Saves a note, and then makes the writes of a test. It keeps a diary of its turns.
struct Diarist {
    diary: Arc<Mutex<Vec<String>>>,
    writes: fn(&UserItem) -> Vec<IntendedWrite>,
}

impl Projection for Diarist {
    fn name(&self) -> &'static str {
        "diarist"
    }

    fn source(&self) -> ContainerName {
        USERS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::USER])
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let user: UserItem = change.item.decode()?;
        let note = input.state::<String>()?;
        let mut diary = self.diary.lock().expect("no panic while locked");
        diary.push(format!("{} v{}", note.as_deref().unwrap_or("begins"), user.version));
        match note {
            None => {
                let read = ReadRequest::item(USERS, change.partition_key.clone(), change.id.clone());
                Ok(Step::ask(vec![read]).with_state(&"half way").checkpoint())
            }
            Some(_) => Ok(Step::done().after_writing((self.writes)(&user))),
        }
    }
}

async fn open(world: &World, diarist: Diarist) -> Processor {
    let store: Arc<dyn Store> = world.store.clone();
    let settings = Settings::new("test").without_delays();
    let projections: Vec<Arc<dyn Projection>> = vec![Arc::new(diarist)];
    let opened =
        Processor::open(store, world.clock.clone(), projections, settings, CancellationToken::new()).await;
    opened.expect("the processor opens")
}

/// Writes the user's next version, and something else that is refused.
fn next_version_and_a_refusal(user: &UserItem) -> Vec<IntendedWrite> {
    if user.version > 1 {
        return Vec::new();
    }
    let replace = |version, if_match| {
        let user = UserItem { version, ..user.clone() };
        let item = NewItem::encode(user.id.to_string(), &user);
        IntendedWrite::one(USERS, user.id.partition_key(), WriteOp::Replace { item, if_match })
    };
    vec![replace(2, None), replace(3, Some(ETag::from_number(u64::MAX)))]
}

#[tokio::test]
async fn a_note_says_nothing_about_another_version_of_its_item() {
    let world = World::new().await;
    world.sign_up(1, "ada").await;
    let diary = Arc::default();
    let processor =
        open(&world, Diarist { diary: Arc::clone(&diary), writes: next_version_and_a_refusal }).await;
    processor.run_once().await.expect("a turn");
    let diary = diary.lock().expect("no panic while locked");
    assert_eq!(*diary, ["begins v1", "half way v1", "begins v2", "half way v2"]);
}

#[tokio::test]
async fn after_a_crash_a_change_goes_on_from_its_note() {
    let world = World::new().await;
    world.sign_up(1, "ada").await;
    let mut lease_writes = 0;
    world.store.judge(move |container, _, _| {
        lease_writes += usize::from(container.as_str() == "leases");
        // The start checkpoints of four feed ranges and the note pass, the checkpoint after the page does
        // not.
        if lease_writes > 5 { WriteFault::Fail(FaultKind::Internal) } else { WriteFault::Pass }
    });
    let diary = Arc::default();
    let crashing = open(&world, Diarist { diary: Arc::clone(&diary), writes: |_| Vec::new() }).await;
    crashing.run_once().await.expect_err("no checkpoint can be written");
    drop(crashing);
    world.store.mend();
    let processor = open(&world, Diarist { diary: Arc::clone(&diary), writes: |_| Vec::new() }).await;
    processor.drain().await.expect("drained");
    let diary = diary.lock().expect("no panic while locked");
    assert_eq!(*diary, ["begins v1", "half way v1", "half way v1"]);
}
