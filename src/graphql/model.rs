//! The `DataModel` enum.

use async_graphql::Enum;

use crate::blog::reads;

/// The data model behind a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "reads::DataModel")]
pub enum DataModel {
    /// Normalised: references only; usernames and counts are gathered at read time.
    V1,
    /// Usernames and counts are stored in posts, comments and likes.
    V2,
    /// V2, with copies of posts in the users and feed containers: every read hits one logical partition.
    V3,
}
