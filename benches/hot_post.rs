//! Likes a second on one hot post, with and without combining: the embedded store, every commit synced, 64
//! clients at once. Prints figures; it is no test.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::blog::commands::{CommandLimits, CommandParts, Commands, CreatePost, LikePost};
use onehop::blog::containers::{POSTS, SPECS, USERS};
use onehop::blog::ids::{IdSource, PostId, RandomIds, UserId};
use onehop::blog::items::{PostItem, UserItem, types};
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::tasks::Tasks;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{Ledger, NewItem, Store, WriteOp};

type Failure = Box<dyn Error>;

const CLIENTS: usize = 64;
/// Each likes the post once.
const LIKERS: usize = 50_000;
/// A run ends after this time, or when all users like the post.
const DURATION_MAX: Duration = Duration::from_secs(5);

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("Likes of one post: embedded store, every commit synced, {CLIENTS} clients");
    println!(
        "{:<14} {:>9} {:>9} {:>9} {:>14} {:>10}",
        "", "likes/s", "p50 ms", "p99 ms", "likes a batch", "RU a like"
    );
    for combine in [true, false] {
        // On the disk of the build, as a temporary directory may be in memory.
        let directory = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        let likers = runtime.block_on(make_users(directory.path()))?;
        let figures = runtime.block_on(measure(directory.path(), &likers, combine))?;
        let name = if combine { "combined" } else { "a batch each" };
        let Figures { per_second, p50_ms, p99_ms, per_batch, request_units } = figures;
        println!(
            "{name:<14} {per_second:>9.0} {p50_ms:>9.2} {p99_ms:>9.2} {per_batch:>14.1} {request_units:>10.2}"
        );
    }
    Ok(())
}

struct Figures {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    per_batch: f64,
    /// For each like.
    request_units: f64,
}

fn open(directory: &Path, durability: Durability) -> Result<Arc<dyn Store>, Failure> {
    let config = EmbeddedConfig { durability, ..EmbeddedConfig::new(directory) };
    Ok(Arc::new(EmbeddedStore::open_with(&config, &SPECS, Arc::new(SystemClock))?))
}

/// Users without accounts, written without waiting for the disk. The first is the author.
async fn make_users(directory: &Path) -> Result<Vec<UserId>, Failure> {
    let store = open(directory, Durability::Relaxed)?;
    let now_ms = SystemClock.now_ms();
    let ids: Vec<UserId> = (0..=LIKERS).map(|_| UserId(RandomIds.next_id(now_ms))).collect();
    for some in ids.chunks(1000) {
        futures::future::try_join_all(some.iter().map(|id| make_user(&*store, *id))).await?;
    }
    Ok(ids)
}

async fn make_user(store: &dyn Store, id: UserId) -> Result<(), Failure> {
    let user = UserItem {
        id,
        item_type: types::USER.to_owned(),
        user_id: id,
        username: "somebody".to_owned(),
        version: 1,
        pending_username: None,
        former_username: None,
        former_keys: Vec::new(),
        suspended: false,
    };
    let create = WriteOp::Create(NewItem::encode(id.to_string(), &user));
    store.write(USERS, &id.partition_key(), create, &Ledger::new()).await?;
    Ok(())
}

async fn measure(directory: &Path, users: &[UserId], combine: bool) -> Result<Figures, Failure> {
    let store = open(directory, Durability::Sync)?;
    let commands = Commands::new(CommandParts {
        store: Arc::clone(&store),
        latest: Arc::clone(&store),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        passwords: PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default())?,
        tasks: Tasks::new(),
        limits: CommandLimits { combine, batch_attempts_max: 100_000, ..CommandLimits::default() },
    });
    let input = CreatePost {
        user_id: users[0],
        title: "A hot post".to_owned(),
        content: "word ".repeat(100),
        tags: Vec::new(),
        idempotency_key: None,
    };
    let post_id = commands.create_post(input, &Ledger::new()).await?.id;

    let next = AtomicUsize::new(1);
    let started = Instant::now();
    let clients = (0..CLIENTS).map(|_| like_on(&commands, post_id, users, &next));
    let runs = futures::future::try_join_all(clients).await?;
    let elapsed = started.elapsed();

    let item = store.read(POSTS, &post_id.partition_key(), &post_id.to_string(), &Ledger::new()).await?;
    let post: PostItem = item.ok_or("the post is gone")?.decode()?;
    let request_units: f64 = runs.iter().map(|(_, charge)| charge).sum();
    let mut durations_ms: Vec<f64> = runs.into_iter().flat_map(|(durations_ms, _)| durations_ms).collect();
    assert_eq!(usize::try_from(post.like_count)?, durations_ms.len(), "every like counts once");
    durations_ms.sort_unstable_by(f64::total_cmp);

    let likes = f64::from(post.like_count);
    let batches = f64::from(u32::try_from(post.version - 1)?);
    Ok(Figures {
        per_second: likes / elapsed.as_secs_f64(),
        p50_ms: durations_ms[durations_ms.len() / 2],
        p99_ms: durations_ms[durations_ms.len() * 99 / 100],
        per_batch: likes / batches,
        request_units: request_units / likes,
    })
}

/// One client: likes one after another, each of another user. Returns how long each took (ms), and their
/// charge.
async fn like_on(
    commands: &Commands,
    post_id: PostId,
    users: &[UserId],
    next: &AtomicUsize,
) -> Result<(Vec<f64>, f64), Failure> {
    let ledger = Ledger::new();
    let started = Instant::now();
    let mut durations_ms = Vec::new();
    while started.elapsed() < DURATION_MAX {
        let Some(user_id) = users.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
        let sent = Instant::now();
        commands.like_post(LikePost { user_id: *user_id, post_id }, &ledger).await?;
        durations_ms.push(sent.elapsed().as_secs_f64() * 1000.0);
    }
    Ok((durations_ms, ledger.total().0))
}
