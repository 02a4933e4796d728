//! Holders of SKUs: products, and their reservations in the accounts container. See
//! [`crate::domain::reservations`] for why a crash between the reservation and the product neither loses an
//! SKU nor gives it to two products.
//!
//! The id of a reservation is a hash of the SKU in lower case. A deleted product holds its SKU no longer.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::conditional_write::{self, ATTEMPTS_MAX, WriteAttempt};
use crate::domain::containers::{ABANDONED, ABANDONED_TTL_S};
use crate::domain::digest::sha256_hex;
use crate::domain::error::contended;
use crate::domain::reservations::{HolderLookup, Holders, KeyClaim, Reservations};
use crate::webstore::containers::PRODUCT;
use crate::webstore::ids::{CategoryId, ProductId};
use crate::webstore::items::{AbandonedProductItem, ProductItem, SkuReservationItem, types};
use onehop_store::{ETag, Fault, Item, Ledger, NewItem, Store, WriteOp};

use super::is_of_type;

/// The products of a store, as holders of SKUs.
#[derive(Clone)]
pub(in crate::webstore) struct Products(pub(in crate::webstore) Arc<dyn Store>);

/// Where a product is: its category and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::webstore) struct ProductKey {
    pub(in crate::webstore) category_id: CategoryId,
    pub(in crate::webstore) id: ProductId,
}

/// A product as read.
pub(in crate::webstore) struct StoredProduct {
    pub(in crate::webstore) product: ProductItem,
    pub(in crate::webstore) etag: ETag,
    item: Item,
}

impl ProductKey {
    pub(in crate::webstore) fn of(product: &ProductItem) -> Self {
        Self { category_id: product.category_id, id: product.id }
    }
}

impl Products {
    pub(in crate::webstore) fn reservations(&self) -> Reservations<'_, Self> {
        Reservations { store: &*self.0, holders: self }
    }

    /// The product with this key, deleted or not.
    pub(in crate::webstore) async fn read(
        &self,
        key: ProductKey,
        ledger: &Ledger,
    ) -> Result<HolderLookup<StoredProduct>, Fault> {
        let partition_key = key.category_id.partition_key();
        let Some(item) = self.0.read(PRODUCT, &partition_key, &key.id.to_string(), ledger).await? else {
            return Ok(HolderLookup::Missing);
        };
        if is_of_type(&item, ABANDONED)? {
            return Ok(HolderLookup::Abandoned);
        }
        Ok(HolderLookup::Found(StoredProduct { product: item.decode()?, etag: item.etag.clone(), item }))
    }

    /// Creates a product whose SKU is reserved; `None` when its creation was given up meanwhile.
    pub(super) async fn create(
        &self,
        product: &ProductItem,
        ledger: &Ledger,
    ) -> Result<Option<ProductItem>, Fault> {
        let key = ProductKey::of(product);
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(NewItem::encode(product.id.to_string(), product));
            if self.attempt(key, create, ledger).await? == WriteAttempt::Written {
                return Ok(Some(product.clone()));
            }
            match self.read(key, ledger).await? {
                HolderLookup::Found(stored) => return Ok(Some(stored.product)),
                HolderLookup::Abandoned => return Ok(None),
                HolderLookup::Missing => {}
            }
        }
        Err(contended("a product"))
    }

    /// Reserves the SKU of a product again where its reservation is missing or has lapsed; says whether it
    /// was written.
    pub(in crate::webstore) async fn reserve_again(
        &self,
        key: ProductKey,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let HolderLookup::Found(StoredProduct { product, .. }) = self.read(key, ledger).await? else {
            return Ok(false);
        };
        if product.deleted {
            return Ok(false);
        }
        let (id, reservations) = (sku_reservation_id(&product.sku), self.reservations());
        let found = reservations.find(&id, ledger).await?;
        if found.is_some_and(|(reservation, _)| Self::holder_of(&reservation) == key) {
            return Ok(false);
        }
        let claim = reservations.claim(&id, &sku_reservation(&product.sku, key), ledger).await?;
        Ok(matches!(claim, KeyClaim::Granted))
    }

    /// Deletes the reservation of a product that was deleted by this command, so that no judge has to look at
    /// it.
    pub(super) async fn release(&self, product: &ProductItem, ledger: &Ledger) -> Result<(), Fault> {
        let (id, reservations) = (sku_reservation_id(&product.sku), self.reservations());
        for _ in 0..ATTEMPTS_MAX {
            let found = reservations.find(&id, ledger).await?;
            let own = found.filter(|(found, _)| Self::holder_of(found) == ProductKey::of(product));
            let Some((_, etag)) = own else { return Ok(()) };
            if reservations.delete(&id, etag, ledger).await? == WriteAttempt::Written {
                return Ok(());
            }
            // It is gone by a deletion whose answer was lost, another product has claimed the SKU, or nothing
            // was done.
        }
        Err(contended("a reservation"))
    }

    /// Deletes the reservation of a product that was deleted before, if it is still there.
    pub(super) async fn release_of_deleted(&self, key: ProductKey, ledger: &Ledger) -> Result<(), Fault> {
        match self.read(key, ledger).await? {
            HolderLookup::Found(stored) if stored.product.deleted => {
                self.release(&stored.product, ledger).await
            }
            _ => Ok(()),
        }
    }

    /// Deletes a reservation that has lapsed; says whether it was deleted.
    pub(in crate::webstore) async fn release_lapsed(&self, id: &str, ledger: &Ledger) -> Result<bool, Fault> {
        let reservations = self.reservations();
        let Some((reservation, etag)) = reservations.find(id, ledger).await? else { return Ok(false) };
        if !reservations.has_lapsed(id, Self::holder_of(&reservation), ledger).await? {
            return Ok(false);
        }
        Ok(reservations.delete(id, etag, ledger).await? == WriteAttempt::Written)
    }

    async fn attempt(
        &self,
        key: ProductKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        let partition_key = key.category_id.partition_key();
        conditional_write::attempt(&*self.0, PRODUCT, &partition_key, operation, ledger).await
    }
}

#[async_trait]
impl Holders for Products {
    type Id = ProductKey;
    type Holder = StoredProduct;
    type Reservation = SkuReservationItem;

    fn holder_of(reservation: &SkuReservationItem) -> ProductKey {
        ProductKey { category_id: reservation.category_id, id: reservation.product_id }
    }

    fn renewed(wanted: &SkuReservationItem, _existing: &SkuReservationItem) -> SkuReservationItem {
        wanted.clone()
    }

    async fn find(&self, key: ProductKey, ledger: &Ledger) -> Result<HolderLookup<StoredProduct>, Fault> {
        self.read(key, ledger).await
    }

    fn has_key(holder: &StoredProduct, key: &str) -> Result<bool, Fault> {
        Ok(!holder.product.deleted && sku_reservation_id(&holder.product.sku) == key)
    }

    async fn confirm(&self, holder: StoredProduct, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let key = ProductKey::of(&holder.product);
        let item = NewItem { id: key.id.to_string(), body: holder.item.body };
        self.attempt(key, WriteOp::Replace { item, if_match: Some(holder.etag) }, ledger).await
    }

    async fn abandon(&self, key: ProductKey, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let ProductKey { category_id, id } = key;
        let item_type = ABANDONED.to_owned();
        let block = AbandonedProductItem { id, item_type, category_id, ttl: ABANDONED_TTL_S };
        self.attempt(key, WriteOp::Create(NewItem::encode(id.to_string(), &block)), ledger).await
    }
}

/// The id of the reservation of an SKU, the same for every case. No username has a colon.
pub(in crate::webstore) fn sku_reservation_id(sku: &str) -> String {
    format!("sku:{}", sha256_hex(&[&sku.to_lowercase()]))
}

/// A reservation of an SKU by a product.
pub(in crate::webstore) fn sku_reservation(sku: &str, key: ProductKey) -> SkuReservationItem {
    SkuReservationItem {
        id: sku_reservation_id(sku),
        item_type: types::SKU.to_owned(),
        category_id: key.category_id,
        product_id: key.id,
    }
}
