//! Moderation by staff: any post or comment is deleted, and accounts are suspended. Each act is in the
//! moderation log.
//!
//! The log and the act lie in two logical partitions. The entry is written first, and taken back where the
//! act is refused. A crash in between leaves an entry without its act, and never an act without an entry.

use std::sync::Arc;

use crate::accounts::staff::{Staff, StaffMember};
use crate::blog::containers::{MODERATION, MODERATION_PARTITION};
use crate::blog::ids::{ModerationEntryId, PostId, UserId};
use crate::blog::items::{
    CommentItem, MODERATION_TTL_S, ModerationAct, ModerationEntryItem, PostItem, UserItem, types,
};
use crate::domain::accounts::sessions::Sessions;
use crate::domain::conditional_write::{self, ATTEMPTS_MAX};
use crate::domain::error::{RefusalCode, contended};
use onehop_store::{Fault, Ledger, NewItem, PartitionKey, WriteOp};

use super::delete_comment::{DeleteComment, DeletedComment, live_comment};
use super::delete_post::DeletePost;
use super::names::{UserLookup, WriteAttempt, find_user};
use super::text::Reason;
use super::{CommandError, Commands, Refusal};

/// The member of staff who moderates, and the reason as typed.
pub struct Moderator<'a> {
    pub member: &'a StaffMember,
    pub user_id: UserId,
    pub reason: Option<String>,
}

/// The account that staff suspends, or gives back.
pub struct SuspendUser {
    pub user_id: UserId,
    pub suspended: bool,
}

/// The subject of an entry of the log.
struct LoggedAct {
    action: ModerationAct,
    user_id: UserId,
    post_id: Option<PostId>,
    comment: Option<CommentItem>,
}

impl Commands {
    /// Deletes any post. The author's own deletion is not in the log.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `reason`; `NOT_FOUND` on `postId`.
    pub async fn moderate_post(
        &self,
        by: Moderator<'_>,
        post_id: PostId,
        ledger: &Ledger,
    ) -> Result<Arc<PostItem>, CommandError> {
        let reason = by.reason.clone().map(Reason::parse).transpose()?;
        let delete = DeletePost { user_id: by.user_id, post_id };
        let Some(author) = self.author_of(post_id, ledger).await? else {
            return Err(Refusal::post_not_found().into());
        };
        if author == by.user_id {
            return self.delete_post(delete, ledger).await;
        }
        let (action, post_id) = (ModerationAct::DeletePost, Some(post_id));
        let subject = LoggedAct { action, user_id: author, post_id, comment: None };
        let entry = self.log(&by, subject, reason, ledger).await?;
        let deleted = self.delete_any_post(delete, by.member, ledger).await;
        self.unless_refused(deleted, entry, ledger).await
    }

    /// Deletes any comment. Deletions by its author, and by the author of its post, are not in the log.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `reason`; `NOT_FOUND` on `commentId` or `postId`.
    pub async fn moderate_comment(
        &self,
        by: Moderator<'_>,
        delete: DeleteComment,
        ledger: &Ledger,
    ) -> Result<DeletedComment, CommandError> {
        let reason = by.reason.clone().map(Reason::parse).transpose()?;
        let (comment, _) = live_comment(&*self.store, delete.post_id, delete.comment_id, ledger).await?;
        let is_own = comment.user_id == by.user_id
            || self.author_of(delete.post_id, ledger).await? == Some(by.user_id);
        if is_own {
            return self.delete_comment(delete, ledger).await;
        }
        let (action, post_id) = (ModerationAct::DeleteComment, Some(delete.post_id));
        let subject = LoggedAct { action, user_id: comment.user_id, post_id, comment: Some(comment) };
        let entry = self.log(&by, subject, reason, ledger).await?;
        let deleted = self.delete_any_comment(delete, by.member, ledger).await;
        self.unless_refused(deleted, entry, ledger).await
    }

    /// Suspends an account, or gives it back. All sessions of a suspended account end, and no sign-in
    /// succeeds. Safe to repeat: a repeat ends the sessions again, and is not in the log.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `reason`; `NOT_FOUND` on `userId`; `FORBIDDEN` on it for a member of staff.
    pub async fn suspend_user(
        &self,
        by: Moderator<'_>,
        SuspendUser { user_id, suspended }: SuspendUser,
        (staff, sessions): (&Staff, &Sessions),
        ledger: &Ledger,
    ) -> Result<UserItem, CommandError> {
        let reason = by.reason.clone().map(Reason::parse).transpose()?;
        if staff.member(user_id.0).is_some() {
            let message =
                "a member of staff cannot be suspended: an operator removes the user from the staff";
            return Err(Refusal::new(RefusalCode::Forbidden, Some("userId"), message).into());
        }
        let mut entry = None;
        for _ in 0..ATTEMPTS_MAX {
            // A repeat writes nothing, which an earlier version must not decide.
            let found = find_user(sessions.store(), user_id, ledger).await?;
            let UserLookup::User(stored) = found else {
                self.take_back(entry.take(), ledger).await?;
                return Err(Refusal::not_found("userId", "there is no such user").into());
            };
            let user = UserItem { suspended, ..stored.user.clone() };
            if stored.user.suspended != suspended {
                if entry.is_none() {
                    let action = match suspended {
                        true => ModerationAct::SuspendUser,
                        false => ModerationAct::UnsuspendUser,
                    };
                    let subject = LoggedAct { action, user_id, post_id: None, comment: None };
                    entry = Some(self.log(&by, subject, reason.clone(), ledger).await?);
                }
                if self.names.replace_user(&user, &stored.etag, ledger).await? == WriteAttempt::LookAgain {
                    continue;
                }
            }
            if suspended {
                sessions.end_all(user_id.into(), ledger).await?;
            }
            return Ok(user);
        }
        Err(contended("a user").into())
    }

    /// Whether a user may sign in: there is such a user, and the account is not suspended, as the latest
    /// committed write says.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn may_sign_in(
        &self,
        user: UserId,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let found = find_user(sessions.store(), user, ledger).await?;
        Ok(matches!(found, UserLookup::User(stored) if !stored.user.suspended))
    }

    /// The author of a live post.
    async fn author_of(&self, post: PostId, ledger: &Ledger) -> Result<Option<UserId>, Fault> {
        let post = self.read_in_post::<PostItem>(post, post.0, ledger).await?;
        Ok(post.filter(|post| !post.deleted).map(|post| post.user_id))
    }

    /// Writes an entry of the log.
    async fn log(
        &self,
        by: &Moderator<'_>,
        subject: LoggedAct,
        reason: Option<Reason>,
        ledger: &Ledger,
    ) -> Result<ModerationEntryId, CommandError> {
        let id = ModerationEntryId(self.new_id());
        let entry = ModerationEntryItem {
            id,
            item_type: types::MODERATION_ENTRY.to_owned(),
            action: subject.action,
            staff_id: by.user_id,
            user_id: subject.user_id,
            post_id: subject.post_id,
            comment_id: subject.comment.map(|comment| comment.id),
            reason: reason.map(|reason| reason.as_str().to_owned()),
            creation_date: self.timestamp(),
            version: 1,
            ttl: MODERATION_TTL_S,
        };
        let item = NewItem::encode(id.to_string(), &entry);
        let key = PartitionKey::from(MODERATION_PARTITION);
        conditional_write::create_new(&*self.store, MODERATION, &key, &item, ledger).await?;
        Ok(id)
    }

    /// The outcome of an act; the entry of a refused one is taken back.
    async fn unless_refused<T>(
        &self,
        outcome: Result<T, CommandError>,
        entry: ModerationEntryId,
        ledger: &Ledger,
    ) -> Result<T, CommandError> {
        if matches!(outcome, Err(CommandError::Rejected(_))) {
            self.take_back(Some(entry), ledger).await?;
        }
        outcome
    }

    async fn take_back(&self, entry: Option<ModerationEntryId>, ledger: &Ledger) -> Result<(), Fault> {
        let Some(entry) = entry else { return Ok(()) };
        let delete = WriteOp::Delete { id: entry.to_string(), if_match: None };
        let key = PartitionKey::from(MODERATION_PARTITION);
        conditional_write::attempt(&*self.store, MODERATION, &key, delete, ledger).await?;
        Ok(())
    }
}
