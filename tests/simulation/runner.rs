//! Runner: one run in this process, and many runs in processes of their own.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use onehop_runtime::{blocking, planted};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::checker::{Violation, check};
use crate::dice::Dice;
use crate::executor::{Executor, Group};
use crate::plan::Plan;
use crate::world::World;
use crate::{finale, randomness, trace};

const SEED: &str = "SIMULATION_SEED";
const ACTS: &str = "SIMULATION_ACTS";
const WITHOUT: &str = "SIMULATION_WITHOUT";
/// What stands before the outcome of a run among its output.
const OUTCOME: &str = "OUTCOME ";
/// Runs in `make test`.
const SHORT_RUNS: u64 = 6;

/// The outcome of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RunOutcome {
    violations: Vec<(String, String)>,
    counts: BTreeMap<String, u64>,
    answers: BTreeMap<String, u64>,
    virtual_ms: i64,
    /// How often the planted bug was reached.
    reached: u64,
    trace: Vec<String>,
}

/// A run that is asked for.
#[derive(Debug, Clone, Default)]
struct Wanted {
    seed: u64,
    planted: Option<String>,
    acts: Option<usize>,
    without: Vec<String>,
}

fn play(plan: Plan) -> RunOutcome {
    // A new thread: its hash maps are seeded before the first of them is made.
    let playing = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        randomness::seed_thread(plan.seed);
        blocking::run_inline();
        planted::select(env::var(planted::VARIABLE).ok().as_deref());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async move {
            trace::begin(Instant::now());
            let executor = Executor::new(Dice::of(plan.seed, 0));
            let world = World::new(plan, executor.clone());
            let played = std::sync::Arc::clone(&world);
            let main = async move {
                played.play().await;
                finale::conclude(&played).await;
            };
            executor.run(Group(0), main).await;
            let recorded = world.history.take();
            let violations = check(&recorded).into_iter();
            RunOutcome {
                violations: violations.map(|Violation { invariant, detail }| (invariant.to_owned(), detail)).collect(),
                counts: world.counts().into_iter().map(|(name, times)| (name.to_owned(), times)).collect(),
                answers: recorded.answers,
                virtual_ms: world.elapsed_ms(),
                reached: planted::reached(),
                trace: trace::take(),
            }
        })
    });
    playing.expect("a thread").join().expect("the run ended")
}

/// Plays a run in a process of its own.
fn run(wanted: &Wanted) -> Result<RunOutcome, String> {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "runner::one_run", "--ignored", "--nocapture"]);
    command.env(SEED, wanted.seed.to_string()).env(WITHOUT, wanted.without.join(","));
    match &wanted.planted {
        Some(name) => command.env(planted::VARIABLE, name),
        None => command.env_remove(planted::VARIABLE),
    };
    if let Some(acts) = wanted.acts {
        command.env(ACTS, acts.to_string());
    }
    let output = command.output().expect("a process");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let outcome = printed.lines().find_map(|line| line.split_once(OUTCOME)).map(|(_, outcome)| outcome);
    match outcome {
        Some(outcome) => serde_json::from_str(outcome).map_err(|error| error.to_string()),
        None => Err(format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The outcome of a run, where a panic is a violation.
fn outcome_of(wanted: &Wanted) -> RunOutcome {
    run(wanted).unwrap_or_else(|printed| RunOutcome {
        violations: vec![("a run ends without a panic".to_owned(), printed)],
        counts: BTreeMap::new(),
        answers: BTreeMap::new(),
        virtual_ms: 0,
        reached: 0,
        trace: Vec::new(),
    })
}

/// Runs these, two at a time, and hands each outcome over as it comes.
fn run_all(wanted: &[Wanted], take: impl Fn(&Wanted, RunOutcome) -> bool + Sync) {
    let next = AtomicU64::new(0);
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let place = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).expect("a place");
                    let Some(wanted) = wanted.get(place) else { return };
                    if !take(wanted, outcome_of(wanted)) {
                        next.store(u64::MAX / 2, Ordering::Relaxed);
                        return;
                    }
                }
            });
        }
    });
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text:?}")))
}

#[test]
#[ignore = "one run of its parent process"]
fn one_run() {
    let seed = number(SEED).unwrap_or(1);
    let left_out = env::var(WITHOUT).unwrap_or_default();
    let left_out: Vec<String> = left_out.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut plan = Plan::of(seed).without(&left_out);
    if let Some(acts) = number(ACTS) {
        plan = plan.with_acts(usize::try_from(acts).expect("a number of acts"));
    }
    let outcome = play(plan);
    println!("{OUTCOME}{}", serde_json::to_string(&outcome).expect("JSON"));
}

fn report(wanted: &Wanted, outcome: &RunOutcome) -> String {
    let mut text = format!("seed {}", wanted.seed);
    for (invariant, detail) in &outcome.violations {
        text.push_str(&format!("\n  {invariant}: {detail}"));
    }
    text
}

#[test]
fn short_runs_keep_all_promises() {
    let failed = Mutex::new(Vec::new());
    let wanted: Vec<Wanted> = (1..=SHORT_RUNS).map(|seed| Wanted { seed, ..Wanted::default() }).collect();
    run_all(&wanted, |wanted, outcome| {
        if !outcome.violations.is_empty() {
            failed.lock().push(report(wanted, &outcome));
        }
        true
    });
    assert!(failed.lock().is_empty(), "{}", failed.lock().join("\n"));
}

#[test]
fn a_seed_plays_the_same_run_again() {
    let wanted = Wanted { seed: 7, acts: Some(40), ..Wanted::default() };
    let [one, other] = [outcome_of(&wanted), outcome_of(&wanted)];
    assert!(one.trace.len() > 100, "{}", report(&wanted, &one));
    if let Some(place) = one.trace.iter().zip(&other.trace).position(|(one, other)| one != other) {
        let before = &one.trace[place.saturating_sub(5)..place];
        panic!("after {before:#?}:\n{}\n{}", one.trace[place], other.trace[place]);
    }
    assert_eq!(one.trace.len(), other.trace.len());
}
