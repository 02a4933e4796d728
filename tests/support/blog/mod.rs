//! A small blog on an embedded store: written item by item as commands leave them, with its copies made by
//! the change feed.

pub mod recording;

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, Response, ServerError, Variables};
use async_trait::async_trait;
use axum::http::HeaderMap;
use onehop::accounts::brute_force_protection::{AttemptLimits, Attempts};
use onehop::accounts::password::{HashingCost, HashingLimits};
use onehop::accounts::signing_secrets::SigningSecret;
use onehop::accounts::staff::Staff;
use onehop::accounts::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, Tokens};
use onehop::accounts::write_limits::{AccountWrites, WriteLimits};
use onehop::accounts::{Authenticator, PasswordHasher};
use onehop::app::{container_specs, planned_domains, webstore_model};
use onehop::blog::commands::{CommandLimits, CommandParts, Commands};
use onehop::blog::containers::{ACCOUNTS, POSTS, USERS};
use onehop::blog::ids::{CommentId, LikeId, PostId, RandomIds, UserId};
use onehop::blog::items::{AccountItem, CommentItem, LikeItem, PostItem, UserItem, types};
use onehop::blog::live::{LiveEvents, LiveParts, LiveSettings};
use onehop::blog::read_models;
use onehop::blog::reads::ReadModels;
use onehop::domain::accounts::sessions::{SessionSettings, SessionStart, Sessions};
use onehop::graphql::{Executor, GlobalId, Recency, SchemaOptions, Services};
use onehop::served::live::{ServedLive, ServedLiveParts};
use onehop::webstore::Webstore;
use onehop::webstore::commands::{WebstoreCommands, WebstoreParts};
use onehop::webstore::reads::WebstoreReads;
use onehop_change_feed::{Processor, Settings, TailSettings, WriteScope, WriteWatches};
use onehop_graphql_server::authentication::Authentication as _;
use onehop_graphql_server::caller::{Caller, RequestRejection};
use onehop_graphql_server::client_address::ClientAddress;
use onehop_graphql_server::document::select_operation;
use onehop_graphql_server::document_cache::Documents;
use onehop_graphql_server::document_limits::DocumentLimits;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::position::{InvalidPosition, Positions, Reach};
use onehop_graphql_server::quota::{ChargeRecord, QuotaAccount, Unmetered};
use onehop_graphql_server::service::GraphqlService as _;
use onehop_graphql_server::write_watch::SharedWatch;
use onehop_runtime::clock::{Clock, ManualClock, format_timestamp};
use onehop_runtime::tasks::Tasks;
use onehop_store::{
    ContainerName, Fault, FaultKind, Ledger, MarkedContainers, NewItem, PartitionKey, Store, WriteOp,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::store::Keeper;
pub use recording::Recording;

/// The instant at which every test stands, Unix ms.
pub const NOW_MS: i64 = 1_790_000_000_000;
const HOUR_MS: i64 = 3_600_000;

/// The users, by number. Each has written `POSTS_EACH` posts, and the newest of all is the first user's.
pub const USERNAMES: [&str; 3] = ["Ada", "Brontë", "Čapek"];
pub const POSTS_EACH: u128 = 3;

/// A blog, and everything that reads it.
pub struct Blog {
    pub store: Arc<Recording>,
    pub clock: Arc<ManualClock>,
    pub reads: ReadModels,
    pub executor: Executor,
    pub tokens: Tokens,
    pub sessions: Sessions,
    _keeper: Keeper,
}

/// Nothing is watched.
fn no_containers() -> MarkedContainers {
    MarkedContainers { all: [].into(), with_deletions: [].into() }
}

/// An empty blog.
pub async fn empty() -> Blog {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let (opened, keeper) = super::store::open(&container_specs(), clock.clone()).await;
    let store = Arc::new(Recording::new(opened));
    let port: Arc<dyn Store> = store.clone();
    let secret = SigningSecret::from_bytes(vec![7; 32]).expect("a secret");
    let tokens = Tokens::new(&secret, ACCESS_TOKEN_LIFETIME_DEFAULT);
    let reads = ReadModels::new(&port);
    let live = LiveEvents::new(LiveParts {
        store: port.clone(),
        clock: clock.clone(),
        tasks: Tasks::new(),
        settings: LiveSettings::default(),
    });
    let sessions =
        Sessions::new(port.clone(), clock.clone(), tokens.audience().clone(), SessionSettings::default());
    let passwords = PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).expect("a hasher");
    let services = Services {
        reads: reads.clone(),
        planned: planned_domains(&port, &port),
        live,
        live_reads: reads.clone(),
        webstore_events: ServedLive::new(ServedLiveParts {
            store: port.clone(),
            model: webstore_model(),
            watches: WriteWatches::new(port.clone(), no_containers(), TailSettings::default(), Tasks::new()),
            tasks: Tasks::new(),
            tail: TailSettings::default(),
        }),
        commands: Commands::new(CommandParts {
            store: port.clone(),
            latest: port.clone(),
            clock: clock.clone(),
            ids: Arc::new(RandomIds),
            passwords: passwords.clone(),
            tasks: Tasks::new(),
            limits: CommandLimits::default(),
        }),
        webstore: Webstore {
            reads: WebstoreReads::new(port.clone()),
            live_reads: WebstoreReads::new(port.clone()),
            commands: WebstoreCommands::new(WebstoreParts {
                store: port.clone(),
                latest: port.clone(),
                sign_in_store: port.clone(),
                clock: clock.clone(),
                ids: Arc::new(RandomIds),
                passwords: passwords.clone(),
            }),
        },
        staff: Arc::new(Staff::new([user_id(0).0])),
        attempts: Arc::new(Attempts::new(AttemptLimits::default())),
        writes: Arc::new(AccountWrites::new([], &WriteLimits::NONE)),
        tokens: tokens.clone(),
        sessions: sessions.clone(),
        recency: Arc::new(NoProjections),
        clock: clock.clone(),
        ids: Arc::new(RandomIds),
    };
    let authenticator = Authenticator::new(tokens.clone(), None);
    let executor = Executor::new(services, authenticator, SchemaOptions::default()).expect("an executor");
    Blog { store, clock, reads, executor, tokens, sessions, _keeper: keeper }
}

/// A blog in which three users wrote three posts each, commented on every post and liked most.
pub async fn small() -> Blog {
    let blog = empty().await;
    for number in 0..USERNAMES.len() {
        blog.add_user(number).await;
    }
    for post in 0..POSTS_EACH * 3 {
        let likers: Vec<usize> =
            (0..3).filter(|liker| *liker != usize::try_from(post % 4).unwrap()).collect();
        blog.add_post(post, usize::try_from(post % 3).unwrap(), 5, &likers).await;
    }
    blog.drain().await;
    blog
}

/// The id of a user, by number.
pub fn user_id(number: usize) -> UserId {
    UserId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_1000 + number as u128))
}

/// The id of a post, by number; higher numbers are older.
pub fn post_id(number: u128) -> PostId {
    PostId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_2000 + number))
}

impl Blog {
    /// The access token of a new session of a user.
    pub async fn token_of(&self, number: usize, issued_at_ms: i64) -> String {
        let (user, start) = (user_id(number), SessionStart::default());
        let session = self.sessions.start(user.into(), start, &Ledger::new()).await.expect("an answer");
        let session = session.expect("a session");
        let token = self.tokens.issue(&user_id(number).to_string(), session.id, issued_at_ms);
        token.expect("a token").into_string()
    }

    /// Adds a user.
    pub async fn add_user(&self, number: usize) {
        let id = user_id(number);
        let user = UserItem {
            id,
            item_type: types::USER.to_owned(),
            user_id: id,
            username: USERNAMES[number].to_owned(),
            version: 1,
            pending_username: None,
            former_username: None,
            former_keys: Vec::new(),
            suspended: false,
        };
        self.put(USERS, &id.partition_key(), &id.to_string(), &user).await;
        let name = onehop::accounts::Username::parse(USERNAMES[number]).expect("a username");
        let normalised = name.normalized().as_str().to_owned();
        let account = AccountItem {
            id: normalised.clone(),
            item_type: types::ACCOUNT.to_owned(),
            user_id: id,
            password_hash: None,
            password_version: 0,
            idempotency_key_hash: None,
        };
        self.put(ACCOUNTS, &PartitionKey::from(normalised.as_str()), &normalised, &account).await;
    }

    /// Adds a post with so many comments, by all users in turn, and these likes.
    pub async fn add_post(&self, number: u128, author: usize, comments: u32, likers: &[usize]) {
        let id = post_id(number);
        // Two posts each share an instant, so that the id has to break ties.
        let created_ms = NOW_MS - i64::try_from(number / 2).unwrap() * HOUR_MS;
        let post = PostItem {
            id,
            item_type: types::POST.to_owned(),
            post_id: id,
            user_id: user_id(author),
            user_username: USERNAMES[author].to_owned(),
            title: format!("Post {number}"),
            content: format!("\"Post\" {number} \u{1f4d6} says: ") + &"many words ".repeat(30),
            tags: Vec::new(),
            comment_count: comments,
            like_count: u32::try_from(likers.len()).unwrap(),
            creation_date: format_timestamp(created_ms),
            version: 1,
            text_version: 1,
            update_date: None,
            deleted: false,
            ttl: None,
        };
        let key = id.partition_key();
        self.put(POSTS, &key, &id.to_string(), &post).await;
        for comment in 0..comments {
            self.add_comment(&post, comment).await;
        }
        for liker in likers {
            self.add_like(&post, *liker).await;
        }
    }

    async fn add_comment(&self, post: &PostItem, number: u32) {
        let author = usize::try_from(number).unwrap() % USERNAMES.len();
        let id = comment_id(post.id, number);
        let comment = CommentItem {
            id,
            item_type: types::COMMENT.to_owned(),
            post_id: post.id,
            user_id: user_id(author),
            user_username: USERNAMES[author].to_owned(),
            content: format!("Comment {number} on {}", post.title),
            creation_date: format_timestamp(NOW_MS + i64::from(number / 2) * 1_000),
            version: 1,
            text_version: 1,
            update_date: None,
            deleted: false,
            ttl: None,
        };
        self.put(POSTS, &post.id.partition_key(), &id.to_string(), &comment).await;
    }

    async fn add_like(&self, post: &PostItem, liker: usize) {
        let id = LikeId::derive(post.id, user_id(liker));
        let like = LikeItem {
            id,
            item_type: types::LIKE.to_owned(),
            post_id: post.id,
            user_id: user_id(liker),
            user_username: USERNAMES[liker].to_owned(),
            creation_date: format_timestamp(NOW_MS + i64::try_from(liker).unwrap() * 1_000),
            version: 1,
        };
        self.put(POSTS, &post.id.partition_key(), &id.to_string(), &like).await;
    }

    /// Lets the copies follow all writes.
    pub async fn drain(&self) {
        let (store, clock): (Arc<dyn Store>, Arc<dyn Clock>) = (self.store.clone(), self.clock.clone());
        let settings = Settings::new("test").without_delays();
        let stop = CancellationToken::new();
        let processor = Processor::open(store, clock, read_models::projections(), settings, stop).await;
        processor.expect("the processor opens").drain().await.expect("the change feed drains");
    }

    /// Writes an item over any earlier version.
    pub async fn put(&self, container: ContainerName, key: &PartitionKey, id: &str, item: &impl Serialize) {
        let write = WriteOp::Upsert(NewItem::encode(id, item));
        self.store.write(container, key, write, &Ledger::new()).await.expect("written");
    }

    /// A post as it is stored.
    pub async fn stored_post(&self, number: u128) -> PostItem {
        let id = post_id(number);
        let item = self.store.read(POSTS, &id.partition_key(), &id.to_string(), &Ledger::new()).await;
        item.expect("an answer").expect("a post").decode().expect("the shape of a post")
    }

    /// Executes a query anonymously.
    pub async fn query(&self, query: &str) -> Response {
        execute_as(&self.executor, Request::new(query), None).await
    }

    /// The complexity of a document with a single operation.
    pub fn complexity(&self, document: &str, variables: serde_json::Value) -> Result<usize, ServerError> {
        let document = Documents::new(DocumentLimits::default()).parse(document).expect("a document");
        let operation = select_operation(&document.definitions, None).expect("one operation");
        self.executor.complexity(&document, operation, &Variables::from_json(variables))
    }

    /// Executes a query that has to succeed, and returns its data.
    pub async fn data(&self, query: &str) -> serde_json::Value {
        let response = self.query(query).await;
        assert!(response.errors.is_empty(), "{query}: {:?}", response.errors);
        response.data.into_json().expect("JSON")
    }
}

/// The id of a comment, by number.
pub fn comment_id(post: PostId, number: u32) -> CommentId {
    CommentId(Uuid::from_u128(post.0.as_u128() + 0x10_0000 + u128::from(number)))
}

/// The id of a user as clients see it.
pub fn user_node(number: usize) -> String {
    GlobalId::User(user_id(number)).encode()
}

/// The id of a post as clients see it.
pub fn post_node(number: u128) -> String {
    GlobalId::Post(post_id(number)).encode()
}

/// Executes a request for the bearer of a token, as the HTTP side does.
pub async fn execute(
    executor: &Executor,
    request: Request,
    bearer: Option<&str>,
    account: Arc<dyn QuotaAccount>,
) -> Result<Response, RequestRejection> {
    let caller = match bearer {
        Some(bearer) => Some(executor.authenticate(bearer, &*executor.new_charge_record(None)).await?),
        None => None,
    };
    account.open(caller.as_ref())?;
    Ok(execute_with(executor, request, caller, account).await)
}

/// Executes a request of a user; `None` is an anonymous caller.
pub async fn execute_as(executor: &Executor, request: Request, viewer: Option<UserId>) -> Response {
    let caller = viewer.map(|user| Caller {
        id: user.to_string(),
        valid_for: Duration::from_secs(3600),
        session: None,
        is_new: false,
        rights: 0,
    });
    execute_with(executor, request, caller, Arc::new(Unmetered)).await
}

async fn execute_with(
    executor: &Executor,
    request: Request,
    caller: Option<Caller>,
    quota: Arc<dyn QuotaAccount>,
) -> Response {
    let document = Documents::new(DocumentLimits::default()).parse(&request.query).expect("a document");
    let headers = HeaderMap::new();
    let mut context =
        RequestContext::new(ClientAddress::UNKNOWN, headers, document, request, quota).expect("an operation");
    context.caller = caller.map(Arc::new);
    let request = context.take_request();
    executor.execute(request, &Arc::new(context)).await
}

struct NoProjections;

/// Nothing projects here, so every position is reached.
#[async_trait]
impl Recency for NoProjections {
    async fn position_after(&self, _written: &WriteScope) -> Option<String> {
        None
    }

    async fn wait_for(
        &self,
        _position: &str,
        _wait_max: Duration,
        _ledger: &Ledger,
    ) -> Result<Reach, InvalidPosition> {
        Ok(Reach::Reached)
    }

    async fn watch_writes(&self, _ledger: &Ledger) -> Result<SharedWatch, Fault> {
        Err(Fault::new(FaultKind::Internal, "nothing is live here"))
    }
}

#[async_trait]
impl Positions for NoProjections {
    async fn reach(
        &self,
        _position: &str,
        _wait_max: Duration,
        _charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition> {
        Ok(Reach::Reached)
    }

    fn join(&self, _one: &str, _other: &str) -> Option<String> {
        None
    }
}
