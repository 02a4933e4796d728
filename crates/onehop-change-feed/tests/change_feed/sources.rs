//! Several projections of one source container: one reader, and the projections' own parts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use onehop_change_feed::{
    DEAD_LETTERS, LEASES, Processor, Projection, ProjectionError, ReadRequest, Settings, Step, StepInput,
};
use onehop_store::{Change, ContainerName, FaultKind, WriteOp};

use crate::splitting_store::Verdict;
use crate::toy::{COPIES, THINGS, Thing, World};

/// The projections with the numbers that they projected, in order.
pub type Diary = Arc<Mutex<Vec<(&'static str, u64)>>>;

/// Records its projected changes.
pub struct Recorder {
    name: &'static str,
    types: Option<&'static [&'static str]>,
    refuses_poison: bool,
    saves_state: bool,
    needs_history: bool,
    diary: Diary,
}

impl Recorder {
    pub fn of(name: &'static str, diary: &Diary) -> Self {
        let diary = Arc::clone(diary);
        Self { name, types: None, refuses_poison: false, saves_state: false, needs_history: true, diary }
    }
}

impl Projection for Recorder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        THINGS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        self.types
    }

    fn needs_history(&self) -> bool {
        self.needs_history
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let thing: Thing = change.item.decode()?;
        if thing.poisoned && self.refuses_poison {
            return Err(ProjectionError::text("it is poisoned"));
        }
        self.diary.lock().expect("no panic while locked").push((self.name, thing.number));
        if self.saves_state && input.state.is_null() {
            let read = ReadRequest::item(COPIES, change.partition_key.clone(), &*change.id);
            return Ok(Step::ask(vec![read]).with_state(&self.name).checkpoint());
        }
        if self.saves_state {
            assert_eq!(input.state::<String>()?.as_deref(), Some(self.name), "the state of another");
        }
        Ok(Step::done())
    }
}

fn settings() -> Settings {
    Settings { page_items_max: 5, ..Settings::new("ada").without_delays() }
}

async fn open(world: &World, recorders: Vec<Recorder>) -> Processor {
    let projections = recorders.into_iter().map(|recorder| Arc::new(recorder) as Arc<dyn Projection>);
    world.instance_of_all(projections.collect(), settings()).await
}

fn take(diary: &Diary) -> Vec<(&'static str, u64)> {
    std::mem::take(&mut *diary.lock().expect("no panic while locked"))
}

#[tokio::test]
async fn a_page_is_read_once_for_all_projections_in_their_order() {
    let (world, diary) = (World::new(1), Diary::default());
    let names = ["c", "a", "b"];
    let processor = open(&world, names.iter().map(|name| Recorder::of(name, &diary)).collect()).await;
    for id in 1..=3 {
        world.put(1, id).await;
    }
    processor.run_once().await.expect("a turn");
    assert_eq!(world.store.feed_pages.load(Ordering::SeqCst), 1);
    let expected: Vec<_> = names.iter().flat_map(|name| (1..=3).map(move |number| (*name, number))).collect();
    assert_eq!(take(&diary), expected);
    assert_eq!(world.leases().await.len(), 1, "one lease for all projections");
    assert_eq!(world.leases().await[0].projections, names);
}

#[tokio::test]
async fn each_projection_sees_its_own_types() {
    let (world, diary) = (World::new(1), Diary::default());
    let of_types = |name, types| Recorder { types: Some(types), ..Recorder::of(name, &diary) };
    let processor =
        open(&world, vec![of_types("first", &["thing", "tool"]), of_types("second", &["tool"])]).await;
    for (id, item_type) in [(1, "thing"), (2, "tool"), (3, "toy")] {
        world.put_of_type(1, id, item_type).await;
    }
    let pending: Vec<_> =
        processor.status().await.expect("a status").iter().map(|status| status.pending_changes).collect();
    assert_eq!(pending, [2, 1], "what the reader of the source has before it, by type");
    assert_eq!(processor.run_once().await.expect("a turn"), 2);
    assert_eq!(take(&diary), [("first", 1), ("first", 2), ("second", 2)]);
    let changes: Vec<_> =
        processor.status().await.expect("a status").iter().map(|status| status.changes).collect();
    assert_eq!(changes, [2, 1]);
}

#[tokio::test]
async fn a_dead_letter_belongs_to_one_projection() {
    let (world, diary) = (World::new(1), Diary::default());
    let strict = Recorder { refuses_poison: true, ..Recorder::of("strict", &diary) };
    let processor = open(&world, vec![strict, Recorder::of("lenient", &diary)]).await;
    world.put_thing(1, 1, true).await;
    world.put(2, 2).await;
    processor.drain().await.expect("drained");
    world.put(1, 3).await;
    world.put(1, 4).await;
    processor.drain().await.expect("drained");
    let mut seen = take(&diary);
    seen.sort_unstable();
    assert_eq!(seen, [("lenient", 1), ("lenient", 2), ("lenient", 3), ("lenient", 4), ("strict", 2)]);
    let statuses = processor.status().await.expect("a status");
    assert_eq!(statuses.iter().map(|status| status.dead_letters).collect::<Vec<_>>(), [1, 0]);
    world.put(1, 1).await;
    let report = processor.replay(Some("strict")).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (3, 0));
}

#[tokio::test]
async fn a_fault_of_one_projection_does_not_repeat_the_others() {
    let (world, diary) = (World::new(1), Diary::default());
    let strict = Recorder { refuses_poison: true, ..Recorder::of("strict", &diary) };
    let processor = open(&world, vec![strict, Recorder::of("lenient", &diary)]).await;
    processor.run_once().await.expect("a turn");
    world.put_thing(1, 1, true).await;
    world.put(2, 2).await;
    // The dead letter of the first projection cannot be written.
    world.store.judge(|container, _| match container {
        DEAD_LETTERS => Verdict::Fail(FaultKind::Internal),
        _ => Verdict::Pass,
    });
    for _ in 0..3 {
        processor.run_once().await.expect_err("no dead letter can be written");
    }
    let lenient = take(&diary).into_iter().filter(|(name, _)| *name == "lenient").count();
    assert_eq!(lenient, 2, "it saw the page once");
    assert!(world.leases().await[0].continuation.is_none(), "no checkpoint without all projections");
    world.store.mend();
    processor.drain().await.expect("drained");
    assert!(take(&diary).iter().all(|(name, _)| *name == "strict"));
    assert_eq!(processor.status().await.expect("a status")[0].dead_letters, 1);
}

#[tokio::test]
async fn a_projection_that_is_added_sees_everything() {
    let (world, diary) = (World::new(2), Diary::default());
    world.put_many(1).await;
    open(&world, vec![Recorder::of("first", &diary)]).await.drain().await.expect("drained");
    take(&diary);
    let both = || vec![Recorder::of("first", &diary), Recorder::of("second", &diary)];
    open(&world, both()).await.drain().await.expect("drained");
    let seen = take(&diary);
    assert_eq!(seen.len(), 12, "the others go on at the checkpoint");
    assert!(seen.iter().all(|(name, _)| *name == "second"));
    open(&world, both()).await.drain().await.expect("drained");
    assert_eq!(take(&diary), [], "from now on the checkpoint holds for both");
}

#[tokio::test]
async fn a_projection_without_history_begins_at_the_checkpoint() {
    let (world, diary) = (World::new(2), Diary::default());
    let new = |name| Recorder { needs_history: false, ..Recorder::of(name, &diary) };
    world.put_many(1).await;
    open(&world, vec![Recorder::of("first", &diary)]).await.drain().await.expect("drained");
    world.put(1, 100).await;
    take(&diary);
    let both = open(&world, vec![Recorder::of("first", &diary), new("second")]).await;
    both.drain().await.expect("drained");
    assert_eq!(take(&diary), [("first", 13), ("second", 13)], "what the checkpoint does not hold for");
    let all =
        vec![Recorder::of("first", &diary), new("second"), new("third"), Recorder::of("fourth", &diary)];
    open(&world, all).await.drain().await.expect("drained");
    let seen = take(&diary);
    assert_eq!(seen.len(), 13);
    assert!(seen.iter().all(|(name, _)| *name == "fourth"), "what one projection needs is its own: {seen:?}");
}

#[tokio::test]
async fn the_state_of_a_long_change_belongs_to_one_projection() {
    let (world, diary) = (World::new(1), Diary::default());
    let long = |name| Recorder { saves_state: true, ..Recorder::of(name, &diary) };
    let both = || vec![long("first"), long("second")];
    world.put(1, 1).await;
    let mut writes = 0;
    world.store.judge(move |container, operation| {
        writes += usize::from(container == LEASES && matches!(operation, WriteOp::Replace { .. }));
        // Both states are saved, and the checkpoint after the page is not.
        if writes > 2 { Verdict::Fail(FaultKind::Internal) } else { Verdict::Pass }
    });
    let crashing = open(&world, both()).await;
    crashing.run_once().await.expect_err("no checkpoint can be written");
    drop(crashing);
    world.store.mend();
    take(&diary);
    open(&world, both()).await.drain().await.expect("drained");
    assert_eq!(take(&diary), [("first", 1), ("second", 1)], "each goes on from its own state");
}
