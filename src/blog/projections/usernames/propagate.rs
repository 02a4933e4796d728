//! The name in all that a user has written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::in_batches;
use super::super::names::{AuthorFields, rename, username_of};
use super::{ProgressState, read_user, release};
use crate::blog::containers::POSTS;
use crate::blog::items::{UserItem, types};
use onehop_change_feed::{ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Direction, Item, Keyset, PartitionKey, WriteOp};

/// What carries a name, in the order in which it is written.
const NAMED: [&str; 3] = [types::POST, types::COMMENT, types::LIKE];
/// Items between two saved places.
const PAGE_ITEMS: usize = 500;

/// How far the pass has come.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassPosition {
    /// The place in [`NAMED`].
    named: usize,
    after: Option<Keyset>,
}

/// Begins a pass. A user as created has written nothing under another name.
pub(super) fn begin(user: &UserItem) -> Result<Step, ProjectionError> {
    if user.version == 1 {
        Ok(release::begin(user))
    } else {
        Ok(ask(user, PassPosition { named: 0, after: None }))
    }
}

/// The next page, with the present user: the name of the change may be old already.
pub(super) fn ask(user: &UserItem, place: PassPosition) -> Step {
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
    Step::ask(vec![read_user(user.id), page]).with_state(&ProgressState::Propagate(place))
}

/// Renames what is on the page and has another name.
pub(super) fn step(
    user: &UserItem,
    place: PassPosition,
    input: StepInput<'_>,
) -> Result<Step, ProjectionError> {
    let Some(name) = username_of(input.item(0)?)? else { return Ok(Step::done()) };
    let page = input.page(1)?;
    let mut by_post: BTreeMap<&str, Vec<WriteOp>> = BTreeMap::new();
    for item in &page.items {
        let written: AuthorFields<'_> = serde_json::from_slice(&item.body)?;
        if written.user_username != name {
            let operation = rename(item, written.item_type, &name)?;
            by_post.entry(written.post_id).or_default().push(operation);
        }
    }
    let batches = |(post, operations): (&str, _)| in_batches(POSTS, &PartitionKey::from(post), operations);
    let writes: Vec<_> = by_post.into_iter().flat_map(batches).collect();
    let next = match page.items.last() {
        Some(last) if page.has_more => PassPosition { named: place.named, after: Some(keyset(last)?) },
        _ => PassPosition { named: place.named + 1, after: None },
    };
    let wrote = !writes.is_empty();
    // Who writes an item while it is renamed makes a change that `usernames-catch-up` compares with the new name.
    let step = ask(user, next).after_writing(writes).yield_to_newer_changes();
    Ok(if wrote { step.checkpoint() } else { step })
}

fn keyset(item: &Item) -> Result<Keyset, ProjectionError> {
    let written: AuthorFields<'_> = serde_json::from_slice(&item.body)?;
    Ok(Keyset { order_value: written.creation_date.into_owned(), id: written.id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{
        answer, asked, change, comment, first, found, item, page, post, resume, user,
    };
    use super::super::Usernames;
    use super::*;
    use crate::blog::ids::{LikeId, PostId};
    use crate::blog::items::LikeItem;
    use onehop_runtime::clock::format_timestamp;
    use onehop_store::Change;
    use uuid::Uuid;

    fn change_of(user: &UserItem) -> Change {
        change(user.id.partition_key(), user.id.to_string(), user)
    }

    #[test]
    fn a_user_as_created_costs_nothing() {
        assert!(first(&Usernames, &change_of(&user(1, "ada", 1))).is_done());
    }

    #[test]
    fn only_items_with_another_name_are_written_those_of_a_post_together() {
        let (old, new) = (user(1, "ada", 1), user(1, "grace", 2));
        let change = change_of(&new);
        let (one, two) = (post(2, &old), post(3, &old));
        let comments = [
            comment(10, &one, &old),
            comment(11, &two, &old),
            comment(12, &one, &old),
            comment(13, &one, &new),
        ];
        let items = comments.iter().map(|comment| item(1, comment)).collect();
        let step = first(&Usernames, &change);
        let step = answer(&Usernames, &change, &step, &[found(1, &new), page(Vec::new(), false)]);
        let step = answer(&Usernames, &change, &step, &[found(1, &new), page(items, false)]);
        let sizes: Vec<_> = step.writes().iter().map(|write| write.operations.len()).collect();
        assert_eq!(sizes, [2, 1]);
    }

    #[test]
    fn a_pass_is_resumed_at_the_page_that_was_saved() {
        let (old, new) = (user(1, "ada", 1), user(1, "grace", 2));
        let change = change_of(&new);
        let posts = vec![item(1, &post(3, &old)), item(1, &post(2, &old))];
        let step =
            answer(&Usernames, &change, &first(&Usernames, &change), &[found(1, &new), page(posts, true)]);
        let resumed = resume(&Usernames, &change, step.state());
        assert_eq!(resumed.reads(), step.reads());
        let ReadRequest::Equality { after: Some(after), .. } = &resumed.reads()[1] else {
            panic!("a keyset")
        };
        assert_eq!(after.id, post(2, &old).id.to_string());
    }

    #[test]
    fn a_pass_that_was_saved_at_its_end_goes_on_with_the_former_reservation() {
        let (old, mut new) = (user(1, "ada", 1), user(1, "grace", 2));
        new.former_username = Some("ada".to_owned());
        let change = change_of(&new);
        let mut step = first(&Usernames, &change);
        for named in [item(1, &post(2, &old)), item(1, &comment(3, &post(2, &old), &old))] {
            step = answer(&Usernames, &change, &step, &[found(1, &new), page(vec![named], false)]);
        }
        let like = LikeItem {
            id: LikeId::derive(PostId(Uuid::from_u128(2)), old.id),
            item_type: types::LIKE.to_owned(),
            post_id: PostId(Uuid::from_u128(2)),
            user_id: old.id,
            user_username: old.username,
            creation_date: format_timestamp(0),
            version: 1,
        };
        step = answer(&Usernames, &change, &step, &[found(1, &new), page(vec![item(1, &like)], false)]);
        assert_eq!(asked(&step), ["accounts/ada"]);
        assert_eq!(resume(&Usernames, &change, step.state()).reads(), step.reads());
    }

    #[test]
    fn the_present_name_is_written_where_the_change_is_old() {
        let (old, changed, present) = (user(1, "ada", 1), user(1, "grace", 2), user(1, "hedy", 3));
        let change = change_of(&changed);
        let answers = [found(1, &present), page(vec![item(1, &post(2, &old))], false)];
        let step = answer(&Usernames, &change, &first(&Usernames, &change), &answers);
        let WriteOp::Replace { item, .. } = &step.writes()[0].operations[0] else { panic!("a replace") };
        assert!(String::from_utf8_lossy(&item.body).contains("hedy"));
    }

    #[test]
    fn posts_come_first_then_comments_then_likes_then_the_former_name() {
        let mut grace = user(1, "grace", 2);
        grace.former_username = Some("ada".to_owned());
        let change = change_of(&grace);
        let mut step = first(&Usernames, &change);
        let mut order = Vec::new();
        while asked(&step).len() == 2 {
            order.push(asked(&step).remove(1));
            step = answer(&Usernames, &change, &step, &[found(1, &grace), page(Vec::new(), false)]);
        }
        assert_eq!(order, ["posts: post", "posts: comment", "posts: like"]);
        assert_eq!(asked(&step), ["accounts/ada"]);
    }
}
