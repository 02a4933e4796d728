//! Pages of served lists, in both directions: one query from an end of the range on, until the page is full.

use std::cmp::Ordering;
use std::sync::Arc;

use onehop_store::limits::PAGE_ITEMS_MAX;
use onehop_store::{Fault, Item, Keyset, Ledger};

use super::ids::ItemPlace;
use super::list_places::ListPlace;
use super::model::{Body, TypeIndex};
use super::reads::{ServedItem, ServedReads};

/// The items that one query of a list with conditions reads, or the wanted ones where these are more.
const FILTERED_PAGE_ITEMS: usize = 50;
/// The items that one page of a list with conditions looks at.
const LOOKED_AT_MAX: usize = 1_000;

/// A page of a list.
#[derive(Debug, Default)]
pub struct ItemPage {
    /// The items.
    pub items: Vec<ServedItem>,
    /// The position of each item, for its cursor.
    pub positions: Vec<ListPosition>,
    /// The position before the page, where that is not its first item.
    pub start: Option<ListPosition>,
    /// The position behind the page, where that is not its last item.
    pub end: Option<ListPosition>,
    /// Whether items precede the page.
    pub has_previous: bool,
    /// Whether more items follow.
    pub has_next: bool,
    /// Whether a list through a link type has more links than are looked at.
    pub is_too_long: bool,
}

/// A page of a list with its items as they are stored.
#[derive(Debug, Default)]
pub struct StoredPage {
    /// The items.
    pub items: Vec<ListedItem>,
    /// The position of each item, for its cursor.
    pub positions: Vec<ListPosition>,
    /// The position before the page, where that is not its first item.
    pub start: Option<ListPosition>,
    /// The position behind the page, where that is not its last item.
    pub end: Option<ListPosition>,
    /// Whether items precede the page.
    pub has_previous: bool,
    /// Whether more items follow.
    pub has_next: bool,
    /// Whether a list through a link type has more links than are looked at.
    pub is_too_long: bool,
}

/// An item of a page: as it is stored, and decoded.
#[derive(Debug, Clone)]
pub struct ListedItem {
    /// The item.
    pub item: Item,
    /// Its place.
    pub place: ItemPlace,
    /// Its properties.
    pub body: Arc<Body>,
}

/// The range of a list that a page has: the first or the last items between two positions.
#[derive(Debug, Clone, Copy)]
pub struct ListRange<'a> {
    /// The most items.
    pub items_max: usize,
    /// Whether the page has the last items of the range, and not the first ones.
    pub is_backward: bool,
    /// The position behind which the range begins.
    pub after: Option<&'a ListPosition>,
    /// The position before which the range ends.
    pub before: Option<&'a ListPosition>,
}

/// A position in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPosition {
    /// The order value and the id of the item.
    pub keyset: Keyset,
    /// The number of shown items up to this one, in a list of the first N; 0 in other lists.
    pub seen: usize,
}

impl ServedReads {
    /// A page of a list. Where the list has conditions, a page may have fewer items although the list has
    /// more: one read looks at a bounded number of items.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn page(
        &self,
        ty: TypeIndex,
        list: &ListPlace,
        owner: Option<&ServedItem>,
        range: ListRange<'_>,
        ledger: &Ledger,
    ) -> Result<ItemPage, Fault> {
        let page = self.page_with_items(ty, list, owner, range, ledger).await?;
        let entry_fields: Option<Arc<[&'static str]>> = list.entry_fields.clone().map(Into::into);
        let served = |ListedItem { place, body, .. }| ServedItem {
            place,
            body,
            entry_fields: entry_fields.clone(),
            is_own: false,
        };
        let StoredPage { items, positions, start, end, has_previous, has_next, is_too_long } = page;
        let items = items.into_iter().map(served).collect();
        Ok(ItemPage { items, positions, start, end, has_previous, has_next, is_too_long })
    }

    /// A page of a list with the items as they are stored.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub async fn page_with_items(
        &self,
        ty: TypeIndex,
        list: &ListPlace,
        owner: Option<&ServedItem>,
        range: ListRange<'_>,
        ledger: &Ledger,
    ) -> Result<StoredPage, Fault> {
        if let Some(through) = &list.through {
            return self.page_through((ty, list, through), owner, range, ledger).await;
        }
        match (range.is_backward, range.before, list.shown_max) {
            // The entries behind the first N are not shown, so the end of the list is found from its start.
            (true, None, Some(shown_max)) => self.last_shown(ty, list, owner, range, shown_max, ledger).await,
            _ => self.page_from(ty, list, owner, range, ledger).await,
        }
    }

    /// A page that is read from one end of its range on.
    async fn page_from(
        &self,
        ty: TypeIndex,
        list: &ListPlace,
        owner: Option<&ServedItem>,
        range: ListRange<'_>,
        ledger: &Ledger,
    ) -> Result<StoredPage, Fault> {
        let mut found = FoundItems::new(list, range);
        let (from, until) = range.ends();
        let mut place = from.map(|position| position.keyset.clone());
        let mut looked_at = 0;
        while found.wanted > found.items.len() {
            let wanted = found.wanted - found.items.len();
            let limit = if list.conditions.is_empty() { wanted } else { wanted.max(FILTERED_PAGE_ITEMS) };
            let part = (place.as_ref(), limit, range.is_backward);
            let Some(page) = self.query(list, owner, part, ledger).await? else { break };
            looked_at += page.items.len();
            for (number, item) in page.items.iter().enumerate() {
                let body: Body = item.decode()?;
                let keyset = self.keyset_of(&body, list);
                if until.is_some_and(|until| range.compare(list, &keyset, &until.keyset).is_ge()) {
                    found.has_more = true;
                    return Ok(found.into_page());
                }
                place = Some(keyset.clone());
                let body = match list.entry_fields {
                    Some(_) => body,
                    None => self.model.with_moved_values(ty, body),
                };
                if list.conditions.iter().all(|condition| condition.holds_for(&body)) {
                    let place = self.place_of(ty, list.id_property, &body)?;
                    found.add(ListedItem { item: item.clone(), place, body: Arc::new(body) }, keyset);
                }
                if found.items.len() == found.wanted {
                    found.has_more = found.shows_more() && (page.has_more || number + 1 < page.items.len());
                    return Ok(found.into_page());
                }
            }
            if !page.has_more {
                break;
            }
            if looked_at >= LOOKED_AT_MAX {
                found.has_more = true;
                found.stopped_at = place.map(|keyset| found.position(keyset));
                break;
            }
        }
        Ok(found.into_page())
    }

    /// The last items of a list that shows the first N of its entries.
    async fn last_shown(
        &self,
        ty: TypeIndex,
        list: &ListPlace,
        owner: Option<&ServedItem>,
        range: ListRange<'_>,
        shown_max: usize,
        ledger: &Ledger,
    ) -> Result<StoredPage, Fault> {
        let mut last = StoredPage { has_previous: range.after.is_some(), ..StoredPage::default() };
        let mut after = range.after.cloned();
        loop {
            let items_max = shown_max.min(PAGE_ITEMS_MAX);
            let range = ListRange { items_max, is_backward: false, after: after.as_ref(), before: None };
            let page = self.page_from(ty, list, owner, range, ledger).await?;
            after = page.positions.last().cloned();
            last.items.extend(page.items);
            last.positions.extend(page.positions);
            if !page.has_next || after.is_none() {
                break;
            }
        }
        let left_out = last.items.len().saturating_sub(range.items_max);
        last.has_previous |= left_out > 0;
        last.items.drain(..left_out);
        last.positions.drain(..left_out);
        Ok(last)
    }
}

impl<'a> ListRange<'a> {
    /// The first items after a position.
    #[must_use]
    pub fn first(items_max: usize, after: Option<&'a ListPosition>) -> Self {
        Self { items_max, is_backward: false, after, before: None }
    }

    /// The position from which the page is read, and the position where the range ends.
    pub(super) fn ends(&self) -> (Option<&'a ListPosition>, Option<&'a ListPosition>) {
        if self.is_backward { (self.before, self.after) } else { (self.after, self.before) }
    }

    /// The order of two positions in the direction in which the page is read.
    pub(super) fn compare(&self, list: &ListPlace, one: &Keyset, other: &Keyset) -> Ordering {
        let ordering = (&one.order_value, &one.id).cmp(&(&other.order_value, &other.id));
        if list.descending == self.is_backward { ordering } else { ordering.reverse() }
    }
}

/// The items of a page while they are read, in the direction of the page.
struct FoundItems<'a> {
    range: ListRange<'a>,
    /// The number of items that the list shows, where more are stored.
    shown_max: Option<usize>,
    /// The number of shown items up to the position from which the page is read.
    seen: usize,
    wanted: usize,
    items: Vec<ListedItem>,
    positions: Vec<ListPosition>,
    /// Whether the list goes on in the direction of the page.
    has_more: bool,
    /// The last position that was looked at, where that is not the last item.
    stopped_at: Option<ListPosition>,
}

impl<'a> FoundItems<'a> {
    fn new(list: &ListPlace, range: ListRange<'a>) -> Self {
        let seen = range.ends().0.map_or(0, |from| from.seen);
        let left = list.shown_max.map(|shown_max| match range.is_backward {
            true => seen.saturating_sub(1),
            false => shown_max.saturating_sub(seen),
        });
        Self {
            range,
            shown_max: list.shown_max,
            seen,
            wanted: left.map_or(range.items_max, |left| left.min(range.items_max)),
            items: Vec::new(),
            positions: Vec::new(),
            has_more: false,
            stopped_at: None,
        }
    }

    fn add(&mut self, item: ListedItem, keyset: Keyset) {
        self.items.push(item);
        let position = self.position(keyset);
        self.positions.push(position);
    }

    /// The position of the last item that was found, or of one behind it that is not shown.
    fn position(&self, keyset: Keyset) -> ListPosition {
        let seen = match (self.shown_max, self.range.is_backward) {
            (None, _) => 0,
            (Some(_), false) => self.seen + self.items.len(),
            (Some(_), true) => self.seen.saturating_sub(self.items.len()),
        };
        ListPosition { keyset, seen }
    }

    /// Whether the list may show more items than the page has.
    fn shows_more(&self) -> bool {
        match (self.shown_max, self.range.is_backward) {
            (None, _) => true,
            (Some(shown_max), false) => self.seen + self.items.len() < shown_max,
            (Some(_), true) => self.items.len() + 1 < self.seen,
        }
    }

    /// The page in the order of the list.
    fn into_page(mut self) -> StoredPage {
        let has_other_end = self.range.ends().0.is_some();
        if self.range.is_backward {
            self.items.reverse();
            self.positions.reverse();
        }
        let Self { items, positions, has_more, stopped_at, .. } = self;
        let page = StoredPage { items, positions, ..StoredPage::default() };
        match self.range.is_backward {
            true => StoredPage { start: stopped_at, has_previous: has_more, has_next: has_other_end, ..page },
            false => StoredPage { end: stopped_at, has_previous: has_other_end, has_next: has_more, ..page },
        }
    }
}
