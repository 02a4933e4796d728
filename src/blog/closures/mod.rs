//! Closed accounts: finishes the deletion and the suspension of accounts. A command marks the user item; this
//! projection does the rest, also after a crash between the two.
//!
//! Of a deleted account it removes comments, likes and posts, in this order, with the counts of their posts
//! in the same batch; then sessions and the reservations of names. Posts take their comments and likes with
//! them, as the model declares (`@owned`). Removed texts keep neither words nor names. Each page begins at
//! the start, for removed items are in no page. A suspended account loses its sessions.

mod removal;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::accounts::account_id::AccountId;
use crate::blog::containers::{ACCOUNTS, POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{AccountItem, DeletedUserItem, UserItem, types};
use crate::domain::accounts::sessions::{sessions_place, without_sessions};
use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_runtime::planted;
use onehop_runtime::planted::size;
use onehop_store::{Change, ContainerName, Direction, Item, NewItem, PartitionKey, WriteOp};

/// The name of the projection.
pub const CLOSURES: &str = "account-closures";

/// Items of a user that are removed between two saved states. All may be of one post, and in one batch.
const PAGE_ITEMS: usize = 50;
/// The types of a user's items, in the order in which they are removed.
const OWNED_TYPES: [&str; 3] = [types::COMMENT, types::LIKE, types::POST];

/// Finishes deletions and suspensions of accounts.
#[derive(Debug, Clone, Copy)]
pub struct Closures;

/// The requested reads.
#[derive(Debug, Serialize, Deserialize)]
enum ClosureProgress {
    /// The sessions of a suspended account.
    Suspended,
    /// Items of the type at this place.
    Page { place: usize },
    /// These comments or likes, each as its post and its id, and their posts.
    Items { place: usize, items: Vec<(Uuid, Uuid)> },
    /// The sessions and the reservations.
    Accounts,
    /// The rest of the account, to record the end.
    Removed,
}

impl Projection for Closures {
    fn name(&self) -> &'static str {
        CLOSURES
    }

    fn source(&self) -> ContainerName {
        USERS
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&[types::USER, types::DELETED_USER])
    }

    fn feeds(&self) -> &[ContainerName] {
        &[POSTS]
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let Account::Deleted(user) = Account::of(&change.item)? else {
            return suspended(&change.item, input);
        };
        if user.removed {
            return Ok(Step::done());
        }
        // A state that was saved has no results.
        let state = input.state()?.filter(|_| !input.results.is_empty());
        match state {
            None => {
                let place = match input.state()? {
                    Some(ClosureProgress::Page { place } | ClosureProgress::Items { place, .. }) => place,
                    _ => 0,
                };
                Ok(ask_page(&user, place))
            }
            Some(ClosureProgress::Page { place }) => page_step(&user, place, input),
            Some(ClosureProgress::Items { place, items }) => {
                let found = (0..items.len()).filter_map(|index| input.item(index).transpose());
                let found = found.collect::<Result<Vec<_>, _>>()?;
                let posts =
                    (items.len()..input.results.len()).filter_map(|index| input.item(index).transpose());
                let posts = posts.collect::<Result<Vec<_>, _>>()?;
                let writes = removal::with_posts(user.id, &found, &posts)?;
                let place = if planted!("removal-stops-after-a-page") { place + 1 } else { place };
                Ok(ask_page(&user, place).after_writing(writes).checkpoint())
            }
            Some(ClosureProgress::Accounts) => {
                let read = ReadRequest::item(USERS, user.id.partition_key(), user.id.to_string());
                let writes = account_deletions(&user, input)?;
                Ok(Step::ask(vec![read]).with_state(&ClosureProgress::Removed).after_writing(writes))
            }
            Some(ClosureProgress::Removed) => removed(&user, input),
            Some(ClosureProgress::Suspended) => Ok(Step::done()),
        }
    }
}

/// An item of `users`, as far as this projection distinguishes them.
enum Account {
    Present,
    Deleted(DeletedUserItem),
}

impl Account {
    fn of(item: &Item) -> Result<Self, ProjectionError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type")]
            item_type: String,
        }
        let is_deleted = item.decode::<Kind>()?.item_type == types::DELETED_USER;
        Ok(if is_deleted { Self::Deleted(item.decode()?) } else { Self::Present })
    }
}

/// Ends the sessions of a suspended account.
fn suspended(item: &Item, input: StepInput<'_>) -> Result<Step, ProjectionError> {
    let Ok(user) = item.decode::<UserItem>() else { return Ok(Step::done()) };
    if !user.suspended {
        return Ok(Step::done());
    }
    if input.is_first() {
        return Ok(Step::ask(vec![read_sessions(user.id)]).with_state(&ClosureProgress::Suspended));
    }
    Ok(Step::done().after_writing(end_of_sessions(user.id, input)?))
}

fn ask_page(user: &DeletedUserItem, place: usize) -> Step {
    let Some(item_type) = OWNED_TYPES.get(place) else {
        let reservations =
            user.keys.iter().map(|key| ReadRequest::item(ACCOUNTS, PartitionKey::from(key.as_str()), key));
        let reads = std::iter::once(read_sessions(user.id)).chain(reservations).collect();
        return Step::ask(reads).with_state(&ClosureProgress::Accounts);
    };
    let page = ReadRequest::Equality {
        container: POSTS,
        path: "userId",
        value: user.id.to_string(),
        item_type,
        direction: Direction::NewestFirst,
        after: None,
        limit: size(PAGE_ITEMS, 3),
        order_by: None,
    };
    Step::ask(vec![page]).with_state(&ClosureProgress::Page { place })
}

/// Removes a page of posts, or asks for the posts of a page of comments or likes.
fn page_step(user: &DeletedUserItem, place: usize, input: StepInput<'_>) -> Result<Step, ProjectionError> {
    let page = input.page(0)?;
    if page.items.is_empty() {
        return Ok(ask_page(user, place + 1));
    }
    if OWNED_TYPES.get(place) == Some(&types::POST) {
        let writes = page.items.iter().map(removal::of_post).collect::<Result<_, _>>()?;
        return Ok(ask_page(user, place).after_writing(writes).checkpoint());
    }
    let items = page.items.iter().map(removal::place_of).collect::<Result<Vec<_>, _>>()?;
    let mut posts: Vec<Uuid> = items.iter().map(|(post, _)| *post).collect();
    posts.sort_unstable();
    posts.dedup();
    let in_post = |post: Uuid, id: Uuid| {
        ReadRequest::item(POSTS, PostId(post).partition_key(), id.as_hyphenated().to_string())
    };
    let reads = items.iter().map(|(post, id)| in_post(*post, *id));
    let reads = reads.chain(posts.iter().map(|post| in_post(*post, *post))).collect();
    Ok(Step::ask(reads).with_state(&ClosureProgress::Items { place, items }))
}

/// Ends the sessions, and deletes the reservations that are still the user's.
fn account_deletions(
    user: &DeletedUserItem,
    input: StepInput<'_>,
) -> Result<Vec<IntendedWrite>, ProjectionError> {
    let mut writes = end_of_sessions(user.id, input)?;
    for (index, key) in user.keys.iter().enumerate() {
        if let Some(item) = input.item(index + 1)?
            && item.decode::<AccountItem>()?.user_id == user.id
        {
            writes.push(deletion_of(key, item));
        }
    }
    Ok(writes)
}

/// Ends the sessions, if there are any.
fn end_of_sessions(user: UserId, input: StepInput<'_>) -> Result<Vec<IntendedWrite>, ProjectionError> {
    let Some(item) = input.item(0)? else { return Ok(Vec::new()) };
    let Some(ended) = without_sessions(item)? else { return Ok(Vec::new()) };
    let place = sessions_place(user.into());
    let replace = WriteOp::Replace { item: ended, if_match: Some(item.etag.clone()) };
    Ok(vec![IntendedWrite::one(ACCOUNTS, PartitionKey::from(place.as_str()), replace)])
}

/// Records that everything is removed, unless the rest of the account was written since: that is another
/// change.
fn removed(user: &DeletedUserItem, input: StepInput<'_>) -> Result<Step, ProjectionError> {
    let Some(item) = input.item(0)? else { return Ok(Step::done()) };
    let Account::Deleted(present) = Account::of(item)? else { return Ok(Step::done()) };
    if present != *user {
        return Ok(Step::done());
    }
    let end = NewItem::encode(user.id.to_string(), &present.into_removed());
    let replace = WriteOp::Replace { item: end, if_match: Some(item.etag.clone()) };
    let write = IntendedWrite::one(USERS, user.id.partition_key(), replace);
    Ok(Step::done().after_writing(vec![write]))
}

fn read_sessions(user: UserId) -> ReadRequest {
    let place = sessions_place(AccountId::from(user));
    ReadRequest::item(ACCOUNTS, PartitionKey::from(place.as_str()), place)
}

/// The deletion of an item of `accounts`, as it was read.
fn deletion_of(id: &str, item: &Item) -> IntendedWrite {
    let delete = WriteOp::Delete { id: id.to_owned(), if_match: Some(item.etag.clone()) };
    IntendedWrite::one(ACCOUNTS, PartitionKey::from(id), delete)
}
