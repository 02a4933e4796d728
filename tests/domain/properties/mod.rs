//! Properties that hold for all writes, in any order, by any number of tasks at once.
//!
//! Each case is a random plan, run through the parts of a process: commands, change feed processor, read
//! models. A plan that fails is shrunk, printed, and kept in `tests/proptest-regressions/`, whose plans run
//! before new ones. The plan is reproduced by that, the interleaving of its tasks is not: run a stubborn one
//! several times. `PROPTEST_CASES` asks for more cases than the few of an ordinary run.

mod acts;
mod agreement;
mod answers;
mod long_feed;
mod model;
mod plan;
mod play;
mod random_commands;
mod webstore;

use proptest::prelude::ProptestConfig;

/// Attempts to make a failing plan smaller: each try runs the whole plan.
const SHRINKS_MAX: u32 = 200;

/// So many cases, unless the environment asks for another number.
fn cases(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters: SHRINKS_MAX, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases, ..config } }
}

/// Runs a case on threads, so that its tasks do run at the same time.
fn block_on<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(case)
}
