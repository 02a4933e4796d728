//! Search over the titles of posts, the newest first. No copy of a title is kept for it, so writes cost
//! nothing more, and a search is a query across partitions that is charged for the posts that it looks at.

use std::sync::Arc;

use uuid::Uuid;

use super::cursor::FOUND_POSTS as LIST;
use super::queries::newest_from;
use super::{Page, PageRequest, PostView, Session};
use crate::domain::cursor::List;
use crate::domain::search::{FIRST_QUERY_ITEMS, LOOKED_AT_MAX, SearchWords};
use onehop_store::{Fault, Keyset, Store};

/// Search over the titles of posts, on one store.
#[derive(Clone)]
pub struct PostSearch {
    store: Arc<dyn Store>,
}

/// Page of a search: the posts, and the place at which the next page goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostSearchPage {
    /// The posts, newest first.
    pub posts: Vec<PostView>,
    /// The last post that the search has looked at; `None` at the end of all posts.
    pub end: Option<Keyset>,
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
    ) -> Result<PostSearchPage, Fault> {
        let mut search = Search::new(words, page);
        loop {
            let found = newest_from(self.store.as_ref(), search.after(), search.limit(), session).await?;
            if let Some(found) = search.look_at(found) {
                return Ok(found);
            }
        }
    }

    /// The list of a search, to which its cursors belong.
    #[must_use]
    pub fn list(words: &SearchWords) -> List {
        LIST.of(Uuid::new_v5(&Uuid::NAMESPACE_OID, words.text().as_bytes()))
    }
}

/// State of a search between its queries.
struct Search<'a> {
    words: &'a SearchWords,
    posts_max: usize,
    posts: Vec<PostView>,
    after: Option<Keyset>,
    looked_at: usize,
}

impl<'a> Search<'a> {
    fn new(words: &'a SearchWords, page: &PageRequest) -> Self {
        let after = page.after().cloned();
        Self { words, posts_max: page.first(), posts: Vec::new(), after, looked_at: 0 }
    }

    /// The last post that was looked at.
    fn after(&self) -> Option<&Keyset> {
        self.after.as_ref()
    }

    /// The posts of the next query: three times those before it, since each query visits every physical
    /// partition.
    fn limit(&self) -> usize {
        (3 * self.looked_at).max(FIRST_QUERY_ITEMS).min(LOOKED_AT_MAX - self.looked_at)
    }

    /// Looks at the posts of a query. Returns the page when the search is over.
    fn look_at(&mut self, Page { items, has_next }: Page<PostView>) -> Option<PostSearchPage> {
        let mut rest = items.into_iter().peekable();
        while let Some(post) = rest.next() {
            self.looked_at += 1;
            self.after = Some(post.keyset());
            if self.words.are_in(&post.title) {
                self.posts.push(post);
            }
            if self.posts.len() == self.posts_max {
                return Some(self.end(has_next || rest.peek().is_some()));
            }
        }
        (!has_next || self.looked_at >= LOOKED_AT_MAX).then(|| self.end(has_next))
    }

    fn end(&mut self, goes_on: bool) -> PostSearchPage {
        PostSearchPage { posts: std::mem::take(&mut self.posts), end: self.after.take().filter(|_| goes_on) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PostText, UserView};
    use super::*;
    use crate::blog::ids::{PostId, UserId};
    use onehop_runtime::clock::format_timestamp;

    /// The post with a number; a higher one is older. Each thousandth is about birds.
    fn post(number: usize) -> PostView {
        let title = if number % 1_000 == 999 { "A bird".to_owned() } else { format!("Post {number}") };
        PostView {
            id: PostId(Uuid::from_u128(number as u128)),
            author: UserView { id: UserId(Uuid::nil()), username: "ada".to_owned() },
            title,
            text: PostText::Summary(String::new()),
            tags: Vec::new(),
            comment_count: 0,
            like_count: 0,
            creation_date: format_timestamp(1_000_000_000_000 - number as i64),
            update_date: None,
            text_version: 1,
        }
    }

    /// A search over this many posts: the numbers of the posts in its page, its end, and its queries.
    fn found(
        count: usize,
        text: &str,
        first: i64,
        after: Option<usize>,
    ) -> (Vec<u128>, Option<String>, usize) {
        let (words, page) = (
            SearchWords::parse(text).unwrap(),
            PageRequest::new(first, after.map(|after| post(after).keyset())),
        );
        let mut search = Search::new(&words, page.as_ref().unwrap());
        for queries in 1.. {
            let begin =
                search.after().map_or(0, |after| Uuid::parse_str(&after.id).unwrap().as_u128() as usize + 1);
            let items: Vec<PostView> = (begin..count).take(search.limit()).map(post).collect();
            let has_next = begin + items.len() < count;
            if let Some(found) = search.look_at(Page { items, has_next }) {
                let ids = found.posts.iter().map(|post| post.id.0.as_u128()).collect();
                return (ids, found.end.map(|until| until.id), queries);
            }
        }
        unreachable!("a search ends")
    }

    fn id(number: u128) -> Option<String> {
        Some(Uuid::from_u128(number).to_string())
    }

    #[test]
    fn a_page_ends_when_it_is_full_or_nothing_is_left() {
        assert_eq!(found(250, "post", 2, None), (vec![0, 1], id(1), 1));
        assert_eq!(found(250, "post", 2, Some(247)), (vec![248, 249], None, 1));
        assert_eq!(found(250, "post 24", 20, None).0, [24, 240, 241, 242, 243, 244, 245, 246, 247, 248, 249]);
        assert_eq!(found(250, "bird", 20, None), (vec![], None, 2));
        assert_eq!(found(0, "bird", 20, None), (vec![], None, 1));
    }

    #[test]
    fn a_page_looks_at_a_thousand_posts_and_the_next_goes_on() {
        assert_eq!(found(2_500, "bird", 20, None), (vec![999], id(999), 3));
        assert_eq!(found(2_500, "frog", 20, None), (vec![], id(999), 3));
        assert_eq!(found(2_500, "bird", 20, Some(999)), (vec![1_999], id(1_999), 3));
        assert_eq!(found(2_500, "bird", 20, Some(1_999)), (vec![], None, 3));
    }
}
