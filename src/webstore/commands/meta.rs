//! Categories and tags: creating and renaming them. Products follow a new name by the change feed.

use uuid::Uuid;

use crate::accounts::staff::StaffMember;
use crate::domain::error::{CommandError, Refusal};
use crate::webstore::containers::PRODUCT_META;
use crate::webstore::ids::{CategoryId, TagId};
use crate::webstore::items::{MetaItem, types};
use onehop_store::{Ledger, PartitionKey};

use super::text::MetaName;
use super::{ItemAddress, WebstoreCommands};

/// The most categories, and the most tags, that there may be. Each list is read whole.
pub const META_ITEMS_MAX: u64 = 1_000;

/// The kind of lookup list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaKind {
    Category,
    Tag,
}

impl MetaKind {
    /// The type of the items, which is their partition key.
    #[must_use]
    pub fn item_type(self) -> &'static str {
        match self {
            Self::Category => types::CATEGORY,
            Self::Tag => types::TAG,
        }
    }

    fn not_found(self) -> Refusal {
        match self {
            Self::Category => Refusal::not_found("productCategoryId", "there is no such category"),
            Self::Tag => Refusal::not_found("productTagId", "there is no such tag"),
        }
    }
}

impl WebstoreCommands {
    /// Creates a category.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `name`; `LIMIT_EXCEEDED` when there are [`META_ITEMS_MAX`].
    pub async fn create_product_category(
        &self,
        by: &StaffMember,
        name: String,
        ledger: &Ledger,
    ) -> Result<MetaItem, CommandError> {
        self.create_meta(by, MetaKind::Category, name, ledger).await
    }

    /// Creates a tag.
    ///
    /// # Errors
    /// As [`create_product_category`](Self::create_product_category).
    pub async fn create_product_tag(
        &self,
        by: &StaffMember,
        name: String,
        ledger: &Ledger,
    ) -> Result<MetaItem, CommandError> {
        self.create_meta(by, MetaKind::Tag, name, ledger).await
    }

    /// Renames a category.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `name`; `NOT_FOUND` on `productCategoryId`.
    pub async fn update_product_category(
        &self,
        by: &StaffMember,
        id: CategoryId,
        name: String,
        ledger: &Ledger,
    ) -> Result<MetaItem, CommandError> {
        self.rename_meta(by, MetaKind::Category, id.0, name, ledger).await
    }

    /// Renames a tag.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `name`; `NOT_FOUND` on `productTagId`.
    pub async fn update_product_tag(
        &self,
        by: &StaffMember,
        id: TagId,
        name: String,
        ledger: &Ledger,
    ) -> Result<MetaItem, CommandError> {
        self.rename_meta(by, MetaKind::Tag, id.0, name, ledger).await
    }

    async fn create_meta(
        &self,
        _by: &StaffMember,
        kind: MetaKind,
        name: String,
        ledger: &Ledger,
    ) -> Result<MetaItem, CommandError> {
        let name = MetaName::parse(name)?;
        let partition_key = PartitionKey::from(kind.item_type());
        let there = self.store.count(PRODUCT_META, &partition_key, kind.item_type(), ledger).await?;
        if there >= META_ITEMS_MAX {
            let message = format!("there may not be more than {META_ITEMS_MAX} of type {}", kind.item_type());
            return Err(Refusal::limit_exceeded(message).into());
        }
        let id = self.new_id();
        let item = MetaItem { id, item_type: kind.item_type().to_owned(), name: name.into(), version: 1 };
        self.create_new((PRODUCT_META, &partition_key), id.to_string(), &item, ledger).await?;
        Ok(item)
    }

    async fn rename_meta(
        &self,
        _by: &StaffMember,
        kind: MetaKind,
        id: Uuid,
        name: String,
        ledger: &Ledger,
    ) -> Result<MetaItem, CommandError> {
        let name = MetaName::parse(name)?;
        let partition_key = PartitionKey::from(kind.item_type());
        let rename = |item: &MetaItem| {
            let renamed =
                MetaItem { name: name.as_str().to_owned(), version: item.version + 1, ..item.clone() };
            Ok((item.name != name.as_str()).then_some(renamed))
        };
        let place = ItemAddress {
            container: PRODUCT_META,
            partition_key: &partition_key,
            item_type: kind.item_type(),
        };
        self.change(place, &id.to_string(), || kind.not_found(), rename, ledger).await
    }
}
