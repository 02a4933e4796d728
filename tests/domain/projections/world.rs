//! A blog in a temporary directory: items are written as commands leave them, and the processor drains.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop::accounts::username::Username;
use onehop::blog::containers::{self, ACCOUNTS, FEED, FEED_PARTITION, POSTS, USERS};
use onehop::blog::ids::{CommentId, LikeId, PostId, UserId};
use onehop::blog::items::{
    AccountItem, CommentItem, LikeItem, PostCopyItem, PostItem, TOMBSTONE_TTL_S, UserItem, types,
};
use onehop::blog::read_models;
use onehop::blog::verify::verifier;
use onehop_change_feed::{Processor, Settings};
use onehop_runtime::clock::{Clock, ManualClock, format_timestamp};
use onehop_store::{
    ContainerName, ContainerSpec, Direction, FeedRequest, Item, Ledger, NewItem, PartitionKey, Query, Store,
    WriteOp,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::store::Keeper;
use onehop_testing::failing_store::FailingStore;

/// The instant at which every test starts, Unix ms.
pub const START_MS: i64 = 1_750_000_000_000;

pub struct World {
    pub store: Arc<FailingStore>,
    pub clock: Arc<ManualClock>,
    _keeper: Keeper,
}

impl World {
    pub async fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let specs: Vec<ContainerSpec> =
            containers::SPECS.iter().chain(onehop_change_feed::SPECS).copied().collect();
        let (store, keeper) = crate::support::store::open(&specs, clock.clone()).await;
        Self { store: Arc::new(FailingStore::new(store)), clock, _keeper: keeper }
    }

    /// A processor as a process opens it when it starts.
    pub async fn processor(&self) -> Processor {
        self.processor_with(Settings::new("test").without_delays()).await
    }

    pub async fn processor_with(&self, settings: Settings) -> Processor {
        self.processor_until(settings, CancellationToken::new()).await
    }

    pub async fn processor_until(&self, settings: Settings, stop: CancellationToken) -> Processor {
        let (store, clock): (Arc<dyn Store>, Arc<dyn Clock>) = (self.store.clone(), self.clock.clone());
        let opened = Processor::open(store, clock, read_models::projections(), settings, stop).await;
        opened.expect("the processor opens")
    }

    pub async fn put<T: Serialize>(
        &self,
        container: ContainerName,
        partition_key: PartitionKey,
        id: String,
        item: &T,
    ) {
        let write = WriteOp::Upsert(NewItem::encode(id, item));
        self.store.write(container, &partition_key, write, &Ledger::new()).await.expect("a write");
    }

    pub async fn put_user(&self, user: &UserItem) {
        self.put(USERS, user.id.partition_key(), user.id.to_string(), user).await;
    }

    pub async fn put_post(&self, post: &PostItem) {
        self.put(POSTS, post.id.partition_key(), post.id.to_string(), post).await;
    }

    pub async fn put_comment(&self, comment: &CommentItem) {
        self.put(POSTS, comment.post_id.partition_key(), comment.id.to_string(), comment).await;
    }

    pub async fn put_like(&self, like: &LikeItem) {
        self.put(POSTS, like.post_id.partition_key(), like.id.to_string(), like).await;
    }

    pub async fn put_account(&self, account: &AccountItem) {
        self.put(ACCOUNTS, PartitionKey::from(account.id.as_str()), account.id.clone(), account).await;
    }

    /// A user with the reservation of the name.
    pub async fn sign_up(&self, number: u128, username: &str) -> UserItem {
        let user = user(number, username);
        self.reserve(&user, username).await;
        self.put_user(&user).await;
        user
    }

    /// A rename as the command leaves it when it is done.
    pub async fn rename(&self, user: &mut UserItem, username: &str) {
        let former = normalized(&user.username);
        let left = keys(&user.username).into_iter().filter(|key| !keys(username).contains(key));
        let left: Vec<String> = left.collect();
        self.reserve(user, username).await;
        user.former_keys = left.iter().filter(|key| **key != former).cloned().collect();
        user.former_username = Some(former);
        username.clone_into(&mut user.username);
        user.version += 1;
        self.put_user(user).await;
        for key in left {
            let delete = WriteOp::Delete { id: key.clone(), if_match: None };
            let partition_key = PartitionKey::from(key.as_str());
            self.store.write(ACCOUNTS, &partition_key, delete, &Ledger::new()).await.expect("a delete");
        }
    }

    /// Reserves all keys of a name.
    async fn reserve(&self, user: &UserItem, username: &str) {
        let named = account(user.id, username);
        for key in keys(username) {
            let password_hash = named.password_hash.clone().filter(|_| key == named.id);
            self.put_account(&AccountItem { id: key, password_hash, ..named.clone() }).await;
        }
    }

    pub async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
    ) -> Option<Item> {
        self.store.read(container, partition_key, id, &Ledger::new()).await.expect("a read")
    }

    pub async fn post(&self, id: PostId) -> PostItem {
        let item = self.read(POSTS, &id.partition_key(), &id.to_string()).await;
        item.expect("the post is there").decode().expect("a post")
    }

    pub async fn user_copy(&self, post: &PostItem) -> Option<PostCopyItem> {
        let item = self.read(USERS, &post.user_id.partition_key(), &post.id.to_string()).await;
        item.map(|item| item.decode().expect("a copy"))
    }

    pub async fn feed_copy(&self, id: PostId) -> Option<PostCopyItem> {
        let item = self.read(FEED, &PartitionKey::from(FEED_PARTITION), &id.to_string()).await;
        item.map(|item| item.decode().expect("a copy"))
    }

    /// The ids in the feed, newest first.
    pub async fn feed(&self) -> Vec<PostId> {
        let query = Query::Partition {
            container: FEED,
            partition_key: &PartitionKey::from(FEED_PARTITION),
            item_type: types::POST,
            direction: Direction::NewestFirst,
            after: None,
            limit: 1000,
            order_by: None,
        };
        let page = self.store.query(&query, &Ledger::new()).await.expect("a query");
        page.items.iter().map(|item| item.decode::<PostCopyItem>().expect("a copy").id).collect()
    }

    pub async fn count(&self, post: PostId, item_type: &str) -> u64 {
        self.store.count(POSTS, &post.partition_key(), item_type, &Ledger::new()).await.expect("a count")
    }

    /// Every item of the blog with its ETag, to see that nothing was written.
    pub async fn everything(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for container in [USERS, POSTS, FEED, ACCOUNTS] {
            for range in self.store.feed_ranges(container).await.expect("ranges") {
                let mut position = None;
                loop {
                    let continuation = position.as_ref();
                    let request =
                        FeedRequest { container, range: &range, continuation, types: None, limit: 1000 };
                    let page = self.store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
                    for change in page.changes {
                        let key = format!("{container}/{}/{}", change.partition_key, change.id);
                        all.insert(key, change.item.etag.to_string());
                    }
                    if page.drained {
                        break;
                    }
                    position = Some(page.continuation);
                }
            }
        }
        all
    }

    /// Verifies the blog with the project's own verification.
    pub async fn assert_clean(&self, processor: &Processor) {
        let settle = Arc::new(processor.clone());
        let report = verifier(self.store.clone(), settle).verify(|_| {}).await.expect("a verification");
        assert!(report.is_clean(), "{:#?}", report.drifts);
    }
}

pub fn normalized(username: &str) -> String {
    Username::parse(username).expect("a username").normalized().as_str().to_owned()
}

/// The ids of the reservations of a name.
pub fn keys(username: &str) -> Vec<String> {
    let name = Username::parse(username).expect("a username");
    name.keys().iter().map(|key| key.as_str().to_owned()).collect()
}

pub fn user(number: u128, username: &str) -> UserItem {
    let id = UserId(Uuid::from_u128(0x1000_0000 + number));
    UserItem {
        id,
        item_type: types::USER.to_owned(),
        user_id: id,
        username: username.to_owned(),
        version: 1,
        pending_username: None,
        former_username: None,
        former_keys: Vec::new(),
        suspended: false,
    }
}

pub fn account(user_id: UserId, username: &str) -> AccountItem {
    AccountItem {
        id: normalized(username),
        item_type: types::ACCOUNT.to_owned(),
        user_id,
        password_hash: Some("a hash".to_owned()),
        password_version: 0,
        idempotency_key_hash: None,
    }
}

/// A post; a greater number is a newer one.
pub fn post(number: u128, author: &UserItem) -> PostItem {
    let id = PostId(Uuid::from_u128(0x2000_0000 + number));
    let age_ms = i64::try_from(number).expect("a small number") * 1000;
    PostItem {
        id,
        item_type: types::POST.to_owned(),
        post_id: id,
        user_id: author.id,
        user_username: author.username.clone(),
        title: format!("Post {number}"),
        content: "Some words about something. ".repeat(20),
        tags: Vec::new(),
        comment_count: 0,
        like_count: 0,
        creation_date: format_timestamp(START_MS + age_ms),
        version: 1,
        text_version: 1,
        update_date: None,
        deleted: false,
        ttl: None,
    }
}

pub fn deleted(post: &PostItem) -> PostItem {
    PostItem {
        title: String::new(),
        content: String::new(),
        tags: Vec::new(),
        comment_count: 0,
        like_count: 0,
        version: post.version + 1,
        deleted: true,
        ttl: Some(TOMBSTONE_TTL_S),
        ..post.clone()
    }
}

pub fn comment(number: u128, post: &PostItem, author: &UserItem) -> CommentItem {
    CommentItem {
        id: CommentId(Uuid::from_u128(0x3000_0000 + number)),
        item_type: types::COMMENT.to_owned(),
        post_id: post.id,
        user_id: author.id,
        user_username: author.username.clone(),
        content: "A comment".to_owned(),
        creation_date: format_timestamp(START_MS),
        version: 1,
        text_version: 1,
        update_date: None,
        deleted: false,
        ttl: None,
    }
}

pub fn like(post: &PostItem, author: &UserItem) -> LikeItem {
    LikeItem {
        id: LikeId::derive(post.id, author.id),
        item_type: types::LIKE.to_owned(),
        post_id: post.id,
        user_id: author.id,
        user_username: author.username.clone(),
        creation_date: format_timestamp(START_MS),
        version: 1,
    }
}
