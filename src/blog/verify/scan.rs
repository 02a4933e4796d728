//! The two passes over the change feed.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use uuid::Uuid;

use super::{Report, VerifyProgress};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::items::{PostItem, UserItem, types};
use onehop_store::{Change, ContainerName, Fault, FeedRequest, Ledger, ShapeError, Store};

const PAGE_ITEMS: usize = 500;

/// What a pass keeps of a post.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PostTally {
    pub user_id: Uuid,
    pub comment_count: u32,
    pub like_count: u32,
    pub comments: u32,
    pub likes: u32,
    pub present: bool,
}

/// What the passes found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub usernames: HashMap<Uuid, String>,
    /// Copies in `users`: post and author.
    pub copies: HashSet<(Uuid, Uuid)>,
    pub posts: HashMap<Uuid, PostTally>,
    /// Items whose name differs from their user's: post, id.
    pub stale_names: Vec<(Uuid, String)>,
    /// Comments and likes by post, kept only for posts not seen (yet).
    pub reactions_of_absent: HashMap<Uuid, Vec<String>>,
}

/// The properties of a post, comment or like that a pass needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named<'a> {
    #[serde(rename = "type", borrow)]
    item_type: &'a str,
    post_id: Uuid,
    user_id: Uuid,
    #[serde(borrow)]
    user_username: std::borrow::Cow<'a, str>,
    #[serde(default)]
    deleted: bool,
}

/// Reads the whole change feed of a container.
pub(crate) async fn for_each_change(
    store: &dyn Store,
    container: ContainerName,
    mut visit: impl FnMut(&Change) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for_each_result(store, container, |result| result.and_then(&mut visit)).await
}

/// Reads the whole change feed of a container, and goes on behind what cannot be read where the visitor takes it. Where the
/// store does not know how to go on, it goes on with the next feed range.
async fn for_each_result(
    store: &dyn Store,
    container: ContainerName,
    mut visit: impl FnMut(Result<&Change, Fault>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let ledger = Ledger::new();
    for range in store.feed_ranges(container).await? {
        let mut continuation = None;
        loop {
            let request = FeedRequest {
                container,
                range: &range,
                continuation: continuation.as_ref(),
                types: None,
                limit: PAGE_ITEMS,
            };
            let page = match store.read_change_feed(&request, &ledger).await {
                Ok(page) => page,
                Err(fault) => {
                    let beyond = fault.damage().and_then(|damage| damage.beyond.clone());
                    visit(Err(fault))?;
                    let Some(beyond) = beyond else { break };
                    continuation = Some(beyond);
                    continue;
                }
            };
            page.changes.iter().try_for_each(|change| visit(Ok(change)))?;
            if page.drained {
                break;
            }
            continuation = Some(page.continuation);
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Runs both passes.
pub(super) async fn scan(
    store: &dyn Store,
    report: &mut Report,
    progress: &mut (dyn FnMut(VerifyProgress) + Send),
) -> Result<Findings, Fault> {
    let mut findings = Findings::default();
    let mut done = 0;
    for_each_result(store, USERS, |change| {
        done += 1;
        let visited =
            change.and_then(|change| located(USERS, change, visit_user_item(change, &mut findings, report)));
        visited.or_else(|fault| report.note_unreadable(USERS, fault))
    })
    .await?;
    progress(VerifyProgress { done });
    for_each_result(store, POSTS, |change| {
        done += 1;
        if done % 1000 == 0 {
            progress(VerifyProgress { done });
        }
        let visited =
            change.and_then(|change| located(POSTS, change, visit_post_item(change, &mut findings, report)));
        visited.or_else(|fault| report.note_unreadable(POSTS, fault))
    })
    .await?;
    progress(VerifyProgress { done });
    Ok(findings)
}

/// Names the item whose body cannot be read.
fn located(container: ContainerName, change: &Change, visited: Result<(), Fault>) -> Result<(), Fault> {
    visited.map_err(|fault| fault.of_item(container, change.partition_key.as_str(), &change.id))
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(rename = "type", borrow)]
    item_type: &'a str,
    #[serde(default)]
    deleted: bool,
}

fn corrupt(error: serde_json::Error) -> Fault {
    Fault::new(onehop_store::FaultKind::Corrupt, "an item's body has an unexpected shape")
        .with_source(ShapeError::from(error))
}

fn visit_user_item(change: &Change, findings: &mut Findings, report: &mut Report) -> Result<(), Fault> {
    let typed: Typed<'_> = serde_json::from_slice(&change.item.body).map_err(corrupt)?;
    match typed.item_type {
        types::USER => {
            let user: UserItem = change.item.decode()?;
            report.users += 1;
            findings.usernames.insert(user.id.0, user.username);
        }
        types::POST if !typed.deleted => {
            let named: Named<'_> = serde_json::from_slice(&change.item.body).map_err(corrupt)?;
            report.copies += 1;
            findings.copies.insert((named.post_id, named.user_id));
        }
        _ => {}
    }
    Ok(())
}

fn visit_post_item(change: &Change, findings: &mut Findings, report: &mut Report) -> Result<(), Fault> {
    let named: Named<'_> = serde_json::from_slice(&change.item.body).map_err(corrupt)?;
    if named.deleted {
        return Ok(());
    }
    if findings.usernames.get(&named.user_id).is_none_or(|current| *current != named.user_username) {
        findings.stale_names.push((named.post_id, change.id.clone()));
    }
    let tally = findings.posts.entry(named.post_id).or_default();
    match named.item_type {
        types::POST => {
            report.posts += 1;
            let post: PostItem = change.item.decode()?;
            tally.user_id = post.user_id.0;
            tally.comment_count = post.comment_count;
            tally.like_count = post.like_count;
            tally.present = true;
            findings.reactions_of_absent.remove(&named.post_id);
        }
        types::COMMENT | types::LIKE => {
            if named.item_type == types::COMMENT {
                report.comments += 1;
                tally.comments += 1;
            } else {
                report.likes += 1;
                tally.likes += 1;
            }
            if !tally.present {
                findings.reactions_of_absent.entry(named.post_id).or_default().push(change.id.clone());
            }
        }
        _ => {}
    }
    Ok(())
}
