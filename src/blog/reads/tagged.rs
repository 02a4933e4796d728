//! Posts by tag, from the short copies in the logical partition of the tag. The article's data models have no
//! tags, so this list has one source.

use std::sync::Arc;

use uuid::Uuid;

use super::cursor::POSTS_BY_TAG as LIST;
use super::queries::ListQuery;
use super::{Page, PageRequest, PostView, Session};
use crate::blog::model::MODEL;
use crate::domain::cursor::List;
use onehop_store::{Fault, Store};

/// Reads of posts by their tags.
#[derive(Clone)]
pub struct TaggedPosts {
    store: Arc<dyn Store>,
    list: ListQuery,
}

impl TaggedPosts {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, list: ListQuery::of(&MODEL, "Query", "postsByTag") }
    }

    /// The posts with a tag in its stored form, newest first.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn page(
        &self,
        tag: &str,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<PostView>, Fault> {
        self.list.page(self.store.as_ref(), tag, page, PostView::decode, session).await
    }

    /// The list of a tag, to which its cursors belong.
    #[must_use]
    pub fn list(tag: &str) -> List {
        LIST.of(Uuid::new_v5(&Uuid::NAMESPACE_OID, tag.as_bytes()))
    }
}
