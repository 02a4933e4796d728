//! Runner: one run in this process, and many runs in processes of their own.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onehop_runtime::{blocking, planted};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::checker::{Violation, check};
use crate::dice::Dice;
use crate::executor::{Executor, OUTSIDE};
use crate::plan::Plan;
use crate::world::World;
use crate::{finale, randomness, trace};

/// The level of the log that a run writes: `warn`, for example.
const LOG: &str = "SIMULATION_LOG";
const SEED: &str = "SIMULATION_SEED";
const ACTS: &str = "SIMULATION_ACTS";
const WITHOUT: &str = "SIMULATION_WITHOUT";
/// The text before the outcome of a run in its output.
const OUTCOME: &str = "OUTCOME ";
/// The invariant that a panic breaks.
const NO_PANIC: &str = "nothing panics";
/// Characters of a violation in a report.
const DETAIL_CHARS_MAX: usize = 2_000;
/// Runs in `make test`.
const SHORT_RUNS: u64 = 6;

/// The outcome of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RunOutcome {
    violations: Vec<(String, String)>,
    counts: BTreeMap<String, u64>,
    answers: BTreeMap<String, u64>,
    virtual_ms: i64,
    is_embedded: bool,
    /// The number of times that the planted bug was reached.
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

/// Records every panic from now on, including panics that a task or a request catches.
fn note_panics() -> Arc<Mutex<Vec<String>>> {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let (notes, print) = (Arc::clone(&noted), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        notes.lock().push(panic.to_string());
        print(panic);
    }));
    noted
}

fn play(plan: Plan) -> RunOutcome {
    let panics = note_panics();
    // A new thread: its hash maps are seeded before the first of them is made.
    let playing = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        randomness::seed_thread(plan.seed);
        blocking::run_inline();
        planted::select(env::var(planted::VARIABLE).ok().as_deref());
        planted::make_sizes_small(plan.has_small_sizes);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async move {
            trace::begin(Instant::now());
            let stalls = plan.stalls.map(|stalls| (stalls, Dice::of(plan.seed, 6)));
            let executor = Executor::new(Dice::of(plan.seed, 0), stalls);
            let world = World::new(plan, executor.clone());
            let played = Arc::clone(&world);
            let main = async move {
                played.play().await;
                finale::conclude(&played).await;
            };
            executor.run(OUTSIDE, main).await;
            let recorded = world.history.take();
            let violations = check(&recorded).into_iter();
            let panics = std::mem::take(&mut *panics.lock());
            RunOutcome {
                violations: violations
                    .map(|Violation { invariant, detail }| (invariant.to_owned(), detail))
                    .chain(panics.into_iter().map(|panic| (NO_PANIC.to_owned(), panic)))
                    .collect(),
                counts: world.counts().into_iter().map(|(name, times)| (name.to_owned(), times)).collect(),
                answers: recorded.answers,
                virtual_ms: world.elapsed_ms(),
                is_embedded: world.plan.is_embedded,
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
        violations: vec![(NO_PANIC.to_owned(), printed)],
        counts: BTreeMap::new(),
        answers: BTreeMap::new(),
        virtual_ms: 0,
        is_embedded: false,
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
    if let Ok(level) = env::var(LOG) {
        let level = level.parse::<tracing::Level>().expect("a level");
        tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).without_time().init();
    }
    let seed = number(SEED).unwrap_or(1);
    let left_out = env::var(WITHOUT).unwrap_or_default();
    let left_out: Vec<String> =
        left_out.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut plan = Plan::of(seed).without(&left_out);
    if let Some(acts) = number(ACTS) {
        plan = plan.with_acts(usize::try_from(acts).expect("a number of acts"));
    }
    let outcome = play(plan);
    println!("{OUTCOME}{}", serde_json::to_string(&outcome).expect("JSON"));
}

/// A run that fails, with at most this much of each detail.
fn report(wanted: &Wanted, outcome: &RunOutcome) -> String {
    let violations = outcome.violations.iter().map(|(invariant, detail)| {
        let detail: String = detail.chars().take(DETAIL_CHARS_MAX).collect();
        format!("\n  {invariant}: {detail}")
    });
    format!("seed {}{}", wanted.seed, violations.collect::<String>())
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
    // Both stores are among them.
    assert_repeatable((11..14).map(|seed| Wanted { seed, acts: Some(80), ..Wanted::default() }));
}

/// Plays fifty seeds twice.
#[test]
#[ignore = "it plays many runs: make simulate"]
fn fifty_seeds_play_the_same_runs_again() {
    assert_repeatable((1..=50).map(|seed| Wanted { seed, ..Wanted::default() }));
}

/// Plays each run twice, and compares the traces line by line.
fn assert_repeatable(wanted: impl Iterator<Item = Wanted>) {
    let differences = Mutex::new(Vec::new());
    run_all(&wanted.collect::<Vec<_>>(), |wanted, one| {
        let other = outcome_of(wanted);
        assert!(one.trace.len() > 20, "{}", report(wanted, &one));
        let differs = one.trace.iter().zip(&other.trace).position(|(one, other)| one != other);
        if let Some(place) = differs {
            let before = one.trace[place.saturating_sub(5)..place].join("\n");
            let lines = format!("{}\n{}", one.trace[place], other.trace[place]);
            differences.lock().push(format!("seed {} after\n{before}:\n{lines}", wanted.seed));
        } else if one.trace.len() != other.trace.len() || one.counts != other.counts {
            differences.lock().push(format!("seed {} ends differently", wanted.seed));
        }
        true
    });
    assert!(differences.lock().is_empty(), "{}", differences.lock().join("\n"));
}

/// Plays many seeds, and prints the share of runs with each fault and limit. With `SIMULATION_SEED`, it plays
/// one run and prints its trace.
#[test]
#[ignore = "it plays many runs: make simulate"]
fn simulate() {
    if let Some(seed) = number(SEED) {
        return repeat(&Wanted { seed, planted: env::var(planted::VARIABLE).ok(), ..Wanted::default() });
    }
    let runs = number("SIMULATION_SEEDS").unwrap_or(100);
    let first = number("SIMULATION_FIRST").unwrap_or(1);
    let failed = Mutex::new(Vec::new());
    let activation = Mutex::new(Activation::default());
    let virtual_ms = AtomicU64::new(0);
    let wanted: Vec<Wanted> =
        (first..first + runs).map(|seed| Wanted { seed, ..Wanted::default() }).collect();
    let start = Instant::now();
    run_all(&wanted, |wanted, outcome| {
        virtual_ms.fetch_add(outcome.virtual_ms.unsigned_abs(), Ordering::Relaxed);
        activation.lock().add(&outcome);
        if !outcome.violations.is_empty() {
            println!("{}", report(wanted, &outcome));
            failed.lock().push(wanted.seed);
        }
        true
    });
    println!("{}", activation.lock());
    let (seconds, simulated) = (start.elapsed().as_secs_f64(), virtual_ms.into_inner() as f64 / 1000.0);
    println!("{runs} runs in {seconds:.0} s, {:.0} times as fast as time", simulated / seconds);
    let mut failed = failed.into_inner();
    failed.sort_unstable();
    println!("violations in {} runs: {failed:?}", failed.len());
    assert!(failed.is_empty());
}

/// In how many runs over each store each event occurred: over an account, and over a disk.
#[derive(Default)]
struct Activation {
    runs: [u64; 2],
    events: BTreeMap<String, [u64; 2]>,
}

impl Activation {
    fn add(&mut self, outcome: &RunOutcome) {
        let store = usize::from(outcome.is_embedded);
        self.runs[store] += 1;
        for name in outcome.counts.keys().chain(outcome.answers.keys()) {
            self.events.entry(name.clone()).or_default()[store] += 1;
        }
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "share of {} runs over an account and {} over a disk",
            self.runs[0], self.runs[1]
        )?;
        let share = |active: u64, store: usize| active as f64 * 100.0 / self.runs[store] as f64;
        let is_rare = |active: &[u64; 2]| {
            [0, 1].into_iter().all(|store| active[store] == 0 || share(active[store], store) < 30.0)
        };
        let rare = self.events.iter().filter(|(_, active)| is_rare(active)).map(|(name, _)| name.as_str());
        writeln!(formatter, "in less than 30 %: {}", rare.collect::<Vec<_>>().join(", "))?;
        for (name, active) in &self.events {
            let [account, disk] = [0, 1].map(|store| match active[store] {
                0 => "-".to_owned(),
                active => format!("{:.1} %", share(active, store)),
            });
            writeln!(formatter, "{account:>9} {disk:>9}  {name}")?;
        }
        Ok(())
    }
}

/// Repeats a run, prints its trace, and looks for a smaller run that fails in the same way.
fn repeat(wanted: &Wanted) {
    let outcome = outcome_of(wanted);
    for line in &outcome.trace {
        println!("{line}");
    }
    println!("{}", report(wanted, &outcome));
    let Some((invariant, _)) = outcome.violations.first() else { return };
    let fails =
        |smaller: &Wanted| outcome_of(smaller).violations.iter().any(|(broken, _)| broken == invariant);
    let mut smallest = Wanted { acts: Some(Plan::of(wanted.seed).acts), ..wanted.clone() };
    while let Some(acts) = smallest.acts.filter(|acts| *acts > 1) {
        let smaller = Wanted { acts: Some(acts / 2), ..smallest.clone() };
        if !fails(&smaller) {
            break;
        }
        smallest = smaller;
    }
    for name in crate::faults::KINDS.into_iter().chain(crate::plan::DISTURBANCES) {
        let mut smaller = smallest.clone();
        smaller.without.push(name.to_owned());
        if fails(&smaller) {
            smallest = smaller;
        }
    }
    println!(
        "the smallest run that fails in this way: {} acts, without {:?}",
        smallest.acts.unwrap_or(0),
        smallest.without
    );
}

/// The bugs that are planted, and in how many runs each was found.
#[test]
#[ignore = "it needs a build with planted bugs: make simulate"]
fn planted_bugs_are_found() {
    if !planted::IS_BUILT {
        panic!("build with RUSTFLAGS='--cfg planted'");
    }
    let runs = number("SIMULATION_SEEDS").unwrap_or(100);
    let names = env::var("SIMULATION_BUGS").unwrap_or_else(|_| PLANTED.join(","));
    let mut missed = Vec::new();
    let mut needed = Vec::new();
    for name in names.split(',') {
        let found: Mutex<Option<(u64, String)>> = Mutex::default();
        let reached = AtomicU64::new(0);
        let wanted: Vec<Wanted> = (1..=runs)
            .map(|seed| Wanted { seed, planted: Some(name.to_owned()), ..Wanted::default() })
            .collect();
        run_all(&wanted, |wanted, outcome| {
            reached.fetch_add(u64::from(outcome.reached > 0), Ordering::Relaxed);
            let Some((invariant, detail)) = outcome.violations.first() else { return true };
            let mut found = found.lock();
            if found.as_ref().is_none_or(|(seed, _)| wanted.seed < *seed) {
                *found = Some((
                    wanted.seed,
                    format!("{invariant}: {}", detail.chars().take(160).collect::<String>()),
                ));
            }
            false
        });
        match found.into_inner() {
            Some((seed, invariant)) => {
                println!("{name}: found by seed {seed}: {invariant}");
                needed.push(seed);
            }
            None => {
                println!("{name}: not found in {runs} runs, reached in {}", reached.into_inner());
                missed.push(name.to_owned());
            }
        }
    }
    needed.sort_unstable();
    let median = needed.get(needed.len() / 2);
    println!("planted {}/{}, median seed {median:?}", needed.len(), needed.len() + missed.len());
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// All planted bugs, found by runs or not.
const PLANTED: [&str; 65] = [
    "any-mark-is-its-own",
    "any-version-is-projected",
    "complete-before-it-ran",
    "first-stage-alone",
    "condition-of-an-earlier-look",
    "deletion-wakes-nobody",
    "move-without-if-match",
    "unique-value-released-before-the-write",
    "update-without-if-match",
    "rename-trusts-a-replica",
    "edit-trusts-a-replica",
    "password-taken-along-from-a-replica",
    "second-look-at-a-replica",
    "added-projection-skips-history",
    "backfill-joins-early",
    "backup-of-several-moments",
    "batch-in-parts",
    "cache-entry-without-mark",
    "checkpoint-before-writes",
    "copies-without-if-match",
    "dead-letter-forgets-followers",
    "deleted-account-not-looked-at-again",
    "edit-outlives-its-base",
    "entry-leaves-without-guard",
    "entry-of-a-removed-element-stays",
    "event-lost-behind-another",
    "expired-lease-writes",
    "guarded-page-unconfirmed",
    "idempotency-record-after-answer",
    "last-write-position-alone",
    "lost-deletion-left-half-done",
    "missing-fsync",
    "no-catch-up",
    "old-refresh-token-stays-good",
    "older-copy-overwrites",
    "own-like-taken-as-conflict",
    "parking-on-throttling",
    "post-without-if-match",
    "propagation-stops-after-a-page",
    "purge-takes-a-rewrite",
    "ranking-without-another-look",
    "reached-too-early",
    "removal-stops-after-a-page",
    "rename-left-half-done",
    "reservation-released-too-early",
    "sign-in-beside-a-change-stays",
    "sign-in-beside-a-suspension-stays",
    "sign-out-unseen",
    "signal-before-commit",
    "skipped-if-match",
    "split-skips-changes",
    "stale-listing-stays-cached",
    "tag-without-a-dependency",
    "takeover-keeps-the-epoch",
    "torn-batch",
    "any-version-is-edited",
    "edit-keeps-the-version",
    "key-of-all-users",
    "key-of-other-input",
    "live-query-begins-after-its-reads",
    "live-query-forgets-a-mark",
    "order-for-everybody",
    "new-session-unknown",
    "sign-out-leaves-other-sessions",
    "sold-out-product-is-ordered",
];
