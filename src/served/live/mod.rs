//! Events of a served model as items are written, by any process: items that enter a list, change in it or
//! leave it.
//!
//! An item, and a list of the first N, are read again after writes to their logical partition (write watch).
//! Every other list follows the change feed of its items (tail): no list is read again, however long it is.
//! Nothing is read without a listener. It knows neither GraphQL nor connections.

mod events;
mod follower;
mod membership;
mod seen;
mod snapshots;

use std::collections::HashMap;
use std::sync::Arc;

use onehop_model::{LiveSource, RelatedField, RelatedSource, Subscription};
use onehop_store::{ContainerName, Fault, Ledger};
use parking_lot::Mutex;

pub use self::events::{EventsError, EventsOverrun, ItemEvent, ItemEvents, ServedLiveParts};
use self::follower::Follower;
use self::membership::Membership;
use self::seen::Seen;
use super::commands::WrittenItem;
use super::ids::ItemPlace;
use super::list_places::ListPlace;
use super::model::{ServedModel, TypeIndex};
use super::pages::ListRange;
use super::reads::{ServedItem, ServedReads};
use super::related_fields::related;

/// The events of a served model. Clones share the readers.
#[derive(Clone)]
pub struct ServedLive(Arc<Parts>);

struct Parts {
    reads: ServedReads,
    outside: ServedLiveParts,
    followers: Mutex<HashMap<ContainerName, Arc<Follower>>>,
}

/// The source of events: an item, or a list.
enum EventSource {
    Item(ItemPlace),
    FirstOf(Box<FirstItems>),
    Followed(Box<FollowedList>),
}

/// The first items of a list, in its order.
struct FirstItems {
    ty: TypeIndex,
    list: ListPlace,
    owner: Option<ServedItem>,
    count: usize,
}

/// A list whose items are followed.
struct FollowedList {
    ty: TypeIndex,
    list: ListPlace,
    owner: Option<ServedItem>,
    membership: Membership,
}

impl ServedLive {
    /// The events of a model. Nothing is read yet.
    #[must_use]
    pub fn new(outside: ServedLiveParts) -> Self {
        let reads = ServedReads::new(Arc::clone(&outside.store), Arc::clone(&outside.model));
        Self(Arc::new(Parts { reads, outside, followers: Mutex::default() }))
    }

    /// Listens to a subscription: everything that is written after this returns is heard. The owner is the
    /// item whose list it is, or the item itself. `None` where the model has no such list. The ledger has the
    /// reads of the beginning.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn listen(
        &self,
        subscription: &Subscription,
        owner: Option<WrittenItem>,
        ledger: &Ledger,
    ) -> Result<Option<ItemEvents>, Fault> {
        let Some(source) = self.source(subscription, owner) else { return Ok(None) };
        let on = subscription.on.clone();
        let events = match source {
            EventSource::Item(place) => self.watch_item(place, ledger).await?,
            EventSource::FirstOf(first) => self.watch_first(first, ledger).await?,
            EventSource::Followed(list) => self.follow(list, ledger).await?,
        };
        let is_wanted = move |event: &Result<ItemEvent, EventsError>| {
            event.as_ref().is_ok_and(|event| !on.contains(&event.kind))
        };
        Ok(Some(Box::pin(futures::StreamExt::filter(events, move |event| {
            std::future::ready(!is_wanted(event))
        }))))
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &ServedModel {
        &self.0.outside.model
    }

    fn source(&self, subscription: &Subscription, owner: Option<WrittenItem>) -> Option<EventSource> {
        let (owner_type, list) = match &subscription.source {
            LiveSource::Item => return Some(EventSource::Item(owner?.place)),
            LiveSource::Query(name) => {
                let query = self.model().model().queries().iter().find(|query| query.name == *name)?;
                let onehop_model::QueryKind::Related(list) = &query.kind else { return None };
                (None, list)
            }
            LiveSource::Field { item_type, field, .. } => {
                let owner_type = self.model().index_of(item_type)?;
                (Some(owner_type), related(self.model().ty(owner_type).item.field(field)?)?)
            }
        };
        let owner = owner.map(|WrittenItem { place, body }| ServedItem::whole(place, body));
        let place = self.model().list_place(owner_type, list)?;
        let ty = self.model().index_of(&list.item_type)?;
        if let Some(count) = first_of(list) {
            let first = FirstItems { ty, list: place, owner, count };
            return Some(EventSource::FirstOf(Box::new(first)));
        }
        let membership = Membership::new(self.model(), ty, list, owner.as_ref())?;
        Some(EventSource::Followed(Box::new(FollowedList { ty, list: place, owner, membership })))
    }

    /// The present items of a list, up to a number of them.
    async fn items(
        &self,
        (ty, list): (TypeIndex, &ListPlace),
        owner: Option<&ServedItem>,
        count: usize,
        ledger: &Ledger,
    ) -> Result<(Vec<ServedItem>, bool), Fault> {
        let mut items = Vec::new();
        let mut after = None;
        loop {
            let first = (count - items.len()).min(PAGE_ITEMS);
            let range = ListRange::first(first, after.as_ref());
            let page = self.0.reads.page(ty, list, owner, range, ledger).await?;
            items.extend(page.items);
            after = page.end.or(page.positions.last().cloned());
            if !page.has_next || after.is_none() || items.len() >= count {
                return Ok((items, !page.has_next));
            }
        }
    }

    async fn follow(&self, followed: Box<FollowedList>, ledger: &Ledger) -> Result<ItemEvents, Fault> {
        let container = self.model().ty(followed.ty).container;
        let follower = {
            let mut followers = self.0.followers.lock();
            Arc::clone(followers.entry(container).or_insert_with(|| Follower::new(container)))
        };
        let FollowedList { ty, list, owner, membership } = *followed;
        let expected = follower.start(&self.0.outside, ledger).await?;
        // The reader runs, so that a write meanwhile is either in the list or heard.
        let listener = expected.listen(ty, membership);
        let (items, is_complete) = self.items((ty, &list), owner.as_ref(), SEEN_MAX, ledger).await?;
        Ok(listener.events(Arc::clone(&self.0.outside.model), Seen::new(&items, is_complete)))
    }
}

/// The number of items of a list that is read again as a whole; `None` for a list that is followed.
fn first_of(list: &RelatedField) -> Option<usize> {
    match &list.source {
        RelatedSource::List(source) => {
            source.keep.map(|keep| keep as usize).filter(|keep| *keep <= FIRST_MAX)
        }
        _ => None,
    }
}

/// Whether the items of a followed list are known from the entries of a read model at the beginning.
#[must_use]
pub fn begins_with_entries(model: &ServedModel, subscription: &Subscription) -> bool {
    let list = match &subscription.source {
        LiveSource::Item => None,
        LiveSource::Query(name) => {
            let query = model.model().queries().iter().find(|query| query.name == *name);
            query.and_then(|query| match &query.kind {
                onehop_model::QueryKind::Related(list) => Some(list),
                _ => None,
            })
        }
        LiveSource::Field { item_type, field, .. } => {
            model.model().item(item_type).and_then(|item| item.field(field)).and_then(related)
        }
    };
    list.is_some_and(|list| matches!(list.source, RelatedSource::List(_)) && is_followed(list))
}

/// Whether events of a list follow from the changes of its items alone.
#[must_use]
pub fn is_followed(list: &RelatedField) -> bool {
    first_of(list).is_none()
}

/// The longest list that is read again after each write.
const FIRST_MAX: usize = 1_000;
/// The items of a list that a listener knows from the beginning.
const SEEN_MAX: usize = 1_000;
/// The items of one read.
const PAGE_ITEMS: usize = 100;
