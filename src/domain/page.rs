//! Pages of an answer: how many items, after which one, and whether more follow.

use onehop_store::{Keyset, QueryPage};

/// The smallest page that can be asked for.
pub const FIRST_MIN: usize = 1;
/// The largest page that can be asked for.
pub const FIRST_MAX: usize = 100;

/// The requested page. Its size is within [`FIRST_MIN`] and [`FIRST_MAX`]: it is made by [`PageRequest::new`]
/// alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    first: usize,
    after: Option<Keyset>,
}

impl PageRequest {
    /// The first this many items after a position; `None` when the number is not within the limits.
    #[must_use]
    pub fn new(first: i64, after: Option<Keyset>) -> Option<Self> {
        let first = usize::try_from(first).ok().filter(|first| (FIRST_MIN..=FIRST_MAX).contains(first))?;
        Some(Self { first, after })
    }

    /// The number of items wanted, at most.
    #[must_use]
    pub fn first(&self) -> usize {
        self.first
    }

    /// Where the page before this one ended.
    #[must_use]
    pub fn after(&self) -> Option<&Keyset> {
        self.after.as_ref()
    }
}

/// A page of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Whether more items follow the last one.
    pub has_next: bool,
}

impl<T> Page<T> {
    /// Decodes the items of a query's page; the first that cannot be decoded fails it.
    pub(crate) fn decode<E>(
        page: &QueryPage,
        decode: impl Fn(&onehop_store::Item) -> Result<T, E>,
    ) -> Result<Self, E> {
        let items = page.items.iter().map(decode).collect::<Result<_, E>>()?;
        Ok(Self { items, has_next: page.has_more })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_at_least_one_item_and_at_most_a_hundred() {
        for outside in [i64::MIN, -1, 0, 101, i64::MAX] {
            assert_eq!(PageRequest::new(outside, None), None, "{outside}");
        }
        for within in [1, 20, 100] {
            assert!(PageRequest::new(within, None).is_some(), "{within}");
        }
    }
}
