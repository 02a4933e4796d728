//! The name in all that a user has written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::in_batches;
use super::super::names::{Written, rename, username_of};
use super::{Asked, read_user, release};
use crate::blog::containers::POSTS;
use crate::blog::items::{UserItem, types};
use crate::changefeed::{ProjectionError, ReadRequest, Step, Turn};
use crate::store::{Direction, Item, Keyset, PartitionKey, WriteOp};

/// What carries a name, in the order in which it is written.
const NAMED: [&str; 3] = [types::POST, types::COMMENT, types::LIKE];
/// Items between two saved places.
const PAGE_ITEMS: usize = 500;

/// How far the pass has come.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Place {
    /// The place in [`NAMED`].
    named: usize,
    after: Option<Keyset>,
}

/// Begins a pass. A user as created has written nothing under another name.
pub(super) fn begin(user: &UserItem) -> Result<Step, ProjectionError> {
    if user.version == 1 { Ok(release::begin(user)) } else { Ok(ask(user, Place { named: 0, after: None })) }
}

/// The next page, with the user as it is now: the name of the change may be old already.
pub(super) fn ask(user: &UserItem, place: Place) -> Step {
    let Some(item_type) = NAMED.get(place.named) else { return release::begin(user) };
    let page = ReadRequest::Equality {
        container: POSTS,
        path: "userId",
        value: user.id.to_string(),
        item_type,
        direction: Direction::NewestFirst,
        after: place.after.clone(),
        limit: PAGE_ITEMS,
    };
    Step::ask(vec![read_user(user.id), page]).with_note(&Asked::Propagate(place))
}

/// Renames what is on the page and has another name.
pub(super) fn step(user: &UserItem, place: Place, turn: Turn<'_>) -> Result<Step, ProjectionError> {
    let Some(name) = username_of(turn.item(0)?)? else { return Ok(Step::done()) };
    let page = turn.page(1)?;
    let mut by_post: BTreeMap<&str, Vec<WriteOp>> = BTreeMap::new();
    for item in &page.items {
        let written: Written<'_> = serde_json::from_slice(&item.body)?;
        if written.user_username != name {
            let operation = rename(item, written.item_type, &name)?;
            by_post.entry(written.post_id).or_default().push(operation);
        }
    }
    let batches = |(post, operations): (&str, _)| in_batches(POSTS, &PartitionKey::from(post), operations);
    let writes: Vec<_> = by_post.into_iter().flat_map(batches).collect();
    let next = match page.items.last() {
        Some(last) if page.has_more => Place { named: place.named, after: Some(keyset(last)?) },
        _ => Place { named: place.named + 1, after: None },
    };
    let wrote = !writes.is_empty();
    let step = ask(user, next).after_writing(writes);
    Ok(if wrote { step.save_note() } else { step })
}

fn keyset(item: &Item) -> Result<Keyset, ProjectionError> {
    let written: Written<'_> = serde_json::from_slice(&item.body)?;
    Ok(Keyset { order_value: written.creation_date.into_owned(), id: written.id.to_owned() })
}
