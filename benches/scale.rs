//! Effects of ten times the data: Q1 to Q6 under every data model on two data sets of different size, in
//! turns.
//!
//! Each request asks about another user or post, all over the data set, so that the larger one cannot live
//! off its cache. Compared are the CPU time of the reading thread, the blocks that the engine needed, and the
//! latency.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use onehop::blog::ids::{PostId, UserId};
use onehop::blog::reads::{DataModel, PageRequest, ReadModels};
use onehop::blog::study::dataset::{DEFAULT_END_MS, DEFAULT_RNG_SEED, Dataset, Texts};
use onehop::blog::study::read_path::{ArticleRead, ReadPath};
use onehop_runtime::clock::SystemClock;
use onehop_store::embedded::{Blocks, EmbeddedConfig, EmbeddedStore};
use onehop_store::{Ledger, Store};

/// As in the real server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The pages of the article: all posts of a user, and its numbers of comments, likes and posts of the feed.
const USER_POSTS_FIRST: i64 = 100;
const COMMENTS_FIRST: i64 = 20;
const LIKES_FIRST: i64 = 50;
const FEED_FIRST: i64 = 100;

const REQUESTS: [&str; 6] = ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"];
/// Requests of a data model that fans out take so much longer that a tenth of them will do.
const FEWER: usize = 10;

/// The same requests on a smaller and a larger data set
#[derive(Debug, Parser)]
struct Arguments {
    /// Data directories made by `onehop seed --texts long`: the smaller, then the larger
    #[arg(long, required = true)]
    data: Vec<PathBuf>,

    /// Users of each, in the same order
    #[arg(long, required = true)]
    users: Vec<u32>,

    /// Requests in a round under V3; a tenth of that under the other data models
    #[arg(long, default_value_t = 1_000)]
    requests: usize,

    /// Rounds on each data set, in turns; the medians are reported
    #[arg(long, default_value_t = 5)]
    rounds: usize,

    /// Memory for cached blocks of each store, in MiB
    #[arg(long, default_value_t = 128)]
    cache_mib: u64,

    /// Given by `cargo bench`, and not by `cargo test`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    if !std::env::args().any(|argument| argument == "--bench") {
        eprintln!("This is a measurement and not a test: make scale");
        return Ok(());
    }
    let arguments = Arguments::parse();
    ensure!(arguments.data.len() == 2 && arguments.users.len() == 2, "two data sets are compared");
    ensure!(arguments.requests >= FEWER && arguments.rounds > 0, "nothing is measured");
    // One thread, so that its CPU time belongs to the reads.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&arguments))
}

async fn run(arguments: &Arguments) -> Result<()> {
    let open = |place: usize| {
        Subject::open(&arguments.data[place], arguments.users[place], arguments.cache_mib * 1024 * 1024)
    };
    let (mut small, mut large) = (open(0)?, open(1)?);
    println!(
        "{} and {} users, {} and {} MiB on the disk, {} MiB of cache each; medians of {} rounds\n",
        small.dataset.users(),
        large.dataset.users(),
        small.store.disk_bytes()? >> 20,
        large.store.disk_bytes()? >> 20,
        arguments.cache_mib,
        arguments.rounds,
    );
    println!("| request | model | CPU us | | | blocks | | | blocks not cached | | p99 us | | |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for plan in [ReadPath::ALL[3], ReadPath::ALL[2], ReadPath::ALL[0], ReadPath::ALL[1]] {
        let requests = arguments.requests / if plan.model == DataModel::V3 { 1 } else { FEWER };
        for request in REQUESTS {
            let (mut smaller, mut larger) = (Vec::new(), Vec::new());
            // The first round warms up.
            for round in 0..=arguments.rounds {
                let pair = (
                    small.round(plan, request, requests).await?,
                    large.round(plan, request, requests).await?,
                );
                if round > 0 {
                    smaller.push(pair.0);
                    larger.push(pair.1);
                }
            }
            print_row(request, plan, &Round::median(&smaller), &Round::median(&larger));
        }
    }
    Ok(())
}

/// A data set and where it is kept.
struct Subject {
    dataset: Dataset,
    store: Arc<EmbeddedStore>,
    reads: ReadModels,
    asked: u64,
}

/// The use of one request, in the mean of a round; the latency is its p99.
#[derive(Debug, Clone, Copy)]
struct Round {
    cpu_us: f64,
    blocks: f64,
    blocks_not_cached: f64,
    p99_us: f64,
}

impl Subject {
    fn open(directory: &std::path::Path, users: u32, cache_bytes: u64) -> Result<Self> {
        ensure!(directory.exists(), "{} is missing: `make scale` makes it", directory.display());
        let config = EmbeddedConfig { cache_bytes, ..EmbeddedConfig::new(directory) };
        let store =
            EmbeddedStore::open_with(&config, &onehop::app::container_specs(), Arc::new(SystemClock))?;
        let store = Arc::new(store);
        let port: Arc<dyn Store> = Arc::clone(&store) as _;
        let dataset = Dataset::new(users, DEFAULT_RNG_SEED, DEFAULT_END_MS).with_texts(Texts::Long);
        Ok(Self { dataset, store, reads: ReadModels::new(&port), asked: 0 })
    }

    async fn round(&mut self, plan: ReadPath, request: &str, requests: usize) -> Result<Round> {
        let mut latencies = Vec::with_capacity(requests);
        let (cpu, before) = (thread_cpu_ns()?, self.store.blocks());
        for _ in 0..requests {
            let question = self.question(request)?;
            latencies.push(plan.run(&self.reads, &question, &Arc::new(Ledger::new())).await?);
        }
        let (cpu, after) = (thread_cpu_ns()? - cpu, self.store.blocks());
        Ok(Round::of(cpu, before, after, latencies))
    }

    /// About another user or post each time, spread over the whole data set.
    fn question(&mut self, request: &str) -> Result<ArticleRead> {
        self.asked += 1;
        // A multiplicative hash: far apart for numbers in sequence.
        let drawn = self.asked.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let user = u32::try_from(drawn % u64::from(self.dataset.users()))?;
        let ordinal = u32::try_from((drawn >> 24) % u64::from(self.dataset.post_count_of(user)))?;
        let post = || PostId(self.dataset.post(user, ordinal).id);
        let user = UserId(self.dataset.user_id(user));
        let page = |first| PageRequest::new(first, None).context("a page size");
        Ok(match request {
            "Q1" => ArticleRead::User(user),
            "Q2" => ArticleRead::Post(post()),
            "Q3" => ArticleRead::PostsOf(user, page(USER_POSTS_FIRST)?),
            "Q4" => ArticleRead::Comments(post(), page(COMMENTS_FIRST)?),
            "Q5" => ArticleRead::Likes(post(), page(LIKES_FIRST)?),
            _ => ArticleRead::Feed(page(FEED_FIRST)?),
        })
    }
}

impl Round {
    fn of(cpu_ns: u64, before: Blocks, after: Blocks, mut latencies: Vec<Duration>) -> Self {
        let count = latencies.len() as f64;
        let read = (after.read - before.read) as f64;
        let cached = (after.cached - before.cached) as f64;
        latencies.sort_unstable();
        let p99 = latencies[(latencies.len() * 99).div_ceil(100) - 1];
        Self {
            cpu_us: cpu_ns as f64 / 1e3 / count,
            blocks: (read + cached) / count,
            blocks_not_cached: read / count,
            p99_us: p99.as_secs_f64() * 1e6,
        }
    }

    /// Of each figure by itself.
    fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
            figures.sort_unstable_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Self {
            cpu_us: of(|round| round.cpu_us),
            blocks: of(|round| round.blocks),
            blocks_not_cached: of(|round| round.blocks_not_cached),
            p99_us: of(|round| round.p99_us),
        }
    }
}

fn print_row(request: &str, plan: ReadPath, small: &Round, large: &Round) {
    let loader = if plan.batched { ", data loader" } else { "" };
    println!(
        "| {request} | {:?}{loader} | {:.1} | {:.1} | {:.2} | {:.1} | {:.1} | {:.2} | {:.1} | {:.1} | {:.0} | {:.0} | {:.2} |",
        plan.model,
        small.cpu_us,
        large.cpu_us,
        large.cpu_us / small.cpu_us,
        small.blocks,
        large.blocks,
        large.blocks / small.blocks,
        small.blocks_not_cached,
        large.blocks_not_cached,
        small.p99_us,
        large.p99_us,
        large.p99_us / small.p99_us,
    );
}

/// CPU time of this thread so far, in nanoseconds: the first figure of its `schedstat`.
fn thread_cpu_ns() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("Linux tells CPU times")?;
    Ok(text.split_whitespace().next().context("a CPU time")?.parse()?)
}
