//! Lists through a link type: the items that the links of an owner lead to, each once.

use std::cmp::Ordering;

use onehop_store::{Fault, Keyset, Ledger, PartitionKey, order_value_of, property_in};

use super::ids::ItemPlace;
use super::list_places::{ListPlace, ThroughLink};
use super::model::{Body, TypeIndex};
use super::pages::{ListPosition, ListRange, ListedItem, StoredPage};
use super::reads::{ServedItem, ServedReads};
use super::references::target_place;

/// The links that a list looks at.
pub const LINKS_MAX: usize = 1_000;
/// The links of one query, and the items of one batch.
const BATCH_MAX: usize = 100;

impl ServedReads {
    /// A page of the items of a link type's links. The links are all read for each page: the order is the
    /// items' own.
    ///
    /// # Errors
    /// A fault of the store.
    pub(super) async fn page_through(
        &self,
        (ty, list, through): (TypeIndex, &ListPlace, &ThroughLink),
        owner: Option<&ServedItem>,
        range: ListRange<'_>,
        ledger: &Ledger,
    ) -> Result<StoredPage, Fault> {
        let Some(mut found) = self.found_through((ty, list, through), owner, ledger).await? else {
            return Ok(StoredPage { is_too_long: true, ..StoredPage::default() });
        };
        found.sort_by(|(one, _), (other, _)| natural(list, one, other));
        let is_within = |keyset: &Keyset| {
            let compared = |position: &ListPosition| natural(list, keyset, &position.keyset);
            range.after.is_none_or(|after| compared(after).is_gt())
                && range.before.is_none_or(|before| compared(before).is_lt())
        };
        let start = found.iter().position(|(keyset, _)| is_within(keyset)).unwrap_or(found.len());
        let within = found[start..].iter().take_while(|(keyset, _)| is_within(keyset)).count();
        let shown = within.min(range.items_max);
        let left_out = if range.is_backward { within - shown } else { 0 };
        let first = start + left_out;
        let mut page = StoredPage {
            has_previous: if range.is_backward { first > 0 } else { range.after.is_some() },
            has_next: if range.is_backward { range.before.is_some() } else { first + shown < found.len() },
            ..StoredPage::default()
        };
        for (keyset, item) in &found[first..first + shown] {
            page.positions.push(ListPosition { keyset: keyset.clone(), seen: 0 });
            page.items.push(item.clone());
        }
        Ok(page)
    }

    /// The number of items of a list through a link type; `None` where it has too many links.
    ///
    /// # Errors
    /// A fault of the store.
    pub(super) async fn count_through(
        &self,
        (ty, list, through): (TypeIndex, &ListPlace, &ThroughLink),
        owner: &ServedItem,
        ledger: &Ledger,
    ) -> Result<Option<u64>, Fault> {
        let found = self.found_through((ty, list, through), Some(owner), ledger).await?;
        Ok(found.map(|found| found.len() as u64))
    }

    /// All items of a list through a link type, in no order; `None` where it has too many links.
    async fn found_through(
        &self,
        (ty, list, through): (TypeIndex, &ListPlace, &ThroughLink),
        owner: Option<&ServedItem>,
        ledger: &Ledger,
    ) -> Result<Option<Vec<(Keyset, ListedItem)>>, Fault> {
        let Some(places) = self.linked(list, through, owner, ledger).await? else { return Ok(None) };
        let container = self.model.ty(ty).container;
        let mut found = Vec::new();
        for batch in places.chunks(BATCH_MAX) {
            let keys: Vec<(PartitionKey, String)> =
                batch.iter().map(|place| (place.partition.clone(), place.id.clone())).collect();
            let items = self.store.read_many(container, &keys, ledger).await?;
            for (place, item) in batch.iter().zip(items) {
                let Some(item) = item else { continue };
                let Some(body) = self.present(ty, Some(item.clone()))? else { continue };
                if list.conditions.iter().all(|condition| condition.holds_for(&body)) {
                    let keyset = keyset(through, place, &body);
                    found.push((keyset, ListedItem { item, place: place.clone(), body }));
                }
            }
        }
        Ok(Some(found))
    }

    /// The places that the links of an owner lead to; `None` where these are too many.
    async fn linked(
        &self,
        list: &ListPlace,
        through: &ThroughLink,
        owner: Option<&ServedItem>,
        ledger: &Ledger,
    ) -> Result<Option<Vec<ItemPlace>>, Fault> {
        let mut places = Vec::new();
        let (mut after, mut links) = (None, 0);
        loop {
            let part = (after.as_ref(), BATCH_MAX, false);
            let Some(page) = self.query(list, owner, part, ledger).await? else {
                return Ok(Some(places));
            };
            links += page.items.len();
            for item in page.items.iter() {
                let body: Body = item.decode()?;
                after = Some(self.keyset_of(&body, list));
                let place = target_place(&self.model, through.ty, &through.to, &body);
                places.extend(place.filter(|place| !places.contains(place)));
            }
            if !page.has_more {
                return Ok(Some(places));
            }
            if links >= LINKS_MAX {
                return Ok(None);
            }
        }
    }
}

/// The order of two positions in a list.
fn natural(list: &ListPlace, one: &Keyset, other: &Keyset) -> Ordering {
    ListRange::first(0, None).compare(list, one, other)
}

fn keyset(through: &ThroughLink, place: &ItemPlace, body: &Body) -> Keyset {
    let value = through.order_by.map(|order| order_value_of(order, |property| property_in(body, property)));
    Keyset { order_value: value.unwrap_or_default(), id: place.id.clone() }
}
