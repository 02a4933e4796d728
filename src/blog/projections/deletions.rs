//! Comments and likes of deleted posts. They are deleted for good: no read model copies them, and the tombstone of the
//! post keeps new ones from being written.

use serde::{Deserialize, Serialize};

use super::{DELETIONS, in_batches};
use crate::blog::containers::POSTS;
use crate::blog::items::types;
use onehop_change_feed::{Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, Direction, Item, PartitionKey, WriteOp, limits};

/// What a deleted post leaves behind, in the order of deletion.
const LEFT_BEHIND: [&str; 2] = [types::COMMENT, types::LIKE];

/// Deletes the comments and likes of deleted posts.
#[derive(Debug, Clone, Copy)]
pub struct Deletions;

/// Which of [`LEFT_BEHIND`] was asked for.
#[derive(Debug, Serialize, Deserialize)]
struct ProgressState(usize);

#[derive(Deserialize)]
struct Deleted {
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

impl Projection for Deletions {
    fn name(&self) -> &'static str {
        DELETIONS
    }

    fn source(&self) -> ContainerName {
        POSTS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::POST])
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let Some(ProgressState(place)) = input.state()? else {
            let post: Deleted = serde_json::from_slice(&change.item.body)?;
            return Ok(if post.deleted { ask(&change.partition_key, 0) } else { Step::done() });
        };
        let page = input.page(0)?;
        let deletes: Vec<_> = page.items.iter().map(delete).collect::<Result<_, _>>()?;
        let next = if page.has_more { place } else { place + 1 };
        let writes = in_batches(POSTS, &change.partition_key, deletes);
        Ok(ask(&change.partition_key, next).after_writing(writes))
    }
}

fn ask(post: &PartitionKey, place: usize) -> Step {
    let Some(item_type) = LEFT_BEHIND.get(place) else { return Step::done() };
    let page = ReadRequest::Partition {
        container: POSTS,
        partition_key: post.clone(),
        item_type,
        direction: Direction::OldestFirst,
        after: None,
        limit: limits::BATCH_OPERATIONS_MAX,
    };
    Step::ask(vec![page]).with_state(&ProgressState(place))
}

fn delete(item: &Item) -> Result<WriteOp, ProjectionError> {
    let Identified { id } = serde_json::from_slice(&item.body)?;
    Ok(WriteOp::Delete { id, if_match: None })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, asked, change_of, comment, first, item, page, post, user};
    use super::*;

    #[test]
    fn a_live_post_costs_nothing() {
        assert!(first(&Deletions, &change_of(&post(2, &user(1, "ada", 1)))).is_done());
    }

    #[test]
    fn comments_go_first_page_after_page_and_then_likes() {
        let ada = user(1, "ada", 1);
        let mut gone = post(2, &ada);
        let left: Vec<_> = (0..100).map(|number| item(1, &comment(number, &gone, &ada))).collect();
        gone.deleted = true;
        let change = change_of(&gone);
        let step = first(&Deletions, &change);
        assert_eq!(asked(&step), ["posts: comment"]);
        let step = answer(&Deletions, &change, &step, &[page(left.clone(), true)]);
        assert_eq!(
            (step.writes()[0].operations.len(), asked(&step)),
            (100, vec!["posts: comment".to_owned()])
        );
        let step = answer(&Deletions, &change, &step, &[page(left[..3].to_vec(), false)]);
        assert_eq!((step.writes()[0].operations.len(), asked(&step)), (3, vec!["posts: like".to_owned()]));
        let step = answer(&Deletions, &change, &step, &[page(Vec::new(), false)]);
        assert!(step.is_done() && step.writes().is_empty());
    }
}
