//! Search over the titles of posts, the newest first. No copy of a title is kept for it, so writes cost
//! nothing more, and a search is a query across partitions that is charged for the posts that it looks at.

use std::sync::Arc;

use uuid::Uuid;

use super::cursor::FOUND_POSTS as LIST;
use super::queries::newest_from;
use super::{PageRequest, PostView, Session};
use crate::domain::cursor::List;
use crate::domain::search::{LOOKED_AT_MAX, QUERY_ITEMS, SearchWords};
use onehop_store::{Fault, Keyset, Store};

/// Searches posts.
#[derive(Clone)]
pub struct PostSearch {
    store: Arc<dyn Store>,
}

/// A page of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPosts {
    /// The posts, newest first.
    pub posts: Vec<PostView>,
    /// The last post that was looked at, where older ones were not.
    pub looked_until: Option<Keyset>,
}

impl PostSearch {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The posts with all words in their titles, newest first, among the first [`LOOKED_AT_MAX`] after the
    /// beginning of the page.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn page(
        &self,
        words: &SearchWords,
        page: &PageRequest,
        session: &Session,
    ) -> Result<FoundPosts, Fault> {
        let mut posts = Vec::new();
        let mut after = page.after().cloned();
        let mut looked_at = 0;
        while looked_at < LOOKED_AT_MAX {
            let limit = QUERY_ITEMS.min(LOOKED_AT_MAX - looked_at);
            let found = newest_from(self.store.as_ref(), after.as_ref(), limit, session).await?;
            let is_last = !found.has_next;
            for (position, post) in found.items.iter().enumerate() {
                looked_at += 1;
                after = Some(post.keyset());
                if !words.are_in(&post.title) {
                    continue;
                }
                posts.push(post.clone());
                let is_at_end = is_last && position + 1 == found.items.len();
                if posts.len() == page.first() && !is_at_end {
                    return Ok(FoundPosts { posts, looked_until: after });
                }
            }
            if is_last || found.items.is_empty() {
                return Ok(FoundPosts { posts, looked_until: None });
            }
        }
        Ok(FoundPosts { posts, looked_until: after })
    }

    /// The list of a search, to which its cursors belong.
    #[must_use]
    pub fn list(words: &SearchWords) -> List {
        LIST.of(Uuid::new_v5(&Uuid::NAMESPACE_OID, words.text().as_bytes()))
    }
}
