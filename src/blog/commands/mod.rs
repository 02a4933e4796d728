//! The write side: one file for each command, with its input, its refusals, and its writes.
//!
//! [`Commands`] owns the rules of writing: limits, rights, exact counts, unique names, repeats with an
//! idempotency key. It refuses to know tokens, GraphQL and HTTP, and it writes no read model: copies follow
//! by the change feed. A command returns the items that its write leaves, so that its answer needs no
//! read.
//!
//! All commands on one post go through [`post_queue`]; all claims of a username through [`names`].

mod change_password;
mod create_comment;
mod create_post;
mod create_user;
mod delete_comment;
mod delete_post;
mod delete_user;
mod external_identity;
mod idempotency;
mod like_post;
mod moderation;
mod names;
mod post_queue;
mod refusals;
mod rename_charge;
mod sign_in;
mod staff_names;
mod tags;
mod text;
mod unlike_post;
mod update_comment;
mod update_post;
mod update_user;

use std::sync::{Arc, LazyLock, OnceLock};

use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::accounts::password::PasswordHasher;
use onehop_runtime::clock::{Clock, format_timestamp};
use onehop_runtime::tasks::Tasks;
use onehop_store::{Fault, Ledger, Store};

pub use crate::domain::error::{CommandError, InvalidField, Refusal, RefusalCode};
pub use crate::domain::text::IDEMPOTENCY_KEY_CHARS_MAX;

use super::containers::POSTS;
use super::ids::{IdSource, PostId, UserId};

pub use change_password::ChangePassword;
pub use create_comment::{CommentCreated, CreateComment};
pub use create_post::CreatePost;
pub use create_user::CreateUser;
pub use delete_comment::{DeleteComment, DeletedComment};
pub use delete_post::DeletePost;
pub use delete_user::DeleteUser;
pub use external_identity::ExternalSubject;
pub use like_post::{LikePost, PostLiked};
pub use moderation::{Moderator, SuspendUser};
pub(in crate::blog) use names::left_keys;
pub use names::{RollForward, UsernameReservations};
pub use post_queue::CommandLimits;
pub use sign_in::SignIn;
pub use staff_names::{ListedUser, ProtectedNames, ResolvedStaff, StaffNameError};
pub use tags::{TAG_CHARS_MAX, TAGS_MAX, normalised_tag};
pub use text::{COMMENT_CHARS_MAX, POST_CONTENT_CHARS_MAX, REASON_CHARS_MAX, TITLE_CHARS_MAX};
pub use unlike_post::UnlikePost;
pub use update_comment::UpdateComment;
pub use update_post::UpdatePost;
pub use update_user::UpdateUser;

use post_queue::PostQueues;

/// The parts that commands need from outside.
pub struct CommandParts {
    pub store: Arc<dyn Store>,
    /// The same store, whose reads see the latest commit of all processes. They decide where nothing would be
    /// written: other reads may come from a replica that lags, and only a conditional write shows that.
    pub latest: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub passwords: PasswordHasher,
    /// Batches run in tasks of the process, so that a stop waits for them and a client that hangs up does not
    /// interrupt them.
    pub tasks: Tasks,
    pub limits: CommandLimits,
}

/// The write side. Cheap to clone; clones share the queues.
#[derive(Clone)]
pub struct Commands {
    store: Arc<dyn Store>,
    latest: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    passwords: PasswordHasher,
    names: UsernameReservations,
    posts: Arc<PostQueues>,
    protected_names: Arc<OnceLock<ProtectedNames>>,
}

impl Commands {
    /// The write side over these parts. Each process needs exactly one: its queues combine the commands.
    #[must_use]
    pub fn new(parts: CommandParts) -> Self {
        let CommandParts { store, latest, clock, ids, passwords, tasks, limits } = parts;
        let names = UsernameReservations::over(Arc::clone(&store), Arc::clone(&latest));
        let timing = (Arc::clone(&clock), tasks);
        Self {
            posts: Arc::new(PostQueues::new(
                (Arc::clone(&store), Arc::clone(&latest)),
                timing,
                limits,
                names.deleted_users(),
            )),
            names,
            protected_names: Arc::default(),
            store,
            latest,
            clock,
            ids,
            passwords,
        }
    }

    /// Protects these names from now on: once, before the first request.
    pub fn protect(&self, names: ProtectedNames) {
        if self.protected_names.set(names).is_err() {
            tracing::warn!("staff was resolved twice: the names of the first time stay protected");
        }
    }

    /// Names that only their user may have.
    fn protected_names(&self) -> &ProtectedNames {
        static NOT_RESOLVED: LazyLock<ProtectedNames> = LazyLock::new(ProtectedNames::default);
        self.protected_names.get().unwrap_or(&NOT_RESOLVED)
    }

    /// The number of commands that wait for their post at this moment.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.posts.waiting()
    }

    fn new_id(&self) -> Uuid {
        self.ids.next_id(self.clock.now_ms())
    }

    fn timestamp(&self) -> String {
        format_timestamp(self.clock.now_ms())
    }

    /// The username to be written beside this user's texts.
    async fn username(&self, user: UserId, ledger: &Ledger) -> Result<String, CommandError> {
        let username = self.names.author_name(user, self.clock.monotonic_ms(), ledger).await?;
        Ok(username.ok_or_else(Refusal::no_such_user)?)
    }

    /// An item of a post's logical partition.
    async fn read_in_post<T: DeserializeOwned>(
        &self,
        post: PostId,
        id: Uuid,
        ledger: &Ledger,
    ) -> Result<Option<T>, Fault> {
        let id = id.as_hyphenated().to_string();
        let item = self.store.read(POSTS, &post.partition_key(), &id, ledger).await?;
        item.map(|item| item.decode()).transpose()
    }
}
