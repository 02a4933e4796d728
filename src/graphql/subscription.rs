//! The `Subscription` type: the writes to the blog from all processes, as V3 reads them.

use std::fmt::Display;
use std::future::ready;
use std::sync::Arc;

use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{Context, ErrorExtensions as _, ID, Result, SimpleObject, Subscription};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::comment::Comment;
use super::errors::{self, Code, bad_input};
use super::ids::GlobalId;
use super::post::Post;
use super::resolution::One;
use super::scope;
use super::selected::selected_parts;
use super::webstore::subscription::PERSONAL;
use crate::blog::ids::PostId;
use crate::blog::live::{BlogEvent, EventReceiver, LiveTopic, PostEvent};
use crate::blog::reads::{CommentView, DataModel, PostView};
use onehop_graphql_server::limit_exceeded::LimitExceeded;

/// The data model of reads beneath an event.
const MODEL: DataModel = DataModel::V3;
/// The names of the fields whose value depends on who asks begin with this word, and no other names do.
const VIEWER_PREFIX: &str = "viewer";

/// The subscriptions of the blog.
#[derive(Default)]
pub struct BlogSubscription;

/// A post left the feed.
#[derive(SimpleObject)]
pub struct FeedPostRemoved {
    /// The post's id.
    post_id: ID,
}

/// A post was deleted.
#[derive(SimpleObject)]
pub struct PostDeleted {
    /// The post's id.
    post_id: ID,
}

/// A comment was deleted.
#[derive(SimpleObject)]
pub struct CommentDeleted {
    /// The comment's id.
    comment_id: ID,
}

#[Subscription]
impl BlogSubscription {
    /// A post entered the feed, or a post of the feed changed. A post that takes the last place again after
    /// a deletion does not enter.
    async fn feed_changed(&self, ctx: &Context<'_>) -> Result<impl Stream<Item = Result<One<Post>>>> {
        let selected = selected_parts(ctx.field());
        let is_sent = move |post: &PostEvent| post.is_new || post.changes.touch(selected);
        Ok(posts(listen(ctx, LiveTopic::Feed).await?, is_sent))
    }

    /// A new post entered the feed.
    async fn feed_post_added(&self, ctx: &Context<'_>) -> Result<impl Stream<Item = Result<One<Post>>>> {
        Ok(posts(listen(ctx, LiveTopic::Feed).await?, |post| post.is_new))
    }

    /// A post left the feed: it was deleted, or newer posts took its place.
    async fn feed_post_removed(
        &self,
        ctx: &Context<'_>,
    ) -> Result<impl Stream<Item = Result<FeedPostRemoved>>> {
        let removed = removals(listen(ctx, LiveTopic::Feed).await?);
        Ok(removed.map(|id| id.map(|id| FeedPostRemoved { post_id: GlobalId::Post(id).encode().into() })))
    }

    /// A post changed: its text, its counts, or its author's name. Ends when the post is deleted.
    async fn post_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post's id.")] id: ID,
    ) -> Result<impl Stream<Item = Result<One<Post>>>> {
        let id = post_id(&id, "id")?;
        let selected = selected_parts(ctx.field());
        Ok(posts(listen(ctx, LiveTopic::Post(id)).await?, move |post| post.changes.touch(selected)))
    }

    /// A post was deleted. Ends with that.
    async fn post_deleted(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post's id.")] id: ID,
    ) -> Result<impl Stream<Item = Result<PostDeleted>>> {
        let id = post_id(&id, "id")?;
        let removed = removals(listen(ctx, LiveTopic::Post(id)).await?);
        Ok(removed.map(|id| id.map(|id| PostDeleted { post_id: GlobalId::Post(id).encode().into() })))
    }

    /// A comment was added to a post. Ends when the post is deleted.
    async fn comment_added(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post's id.")] post_id: ID,
    ) -> Result<impl Stream<Item = Result<One<Comment>>>> {
        let id = self::post_id(&post_id, "postId")?;
        let added = |event| match event {
            BlogEvent::Comment(view) => Some(view),
            _ => None,
        };
        Ok(comments(listen(ctx, LiveTopic::Comments(id)).await?, added))
    }

    /// The text of a comment of a post was changed. Ends when the post is deleted.
    async fn comment_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post's id.")] post_id: ID,
    ) -> Result<impl Stream<Item = Result<One<Comment>>>> {
        let id = self::post_id(&post_id, "postId")?;
        let changed = |event| match event {
            BlogEvent::CommentChanged(view) => Some(view),
            _ => None,
        };
        Ok(comments(listen(ctx, LiveTopic::Comments(id)).await?, changed))
    }

    /// A comment of a post was deleted. Ends when the post is deleted.
    async fn comment_deleted(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post's id.")] post_id: ID,
    ) -> Result<impl Stream<Item = Result<CommentDeleted>>> {
        let post = self::post_id(&post_id, "postId")?;
        let events = listen(ctx, LiveTopic::Comments(post)).await?;
        Ok(events.filter_map(move |event| {
            ready(match event {
                Ok(BlogEvent::CommentDeleted(id)) => {
                    Some(Ok(CommentDeleted { comment_id: GlobalId::Comment(post, id).encode().into() }))
                }
                Ok(_) => None,
                Err(overrun) => Some(Err(overrun_of(overrun))),
            })
        }))
    }
}

/// Whether a document selects something whose value depends on who asks, or is for some callers alone.
pub(super) fn is_personal(document: &ExecutableDocument) -> bool {
    let operations = document.operations.iter().map(|(_, operation)| &operation.node.selection_set.node);
    let fragments = document.fragments.values().map(|fragment| &fragment.node.selection_set.node);
    operations.chain(fragments).any(selects_of_viewer)
}

fn selects_of_viewer(selections: &SelectionSet) -> bool {
    selections.items.iter().any(|selection| match &selection.node {
        Selection::Field(field) => {
            let name = field.node.name.node.as_str();
            name.starts_with(VIEWER_PREFIX)
                || PERSONAL.contains(&name)
                || selects_of_viewer(&field.node.selection_set.node)
        }
        Selection::InlineFragment(inline) => selects_of_viewer(&inline.node.selection_set.node),
        Selection::FragmentSpread(_) => false,
    })
}

/// Signals that a subscription has begun.
pub(super) struct Begun(Mutex<Option<oneshot::Sender<()>>>);

impl Begun {
    /// The signal, and its receiver.
    pub(super) fn new() -> (Self, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    pub(super) fn tell(&self) {
        if let Some(sender) = self.0.lock().take() {
            // There is no receiver when the client has left meanwhile.
            let _ = sender.send(());
        }
    }
}

async fn listen(ctx: &Context<'_>, topic: LiveTopic) -> Result<EventReceiver> {
    let scope = scope::of(ctx);
    let events =
        scope.services().live.listen(topic, scope.ledger()).await.map_err(|fault| scope.fault(&fault))?;
    let events = events.ok_or_else(|| errors::error(Code::NotFound, "There is no such post."))?;
    ctx.data_unchecked::<Begun>().tell();
    Ok(events)
}

fn posts(
    events: EventReceiver,
    is_sent: impl Fn(&PostEvent) -> bool + Send,
) -> impl Stream<Item = Result<One<Post>>> {
    events.filter_map(move |event| {
        ready(match event {
            Ok(BlogEvent::Post(post)) if is_sent(&post) => {
                Some(Ok(One(Post::new(PostView::clone(&post.view), MODEL))))
            }
            Ok(_) => None,
            Err(overrun) => Some(Err(overrun_of(overrun))),
        })
    })
}

fn removals(events: EventReceiver) -> impl Stream<Item = Result<PostId>> {
    events.filter_map(async |event| match event {
        Ok(BlogEvent::PostRemoved(id)) => Some(Ok(id)),
        Ok(_) => None,
        Err(overrun) => Some(Err(overrun_of(overrun))),
    })
}

/// The comments of the events that are asked for.
fn comments(
    events: EventReceiver,
    comment_of: impl Fn(BlogEvent) -> Option<Arc<CommentView>> + Send,
) -> impl Stream<Item = Result<One<Comment>>> {
    events.filter_map(move |event| {
        ready(match event {
            Ok(event) => {
                comment_of(event).map(|view| Ok(One(Comment::new(CommentView::clone(&view), MODEL, None))))
            }
            Err(overrun) => Some(Err(overrun_of(overrun))),
        })
    })
}

/// The error of a listener that did not keep up.
pub(super) fn overrun_of(overrun: impl Display) -> async_graphql::Error {
    async_graphql::Error::new(format!("The subscription did not keep up: {overrun}. Begin it again."))
        .extend_with(|_, extensions| extensions.set("code", LimitExceeded::CODE))
}

fn post_id(id: &str, argument: &'static str) -> Result<PostId> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Post(id)) => Ok(id),
        Ok(_) => Err(bad_input(argument, "is not the id of a post")),
        Err(invalid) => Err(bad_input(argument, invalid)),
    }
}
