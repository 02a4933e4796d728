//! `verify` and `--repair`: every kind of drift once, made behind the back of commands and projections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use onehop::blog::containers::{ACCOUNTS, FEED, FEED_PARTITION, POSTS, USERS};
use onehop::blog::ids::{CommentId, PostId, UserId};
use onehop::blog::verify::verifier;
use onehop::graphql::GlobalId;
use onehop_read_models::verify::{Drift, Settle, VerificationReport};
use onehop_store::{ContainerName, Fault, Ledger, NewItem, OperationKind, PartitionKey, WriteOp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api::caller::Caller;
use crate::api::server::Server;
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};

const ABSENT: PostId = PostId(Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000));

/// A user with a post that has a comment and a like, all of it projected.
struct Blog<'a> {
    server: &'a Server,
    ada: Caller<'a>,
    post: String,
    user_id: UserId,
    post_id: PostId,
    comment_id: CommentId,
}

/// Looks at the data as it is, without the read models following first.
struct AsItIs;

#[async_trait]
impl Settle for AsItIs {
    async fn settle(&self) -> Result<(), Fault> {
        Ok(())
    }
}

async fn blog(server: &Server) -> Blog<'_> {
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let comment = ada.comment(&post, "indeed").await;
    ada.like(&post).await;
    server.settle().await;
    let Ok(GlobalId::Comment(post_id, comment_id)) = GlobalId::decode(&comment) else { panic!("{comment}") };
    let Ok(GlobalId::User(user_id)) = GlobalId::decode(&ada.id) else { panic!("{}", ada.id) };
    assert_eq!(server.verify().await.drifts, []);
    Blog { server, ada, post, user_id, post_id, comment_id }
}

impl Blog<'_> {
    /// Changes an item as it is stored.
    async fn change(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        id: &str,
        property: &str,
        value: Value,
    ) {
        let item = self.server.app.store.read(container, key, id, &Ledger::new()).await.unwrap().unwrap();
        let mut body: Value = item.decode().unwrap();
        if value.is_null() {
            body.as_object_mut().unwrap().remove(property);
        } else {
            body[property] = value;
        }
        self.write(container, key, WriteOp::Upsert(NewItem::encode(id, &body))).await;
    }

    async fn write(&self, container: ContainerName, key: &PartitionKey, operation: WriteOp) {
        self.server.app.store.write(container, key, operation, &Ledger::new()).await.unwrap();
    }

    async fn delete(&self, container: ContainerName, key: &PartitionKey, id: &str) {
        self.write(container, key, WriteOp::Delete { id: id.to_owned(), if_match: None }).await;
    }

    /// The stored item, to be put elsewhere.
    async fn body(&self, container: ContainerName, key: &PartitionKey, id: &str) -> Value {
        let item = self.server.app.store.read(container, key, id, &Ledger::new()).await.unwrap();
        item.unwrap().decode().unwrap()
    }

    /// Asserts that a drift of this kind that says this is found, then repaired, and then not found any more.
    async fn assert_mended(&self, kind: &str, said: &str) {
        let found = self.server.verify().await.drifts;
        let mut told = found.iter().map(|drift| serde_json::to_value(drift).unwrap());
        assert!(told.any(|drift| drift["kind"] == kind && drift.to_string().contains(said)), "{found:?}");
        let report = self.repair().await;
        assert_eq!(report.drifts, []);
        assert!(report.repaired >= 1);
        assert_eq!(self.server.verify().await.drifts, []);
        let query = "query($id: ID!) {
            post(id: $id) { ...Counted comments { nodes { author { username } } } }
            feed { nodes { id ...Counted } } }
            fragment Counted on Post { commentCount likeCount author { username } }";
        let data = self.ada.data(query, json!({ "id": self.post })).await;
        let ada = json!({ "username": "ada" });
        let counted = json!({ "commentCount": 1, "likeCount": 1, "author": ada });
        let mut post = counted.clone();
        post["comments"] = json!({ "nodes": [{ "author": ada }] });
        let mut listed = counted;
        listed["id"] = json!(self.post);
        assert_eq!(data, json!({ "post": post, "feed": { "nodes": [listed] } }));
    }

    async fn repair(&self) -> VerificationReport {
        let settle = Arc::clone(&self.server.app.processor) as _;
        verifier(Arc::clone(&self.server.app.store), settle).repair(|_| {}).await.unwrap()
    }
}

#[tokio::test]
async fn wrong_counts_are_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let id = blog.post_id.to_string();
    blog.change(POSTS, &blog.post_id.partition_key(), &id, "commentCount", json!(7)).await;
    blog.assert_mended("count", "\"counted\":1,\"field\":\"commentCount\"").await;
    blog.change(POSTS, &blog.post_id.partition_key(), &id, "likeCount", json!(0)).await;
    blog.assert_mended("count", "\"counted\":1,\"field\":\"likeCount\"").await;
}

#[tokio::test]
async fn a_wrong_summary_is_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let (key, id) = (PartitionKey::from(FEED_PARTITION), blog.post_id.to_string());
    blog.change(FEED, &key, &id, "excerpt", json!("other words")).await;
    blog.assert_mended("entry", "the entry differs in excerpt").await;
}

#[tokio::test]
async fn a_name_that_is_not_the_users_is_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    for id in [blog.comment_id.to_string(), blog.post_id.to_string()] {
        blog.change(POSTS, &blog.post_id.partition_key(), &id, "userUsername", json!("imposter")).await;
        // Projections would mend it before any check.
        let checked = verifier(Arc::clone(&server.app.store), Arc::new(AsItIs));
        let found = checked.verify(|_| {}).await.unwrap().drifts;
        let is_expected = |drift: &Drift| {
            matches!(drift, Drift::Copy { id: found, stored, current: Some(current), .. }
                if *found == id && stored == "\"imposter\"" && current == "\"ada\"")
        };
        assert!(found.iter().any(is_expected), "{found:?}");
        assert!(checked.repair(|_| {}).await.unwrap().repaired >= 1);
        let left = checked.verify(|_| {}).await.unwrap().drifts;
        assert!(!left.iter().any(|drift| matches!(drift, Drift::Copy { .. })), "{left:?}");
        server.settle().await;
        assert_eq!(server.verify().await.drifts, []);
    }
}

#[tokio::test]
async fn a_copy_that_differs_or_is_missing_is_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let (key, id) = (blog.user_id.partition_key(), blog.post_id.to_string());
    blog.change(USERS, &key, &id, "title", json!("another title")).await;
    blog.assert_mended("entry", "differs in title").await;
    blog.change(USERS, &key, &id, "excerpt", json!("another text")).await;
    blog.assert_mended("entry", "differs in excerpt").await;
    blog.delete(USERS, &key, &id).await;
    blog.assert_mended("entry", "missing").await;
}

#[tokio::test]
async fn a_copy_of_a_post_that_is_not_there_is_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let mut copy = blog.body(USERS, &blog.user_id.partition_key(), &blog.post_id.to_string()).await;
    copy["id"] = json!(ABSENT);
    copy["postId"] = json!(ABSENT);
    let write = WriteOp::Create(NewItem::encode(ABSENT.to_string(), &copy));
    blog.write(USERS, &blog.user_id.partition_key(), write).await;
    blog.assert_mended("entry", &ABSENT.to_string()).await;
}

#[tokio::test]
async fn a_copy_of_a_post_under_another_user_is_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let bob = server.sign_up("bob").await;
    let Ok(GlobalId::User(bob)) = GlobalId::decode(&bob.id) else { panic!("{}", bob.id) };
    let mut copy = blog.body(USERS, &blog.user_id.partition_key(), &blog.post_id.to_string()).await;
    copy["userId"] = json!(bob);
    let write = WriteOp::Create(NewItem::encode(blog.post_id.to_string(), &copy));
    blog.write(USERS, &bob.partition_key(), write).await;
    blog.assert_mended("entry", &bob.to_string()).await;
}

#[tokio::test]
async fn orphaned_comments_and_likes_are_found_and_repaired() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let mut comment = blog.body(POSTS, &blog.post_id.partition_key(), &blog.comment_id.to_string()).await;
    comment["postId"] = json!(ABSENT);
    let write = WriteOp::Create(NewItem::encode(blog.comment_id.to_string(), &comment));
    blog.write(POSTS, &ABSENT.partition_key(), write).await;
    let like = json!({
        "id": Uuid::from_u128(9), "type": "like", "postId": ABSENT, "userId": blog.user_id,
        "userUsername": "ada", "creationDate": "2027-01-15T08:00:00.000Z", "version": 1,
    });
    let write = WriteOp::Create(NewItem::encode(Uuid::from_u128(9).to_string(), &like));
    blog.write(POSTS, &ABSENT.partition_key(), write).await;
    let found = server.verify().await.drifts;
    let orphaned = found.iter().filter(|drift| matches!(drift, Drift::Owned { .. })).count();
    assert_eq!(orphaned, 2, "{found:?}");
    blog.assert_mended("owned", &ABSENT.to_string()).await;
}

#[tokio::test]
async fn missing_and_surplus_feed_posts_are_found_and_repaired() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let (key, id) = (PartitionKey::from(FEED_PARTITION), blog.post_id.to_string());
    let mut copy = blog.body(FEED, &key, &id).await;
    blog.delete(FEED, &key, &id).await;
    blog.assert_mended("entry", "missing").await;
    copy["id"] = json!(ABSENT);
    copy["postId"] = json!(ABSENT);
    blog.write(FEED, &key, WriteOp::Create(NewItem::encode(ABSENT.to_string(), &copy))).await;
    blog.assert_mended("entry", "not among the newest 100").await;
    blog.change(FEED, &key, &id, "likeCount", json!(100)).await;
    blog.assert_mended("entry", "differs in likeCount").await;
}

#[tokio::test]
async fn a_user_without_a_reservation_is_found_and_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    blog.delete(ACCOUNTS, &PartitionKey::from("ada"), "ada").await;
    blog.assert_mended("invariant", "not reserved").await;
    let input = json!({ "username": "Ada", "password": "another password" });
    let refused = server.anonymous().refused_mutation("createUser", input).await;
    assert_eq!(refused.of(), ("CONFLICT", Some("username")), "the name is taken again");
}

#[tokio::test]
async fn what_cannot_be_mended_stays_in_the_report() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let bob = server.sign_up("bob").await;
    let Ok(GlobalId::User(bob)) = GlobalId::decode(&bob.id) else { panic!("{}", bob.id) };
    blog.change(ACCOUNTS, &PartitionKey::from("ada"), "ada", "userId", json!(bob)).await;
    let report = blog.repair().await;
    let [Drift::Invariant { problem, .. }] = &report.drifts[..] else { panic!("{report:?}") };
    assert!(problem.contains("another user"), "{problem}");
    assert_eq!(report.repaired, 0);
}

/// Repairs through a store on which the post is deleted, and the deletion projected, just before the first
/// write to a container.
async fn repair_beside_a_deletion(blog: &Blog<'_>, container: ContainerName) -> VerificationReport {
    let stopped = AtomicBool::new(false);
    let first_write = move |operation: PendingOperation<'_>| {
        operation.container == container && operation.kind.writes() && !stopped.swap(true, Ordering::SeqCst)
    };
    let store = SteppedStore::new(Arc::clone(&blog.server.app.store), first_write);
    let settle = Arc::clone(&blog.server.app.processor) as _;
    let checked = verifier(Arc::clone(&store) as _, settle);
    let deletion = async {
        store.until_stopped().await;
        blog.ada.mutate("deletePost", json!({ "postId": blog.post })).await;
        blog.server.settle().await;
        store.resume();
    };
    let (report, ()) = tokio::join!(checked.repair(|_| {}), deletion);
    report.unwrap()
}

async fn assert_no_post_is_listed(blog: &Blog<'_>) {
    let query = "query($id: ID!) { user(id: $id) { posts { nodes { id } } } feed { nodes { id } } }";
    let data = blog.ada.data(query, json!({ "id": blog.ada.id })).await;
    let none = json!({ "nodes": [] });
    assert_eq!(data, json!({ "user": { "posts": none }, "feed": none }));
    assert_eq!(blog.server.verify().await.drifts, []);
}

#[tokio::test]
async fn a_post_deleted_during_a_repair_stays_out_of_its_authors_list() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let id = blog.post_id.to_string();
    blog.change(USERS, &blog.user_id.partition_key(), &id, "title", json!("another title")).await;
    assert_eq!(repair_beside_a_deletion(&blog, USERS).await.drifts, []);
    assert_no_post_is_listed(&blog).await;
}

#[tokio::test]
async fn a_post_deleted_during_a_repair_stays_out_of_the_feed() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    // The deletion of a post that the feed does not hold leaves nothing there that would refuse a late copy.
    blog.delete(FEED, &PartitionKey::from(FEED_PARTITION), &blog.post_id.to_string()).await;
    assert_eq!(repair_beside_a_deletion(&blog, FEED).await.drifts, []);
    assert_no_post_is_listed(&blog).await;
}

#[tokio::test]
async fn a_repair_never_replaces_a_newer_copy() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let (key, id) = (blog.user_id.partition_key(), blog.post_id.to_string());
    blog.change(USERS, &key, &id, "title", json!("another title")).await;
    let stopped = AtomicBool::new(false);
    let first_write = move |operation: PendingOperation<'_>| {
        operation.container == USERS && operation.kind.writes() && !stopped.swap(true, Ordering::SeqCst)
    };
    let store = SteppedStore::new(Arc::clone(&server.app.store), first_write);
    // Nothing is projected after the repair, which would hide its effect.
    let checked = verifier(Arc::clone(&store) as _, Arc::new(AsItIs));
    let like = async {
        store.until_stopped().await;
        blog.ada.mutate("unlikePost", json!({ "postId": blog.post })).await;
        server.settle().await;
        store.resume();
    };
    let (report, ()) = tokio::join!(checked.repair(|_| {}), like);
    assert_eq!(report.unwrap().drifts, []);
    assert_eq!(blog.body(USERS, &key, &id).await["likeCount"], Value::Null, "a count of 0 is not stored");
}

#[tokio::test]
async fn a_copy_with_a_version_that_no_post_had_is_mended() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let (key, id) = (blog.user_id.partition_key(), blog.post_id.to_string());
    blog.change(USERS, &key, &id, "version", json!(1_000)).await;
    blog.assert_mended("entry", "differs in version").await;
    blog.change(FEED, &PartitionKey::from(FEED_PARTITION), &id, "version", json!(2_000)).await;
    blog.assert_mended("entry", "differs in version").await;
}

#[tokio::test]
async fn a_post_that_is_liked_all_the_time_is_no_drift() {
    let server = Server::start().await;
    let blog = blog(&server).await;
    let (author, feed) = (blog.user_id.partition_key(), PartitionKey::from(FEED_PARTITION));
    let reads_a_copy = move |operation: PendingOperation<'_>| {
        let reads = matches!(operation.kind, OperationKind::PointRead | OperationKind::Query);
        reads && (operation.is_in(USERS, &author) || operation.is_in(FEED, &feed))
    };
    let store = SteppedStore::new(Arc::clone(&server.app.store), reads_a_copy);
    let checked = verifier(Arc::clone(&store) as _, Arc::new(AsItIs));
    let mut likes = 0;
    let liking = async {
        loop {
            store.until_stopped().await;
            if likes % 2 == 0 {
                blog.ada.mutate("unlikePost", json!({ "postId": blog.post })).await;
            } else {
                blog.ada.like(&blog.post).await;
            }
            likes += 1;
            server.settle().await;
            store.resume();
        }
    };
    let report = tokio::select! {
        report = checked.verify(|_| {}) => report.unwrap(),
        () = liking => unreachable!("it likes for ever"),
    };
    assert_eq!(report.drifts, []);
    assert!(likes > 1, "{likes}");
}
