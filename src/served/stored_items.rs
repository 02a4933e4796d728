//! Stored items: the reads of a model whose results are the items as they are stored, for compiled plans.
//! They ask the store the same as the reads of the general executor, and are charged the same. Whether an
//! item is deleted, or of another type, its reader finds out.

use onehop_store::{Fault, Item, Ledger, PartitionKey, QueryPage, properties_of_order};

use super::ids::ItemPlace;
use super::list_places::ListPlace;
use super::model::{Body, ServedModel, TypeIndex};
use super::pages::{ListPosition, ListRange};
use super::reads::{ServedItem, ServedReads};

impl ServedReads {
    /// An item by a point read.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn stored_item(&self, place: &ItemPlace, ledger: &Ledger) -> Result<Option<Item>, Fault> {
        self.store.read(self.model.ty(place.ty).container, &place.partition, &place.id, ledger).await
    }

    /// Items in the container of a type, by one batch of point reads, in the order of their places.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn stored_items(
        &self,
        ty: TypeIndex,
        places: &[ItemPlace],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        let keys: Vec<(PartitionKey, String)> =
            places.iter().map(|place| (place.partition.clone(), place.id.clone())).collect();
        self.store.read_many(self.model.ty(ty).container, &keys, ledger).await
    }

    /// The items of a page of a list without conditions, in the direction of the page, by one query.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn stored_page(
        &self,
        list: &ListPlace,
        owner: Option<&ServedItem>,
        range: ListRange<'_>,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let from = range.ends().0.map(|position| &position.keyset);
        let page = self.query(list, owner, (from, range.items_max, range.is_backward), ledger).await?;
        Ok(page.unwrap_or_else(|| QueryPage { items: [].into(), has_more: false }))
    }

    /// Whether an item is of a type and not deleted.
    ///
    /// # Errors
    /// The item cannot be decoded.
    pub fn is_present(&self, ty: TypeIndex, item: Option<Item>) -> Result<bool, Fault> {
        Ok(self.present(ty, item)?.is_some())
    }

    /// The position of an item in a list without conditions, by the properties of its order.
    #[must_use]
    pub fn position_of(&self, body: &Body, list: &ListPlace) -> ListPosition {
        ListPosition { keyset: self.keyset_of(body, list), seen: 0 }
    }
}

impl ServedModel {
    /// The properties of the order of a list.
    #[must_use]
    pub fn order_properties(&self, list: &ListPlace) -> Vec<&'static str> {
        let spec = self.containers().iter().find(|spec| spec.name == list.container);
        let order = list.order_by.or_else(|| spec?.order_of(list.item_type));
        order.into_iter().flat_map(properties_of_order).map(|property| property.name).collect()
    }
}
