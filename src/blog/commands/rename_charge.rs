//! Rename charge: an estimate of the projections' charge for writing a new username to all copies. It is
//! computed from the number of the user's items, for the quota of the user who renames.

use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::types;
use onehop_store::{Direction, Fault, Ledger, Query, RequestCharge};

use super::Commands;

/// Comments and likes that are counted at most, each. A user with more is charged less than the rename costs:
/// counting them all would read them all.
const COUNTED_MAX: usize = 100;
/// The charge of an item, in RU: it is found, read and replaced, and a post's copies are replaced with it.
const RU_PER_ITEM: f64 = 20.0;

impl Commands {
    /// The approximate future charge of the projections for renaming the user in all the user's items.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn rename_follow_up(&self, user: UserId, ledger: &Ledger) -> Result<RequestCharge, Fault> {
        let posts = self.store.count(USERS, &user.partition_key(), types::POST, ledger).await?;
        let comments = self.counted(user, types::COMMENT, ledger).await?;
        let likes = self.counted(user, types::LIKE, ledger).await?;
        let reactions = u32::try_from(comments + likes).unwrap_or(u32::MAX);
        Ok(RequestCharge((posts as f64 + f64::from(reactions)) * RU_PER_ITEM))
    }

    async fn counted(&self, user: UserId, item_type: &str, ledger: &Ledger) -> Result<usize, Fault> {
        let user = user.to_string();
        let query = Query::Equality {
            container: POSTS,
            path: "userId",
            value: &user,
            item_type,
            direction: Direction::NewestFirst,
            after: None,
            limit: COUNTED_MAX,
            order_by: None,
        };
        Ok(self.store.query(&query, ledger).await?.items.len())
    }
}
