//! Moderation and deletion of accounts in the schema: staff suspend users and read the moderation log, and
//! users delete their accounts.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use uuid::Uuid;

use super::attempts;
use super::connections::{Connection, Listed, PageArguments};
use super::date_time::DateTime;
use super::errors::{self, Code, bad_input};
use super::ids::GlobalId;
use super::mutation::{login, user_of};
use super::resolution::One;
use super::scope::{self, RequestScope, Services};
use super::session;
use super::staff;
use super::user::User;
use super::writes::within_limit;
use crate::accounts::brute_force_protection::AttemptKind;
use crate::blog::commands::{DeleteUser, Moderator, SuspendUser};
use crate::blog::ids::UserId;
use crate::blog::items::{ModerationAction as StoredAction, ModerationEntryItem};
use crate::blog::reads::cursor::MODERATION_LOG;
use crate::blog::reads::{DataModel, ModerationEntryView};
use crate::blog::write_limits;

/// The kinds of acts in the moderation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "StoredAction")]
pub enum ModerationAction {
    /// A post was deleted, with its comments and likes.
    DeletePost,
    /// A comment was deleted.
    DeleteComment,
    /// An account was suspended.
    SuspendUser,
    /// A suspended account was given back.
    UnsuspendUser,
}

/// An entry of the moderation log.
pub struct ModerationEntry(ModerationEntryView);

/// A page of the moderation log.
pub type ModerationEntryConnection = Connection<ModerationEntry>;

impl ModerationEntry {
    fn entry(&self) -> &ModerationEntryItem {
        self.0.entry()
    }
}

impl Listed for ModerationEntry {
    fn place(&self) -> (&str, Uuid) {
        (&self.entry().creation_date, self.entry().id.0)
    }
}

/// An act of staff: the deletion of a text, or the suspension of an account. Entries are kept for two years.
#[Object]
impl ModerationEntry {
    /// Identifies the entry in the log.
    async fn id(&self) -> ID {
        self.entry().id.to_string().into()
    }

    /// What was done.
    async fn action(&self) -> ModerationAction {
        self.entry().action.into()
    }

    /// The member of staff who acted; null where the account is deleted.
    async fn staff(&self, ctx: &Context<'_>) -> Result<Option<One<User>>> {
        find_user(scope::of(ctx), self.entry().staff_id).await
    }

    /// The author of the deleted text, or the user of the account; null where the account is deleted.
    async fn user(&self, ctx: &Context<'_>) -> Result<Option<One<User>>> {
        find_user(scope::of(ctx), self.entry().user_id).await
    }

    /// The id of the deleted post, or of the post of the deleted comment.
    async fn post_id(&self) -> Option<ID> {
        self.entry().post_id.map(|post| GlobalId::Post(post).encode().into())
    }

    /// The id of the deleted comment.
    async fn comment_id(&self) -> Option<ID> {
        let ModerationEntryItem { post_id, comment_id, .. } = self.entry();
        let comment = post_id.zip(*comment_id);
        comment.map(|(post, comment)| GlobalId::Comment(post, comment).encode().into())
    }

    /// The reason that the member of staff gave.
    async fn reason(&self) -> Option<&str> {
        self.entry().reason.as_deref()
    }

    /// When it was done.
    async fn creation_date(&self) -> DateTime {
        DateTime(self.entry().creation_date.clone())
    }
}

/// The user whose account staff suspends.
#[derive(InputObject)]
pub struct SuspendUserInput {
    /// The user's id.
    pub user_id: ID,
    /// The reason, for the moderation log: 1 to 500 characters.
    pub reason: String,
}

/// The user whose account staff gives back.
#[derive(InputObject)]
pub struct UnsuspendUserInput {
    /// The user's id.
    pub user_id: ID,
    /// The reason, for the moderation log: 1 to 500 characters.
    pub reason: Option<String>,
}

/// The password of the user who deletes the account.
#[derive(InputObject)]
pub struct DeleteUserInput {
    /// The user's password.
    pub current_password: String,
}

/// The result of suspending an account.
#[derive(SimpleObject)]
pub struct SuspendUserPayload {
    /// The user, whose sessions have ended.
    pub(super) user: One<User>,
}

/// The result of giving a suspended account back.
#[derive(SimpleObject)]
pub struct UnsuspendUserPayload {
    /// The user, who may sign in again.
    pub(super) user: One<User>,
}

/// The result of deleting an account.
#[derive(SimpleObject)]
pub struct DeleteUserPayload {
    /// The id of the user who is gone.
    pub(super) deleted_user_id: ID,
}

/// The part of the root of all reads that is about moderation.
#[derive(Default)]
pub struct ModerationQuery;

/// Reads about moderation.
#[Object]
impl ModerationQuery {
    /// The acts of staff in the blog, newest first. For staff.
    async fn moderation_log(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of entries, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<ModerationEntryConnection>>> {
        let scope = scope::of(ctx);
        staff::member(scope)?;
        let page = PageArguments { first, after }.parse(MODERATION_LOG.single())?;
        let reads = scope.services().reads.accounts();
        let entries = reads.moderation_log(&page.request, scope.session()).await;
        let entries = entries.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(Connection::new(entries, &page, ModerationEntry))))
    }
}

/// The part of the root of all writes that is about moderation and the deletion of accounts.
#[derive(Default)]
pub struct ModerationMutation;

/// Moderation, and the deletion of accounts.
#[Object]
impl ModerationMutation {
    /// Suspends the account of a user: all sessions end, subscriptions with them, and signing in is
    /// `ACCOUNT_SUSPENDED`. Posts and comments stay. A repeat changes nothing. For staff.
    async fn suspend_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user, and the reason.")] input: SuspendUserInput,
    ) -> Result<Option<One<SuspendUserPayload>>> {
        let SuspendUserInput { user_id, reason } = input;
        let user = suspend(ctx, &user_id, Some(reason), true).await?;
        Ok(Some(One(SuspendUserPayload { user: One(user) })))
    }

    /// Gives a suspended account back. A repeat changes nothing. For staff.
    async fn unsuspend_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user, and the reason.")] input: UnsuspendUserInput,
    ) -> Result<Option<One<UnsuspendUserPayload>>> {
        let UnsuspendUserInput { user_id, reason } = input;
        let user = suspend(ctx, &user_id, reason, false).await?;
        Ok(Some(One(UnsuspendUserPayload { user: One(user) })))
    }

    /// Deletes the account of the signed-in user for good: the name is free at once, all sessions end, and
    /// posts, comments and likes are removed in the background. `FORBIDDEN` for staff.
    async fn delete_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The password.")] input: DeleteUserInput,
    ) -> Result<Option<One<DeleteUserPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        if staff::viewer_is_staff(scope) {
            let message =
                "A member of staff cannot delete the account: an operator removes the user from the staff.";
            return Err(errors::error(Code::Forbidden, message));
        }
        let user = scope.reads(DataModel::V3).user(user_id, scope.session()).await;
        let user = user.map_err(|fault| scope.fault(&fault))?.ok_or_else(session::no_session)?;
        let attempt = attempts::begin(ctx, AttemptKind::SignIn, &login(&user.username)).await?;
        let caller = attempt.hashing_caller();
        let command = DeleteUser { user_id, current_password: input.current_password, caller };
        let Services { commands, sessions, .. } = scope.services();
        let deleted = commands.delete_user(command, sessions, scope.ledger()).await;
        attempts::end(scope, attempt, deleted).map_err(|failure| scope.command_error(failure))?;
        Ok(Some(One(DeleteUserPayload { deleted_user_id: GlobalId::User(user_id).encode().into() })))
    }
}

/// Suspends an account, or gives it back.
async fn suspend(ctx: &Context<'_>, user_id: &str, reason: Option<String>, suspended: bool) -> Result<User> {
    let scope = scope::for_write(ctx)?;
    let (member, moderator) = (staff::member(scope)?, scope.signed_in()?);
    let user_id = match GlobalId::decode(user_id) {
        Ok(GlobalId::User(id)) => id,
        Ok(_) => return Err(bad_input("userId", "is not the id of a user")),
        Err(invalid) => return Err(bad_input("userId", invalid)),
    };
    let Services { commands, sessions, staff, .. } = scope.services();
    let by = Moderator { member: &member, user_id: moderator, reason };
    let suspending =
        commands.suspend_user(by, SuspendUser { user_id, suspended }, (staff, sessions), scope.ledger());
    let user = within_limit(scope, &write_limits::SUSPENSIONS, moderator, suspending).await?;
    Ok(user_of(user))
}

/// The user with this id, as V3 has it.
async fn find_user(scope: &RequestScope, id: UserId) -> Result<Option<One<User>>> {
    let user = scope.reads(DataModel::V3).user(id, scope.session()).await;
    Ok(user.map_err(|fault| scope.fault(&fault))?.map(|view| One(User::new(view, DataModel::V3))))
}
