//! Plans: simultaneous acts of several tasks, and the fate of the process in between.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::task::JoinSet;

use crate::process::TestProcess;

/// One step of a task: a command of the domain, or work on the change feed.
#[derive(Debug, Clone)]
pub enum Step<A> {
    Act(A),
    /// Every reader of the change feed works on one page.
    RunOnce,
    Drain,
}

/// The event after the tasks of a phase have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    Nothing,
    RunOnce,
    Drain,
    Restart,
}

/// Simultaneous acts of several tasks.
#[derive(Debug, Clone)]
pub struct Phase<A> {
    pub tasks: Vec<Vec<Step<A>>>,
    /// Whether the readers of the change feed run beside the tasks.
    pub readers: bool,
    pub then: Between,
}

/// Sends commands, and notes the acknowledged ones in a model.
pub trait Player: Clone + Send + Sync + 'static {
    type Act: Clone + Send + Sync + 'static;
    /// State that outlives the process, such as the model.
    type Notes;

    /// A player in this process.
    fn entering(process: &TestProcess, notes: &Self::Notes) -> Self;

    fn act(&self, act: &Self::Act) -> impl Future<Output = ()> + Send;
}

/// A sequence of phases, 30 to 80 commands together, most often.
pub fn plans<A: std::fmt::Debug + Clone + 'static>(
    acts: impl Strategy<Value = A> + Clone + 'static,
) -> impl Strategy<Value = Vec<Phase<A>>> {
    vec(phases(acts), 1..=3)
}

fn phases<A: std::fmt::Debug + Clone + 'static>(
    acts: impl Strategy<Value = A> + Clone + 'static,
) -> impl Strategy<Value = Phase<A>> {
    let then = prop_oneof![
        Just(Between::Nothing),
        Just(Between::RunOnce),
        Just(Between::Drain),
        Just(Between::Restart),
    ];
    let steps = prop_oneof![
        32 => acts.prop_map(Step::Act),
        1 => Just(Step::RunOnce),
        1 => Just(Step::Drain),
    ];
    let tasks = vec(vec(steps, 3..=7), 4..=8);
    (tasks, any::<bool>(), then).prop_map(|(tasks, readers, then)| Phase { tasks, readers, then })
}

/// Plays all phases. Returns the process in which the last one ended.
pub async fn play_phases<P: Player>(
    mut process: TestProcess,
    notes: &P::Notes,
    plan: &[Phase<P::Act>],
) -> TestProcess {
    for phase in plan {
        if phase.readers {
            process.start_readers();
        }
        let player = P::entering(&process, notes);
        let mut tasks = JoinSet::new();
        for steps in &phase.tasks {
            let (player, processor) = (player.clone(), Arc::clone(&process.app.processor));
            let steps = steps.clone();
            tasks.spawn(async move {
                for step in &steps {
                    match step {
                        Step::Act(act) => player.act(act).await,
                        Step::RunOnce => processor.run_once().await.map(drop).expect("a page"),
                        Step::Drain => processor.drain().await.expect("the change feed is drained"),
                    }
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("a task of the plan");
        }
        // A restart waits until no handle of the store is left.
        drop(player);
        match phase.then {
            Between::Nothing => {}
            Between::RunOnce => {
                process.app.processor.run_once().await.expect("a page");
            }
            Between::Drain => process.drain().await,
            Between::Restart => process = process.restart().await,
        }
    }
    process
}

/// Brings a process to rest, asserts the conditions of rest, and that neither a rebuild nor a restart writes
/// anything more.
pub async fn assert_at_rest(process: TestProcess, agreement: impl AsyncFn(&TestProcess)) {
    process.drain().await;
    process.assert_clean().await;
    agreement(&process).await;

    let etags = process.etags().await;
    process.rebuild().await;
    process.assert_untouched(&etags).await;

    let process = process.restart().await;
    process.drain().await;
    process.assert_untouched(&etags).await;
    process.assert_clean().await;
    process.end().await;
}

/// One of these, if there are any.
pub fn chosen<T>(items: impl ExactSizeIterator<Item = T>, index: &Index) -> Option<T> {
    let mut items = items;
    let count = items.len();
    (count > 0).then(|| index.index(count)).and_then(|place| items.nth(place))
}
