//! Moderation and deletion of accounts in the schema: staff suspend users and read the moderation log, and
//! users delete their accounts.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use super::attempts;
use super::connections::{Connection, PageArguments};
use super::errors::{self, Code, bad_input};
use super::ids::GlobalId;
use super::mutation::{login, user_of};
use super::resolution::One;
use super::scope::{self, Services};
use super::session;
use super::staff;
use super::user::{ModerationEntry, ModerationEntryConnection, User};
use super::writes::within_limit;
use crate::accounts::brute_force_protection::AttemptKind;
use crate::blog::commands::{DeleteUser, Moderator, SuspendUser};
use crate::blog::reads::DataModel;
use crate::blog::reads::cursor::MODERATION_LOG;
use crate::blog::write_limits;

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
        Ok(Some(One(Connection::new(entries, &page, ModerationEntry::new))))
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
        let Services { commands, sessions, .. } = scope.services();
        let deleted = || DeleteUserPayload { deleted_user_id: GlobalId::User(user_id).encode().into() };
        let Some(user) = user.map_err(|fault| scope.fault(&fault))? else {
            // A repeat, by a session that the lost answer was for.
            let is_finished = commands.finish_deletion(user_id, sessions, scope.ledger()).await;
            let is_finished = is_finished.map_err(|fault| scope.fault(&fault))?;
            return if is_finished { Ok(Some(One(deleted()))) } else { Err(session::no_session()) };
        };
        let attempt = attempts::begin(ctx, AttemptKind::SignIn, &login(&user.username)).await?;
        let caller = attempt.hashing_caller();
        let command = DeleteUser { user_id, current_password: input.current_password, caller };
        let outcome = commands.delete_user(command, sessions, scope.ledger()).await;
        attempts::end(scope, attempt, outcome).map_err(|failure| scope.command_error(failure))?;
        Ok(Some(One(deleted())))
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
