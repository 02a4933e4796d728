//! What a database holds, by logical partition, and whose its posts are: found by reading all of it once.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use crate::blog::containers::{self, POSTS, USERS};
use crate::blog::ids::PostId;
use crate::blog::verify::for_each_change;
use onehop_runtime::clock::parse_timestamp;
use onehop_store::{Change, ContainerName, Fault, FaultKind, PartitionKey, Store};

/// A database by logical partition.
#[derive(Debug, Default)]
pub struct Survey {
    pub containers: Vec<Surveyed>,
    pub population: Population,
}

/// A container by logical partition.
#[derive(Debug)]
pub struct Surveyed {
    pub container: ContainerName,
    pub partition_key: &'static str,
    pub held: HashMap<PartitionKey, Held>,
}

/// What one logical partition holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    pub items: u64,
    /// Of JSON.
    pub bytes: u64,
}

/// Whom and what requests are about, in the order of how new it is.
#[derive(Debug, Default)]
pub struct Population {
    /// Those with the newest posts first; those without a post at the end.
    pub users: Vec<PartitionKey>,
    /// Newest first, without those that were deleted.
    pub posts: Vec<Post>,
}

/// A post and its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post {
    pub id: PostId,
    /// Position among the users.
    pub author: usize,
}

/// The fields of a post that say whose and how new it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    id: PostId,
    #[serde(borrow)]
    user_id: Cow<'a, str>,
    #[serde(borrow)]
    creation_date: Cow<'a, str>,
    #[serde(default)]
    deleted: bool,
}

/// A post as it was found.
struct Found {
    created_ms: i64,
    id: PostId,
    author: PartitionKey,
}

impl Survey {
    /// Of the blog's containers.
    ///
    /// # Errors
    /// A fault of the store, or a post that is not one.
    pub async fn of(store: &dyn Store) -> Result<Self, Fault> {
        let mut surveyed = Vec::with_capacity(containers::SPECS.len());
        let mut posts = Vec::new();
        for spec in containers::SPECS {
            let mut held: HashMap<PartitionKey, Held> = HashMap::new();
            for_each_change(store, spec.name, |change| {
                let partition = held.entry(change.partition_key.clone()).or_default();
                partition.items += 1;
                partition.bytes += change.item.body.len() as u64;
                if spec.name == POSTS && change.id == change.partition_key.as_str() {
                    posts.extend(live_post(change)?);
                }
                Ok(())
            })
            .await?;
            surveyed.push(Surveyed { container: spec.name, partition_key: spec.partition_key, held });
        }
        let users = surveyed.iter().find(|surveyed| surveyed.container == USERS);
        let users = users.map(|users| users.held.keys().cloned().collect()).unwrap_or_default();
        Ok(Self { population: Population::of(users, posts), containers: surveyed })
    }

    /// A container that was surveyed.
    #[must_use]
    pub fn container(&self, name: ContainerName) -> Option<&Surveyed> {
        self.containers.iter().find(|surveyed| surveyed.container == name)
    }
}

fn live_post(change: &Change) -> Result<Option<Found>, Fault> {
    let corrupt = || Fault::new(FaultKind::Corrupt, "a post has an unexpected shape");
    let written: Written<'_> =
        serde_json::from_slice(&change.item.body).map_err(|error| corrupt().with_source(error))?;
    let created_ms = parse_timestamp(&written.creation_date).ok_or_else(corrupt)?;
    let found = Found { created_ms, id: written.id, author: PartitionKey::from(&*written.user_id) };
    Ok((!written.deleted).then_some(found))
}

impl Population {
    fn of(mut users: Vec<PartitionKey>, mut found: Vec<Found>) -> Self {
        found.sort_unstable_by_key(|post| std::cmp::Reverse((post.created_ms, post.id)));
        let mut newest: HashMap<&PartitionKey, usize> = HashMap::new();
        for (rank, post) in found.iter().enumerate() {
            newest.entry(&post.author).or_insert(rank);
        }
        users.sort_by_cached_key(|user| (newest.get(user).copied().unwrap_or(usize::MAX), user.clone()));
        let places: HashMap<&PartitionKey, usize> =
            users.iter().enumerate().map(|(place, user)| (user, place)).collect();
        let posts = found
            .iter()
            .filter_map(|post| Some(Post { id: post.id, author: *places.get(&post.author)? }))
            .collect();
        Self { posts, users }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn users_are_ranked_by_their_newest_post() {
        let key = |text: &str| PartitionKey::from(text);
        let found = |number: u128, created_ms, author| Found {
            created_ms,
            id: PostId(Uuid::from_u128(number)),
            author: key(author),
        };
        let posts = vec![found(1, 30, "ada"), found(2, 10, "eve"), found(3, 50, "bob"), found(4, 40, "ada")];
        let population = Population::of(vec![key("eve"), key("dan"), key("ada"), key("bob")], posts);
        assert_eq!(population.users, [key("bob"), key("ada"), key("eve"), key("dan")]);
        let posts: Vec<(u128, usize)> =
            population.posts.iter().map(|post| (post.id.0.as_u128(), post.author)).collect();
        assert_eq!(posts, [(3, 0), (4, 1), (1, 1), (2, 2)]);
    }
}
