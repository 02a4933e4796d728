//! Any number of instances that come, work, die and are robbed, over ranges that split and merge, with faults
//! in between: nothing is lost, and no copy goes back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use onehop_change_feed::{LEASES, Processor, Projection, ProjectionError, Settings, Step, StepInput};
use onehop_runtime::clock::{Clock as _, ManualClock};
use onehop_store::{Change, ContainerName, FaultKind};
use proptest::prelude::*;

use crate::splitting_store::Verdict;
use crate::toy::{EXPIRY_MS, THINGS, Thing, World, shared};

#[derive(Debug, Clone)]
enum Act {
    Write {
        home: u64,
        id: u64,
    },
    /// An instance starts, of the earlier release or of the release that has another projection.
    Start {
        is_newer: bool,
    },
    Tick(usize),
    Run(usize),
    Renew(usize),
    Release(usize),
    Drop(usize),
    Split(usize),
    Merge(usize),
    Advance(i64),
    /// The wall clock of one instance is set forward or back.
    Step(usize, i64),
    /// The store refuses the continuation of the next page.
    Refuse,
    /// The lease write after this many fails, or its answer is lost.
    Fault {
        after: usize,
        lost: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..12_u64, 0..3_u64).prop_map(|(home, id)| Act::Write { home, id }),
        2 => any::<bool>().prop_map(|is_newer| Act::Start { is_newer }),
        6 => (0..4_usize).prop_map(Act::Tick),
        8 => (0..4_usize).prop_map(Act::Run),
        1 => (0..4_usize).prop_map(Act::Renew),
        1 => (0..4_usize).prop_map(Act::Release),
        1 => (0..4_usize).prop_map(Act::Drop),
        2 => (0..8_usize).prop_map(Act::Split),
        1 => (0..8_usize).prop_map(Act::Merge),
        2 => (0..40_000_i64).prop_map(Act::Advance),
        1 => (0..4_usize, -3_600_000..3_600_000_i64).prop_map(|(place, by_ms)| Act::Step(place, by_ms)),
        1 => Just(Act::Refuse),
        2 => (0..4_usize, any::<bool>()).prop_map(|(after, lost)| Act::Fault { after, lost }),
    ]
}

/// The changes seen by the projection of the newer release: the greatest number of each thing.
type Watched = Arc<Mutex<BTreeMap<(String, String), u64>>>;

struct Watcher(Watched);

impl Projection for Watcher {
    fn name(&self) -> &'static str {
        "watcher"
    }

    fn source(&self) -> ContainerName {
        THINGS
    }

    fn step(&self, change: &Change, _input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let thing: Thing = change.item.decode()?;
        let mut watched = self.0.lock().expect("no panic while locked");
        let number = watched.entry((thing.home, thing.id)).or_default();
        *number = thing.number.max(*number);
        Ok(Step::done())
    }
}

async fn play(acts: Vec<Act>, prefetch: bool) {
    let world = World::new(2);
    let settings = |owner: &str| Settings { prefetch: Some(prefetch), page_items_max: 3, ..shared(owner) };
    let mut instances: Vec<Processor> = Vec::new();
    // Each instance has a clock of its own.
    let mut clocks: Vec<Arc<ManualClock>> = Vec::new();
    let watched = Watched::default();
    for (number, act) in acts.into_iter().enumerate() {
        let chosen = |place: usize| (!instances.is_empty()).then(|| place % instances.len());
        match act {
            Act::Write { home, id } => world.put(home, id).await,
            Act::Start { is_newer } => {
                let clock = Arc::new(ManualClock::new(world.clock.now_ms()));
                let settings = settings(&format!("i{number}"));
                let mut projections = vec![world.copier(&settings)];
                if is_newer {
                    projections.push(Arc::new(Watcher(Arc::clone(&watched))));
                }
                instances.push(world.instance_at(projections, settings, clock.clone()).await);
                clocks.push(clock);
            }
            Act::Refuse => world.store.fail_feed_pages(&[FaultKind::InvalidContinuation]),
            Act::Tick(place) => {
                if let Some(place) = chosen(place) {
                    let _ = instances[place].balance_leases().await;
                }
            }
            Act::Run(place) => {
                if let Some(place) = chosen(place) {
                    let _ = instances[place].run_once().await;
                }
            }
            Act::Renew(place) => {
                if let Some(place) = chosen(place) {
                    instances[place].renew().await;
                }
            }
            Act::Release(place) => {
                if let Some(place) = chosen(place) {
                    instances[place].release().await;
                }
            }
            Act::Drop(place) => {
                if let Some(place) = chosen(place) {
                    drop((instances.remove(place), clocks.remove(place)));
                }
            }
            Act::Split(place) => world.store.split(place),
            Act::Merge(place) => world.store.merge(place),
            Act::Advance(by_ms) => {
                clocks.iter().chain([&world.clock]).for_each(|clock| clock.advance_ms(by_ms));
            }
            Act::Step(place, by_ms) => {
                if let Some(place) = chosen(place) {
                    clocks[place].step_wall_ms(by_ms);
                }
            }
            Act::Fault { after, lost } => {
                let mut writes = 0;
                world.store.judge(move |container, _| {
                    writes += usize::from(container == LEASES);
                    match (container == LEASES && writes == after + 1, lost) {
                        (true, true) => Verdict::Lose,
                        (true, false) => Verdict::Fail(FaultKind::Internal),
                        (false, _) => Verdict::Pass,
                    }
                });
            }
        }
    }
    world.store.mend();
    drop(instances);
    let settings = settings("last");
    let projections: Vec<Arc<dyn Projection>> =
        vec![world.copier(&settings), Arc::new(Watcher(Arc::clone(&watched)))];
    let last = world.instance_of_all(projections, settings).await;
    // From now on it observes the heartbeats of the dead instances.
    last.balance_leases().await.expect("a tick");
    world.clock.advance_ms(EXPIRY_MS);
    last.drain().await.expect("drained");
    world.assert_current().await;
    let things = world.things(THINGS).await;
    assert_eq!(*watched.lock().expect("no panic while locked"), things);
    assert_eq!(last.status().await.expect("a status")[0].dead_letters, 0);
    // A page that was read ahead may be worked on late, after its lease was lost; its writes do no harm.
    if !prefetch {
        world.assert_in_order();
    }
    let leases = world.leases().await;
    assert!(leases.iter().all(|lease| lease.owner.as_deref() == Some("last")), "{leases:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_under_random_schedules_of_crashes(
        acts in prop::collection::vec(act(), 1..120),
        prefetch in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(play(acts, prefetch));
    }
}
