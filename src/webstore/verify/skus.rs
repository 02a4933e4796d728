//! Verification of SKUs: each product has the reservation of its SKU, and each reservation its product.

use std::sync::LazyLock;

use async_trait::async_trait;
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Invariant, Violation};
use onehop_store::{ETag, Fault, Ledger, PartitionKey};

use crate::domain::containers::ACCOUNTS;
use crate::domain::reservations::{HolderLookup, Holders as _};
use crate::webstore::commands::{ProductKey, Products, sku_reservation_id};
use crate::webstore::ids::{CategoryId, ProductId};
use crate::webstore::items::types;
use crate::webstore::read_models::read_models;

/// Reservations of SKUs, by a hash of the SKU.
static SKU_RESERVATION: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(ACCOUNTS, types::SKU, &["categoryId", "productId"]));

/// The SKU of each product is reserved for that product.
pub(super) struct ReservedSkus(pub(super) Products);

#[async_trait]
impl Invariant for ReservedSkus {
    fn name(&self) -> &'static str {
        "sku"
    }

    fn item_type(&self) -> &ItemType {
        read_models().item_type(types::PRODUCT).expect("the model has products")
    }

    async fn violation(&self, category: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let (Some(key), ledger) = (product_key(category, id), Ledger::new()) else { return Ok(None) };
        let HolderLookup::Found(stored) = self.0.read(key, &ledger).await? else { return Ok(None) };
        if stored.product.deleted {
            return Ok(None);
        }
        let reserved = self.0.reservations().find(&sku_reservation_id(&stored.product.sku), &ledger).await?;
        let (holder, etag) = reserved.map(|(found, etag)| (Products::holder_of(&found), etag)).unzip();
        let problem = match holder {
            Some(holder) if holder == key => return Ok(None),
            Some(holder) if self.holds(holder, &stored.product.sku, &ledger).await? => {
                "another product has the SKU"
            }
            Some(_) => "the SKU is reserved for another product",
            None => "the SKU is not reserved",
        };
        Ok(violation(problem, [Some(stored.etag), etag]))
    }

    async fn repair(&self, category: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let Some(key) = product_key(category, id) else { return Ok(false) };
        self.0.reserve_again(key, &Ledger::new()).await
    }
}

impl ReservedSkus {
    /// Whether a product has this SKU.
    async fn holds(&self, key: ProductKey, sku: &str, ledger: &Ledger) -> Result<bool, Fault> {
        match self.0.read(key, ledger).await? {
            HolderLookup::Found(stored) => Products::has_key(&stored, &sku_reservation_id(sku)),
            HolderLookup::Missing | HolderLookup::Abandoned => Ok(false),
        }
    }
}

/// Each reservation of an SKU has its product. A creation that died, and a deletion that did, leave one
/// without.
pub(super) struct HeldSkus(pub(super) Products);

#[async_trait]
impl Invariant for HeldSkus {
    fn name(&self) -> &'static str {
        "skuReservation"
    }

    fn item_type(&self) -> &ItemType {
        &SKU_RESERVATION
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let ledger = Ledger::new();
        let Some((reservation, etag)) = self.0.reservations().find(id, &ledger).await? else {
            return Ok(None);
        };
        match self.0.read(Products::holder_of(&reservation), &ledger).await? {
            HolderLookup::Found(stored) if Products::has_key(&stored, id)? => Ok(None),
            HolderLookup::Found(stored) => {
                Ok(violation("the product does not have the reserved SKU", [Some(stored.etag), Some(etag)]))
            }
            HolderLookup::Missing | HolderLookup::Abandoned => {
                Ok(violation("there is no product with the reserved SKU", [None, Some(etag)]))
            }
        }
    }

    fn is_repaired_by_deletion(&self) -> bool {
        true
    }

    async fn repair(&self, _: &PartitionKey, id: &str) -> Result<bool, Fault> {
        self.0.release_lapsed(id, &Ledger::new()).await
    }
}

fn product_key(category: &PartitionKey, id: &str) -> Option<ProductKey> {
    let category_id = category.as_str().parse().ok().map(CategoryId)?;
    Some(ProductKey { category_id, id: id.parse().ok().map(ProductId)? })
}

fn violation(problem: &str, seen: [Option<ETag>; 2]) -> Option<Violation> {
    Some(Violation { problem: problem.to_owned(), seen: seen.into() })
}
