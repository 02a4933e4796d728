//! Random commands, faults, splits and deaths of processes, as a seed decides; then everything is verified. A seed
//! plays the same episode again, save for what the scheduler decides within one step.
//!
//! `make soak` plays episode after episode: `SOAK_MINUTES` says how long, `SOAK_SEED` which is the first.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use azure_data_cosmos::fault_injection::{
    FaultInjectionErrorType, FaultInjectionResultBuilder, FaultInjectionRule, FaultInjectionRuleBuilder,
};
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{
    CommandError, CreateComment, CreatePost, CreateUser, DeleteComment, DeletePost, LikePost, RefusalCode,
    UnlikePost, UpdatePost, UpdateUser,
};
use onehop::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
use onehop::blog::ids::{CommentId, IdSource, PostId, UserId};
use onehop_runtime::clock::ManualClock;
use onehop_store::Ledger;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use uuid::Uuid;

use crate::cosmos::world::{Process, SHORT_PATIENCE, account};
use onehop_testing::emulator::Emulator;

const START_MS: i64 = 1_750_000_000_000;
/// More than a lease lives, ms.
const EXPIRY_MS: i64 = 61_000;
const PROCESSES_MAX: usize = 4;
/// The emulator copies a physical partition for each batch: an episode stays small.
const STEPS: usize = 250;
const PARTITIONS_MAX: usize = 12;
/// Tries of a client before it is taken for a defect that it gets no answer.
const TRIES_MAX: usize = 60;

const FAULTS: [FaultInjectionErrorType; 8] = [
    FaultInjectionErrorType::TooManyRequests,
    FaultInjectionErrorType::ServiceUnavailable,
    FaultInjectionErrorType::InternalServerError,
    FaultInjectionErrorType::Timeout,
    FaultInjectionErrorType::PartitionIsGone,
    FaultInjectionErrorType::ConnectionError,
    FaultInjectionErrorType::ResponseTimeout,
    FaultInjectionErrorType::ResponseTimeoutAfterService,
];

/// Random numbers, and ids made of them.
#[derive(Clone)]
struct Dice(Arc<Mutex<ChaCha8Rng>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    /// A number below `below`, which is not 0.
    fn roll(&self, below: usize) -> usize {
        self.0.lock().unwrap().next_u32() as usize % below
    }

    fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

impl IdSource for Dice {
    fn next_id(&self, now_ms: i64) -> Uuid {
        let mut bytes = [0; 10];
        self.0.lock().unwrap().fill_bytes(&mut bytes);
        uuid::Builder::from_unix_timestamp_millis(u64::try_from(now_ms).unwrap(), &bytes).into_uuid()
    }
}

/// What clients were told of a post.
struct Post {
    id: PostId,
    author: UserId,
    comments: BTreeSet<(CommentId, UserId)>,
    likes: BTreeSet<UserId>,
    deleted: bool,
}

/// A process whose requests may fail.
struct Member {
    process: Process,
    faults: Vec<Arc<FaultInjectionRule>>,
}

struct Episode {
    dice: Dice,
    account: Emulator,
    clock: Arc<ManualClock>,
    members: Vec<Member>,
    started: usize,
    users: Vec<UserId>,
    posts: Vec<Post>,
    keys: usize,
}

impl Member {
    fn fail(&self, fault: usize) {
        self.faults[fault].enable();
    }

    fn mend(&self) {
        self.faults.iter().for_each(|fault| fault.disable());
    }
}

fn rule(fault: FaultInjectionErrorType) -> Arc<FaultInjectionRule> {
    let result = FaultInjectionResultBuilder::new().with_error(fault).with_probability(0.5).build();
    let rule = FaultInjectionRuleBuilder::new(format!("{fault:?}"), result).build();
    rule.disable();
    Arc::new(rule)
}

impl Episode {
    async fn begin(seed: u64) -> Self {
        let mut episode = Self {
            dice: Dice::new(seed),
            account: account(),
            clock: Arc::new(ManualClock::new(START_MS)),
            members: Vec::new(),
            started: 0,
            users: Vec::new(),
            posts: Vec::new(),
            keys: 0,
        };
        episode.start().await;
        episode.sign_up().await;
        episode.create_post().await;
        episode
    }

    async fn play(&mut self) {
        for _ in 0..STEPS {
            match self.dice.roll(100) {
                0..3 => self.sign_up().await,
                3..13 => self.create_post().await,
                13..30 => self.comment().await,
                30..45 => self.like().await,
                45..50 => self.unlike().await,
                50..55 => self.delete_comment().await,
                55..58 => self.delete_post().await,
                58..62 => self.rename().await,
                62..66 => self.update_post().await,
                66..72 => self.fail(),
                72..78 => self.mend(),
                78..93 => self.work().await,
                93..95 => self.split().await,
                95..97 => self.start().await,
                97..98 => self.kill(),
                _ => self.clock.advance_ms(i64::try_from(self.dice.roll(30_000)).unwrap()),
            }
        }
    }

    /// All that was told to clients is there, once, and every copy of it.
    async fn end(mut self) {
        self.members.clear();
        self.start().await;
        let last = &self.members[0].process;
        // It sees the heartbeats of the others, and that they do not move.
        last.processor.balance_leases().await.expect("a tick");
        self.clock.advance_ms(EXPIRY_MS);
        last.processor.balance_leases().await.expect("a tick");
        last.processor.drain().await.expect("drained");
        last.processor.replay(None).await.expect("replayed");
        last.assert_clean().await;
        for told in &self.posts {
            let post = last.post(told.id).await;
            assert_eq!(post.deleted, told.deleted, "{}", told.id);
            if !told.deleted {
                let counts = (post.comment_count as usize, post.like_count as usize);
                assert_eq!(counts, (told.comments.len(), told.likes.len()), "{}", told.id);
            }
        }
    }

    async fn start(&mut self) {
        if self.members.len() == PROCESSES_MAX {
            return;
        }
        self.started += 1;
        let faults: Vec<_> = FAULTS.map(rule).to_vec();
        let store = self.account.open_with(faults.clone(), SHORT_PATIENCE).await;
        let ids = Arc::new(self.dice.clone());
        let name = format!("process {}", self.started);
        let process = Process::of_several(store, &name, Arc::clone(&self.clock), ids).await;
        self.members.push(Member { process, faults });
    }

    fn kill(&mut self) {
        if self.members.len() > 1 {
            let index = self.dice.roll(self.members.len());
            drop(self.members.swap_remove(index));
        }
    }

    fn fail(&self) {
        self.member().fail(self.dice.roll(FAULTS.len()));
    }

    fn mend(&self) {
        self.member().mend();
    }

    async fn work(&self) {
        let processor = &self.member().process.processor;
        processor.renew().await;
        // What fails now goes on later.
        let _ = processor.balance_leases().await;
        let _ = processor.run_once().await;
    }

    async fn split(&self) {
        let container = self.dice.pick(&[USERS, POSTS, FEED, ACCOUNTS]);
        let partitions = self.account.physical_partitions(container);
        if partitions.len() < PARTITIONS_MAX {
            self.account.split(container, self.dice.pick(&partitions)).await;
        }
    }

    fn member(&self) -> &Member {
        &self.members[self.dice.roll(self.members.len())]
    }

    fn key(&mut self) -> String {
        self.keys += 1;
        format!("key {}", self.keys)
    }

    /// Sends a command until it is answered, each time to any of the processes. A refusal that says that it was done
    /// counts as an answer from the second time on; `None` then.
    async fn send<T>(
        &self,
        command: impl AsyncFn(&Process) -> Result<T, CommandError>,
        done: Option<RefusalCode>,
    ) -> Option<T> {
        for tried in 0..TRIES_MAX {
            if tried > 4 {
                self.members.iter().for_each(Member::mend);
            }
            match command(&self.member().process).await {
                Ok(answer) => return Some(answer),
                Err(CommandError::Fault(fault)) => assert!(fault.kind.is_transient(), "{fault:?}"),
                Err(CommandError::Rejected(refusal)) => {
                    assert!(tried > 0 && done == Some(refusal.code), "{refusal:?}");
                    return None;
                }
            }
        }
        panic!("no answer after {TRIES_MAX} tries");
    }

    async fn sign_up(&mut self) {
        let key = self.key();
        let input = CreateUser {
            username: format!("user{}", self.keys),
            password: "correct horse battery".to_owned(),
            idempotency_key: Some(key),
            caller: HashingCaller::default(),
        };
        let send =
            async |process: &Process| process.commands.create_user(input.clone(), &Ledger::new()).await;
        let user = self.send(send, None).await.expect("an answer");
        self.users.push(user.id);
    }

    async fn create_post(&mut self) {
        let input = CreatePost {
            user_id: self.dice.pick(&self.users),
            title: "A title".to_owned(),
            content: "Some content.".to_owned(),
            idempotency_key: Some(self.key()),
        };
        let send =
            async |process: &Process| process.commands.create_post(input.clone(), &Ledger::new()).await;
        let post = self.send(send, None).await.expect("an answer");
        let (comments, likes) = (BTreeSet::new(), BTreeSet::new());
        self.posts.push(Post { id: post.id, author: post.user_id, comments, likes, deleted: false });
    }

    /// Any post that is there.
    fn post(&self) -> Option<usize> {
        let there: Vec<usize> = (0..self.posts.len()).filter(|&index| !self.posts[index].deleted).collect();
        (!there.is_empty()).then(|| self.dice.pick(&there))
    }

    async fn comment(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.dice.pick(&self.users), self.posts[index].id);
        let (content, idempotency_key) = ("A comment".to_owned(), Some(self.key()));
        let input = CreateComment { user_id, post_id, content, idempotency_key };
        let send =
            async |process: &Process| process.commands.create_comment(input.clone(), &Ledger::new()).await;
        let created = self.send(send, None).await.expect("an answer");
        self.posts[index].comments.insert((created.comment.id, user_id));
    }

    async fn like(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.dice.pick(&self.users), self.posts[index].id);
        if !self.posts[index].likes.insert(user_id) {
            return;
        }
        let send = async |process: &Process| {
            process.commands.like_post(LikePost { user_id, post_id }, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::Conflict)).await;
    }

    async fn unlike(&mut self) {
        let Some(index) = self.post() else { return };
        let Some(user_id) = self.posts[index].likes.pop_first() else { return };
        let post_id = self.posts[index].id;
        let send = async |process: &Process| {
            process.commands.unlike_post(UnlikePost { user_id, post_id }, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::NotFound)).await;
    }

    async fn delete_comment(&mut self) {
        let Some(index) = self.post() else { return };
        let Some((comment_id, user_id)) = self.posts[index].comments.pop_first() else { return };
        let post_id = self.posts[index].id;
        let send = async |process: &Process| {
            let input = DeleteComment { user_id, post_id, comment_id };
            process.commands.delete_comment(input, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::NotFound)).await;
    }

    async fn delete_post(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.posts[index].author, self.posts[index].id);
        let send = async |process: &Process| {
            process.commands.delete_post(DeletePost { user_id, post_id }, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::NotFound)).await;
        self.posts[index].deleted = true;
    }

    async fn rename(&mut self) {
        let (user_id, number) = (self.dice.pick(&self.users), self.keys);
        self.keys += 1;
        let send = async |process: &Process| {
            let input = UpdateUser { user_id, username: format!("renamed{number}") };
            process.commands.update_user(input, &Ledger::new()).await
        };
        self.send(send, None).await;
    }

    async fn update_post(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.posts[index].author, self.posts[index].id);
        let title = Some(format!("Title {}", self.keys));
        let send = async |process: &Process| {
            let input =
                UpdatePost { user_id, post_id, title: title.clone(), content: None, if_version: None };
            process.commands.update_post(input, &Ledger::new()).await
        };
        self.send(send, None).await;
    }
}

async fn play(seed: u64) {
    println!("episode {seed}");
    let mut episode = Episode::begin(seed).await;
    episode.play().await;
    episode.end().await;
}

#[tokio::test]
async fn a_short_episode_ends_well() {
    play(1).await;
}

#[tokio::test]
#[ignore = "it takes as long as it is told: make soak"]
async fn every_episode_ends_well() {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
    };
    let (minutes, first) = (number("SOAK_MINUTES", 5), number("SOAK_SEED", 1));
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let mut episodes = 0;
    while episodes == 0 || Instant::now() < end {
        play(first + episodes).await;
        episodes += 1;
    }
    println!("{episodes} episodes, all is well");
}
