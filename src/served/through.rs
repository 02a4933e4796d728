//! Lists through a link type: the items that the links of an owner lead to, each once.

use std::cmp::Ordering;
use std::sync::Arc;

use onehop_store::{Fault, Keyset, Ledger, PartitionKey, order_value};

use super::ids::ItemPlace;
use super::model::{Body, ListPlace, ThroughLink, TypeIndex};
use super::reads::{ItemPage, ListPosition, ServedItem, ServedReads};
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
        (first, after): (usize, Option<&ListPosition>),
        ledger: &Ledger,
    ) -> Result<ItemPage, Fault> {
        let Some(places) = self.linked(list, through, owner, ledger).await? else {
            return Ok(ItemPage { is_too_long: true, ..ItemPage::default() });
        };
        let container = self.model.ty(ty).container;
        let mut found = Vec::new();
        for batch in places.chunks(BATCH_MAX) {
            let keys: Vec<(PartitionKey, String)> =
                batch.iter().map(|place| (place.partition.clone(), place.id.clone())).collect();
            let items = self.store.read_many(container, &keys, ledger).await?;
            for (place, item) in batch.iter().zip(items) {
                let Some(body) = self.present(ty, item)? else { continue };
                if list.conditions.iter().all(|condition| condition.holds_for(&body)) {
                    found.push((keyset(through, place, &body), place.clone(), body));
                }
            }
        }
        let order = |one: &Keyset, other: &Keyset| {
            let ordering = (&one.order_value, &one.id).cmp(&(&other.order_value, &other.id));
            if list.descending { ordering.reverse() } else { ordering }
        };
        found.sort_by(|(one, ..), (other, ..)| order(one, other));
        let seen = after.map_or(0, |after| after.seen);
        let is_behind = |found: &&(Keyset, ItemPlace, Arc<Body>)| {
            after.is_none_or(|after| order(&found.0, &after.keyset) == Ordering::Greater)
        };
        let mut page = ItemPage::default();
        for (keyset, place, body) in found.iter().filter(is_behind) {
            if page.items.len() == first {
                page.has_next = true;
                break;
            }
            page.positions.push(ListPosition { keyset: keyset.clone(), seen: seen + page.items.len() + 1 });
            page.items.push(ServedItem::whole(place.clone(), Arc::clone(body)));
        }
        Ok(page)
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
            let Some(page) = self.query(list, owner, after.as_ref(), BATCH_MAX, ledger).await? else {
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

fn keyset(through: &ThroughLink, place: &ItemPlace, body: &Body) -> Keyset {
    let value = through.order_by.and_then(|property| body.get(property)).and_then(order_value);
    Keyset { order_value: value.unwrap_or_default(), id: place.id.clone() }
}
