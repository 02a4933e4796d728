//! Seeding that is interrupted, repeated, and disturbed by other writers.

use std::sync::Mutex;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::*;
use crate::blog::containers::SPECS;
use crate::blog::items::TOMBSTONE_TTL_S;
use crate::blog::study::dataset::{DEFAULT_END_MS, DEFAULT_RNG_SEED};
use onehop_runtime::clock::ManualClock;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{StoreCall, StoreDecorator};

/// A store decorator that runs an interruption before the write with a certain number.
struct Interrupted {
    inner: Arc<dyn Store>,
    after_writes: Mutex<usize>,
    interruption: Mutex<Option<BoxFuture<'static, Result<(), Fault>>>>,
}

impl StoreDecorator for Interrupted {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        if !call.writes().is_empty() {
            let is_due = {
                let mut left = self.after_writes.lock().unwrap();
                let is_due = *left == 0;
                *left = left.wrapping_sub(1);
                is_due
            };
            let interruption = self.interruption.lock().unwrap().take_if(|_| is_due);
            if let Some(interruption) = interruption {
                interruption.await?;
            }
        }
        call.run(&*self.inner, ledger).await
    }
}

struct Blog {
    store: Arc<dyn Store>,
    seeder: Seeder,
    seed: SeedPost,
    _directory: tempfile::TempDir,
}

impl Blog {
    /// With a post of the data set that takes two batches.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config =
            EmbeddedConfig { durability: Durability::Relaxed, ..EmbeddedConfig::new(directory.path()) };
        let store = EmbeddedStore::open_with(&config, &SPECS, Arc::new(ManualClock::new(0))).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let dataset = Dataset::new(100, DEFAULT_RNG_SEED, DEFAULT_END_MS);
        let is_large = |post: &SeedPost| post.comment_count + post.like_count > 110;
        let seed = (0..100).flat_map(|user| dataset.posts_of(user)).find(is_large).unwrap();
        let seeder = Seeder { store: Arc::clone(&store), dataset, demo_password_hash: String::new() };
        Self { store, seeder, seed, _directory: directory }
    }

    async fn seed(&self) {
        self.seeder.write_post(self.seed.author, self.seed.clone()).await.unwrap();
    }

    /// Seeds, and has something happen before the write after this many.
    async fn seed_with(
        &self,
        after_writes: usize,
        interruption: impl Future<Output = Result<(), Fault>> + Send + 'static,
    ) -> Result<u64, SeedError> {
        let store = Arc::new(Interrupted {
            inner: Arc::clone(&self.store),
            after_writes: Mutex::new(after_writes),
            interruption: Mutex::new(Some(interruption.boxed())),
        });
        let seeder = Seeder { store, dataset: self.seeder.dataset, demo_password_hash: String::new() };
        seeder.write_post(self.seed.author, self.seed.clone()).await
    }

    fn key(&self) -> PartitionKey {
        PostId(self.seed.id).partition_key()
    }

    async fn post(&self) -> (PostItem, ETag) {
        let id = self.seed.id.to_string();
        let item = self.store.read(POSTS, &self.key(), &id, &Ledger::new()).await.unwrap().unwrap();
        (item.decode().unwrap(), item.etag)
    }

    /// Comments and likes that there are, after a look whether the post says the same.
    async fn exact_counts(&self) -> (u64, u64) {
        let count = |item_type: &'static str| async move {
            self.store.count(POSTS, &self.key(), item_type, &Ledger::new()).await.unwrap()
        };
        let counts = (count(types::COMMENT).await, count(types::LIKE).await);
        let (post, _) = self.post().await;
        assert_eq!((u64::from(post.comment_count), u64::from(post.like_count)), counts);
        counts
    }

    fn whole(&self) -> (u64, u64) {
        (u64::from(self.seed.comment_count), u64::from(self.seed.like_count))
    }

    /// The like of the last user who likes the post, as the command writes it.
    fn last_like(&self) -> impl Future<Output = Result<(), Fault>> + Send + 'static {
        let (store, id) = (Arc::clone(&self.store), PostId(self.seed.id));
        let reaction = self.seeder.reactions_of(&self.seed).pop().unwrap();
        async move {
            let ledger = Ledger::new();
            let item = store.read(POSTS, &id.partition_key(), &id.to_string(), &ledger).await?.unwrap();
            let mut post: PostItem = item.decode()?;
            post.like_count += 1;
            post.version += 1;
            let replace =
                WriteOp::Replace { item: NewItem::encode(id.to_string(), &post), if_match: Some(item.etag) };
            let operations = vec![WriteOp::Create(reaction.item), replace];
            let batch = Batch { container: POSTS, partition_key: id.partition_key(), operations };
            store.batch(batch, &ledger).await.unwrap();
            Ok(())
        }
    }
}

#[tokio::test]
async fn a_post_of_several_batches_is_seeded_once() {
    let blog = Blog::new();
    blog.seed().await;
    assert_eq!(blog.exact_counts().await, blog.whole());
    let (_, etag) = blog.post().await;
    blog.seed().await;
    assert_eq!(blog.post().await.1, etag, "nothing was written");
}

#[tokio::test]
async fn a_post_is_counted_exactly_after_an_interruption() {
    let blog = Blog::new();
    let died = async { Err(Fault::new(onehop_store::FaultKind::Unavailable, "it died")) };
    assert!(blog.seed_with(1, died).await.is_err());
    assert_eq!(blog.exact_counts().await.0 + blog.exact_counts().await.1, REACTIONS_MAX as u64);
    blog.seed().await;
    assert_eq!(blog.exact_counts().await, blog.whole());
}

#[tokio::test]
async fn a_like_given_while_a_post_is_seeded_drops_no_others() {
    let blog = Blog::new();
    blog.seed_with(1, blog.last_like()).await.unwrap();
    assert_eq!(blog.exact_counts().await, blog.whole());
}

#[tokio::test]
async fn a_deleted_post_gets_no_comments_and_likes_again() {
    let blog = Blog::new();
    blog.seed().await;
    let (post, etag) = blog.post().await;
    let deleted = PostItem {
        deleted: true,
        ttl: Some(TOMBSTONE_TTL_S),
        comment_count: 0,
        like_count: 0,
        version: post.version + 1,
        ..post
    };
    let item = NewItem::encode(deleted.id.to_string(), &deleted);
    let replace = WriteOp::Replace { item, if_match: Some(etag) };
    blog.store.write(POSTS, &blog.key(), replace, &Ledger::new()).await.unwrap();
    for reaction in blog.seeder.reactions_of(&blog.seed) {
        let delete = WriteOp::Delete { id: reaction.item.id, if_match: None };
        blog.store.write(POSTS, &blog.key(), delete, &Ledger::new()).await.unwrap();
    }
    blog.seed().await;
    assert_eq!(blog.exact_counts().await, (0, 0));
}
