//! The mutations of the blog: each field issues one command and answers with the items as the command wrote
//! them, so that clients read their own writes. Reads beneath a payload are reads of V3.

use std::sync::Arc;

use async_graphql::{Context, Error, Object, Result};
use uuid::Uuid;

use super::attempts::{self, AttemptedLogin};
use super::comment::Comment;
use super::errors;
use super::ids::GlobalId;
use super::inputs::{
    ChangePasswordInput, CreateCommentInput, CreatePostInput, CreateUserInput, DeleteCommentInput,
    DeletePostInput, LikePostInput, RenewSessionInput, SignInInput, UnlikePostInput, UpdateCommentInput,
    UpdatePostInput, UpdateUserInput,
};
use super::like::Like;
use super::payloads::{
    ChangePasswordPayload, CreateCommentPayload, CreatePostPayload, CreateUserPayload, DeleteCommentPayload,
    DeletePostPayload, LikePostPayload, RenewSessionPayload, SignInPayload, SignOutPayload,
    UnlikePostPayload, UpdateCommentPayload, UpdatePostPayload, UpdateUserPayload,
};
use super::post::Post;
use super::resolution::One;
use super::scope::{self, RequestScope, Services};
use super::session::{self, Credentials, credentials};
use super::staff;
use super::user::User;
use super::writes::within_limit;
use crate::accounts::Username;
use crate::accounts::account_id::AccountKind;
use crate::accounts::brute_force_protection::AttemptKind;
use crate::blog::commands::{
    ChangePassword, CommandError, CommentCreated, CreateComment, CreatePost, CreateUser, DeleteComment,
    DeletePost, DeletedComment, InvalidField, LikePost, Moderator, PostLiked, SignIn, UnlikePost,
    UpdateComment, UpdatePost, UpdateUser,
};
use crate::blog::ids::{CommentId, PostId, UserId};
use crate::blog::items::{PostItem, UserItem};
use crate::blog::reads::DataModel;
use crate::blog::write_limits;

/// The data model of reads beneath a payload.
const MODEL: DataModel = DataModel::V3;

/// The part of the root of all writes that is about the blog.
#[derive(Default)]
pub struct BlogMutation;

/// C1, C2, C3, C4, their undoings, and signing in. A command that fails is null, and hides no other.
#[Object]
impl BlogMutation {
    /// C1: signs up, and signs in.
    async fn create_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to sign up.")] input: CreateUserInput,
    ) -> Result<Option<One<CreateUserPayload>>> {
        let scope = scope::for_write(ctx)?;
        let CreateUserInput { username, password, idempotency_key } = input;
        let attempt = attempts::begin(ctx, AttemptKind::SignUp, &login(&username)).await?;
        let caller = attempt.hashing_caller();
        let command = CreateUser { username, password, idempotency_key, caller };
        let Services { commands, sessions, .. } = scope.services();
        let created = commands.sign_up(command, sessions, scope.ledger()).await;
        let (user, session) = done(scope, attempts::end(scope, attempt, created))?;
        let Credentials { access_token, expires_at, refresh_token } =
            credentials(ctx, user.id.into(), &session)?;
        let user = One(user_of(user));
        Ok(Some(One(CreateUserPayload { user, access_token, expires_at, refresh_token })))
    }

    /// Signs in with a username and a password. A wrong one is `INVALID_CREDENTIALS`; the right one of an
    /// account that staff suspended is `ACCOUNT_SUSPENDED`.
    async fn sign_in(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to sign in.")] input: SignInInput,
    ) -> Result<Option<One<SignInPayload>>> {
        let scope = scope::for_write(ctx)?;
        let SignInInput { username, password } = input;
        let attempt = attempts::begin(ctx, AttemptKind::SignIn, &login(&username)).await?;
        let caller = attempt.hashing_caller();
        let command = SignIn { username, password, caller };
        let Services { commands, sessions, .. } = scope.services();
        let signed_in = commands.start_session(command, sessions, scope.ledger()).await;
        let (user, session) = done(scope, attempts::end(scope, attempt, signed_in))?;
        let Credentials { access_token, expires_at, refresh_token } =
            credentials(ctx, user.id.into(), &session)?;
        let user = One(user_of(user));
        Ok(Some(One(SignInPayload { user, access_token, expires_at, refresh_token })))
    }

    /// Renews the access token of a session. The refresh token is replaced by another one, and is good for
    /// a minute more; an older one ends the session.
    async fn renew_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session.")] input: RenewSessionInput,
    ) -> Result<Option<One<RenewSessionPayload>>> {
        let scope = scope::for_write(ctx)?;
        let token = session::parse_refresh_token(&input.refresh_token, AccountKind::User)?;
        // Read first, so that no fault comes after the rotation.
        let user = own_user(scope, UserId(token.account().id)).await?;
        let Credentials { access_token, expires_at, refresh_token } = session::renew(ctx, &token).await?;
        let user = One(user_of(user));
        Ok(Some(One(RenewSessionPayload { user, access_token, expires_at, refresh_token })))
    }

    /// Signs out: ends the session of the access token that the request bears.
    async fn sign_out(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whether all other sessions of the user end as well.", default = false)]
        everywhere: bool,
    ) -> Result<Option<One<SignOutPayload>>> {
        let scope = scope::of(ctx);
        let user = scope.signed_in()?;
        session::end(scope, user.into(), everywhere).await?;
        Ok(Some(One(SignOutPayload { user_id: GlobalId::User(user).encode().into() })))
    }

    /// Changes the password of the signed-in user, ends all sessions of theirs, and starts another one.
    async fn change_password(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Both passwords.")] input: ChangePasswordInput,
    ) -> Result<Option<One<ChangePasswordPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        let user = own_user(scope, user_id).await?;
        let attempt = attempts::begin(ctx, AttemptKind::SignIn, &login(&user.username)).await?;
        let ChangePasswordInput { current_password, new_password } = input;
        let caller = attempt.hashing_caller();
        let username = user.username.clone();
        let command = ChangePassword { user_id, username, current_password, new_password, caller };
        let Services { commands, sessions, .. } = scope.services();
        let changed = commands.change_password(command, sessions, scope.ledger()).await;
        let session = done(scope, attempts::end(scope, attempt, changed))?;
        let Credentials { access_token, expires_at, refresh_token } =
            credentials(ctx, user_id.into(), &session)?;
        let user = One(user_of(user));
        Ok(Some(One(ChangePasswordPayload { user, access_token, expires_at, refresh_token })))
    }

    /// C1: renames the signed-in user. Posts, comments, likes and copies follow by the change feed.
    async fn update_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new name.")] input: UpdateUserInput,
    ) -> Result<Option<One<UpdateUserPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        let command = UpdateUser { user_id, username: input.username };
        let renaming = scope.services().commands.update_user(command, scope.ledger());
        let user = within_limit(scope, &write_limits::RENAMES, user_id, renaming).await?;
        charge_follow_up(scope, user_id).await;
        Ok(Some(One(UpdateUserPayload { user: One(user_of(user)) })))
    }

    /// C2: creates a post.
    async fn create_post(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post.")] input: CreatePostInput,
    ) -> Result<Option<One<CreatePostPayload>>> {
        let scope = scope::for_write(ctx)?;
        let CreatePostInput { title, content, tags, idempotency_key } = input;
        let user_id = scope.signed_in()?;
        let tags = tags.unwrap_or_default();
        let command = CreatePost { user_id, title, content, tags, idempotency_key };
        let creating = scope.services().commands.create_post(command, scope.ledger());
        let post = within_limit(scope, &write_limits::POSTS, user_id, creating).await?;
        Ok(Some(One(CreatePostPayload { post: One(post_of(post)) })))
    }

    /// C2: changes the title, the content or the tags of a post of one's own; omitted fields stay.
    async fn update_post(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The changes.")] input: UpdatePostInput,
    ) -> Result<Option<One<UpdatePostPayload>>> {
        let scope = scope::for_write(ctx)?;
        let UpdatePostInput { post_id, title, content, tags, if_version } = input;
        let user_id = scope.signed_in()?;
        let (post_id, invalid) = parsed_or_nil(parse_post_id(&post_id));
        let command = UpdatePost { user_id, post_id, title, content, tags, if_version };
        if let Some(invalid) = invalid {
            return Err(errors::invalid(&[vec![invalid], command.invalid_fields()].concat()));
        }
        let editing = scope.services().commands.update_post(command, scope.ledger());
        let post = within_limit(scope, &write_limits::EDITS, user_id, editing).await?;
        Ok(Some(One(UpdatePostPayload { post: One(post_of(post)) })))
    }

    /// Deletes a post of one's own, with its comments and likes. Staff delete any post, which is in the
    /// moderation log.
    async fn delete_post(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post.")] input: DeletePostInput,
    ) -> Result<Option<One<DeletePostPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        let DeletePostInput { post_id, reason } = input;
        let post_id = parse_post_id(&post_id).map_err(refused)?;
        let (commands, ledger) = (&scope.services().commands, scope.ledger());
        let deleting = async {
            match staff::member(scope) {
                Ok(member) => {
                    commands
                        .moderate_post(Moderator { member: &member, user_id, reason }, post_id, ledger)
                        .await
                }
                Err(_) => commands.delete_post(DeletePost { user_id, post_id }, ledger).await,
            }
        };
        let post = within_limit(scope, &write_limits::DELETIONS, user_id, deleting).await?;
        Ok(Some(One(DeletePostPayload { deleted_post_id: GlobalId::Post(post.id).encode().into() })))
    }

    /// C3: comments on a post.
    async fn create_comment(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The comment.")] input: CreateCommentInput,
    ) -> Result<Option<One<CreateCommentPayload>>> {
        let scope = scope::for_write(ctx)?;
        let CreateCommentInput { post_id, content, idempotency_key } = input;
        let user_id = scope.signed_in()?;
        let (post_id, invalid) = parsed_or_nil(parse_post_id(&post_id));
        let command = CreateComment { user_id, post_id, content, idempotency_key };
        if let Some(invalid) = invalid {
            return Err(errors::invalid(&[vec![invalid], command.invalid_fields()].concat()));
        }
        let creating = scope.services().commands.create_comment(command, scope.ledger());
        let CommentCreated { comment, post } =
            within_limit(scope, &write_limits::COMMENTS, user_id, creating).await?;
        let post = Arc::new(post_of(post));
        let comment = Comment::new(comment.into(), MODEL, Some(Arc::clone(&post)));
        Ok(Some(One(CreateCommentPayload { comment: One(comment), post: One(post) })))
    }

    /// C3: changes a comment of one's own.
    async fn update_comment(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new text.")] input: UpdateCommentInput,
    ) -> Result<Option<One<UpdateCommentPayload>>> {
        let scope = scope::for_write(ctx)?;
        let UpdateCommentInput { comment_id, content, if_version } = input;
        let user_id = scope.signed_in()?;
        let ((post_id, comment_id), invalid) = match parse_comment_id(&comment_id) {
            Ok(ids) => (ids, None),
            Err(invalid) => ((PostId(Uuid::nil()), CommentId(Uuid::nil())), Some(invalid)),
        };
        let command = UpdateComment { user_id, post_id, comment_id, content, if_version };
        if let Some(invalid) = invalid {
            return Err(errors::invalid(&[vec![invalid], command.invalid_fields()].concat()));
        }
        let editing = scope.services().commands.update_comment(command, scope.ledger());
        let comment = within_limit(scope, &write_limits::EDITS, user_id, editing).await?;
        let comment = One(Comment::new(comment.into(), MODEL, None));
        Ok(Some(One(UpdateCommentPayload { comment })))
    }

    /// Deletes a comment of one's own, or a comment on a post of one's own. Staff delete any comment, which
    /// is in the moderation log.
    async fn delete_comment(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The comment.")] input: DeleteCommentInput,
    ) -> Result<Option<One<DeleteCommentPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        let (post_id, comment_id) = parse_comment_id(&input.comment_id).map_err(refused)?;
        let command = DeleteComment { user_id, post_id, comment_id };
        let (commands, ledger, reason) = (&scope.services().commands, scope.ledger(), input.reason);
        let deleting = async {
            match staff::member(scope) {
                Ok(member) => {
                    commands
                        .moderate_comment(Moderator { member: &member, user_id, reason }, command, ledger)
                        .await
                }
                Err(_) => commands.delete_comment(command, ledger).await,
            }
        };
        let DeletedComment { comment_id, post } =
            within_limit(scope, &write_limits::DELETIONS, user_id, deleting).await?;
        Ok(Some(One(DeleteCommentPayload {
            deleted_comment_id: GlobalId::Comment(post_id, comment_id).encode().into(),
            post: One(post_of(post)),
        })))
    }

    /// C4: likes a post. A second like of the same post is a `CONFLICT`.
    async fn like_post(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post.")] input: LikePostInput,
    ) -> Result<Option<One<LikePostPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        let command = LikePost { user_id, post_id: parse_post_id(&input.post_id).map_err(refused)? };
        let liking = scope.services().commands.like_post(command, scope.ledger());
        let PostLiked { like, post } = within_limit(scope, &write_limits::LIKES, user_id, liking).await?;
        let post = Arc::new(post_of(post));
        let like = Like::new(like.into(), MODEL, Some(Arc::clone(&post)));
        Ok(Some(One(LikePostPayload { like: One(like), post: One(post) })))
    }

    /// Takes a like back. Without one it is `NOT_FOUND`.
    async fn unlike_post(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post.")] input: UnlikePostInput,
    ) -> Result<Option<One<UnlikePostPayload>>> {
        let scope = scope::for_write(ctx)?;
        let user_id = scope.signed_in()?;
        let command = UnlikePost { user_id, post_id: parse_post_id(&input.post_id).map_err(refused)? };
        let unliking = scope.services().commands.unlike_post(command, scope.ledger());
        let post = within_limit(scope, &write_limits::LIKES, user_id, unliking).await?;
        Ok(Some(One(UnlikePostPayload { post: One(post_of(post)) })))
    }
}

/// The login name of an attempt of a user. Usernames are public.
pub(super) fn login(username: &str) -> AttemptedLogin {
    let name = Username::parse(username).ok();
    let key = name.map(|name| name.normalized().as_str().to_owned());
    AttemptedLogin { kind: AccountKind::User, key, is_private: false }
}

/// Charges the projections' work for a rename. The rename is done, so a fault is only logged.
async fn charge_follow_up(scope: &RequestScope, user: UserId) {
    match scope.services().commands.rename_follow_up(user, scope.ledger()).await {
        Ok(charge) => scope.follow_up().add(charge),
        Err(fault) => tracing::warn!(%fault, "the follow-up charge of a rename is not known"),
    }
}

fn done<T>(scope: &RequestScope, outcome: Result<T, CommandError>) -> Result<T> {
    outcome.map_err(|failure| scope.command_error(failure))
}

/// The user of a session.
async fn own_user(scope: &RequestScope, id: UserId) -> Result<UserItem> {
    let user = scope.services().commands.user(id, scope.ledger()).await;
    user.map_err(|fault| scope.fault(&fault))?.ok_or_else(session::no_session)
}

pub(super) fn user_of(item: UserItem) -> User {
    User::new(item.into(), MODEL)
}

fn post_of(item: Arc<PostItem>) -> Post {
    Post::new(Arc::unwrap_or_clone(item).into(), MODEL)
}

fn parse_post_id(id: &str) -> Result<PostId, InvalidField> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Post(id)) => Ok(id),
        Ok(_) => Err(InvalidField::new("postId", "is not the id of a post")),
        Err(invalid) => Err(InvalidField::new("postId", invalid)),
    }
}

fn parse_comment_id(id: &str) -> Result<(PostId, CommentId), InvalidField> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Comment(post, id)) => Ok((post, id)),
        Ok(_) => Err(InvalidField::new("commentId", "is not the id of a comment")),
        Err(invalid) => Err(InvalidField::new("commentId", invalid)),
    }
}

/// The parsed id, or the nil id beside the error, so that the other fields can be checked, too.
fn parsed_or_nil(parsed: Result<PostId, InvalidField>) -> (PostId, Option<InvalidField>) {
    match parsed {
        Ok(id) => (id, None),
        Err(invalid) => (PostId(Uuid::nil()), Some(invalid)),
    }
}

fn refused(invalid: InvalidField) -> Error {
    errors::invalid(&[invalid])
}
