//! Commands of the article under each data model: V1 writes single items of the article's fields and keeps no
//! counts, V2 keeps counts in a transactional batch, V3 runs the commands of the API.

use std::sync::Arc;

use serde_json::json;
use thiserror::Error;
use uuid::Uuid;

use crate::accounts::hashing_queue::HashingCaller;
use crate::blog::commands::{CommandError, Commands, CreateComment, CreatePost, CreateUser, LikePost};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::{CommentId, IdSource, LikeId, PostId, RandomIds, UserId};
use crate::blog::items::{CommentItem, LikeItem, PostItem, UserItem, types};
use onehop_runtime::clock::{Clock, format_timestamp};
use onehop_store::{
    Batch, ContainerName, Fault, FaultKind, Ledger, NewItem, PartitionKey, Store, WriteError, WriteOp,
};
use onehop_study::follower::FollowError;

/// The password of the users that a comparison makes in databases of its own.
const PASSWORD: &str = "one-hop-at-a-time";

/// The user who writes.
#[derive(Debug, Clone)]
pub struct SampleAuthor {
    pub id: UserId,
    pub username: String,
}

/// A command of the article.
#[derive(Debug, Clone)]
pub enum ArticleCommand {
    /// C2
    Post { author: SampleAuthor, title: String, content: String },
    /// C3
    Comment { author: SampleAuthor, post: PostId, content: String },
    /// C4
    Like { author: SampleAuthor, post: PostId },
}

/// Why a command of a comparison failed.
#[derive(Debug, Error)]
pub enum CompareError {
    #[error(transparent)]
    Store(#[from] Fault),
    #[error("a write was refused: {0}")]
    Refused(String),
    #[error(transparent)]
    NotFollowed(#[from] FollowError),
}

/// The writes of a data model.
pub enum WritePath {
    /// V1
    SingleItems(Plain),
    /// V2
    Batches(Plain),
    /// V3
    Commands(Box<Commands>),
}

/// Writes without the project's commands.
pub struct Plain {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
}

/// A username with a number in letters. As most names it has one key: digits that look like letters would
/// bring another.
pub(super) fn numbered_name(word: &str, number: usize) -> String {
    let digits = format!("{number:06}");
    let letters = digits.bytes().map(|digit| char::from(digit - b'0' + b'a'));
    word.chars().chain(letters).collect()
}

impl WritePath {
    /// C1: creates a user.
    ///
    /// # Errors
    /// The write was refused or failed.
    pub async fn create_user(&self, username: String, ledger: &Ledger) -> Result<SampleAuthor, CompareError> {
        match self {
            Self::SingleItems(plain) => {
                let author = SampleAuthor { id: UserId(plain.new_id()), username };
                // The article partitions by `id` here; this program's container has `userId` for that.
                let item = json!({"id": author.id, "userId": author.id, "username": author.username});
                plain.create(USERS, author.id.partition_key(), author.id.0, &item, ledger).await?;
                Ok(author)
            }
            Self::Batches(plain) => {
                let author = SampleAuthor { id: UserId(plain.new_id()), username };
                let item = UserItem {
                    id: author.id,
                    item_type: types::USER.to_owned(),
                    user_id: author.id,
                    username: author.username.clone(),
                    version: 1,
                    pending_username: None,
                    former_username: None,
                    former_keys: Vec::new(),
                    suspended: false,
                };
                plain.create(USERS, author.id.partition_key(), author.id.0, &item, ledger).await?;
                Ok(author)
            }
            Self::Commands(commands) => {
                let input = CreateUser {
                    username,
                    password: PASSWORD.to_owned(),
                    idempotency_key: None,
                    caller: HashingCaller::default(),
                };
                let user = commands.create_user(input, ledger).await?;
                Ok(SampleAuthor { id: user.id, username: user.username })
            }
        }
    }

    /// C2, C3 or C4.
    ///
    /// # Errors
    /// The write was refused or failed.
    pub async fn run(&self, command: ArticleCommand, ledger: &Ledger) -> Result<(), CompareError> {
        match self {
            Self::SingleItems(plain) => plain.write_single(command, ledger).await,
            Self::Batches(plain) => plain.write_counted(command, ledger).await,
            Self::Commands(commands) => issue(commands, command, ledger).await,
        }
    }
}

async fn issue(commands: &Commands, command: ArticleCommand, ledger: &Ledger) -> Result<(), CompareError> {
    match command {
        ArticleCommand::Post { author, title, content } => {
            let input =
                CreatePost { user_id: author.id, title, content, tags: Vec::new(), idempotency_key: None };
            commands.create_post(input, ledger).await.map(drop)
        }
        ArticleCommand::Comment { author, post, content } => {
            let input = CreateComment { user_id: author.id, post_id: post, content, idempotency_key: None };
            commands.create_comment(input, ledger).await.map(drop)
        }
        ArticleCommand::Like { author, post } => {
            let input = LikePost { user_id: author.id, post_id: post };
            commands.like_post(input, ledger).await.map(drop)
        }
    }?;
    Ok(())
}

impl Plain {
    fn new_id(&self) -> Uuid {
        RandomIds.next_id(self.clock.now_ms())
    }

    fn now(&self) -> String {
        format_timestamp(self.clock.now_ms())
    }

    async fn create(
        &self,
        container: ContainerName,
        partition_key: PartitionKey,
        id: Uuid,
        item: &impl serde::Serialize,
        ledger: &Ledger,
    ) -> Result<(), CompareError> {
        let item = NewItem::encode(id.to_string(), item);
        self.store.write(container, &partition_key, WriteOp::Create(item), ledger).await?;
        Ok(())
    }

    /// Exactly the fields of the article's V1, one item for each command.
    async fn write_single(&self, command: ArticleCommand, ledger: &Ledger) -> Result<(), CompareError> {
        let now = self.now();
        let (post, id, item) = match command {
            ArticleCommand::Post { author, title, content } => {
                let id = self.new_id();
                let item = json!({
                    "id": id, "type": types::POST, "postId": id, "userId": author.id, "title": title,
                    "content": content, "creationDate": now,
                });
                (PostId(id), id, item)
            }
            ArticleCommand::Comment { author, post, content } => {
                let id = self.new_id();
                let item = json!({
                    "id": id, "type": types::COMMENT, "postId": post, "userId": author.id,
                    "content": content, "creationDate": now,
                });
                (post, id, item)
            }
            ArticleCommand::Like { author, post } => {
                let id = LikeId::derive(post, author.id);
                let item = json!({
                    "id": id, "type": types::LIKE, "postId": post, "userId": author.id,
                    "creationDate": now,
                });
                (post, id.0, item)
            }
        };
        self.create(POSTS, post.partition_key(), id, &item, ledger).await
    }

    /// With usernames and counts: a comment or a like and its post with the new count in one batch.
    async fn write_counted(&self, command: ArticleCommand, ledger: &Ledger) -> Result<(), CompareError> {
        match command {
            ArticleCommand::Post { author, title, content } => {
                let post = self.post(author, title, content);
                self.create(POSTS, post.id.partition_key(), post.id.0, &post, ledger).await
            }
            ArticleCommand::Comment { author, post, content } => {
                let comment = self.comment(author, post, content);
                let item = NewItem::encode(comment.id.to_string(), &comment);
                self.add(post, item, |post| post.comment_count += 1, ledger).await
            }
            ArticleCommand::Like { author, post } => {
                let like = self.like(author, post);
                let item = NewItem::encode(like.id.to_string(), &like);
                self.add(post, item, |post| post.like_count += 1, ledger).await
            }
        }
    }

    async fn add(
        &self,
        id: PostId,
        item: NewItem,
        count: impl FnOnce(&mut PostItem),
        ledger: &Ledger,
    ) -> Result<(), CompareError> {
        let partition_key = id.partition_key();
        let stored = self.store.read(POSTS, &partition_key, partition_key.as_str(), ledger).await?;
        let stored = stored.ok_or_else(|| Fault::new(FaultKind::Corrupt, "a post is not there"))?;
        let mut post: PostItem = stored.decode()?;
        count(&mut post);
        post.version += 1;
        let replaced = NewItem::encode(id.to_string(), &post);
        let operations =
            vec![WriteOp::Replace { item: replaced, if_match: Some(stored.etag) }, WriteOp::Create(item)];
        self.store.batch(Batch { container: POSTS, partition_key, operations }, ledger).await?;
        Ok(())
    }

    fn post(&self, author: SampleAuthor, title: String, content: String) -> PostItem {
        let id = PostId(self.new_id());
        PostItem {
            id,
            item_type: types::POST.to_owned(),
            post_id: id,
            user_id: author.id,
            user_username: author.username,
            title,
            content,
            tags: Vec::new(),
            comment_count: 0,
            like_count: 0,
            creation_date: self.now(),
            version: 1,
            text_version: 1,
            update_date: None,
            deleted: false,
            ttl: None,
        }
    }

    fn comment(&self, author: SampleAuthor, post_id: PostId, content: String) -> CommentItem {
        CommentItem {
            id: CommentId(self.new_id()),
            item_type: types::COMMENT.to_owned(),
            post_id,
            user_id: author.id,
            user_username: author.username,
            content,
            creation_date: self.now(),
            version: 1,
            text_version: 1,
            update_date: None,
            deleted: false,
            ttl: None,
        }
    }

    fn like(&self, author: SampleAuthor, post_id: PostId) -> LikeItem {
        LikeItem {
            id: LikeId::derive(post_id, author.id),
            item_type: types::LIKE.to_owned(),
            post_id,
            user_id: author.id,
            user_username: author.username,
            creation_date: self.now(),
            version: 1,
        }
    }
}

impl From<WriteError> for CompareError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Rejected { reason, .. } => Self::Refused(reason.to_string()),
            WriteError::Fault(fault) => Self::Store(fault),
        }
    }
}

impl From<CommandError> for CompareError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Rejected(refusal) => Self::Refused(refusal.message),
            CommandError::Fault(fault) => Self::Store(fault),
        }
    }
}
