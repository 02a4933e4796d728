//! Products: creating, changing and deleting them. A product is written with the names that its category and
//! its tags have at that moment; projections correct them later. First the reservation of its SKU is written,
//! then the product.

use crate::accounts::staff::StaffMember;
use crate::domain::error::{CommandError, InputStep, InvalidField, InvalidFields, Refusal, contended};
use crate::domain::money::{Money, MoneyError};
use crate::domain::reservations::KeyClaim;
use crate::webstore::containers::{PRODUCT, PRODUCT_META};
use crate::webstore::ids::{CategoryId, ProductId, TagId};
use crate::webstore::items::{MetaItem, ProductItem, TOMBSTONE_TTL_S, TagCopy, types};
use onehop_store::{Fault, Ledger, PartitionKey};

use super::skus::{ProductKey, sku_reservation};
use super::text::{Description, ProductName, Sku};
use super::{ItemAddress, WebstoreCommands};

/// Attempts of a creation with new ids after others had given it up for dead.
const CREATION_ATTEMPTS_MAX: u32 = 8;
/// The most tags of a product.
pub const TAGS_PER_PRODUCT_MAX: usize = 10;

/// An amount of money as typed.
#[derive(Debug, Clone)]
pub struct TypedMoney {
    pub amount: String,
    pub currency_code: String,
}

/// A new product, as typed.
pub struct CreateProduct {
    pub sku: String,
    pub name: String,
    pub description: String,
    pub price: TypedMoney,
    pub category_id: CategoryId,
    pub tag_ids: Vec<TagId>,
}

impl CreateProduct {
    /// The invalid fields, for an input that is refused for another one anyway.
    #[must_use]
    pub fn invalid_fields(self) -> Vec<InvalidField> {
        check_new(self).err().map(|refusal| refusal.invalid_fields).unwrap_or_default()
    }
}

/// The changes of a product, as typed; fields that are `None` stay.
pub struct UpdateProduct {
    pub category_id: CategoryId,
    pub product_id: ProductId,
    pub name: Option<String>,
    pub description: Option<String>,
    pub price: Option<TypedMoney>,
    pub is_sold_out: Option<bool>,
    pub tag_ids: Option<Vec<TagId>>,
}

impl UpdateProduct {
    /// The invalid fields, for an input that is refused for another one anyway.
    #[must_use]
    pub fn invalid_fields(self) -> Vec<InvalidField> {
        let mut invalid = InvalidFields::default();
        invalid.check(self.name.map(ProductName::parse).transpose());
        invalid.check(self.description.map(Description::parse).transpose());
        invalid.check(self.price.as_ref().map(parse_price).transpose());
        invalid.check(self.tag_ids.map(parse_tags).transpose());
        invalid.into_vec()
    }
}

/// The new values of a product.
struct Changes {
    name: Option<ProductName>,
    description: Option<Description>,
    price: Option<Money>,
    is_sold_out: Option<bool>,
    tags: Option<Vec<TagCopy>>,
}

impl WebstoreCommands {
    /// Creates a product.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `NOT_FOUND` on `categoryId` or `tagIds`; `CONFLICT` on `sku` where
    /// another product has it.
    pub async fn create_product(
        &self,
        _by: &StaffMember,
        input: CreateProduct,
        ledger: &Ledger,
    ) -> Result<ProductItem, CommandError> {
        let NewProduct { sku, name, description, price, category_id, tag_ids } = check_new(input)?;
        let category_name = self.category_name(category_id, ledger).await?;
        let tags = self.tag_copies(&tag_ids, ledger).await?;
        let mut product = ProductItem {
            id: ProductId(self.new_id()),
            item_type: types::PRODUCT.to_owned(),
            category_id,
            category_name,
            sku: sku.as_str().to_owned(),
            name: name.into(),
            description: description.into(),
            price: price.minor_units,
            currency_code: price.currency,
            is_sold_out: false,
            tags,
            version: 1,
            deleted: false,
            ttl: None,
        };
        for _ in 0..CREATION_ATTEMPTS_MAX {
            let wanted = sku_reservation(&product.sku, ProductKey::of(&product));
            let claim = self.products.reservations().claim(&wanted.id, &wanted, ledger).await?;
            if matches!(claim, KeyClaim::Held { .. }) {
                return Err(Refusal::conflict("sku", "another product has this SKU").into());
            }
            if let Some(created) = self.products.create(&product, ledger).await? {
                return Ok(created);
            }
            product.id = ProductId(self.new_id());
        }
        Err(contended("the reservation of an SKU").into())
    }

    /// Changes a product.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `NOT_FOUND` on `productId` or `tagIds`.
    pub async fn update_product(
        &self,
        _by: &StaffMember,
        input: UpdateProduct,
        ledger: &Ledger,
    ) -> Result<ProductItem, CommandError> {
        let mut invalid = InvalidFields::default();
        let name = invalid.check(input.name.map(ProductName::parse).transpose());
        let description = invalid.check(input.description.map(Description::parse).transpose());
        let price = invalid.check(input.price.as_ref().map(parse_price).transpose());
        let tag_ids = invalid.check(input.tag_ids.map(parse_tags).transpose());
        let (Some(name), Some(description), Some(price), Some(tag_ids)) = (name, description, price, tag_ids)
        else {
            return Err(invalid.refusal().into());
        };
        let tags = match tag_ids {
            Some(tag_ids) => Some(self.tag_copies(&tag_ids, ledger).await?),
            None => None,
        };
        let changes = Changes { name, description, price, is_sold_out: input.is_sold_out, tags };
        let update = |product: &ProductItem| updated(product, &changes);
        self.change_product(input.category_id, input.product_id, update, ledger).await
    }

    /// Deletes a product. A tombstone with its tags stays for as long as projections may need to see it. The
    /// SKU is free from then on: its reservation has lapsed, and goes. Of two deletions at the same time both
    /// may succeed: they write the same tombstone.
    ///
    /// # Errors
    /// `NOT_FOUND` on `productId`.
    pub async fn delete_product(
        &self,
        _by: &StaffMember,
        category_id: CategoryId,
        product_id: ProductId,
        ledger: &Ledger,
    ) -> Result<ProductItem, CommandError> {
        let delete = |product: &ProductItem| {
            live(product)?;
            Ok(Some(ProductItem {
                description: String::new(),
                version: product.version + 1,
                deleted: true,
                ttl: Some(TOMBSTONE_TTL_S),
                ..product.clone()
            }))
        };
        let outcome = self.change_product(category_id, product_id, delete, ledger).await;
        match &outcome {
            Ok(deleted) => self.products.release(deleted, ledger).await?,
            // A deletion whose release met a fault is repeated.
            Err(_) => {
                self.products.release_of_deleted(ProductKey { category_id, id: product_id }, ledger).await?
            }
        }
        outcome
    }

    async fn change_product(
        &self,
        category_id: CategoryId,
        product_id: ProductId,
        change: impl Fn(&ProductItem) -> Result<Option<ProductItem>, Refusal> + Send + Sync,
        ledger: &Ledger,
    ) -> Result<ProductItem, CommandError> {
        let (partition_key, id) = (category_id.partition_key(), product_id.to_string());
        let place =
            ItemAddress { container: PRODUCT, partition_key: &partition_key, item_type: types::PRODUCT };
        self.change(place, &id, product_not_found, change, ledger).await
    }

    async fn category_name(&self, id: CategoryId, ledger: &Ledger) -> Result<String, CommandError> {
        let partition_key = PartitionKey::from(types::CATEGORY);
        let item = self.store.read(PRODUCT_META, &partition_key, &id.to_string(), ledger).await?;
        let item = item.ok_or_else(|| Refusal::not_found("categoryId", "there is no such category"))?;
        Ok(item.decode::<MetaItem>()?.name)
    }

    /// The tags with their names, in the order of the ids, in one batch of point reads.
    async fn tag_copies(&self, ids: &[TagId], ledger: &Ledger) -> Result<Vec<TagCopy>, CommandError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<_> = ids.iter().map(|id| (PartitionKey::from(types::TAG), id.to_string())).collect();
        let items = self.store.read_many(PRODUCT_META, &keys, ledger).await?;
        let mut tags = Vec::with_capacity(ids.len());
        for (index, (id, item)) in ids.iter().zip(items).enumerate() {
            let missing =
                || Refusal::not_found("tagIds", "there is no such tag").at(&[InputStep::Index(index)]);
            let item = item.ok_or_else(missing)?;
            let name: Result<MetaItem, Fault> = item.decode();
            tags.push(TagCopy { id: *id, name: name?.name });
        }
        Ok(tags)
    }
}

fn product_not_found() -> Refusal {
    Refusal::not_found("productId", "there is no such product")
}

fn live(product: &ProductItem) -> Result<(), Refusal> {
    if product.deleted { Err(product_not_found()) } else { Ok(()) }
}

/// The product with the changes; `None` where they change nothing. The name of a tag that the product has
/// already stays.
fn updated(product: &ProductItem, changes: &Changes) -> Result<Option<ProductItem>, Refusal> {
    live(product)?;
    let mut updated = product.clone();
    if let Some(name) = &changes.name {
        name.as_str().clone_into(&mut updated.name);
    }
    if let Some(description) = &changes.description {
        description.as_str().clone_into(&mut updated.description);
    }
    if let Some(price) = &changes.price {
        updated.price = price.minor_units;
        updated.currency_code = price.currency.clone();
    }
    if let Some(is_sold_out) = changes.is_sold_out {
        updated.is_sold_out = is_sold_out;
    }
    if let Some(tags) = &changes.tags {
        let present = |tag: &TagCopy| product.tags.iter().find(|present| present.id == tag.id);
        updated.tags = tags.iter().map(|tag| present(tag).unwrap_or(tag).clone()).collect();
    }
    if updated == *product {
        return Ok(None);
    }
    updated.version += 1;
    Ok(Some(updated))
}

fn parse_price(price: &TypedMoney) -> Result<Money, Refusal> {
    Money::parse(&price.amount, &price.currency_code).map_err(|rule| {
        let field = if rule == MoneyError::Currency { "currencyCode" } else { "amount" };
        Refusal::bad_input("price", rule).at(&[InputStep::Field(field)])
    })
}

/// A new product, as checked.
struct NewProduct {
    sku: Sku,
    name: ProductName,
    description: Description,
    price: Money,
    category_id: CategoryId,
    tag_ids: Vec<TagId>,
}

fn check_new(input: CreateProduct) -> Result<NewProduct, Refusal> {
    let category_id = input.category_id;
    let mut invalid = InvalidFields::default();
    let sku = invalid.check(Sku::parse(input.sku));
    let name = invalid.check(ProductName::parse(input.name));
    let description = invalid.check(Description::parse(input.description));
    let price = invalid.check(parse_price(&input.price));
    let tag_ids = invalid.check(parse_tags(input.tag_ids));
    let (Some(sku), Some(name), Some(description), Some(price), Some(tag_ids)) =
        (sku, name, description, price, tag_ids)
    else {
        return Err(invalid.refusal());
    };
    Ok(NewProduct { sku, name, description, price, category_id, tag_ids })
}

/// The tags, each once, in the order in which they were given.
fn parse_tags(ids: Vec<TagId>) -> Result<Vec<TagId>, Refusal> {
    if ids.len() > TAGS_PER_PRODUCT_MAX {
        let rule = format_args!("must have at most {TAGS_PER_PRODUCT_MAX} tags, has {}", ids.len());
        return Err(Refusal::bad_input("tagIds", rule));
    }
    let mut distinct = Vec::with_capacity(ids.len());
    for id in ids {
        if !distinct.contains(&id) {
            distinct.push(id);
        }
    }
    Ok(distinct)
}
