//! Reads of served items: point reads, in batches by a data loader, pages of lists by one query, and counts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use dataloader::BatchFn;
use dataloader::cached::Loader;
use onehop_model::PropertyPath;
use onehop_store::limits::PAGE_ITEMS_MAX;
use onehop_store::{
    Direction, Fault, FaultKind, Item, KEY_SEPARATOR, Keyset, Ledger, PartitionKey, Query, QueryPage, Store,
    joined_key, key_text, order_value_of, property_in,
};
use serde_json::Value;
use uuid::Uuid;

use super::ids::ItemPlace;
use super::list_places::{ListPlace, ListScope, OwnerValue};
use super::model::{Body, ServedModel, TypeIndex};
use super::stored;
use crate::domain::containers::ABANDONED;

/// The number of times that a loader lets other fields of the request go first, so that they may add to its
/// batch.
const LOADER_YIELDS: usize = 2;
/// The items of one batch.
const LOADER_BATCH_MAX: usize = 100;
/// The pages of items that one count or one look for an item goes through.
const LOOKED_THROUGH_PAGES_MAX: usize = 100;

/// The reads of a served model. Cheap to clone.
#[derive(Clone)]
pub struct ServedReads {
    pub(super) store: Arc<dyn Store>,
    pub(super) model: Arc<ServedModel>,
}

/// An item, or its part in an entry or a reference.
#[derive(Debug, Clone)]
pub struct ServedItem {
    /// Its place.
    pub place: ItemPlace,
    /// Its properties.
    pub body: Arc<Body>,
    /// The properties that an entry has; `None` for a whole item.
    pub entry_fields: Option<Arc<[&'static str]>>,
    /// Whether the caller has just signed in as this item, so that nothing of it is refused.
    pub is_own: bool,
}

/// The data loader of one request: items by their places, each read once.
pub struct ItemLoader {
    loader: Loader<ItemPlace, LoadedItem, BatchedReads>,
}

/// The value that a loader keeps for an item. Faults are shared, because several fields may wait for it.
type LoadedItem = Result<Option<Arc<Body>>, Arc<Fault>>;

/// The batches of a loader.
struct BatchedReads {
    reads: ServedReads,
    ledger: Arc<Ledger>,
}

impl ServedItem {
    /// A whole item.
    #[must_use]
    pub fn whole(place: ItemPlace, body: Arc<Body>) -> Self {
        Self { place, body, entry_fields: None, is_own: false }
    }

    /// Whether the value at a property of the root is known without another read.
    #[must_use]
    pub fn knows(&self, property: &str) -> bool {
        self.entry_fields.as_ref().is_none_or(|fields| fields.contains(&property))
    }

    /// Whether the logical partition of a list of this item is known without another read.
    #[must_use]
    pub fn knows_partition_of(&self, list: &ListPlace) -> bool {
        let ListScope::Owner(values) = &list.scope else { return true };
        values.iter().all(|value| match value {
            OwnerValue::Id | OwnerValue::KeyPart(..) => true,
            OwnerValue::Property(property) => self.knows(property),
        })
    }

    /// A value of this item in the form of a partition key, if it has one.
    fn key_value(&self, value: &OwnerValue) -> Option<Cow<'_, str>> {
        match value {
            OwnerValue::Id => Some(Cow::Borrowed(self.place.id.as_str())),
            OwnerValue::KeyPart(part, _) => {
                self.place.partition.as_str().split(KEY_SEPARATOR).nth(*part).map(Cow::Borrowed)
            }
            OwnerValue::Property(property) => self.body.get(*property).and_then(key_text),
        }
    }
}

impl ServedReads {
    /// The reads of a model in a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, model: Arc<ServedModel>) -> Self {
        Self { store, model }
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Arc<ServedModel> {
        &self.model
    }

    /// A loader for one request.
    #[must_use]
    pub fn loader(&self, ledger: Arc<Ledger>) -> ItemLoader {
        let loader = Loader::new(BatchedReads { reads: self.clone(), ledger });
        ItemLoader { loader: loader.with_yield_count(LOADER_YIELDS).with_max_batch_size(LOADER_BATCH_MAX) }
    }

    /// An item; `None` where it is absent or deleted.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn item(&self, place: &ItemPlace, ledger: &Ledger) -> Result<Option<Arc<Body>>, Fault> {
        let container = self.model.ty(place.ty).container;
        let found = self.store.read(container, &place.partition, &place.id, ledger).await?;
        self.present(place.ty, found)
    }

    /// The last version of an item that has left a list: also of a deleted one, as long as its mark is there.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn last_version(&self, place: &ItemPlace, ledger: &Ledger) -> Result<Option<Arc<Body>>, Fault> {
        let ty = self.model.ty(place.ty);
        let found = self.store.read(ty.container, &place.partition, &place.id, ledger).await?;
        let body = found.map(|item| self.model.decoded(place.ty, &item)).transpose()?;
        let is_type = |body: &Body| body.get("type").and_then(Value::as_str) == Some(ty.type_value);
        Ok(body.filter(is_type).map(Arc::new))
    }

    /// The item of a read, if it is of its type and not deleted.
    pub(super) fn present(&self, ty: TypeIndex, found: Option<Item>) -> Result<Option<Arc<Body>>, Fault> {
        let Some(item) = found else { return Ok(None) };
        let body = self.model.decoded(ty, &item)?;
        let is_type = body.get("type").and_then(Value::as_str) == Some(self.model.ty(ty).type_value);
        Ok((is_type && !is_deleted(&body)).then(|| Arc::new(body)))
    }

    /// A page of the stored items of a list; `None` where its owner has no logical partition.
    pub(super) async fn query(
        &self,
        list: &ListPlace,
        owner: Option<&ServedItem>,
        (after, limit, is_backward): (Option<&Keyset>, usize, bool),
        ledger: &Ledger,
    ) -> Result<Option<QueryPage>, Fault> {
        let is_newest_first = list.descending != is_backward;
        let direction = if is_newest_first { Direction::NewestFirst } else { Direction::OldestFirst };
        let partition = partition_of(list, owner)?;
        let &ListPlace { container, item_type, order_by, .. } = list;
        let query = match (&list.scope, &partition) {
            (ListScope::Equality(path), _) => {
                let value = owner.map_or("", |owner| owner.place.id.as_str());
                Query::Equality { container, path, value, item_type, order_by, direction, after, limit }
            }
            (ListScope::All, _) => Query::Newest { container, item_type, order_by, direction, after, limit },
            (_, Some(partition_key)) => {
                Query::Partition { container, partition_key, item_type, order_by, direction, after, limit }
            }
            (_, None) => return Ok(None),
        };
        Ok(Some(self.store.query(&query, ledger).await?))
    }

    pub(super) fn keyset_of(&self, body: &Body, list: &ListPlace) -> Keyset {
        let spec = self.model.containers().iter().find(|spec| spec.name == list.container);
        let order_by = list.order_by.or_else(|| spec?.order_of(list.item_type));
        let value = order_by.map(|order| order_value_of(order, |property| property_in(body, property)));
        let id = body.get("id").and_then(Value::as_str).unwrap_or_default();
        Keyset { order_value: value.unwrap_or_default(), id: id.to_owned() }
    }

    /// The number of items of a list of these types; `None` where they are too many to be counted one by one.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn count(
        &self,
        (ty, list): (TypeIndex, &ListPlace),
        owner: &ServedItem,
        ledger: &Ledger,
    ) -> Result<Option<u64>, Fault> {
        if let Some(through) = &list.through {
            return self.count_through((ty, list, through), owner, ledger).await;
        }
        match (&list.scope, partition_of(list, Some(owner))?) {
            (_, Some(partition)) if list.conditions.is_empty() => {
                self.store.count(list.container, &partition, list.item_type, ledger).await.map(Some)
            }
            (ListScope::Equality(_) | ListScope::All, _) | (_, Some(_)) => {
                self.count_one_by_one(list, owner, ledger).await
            }
            (_, None) => Ok(Some(0)),
        }
    }

    /// Counts items that no single count finds: across logical partitions, and under conditions.
    async fn count_one_by_one(
        &self,
        list: &ListPlace,
        owner: &ServedItem,
        ledger: &Ledger,
    ) -> Result<Option<u64>, Fault> {
        let mut counted = 0;
        let count = |_: &Body| {
            counted += 1;
            ControlFlow::Continue(())
        };
        let is_whole = self.look_through(list, owner, ledger, count).await?;
        Ok(is_whole.then_some(counted))
    }

    /// Whether an item of a list refers to this id at a property.
    ///
    /// # Errors
    /// A fault of the store, and a list of too many items to look through.
    pub async fn has_reference(
        &self,
        list: &ListPlace,
        owner: &ServedItem,
        (property, id): (&PropertyPath, Uuid),
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let id = id.to_string();
        let mut is_found = false;
        let look = |body: &Body| {
            is_found = stored::get(body, property).and_then(Value::as_str) == Some(&id);
            if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if self.look_through(list, owner, ledger, look).await? {
            return Ok(is_found);
        }
        Err(Fault::new(FaultKind::Internal, "a list has too many items to look through"))
    }

    /// Looks at each stored item of a list for which its conditions hold, page by page, until a look breaks.
    /// `false` where there are too many items.
    async fn look_through(
        &self,
        list: &ListPlace,
        owner: &ServedItem,
        ledger: &Ledger,
        mut look: impl FnMut(&Body) -> ControlFlow<()> + Send,
    ) -> Result<bool, Fault> {
        let mut after = None;
        for _ in 0..LOOKED_THROUGH_PAGES_MAX {
            let part = (after.as_ref(), PAGE_ITEMS_MAX, false);
            let Some(page) = self.query(list, Some(owner), part, ledger).await? else { return Ok(true) };
            for item in page.items.iter() {
                let body: Body = item.decode()?;
                after = Some(self.keyset_of(&body, list));
                if list.conditions.iter().all(|condition| condition.holds_for(&body))
                    && look(&body).is_break()
                {
                    return Ok(true);
                }
            }
            if !page.has_more {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The place of an item or of its entry.
    pub(super) fn place_of(&self, ty: TypeIndex, id_property: &str, body: &Body) -> Result<ItemPlace, Fault> {
        let id = body.get(id_property).and_then(Value::as_str);
        let partition = self.model.ty(ty).partition_key(id, body);
        match (id, partition) {
            (Some(id), Some(partition)) => Ok(ItemPlace { ty, partition, id: id.to_owned() }),
            _ => Err(Fault::new(FaultKind::Corrupt, "an item has no id or no partition key")),
        }
    }
}

impl ItemLoader {
    /// An item, in a batch with others that the request needs at the same time.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn load(&self, place: &ItemPlace) -> Result<Option<Arc<Body>>, Fault> {
        match self.loader.try_load(place.clone()).await {
            Ok(found) => found.map_err(|fault| fault.again()),
            Err(error) => Err(Fault::new(FaultKind::Internal, "a batch left a key out").with_source(error)),
        }
    }
}

impl BatchFn<ItemPlace, LoadedItem> for BatchedReads {
    async fn load(&mut self, places: &[ItemPlace]) -> HashMap<ItemPlace, LoadedItem> {
        let mut loaded = HashMap::new();
        let containers: HashSet<_> =
            places.iter().map(|place| self.reads.model.ty(place.ty).container).collect();
        for container in containers {
            let of_container = |place: &&ItemPlace| self.reads.model.ty(place.ty).container == container;
            let places: Vec<&ItemPlace> = places.iter().filter(of_container).collect();
            let keys: Vec<(PartitionKey, String)> =
                places.iter().map(|place| (place.partition.clone(), place.id.clone())).collect();
            match self.reads.store.read_many(container, &keys, &self.ledger).await {
                Ok(found) => {
                    for (place, item) in places.into_iter().zip(found) {
                        let body = self.reads.present(place.ty, item).map_err(Arc::new);
                        loaded.insert(place.clone(), body);
                    }
                }
                Err(fault) => {
                    let fault = Arc::new(fault);
                    loaded.extend(places.into_iter().map(|place| (place.clone(), Err(Arc::clone(&fault)))));
                }
            }
        }
        loaded
    }
}

/// The logical partition of a list; `None` for a query across partitions, and where the owner has none.
fn partition_of(list: &ListPlace, owner: Option<&ServedItem>) -> Result<Option<PartitionKey>, Fault> {
    Ok(match (&list.scope, owner) {
        (ListScope::Constant(value), _) => Some(PartitionKey::from(*value)),
        (ListScope::Named(key), _) => Some(key.clone()),
        (ListScope::OwnerId, Some(owner)) => Some(PartitionKey::from(owner.place.id.as_str())),
        (ListScope::Owner(values), Some(owner)) => {
            let values: Option<Vec<_>> = values.iter().map(|value| owner.key_value(value)).collect();
            values.map(|values| PartitionKey::new(joined_key(values.iter().map(AsRef::as_ref))))
        }
        (ListScope::Equality(_) | ListScope::All, _) => None,
        (ListScope::Arguments, _) | (_, None) => {
            return Err(Fault::new(FaultKind::Internal, "a list has no owner and no arguments"));
        }
    })
}

/// Whether an item is deleted, or blocks the id of a creation that was given up.
#[must_use]
pub fn is_deleted(body: &Body) -> bool {
    body.get("deleted") == Some(&Value::Bool(true))
        || body.get("type").and_then(Value::as_str) == Some(ABANDONED)
}
