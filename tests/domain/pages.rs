//! Lists that are read page by page.

use onehop::domain::page::{Page, PageRequest};
use onehop_store::{Fault, Keyset};

/// Every page of this size until the end of the list, or enough. A page is full unless it is the last.
pub async fn pages<T, F: Future<Output = Result<Page<T>, Fault>>>(
    first: i64,
    ask: impl Fn(PageRequest) -> F,
    keyset: impl Fn(&T) -> Keyset,
    at_most: Option<usize>,
) -> Vec<T> {
    let mut items: Vec<T> = Vec::new();
    loop {
        let request = PageRequest::new(first, items.last().map(&keyset)).expect("a page request");
        let wanted = request.first();
        let page = ask(request).await.expect("a page");
        assert!(page.items.len() <= wanted && (page.items.len() == wanted || !page.has_next));
        items.extend(page.items);
        if !page.has_next || at_most.is_some_and(|at_most| items.len() >= at_most) {
            return items;
        }
    }
}
