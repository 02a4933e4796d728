//! The mutations of the web store: each field issues one command and answers with the items as the command
//! wrote them.

use async_graphql::{Context, Error, ID, Object, Result};
use uuid::Uuid;

use super::category::ProductCategory;
use super::inputs::{
    CreateProductCategoryInput, CreateProductInput, CreateProductTagInput, DeleteProductInput, MoneyInput,
    UpdateProductCategoryInput, UpdateProductInput, UpdateProductTagInput,
};
use super::payloads::{
    CreateProductCategoryPayload, CreateProductPayload, CreateProductTagPayload, DeleteProductPayload,
    UpdateProductCategoryPayload, UpdateProductPayload, UpdateProductTagPayload,
};
use super::product::Product;

use super::tag::ProductTag;
use crate::domain::error::{CommandError, InputStep, InvalidField};
use crate::graphql::errors;
use crate::graphql::ids::GlobalId;
use crate::graphql::inputs::change_of;
use crate::graphql::resolution::One;
use crate::graphql::scope::{self, RequestScope};
use crate::graphql::staff;
use crate::webstore::commands::{
    CreateProduct, TAGS_PER_PRODUCT_MAX, TypedMoney, UpdateProduct, WebstoreCommands,
};
use crate::webstore::ids::{CategoryId, ProductId, TagId};

/// The part of the root of all writes that is about the web store.
#[derive(Default)]
pub struct WebstoreMutation;

/// Writes of the web store.
#[Object]
impl WebstoreMutation {
    /// Creates a category. For staff.
    async fn create_product_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category.")] input: CreateProductCategoryInput,
    ) -> Result<Option<One<CreateProductCategoryPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let category = commands(scope).create_product_category(&by, input.name, scope.ledger()).await;
        let product_category = One(ProductCategory::new(done(scope, category)?.into()));
        Ok(Some(One(CreateProductCategoryPayload { product_category })))
    }

    /// Renames a category; its products follow by the change feed. For staff.
    async fn update_product_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new name.")] input: UpdateProductCategoryInput,
    ) -> Result<Option<One<UpdateProductCategoryPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let id = category_id("productCategoryId", &input.product_category_id).map_err(refused)?;
        let category = commands(scope).update_product_category(&by, id, input.name, scope.ledger()).await;
        let product_category = One(ProductCategory::new(done(scope, category)?.into()));
        Ok(Some(One(UpdateProductCategoryPayload { product_category })))
    }

    /// Creates a tag. For staff.
    async fn create_product_tag(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The tag.")] input: CreateProductTagInput,
    ) -> Result<Option<One<CreateProductTagPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let tag = commands(scope).create_product_tag(&by, input.name, scope.ledger()).await;
        let product_tag = One(ProductTag::new(done(scope, tag)?.into()));
        Ok(Some(One(CreateProductTagPayload { product_tag })))
    }

    /// Renames a tag; the products that have it follow by the change feed. For staff.
    async fn update_product_tag(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new name.")] input: UpdateProductTagInput,
    ) -> Result<Option<One<UpdateProductTagPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let id = tag_id("productTagId", &input.product_tag_id).map_err(refused)?;
        let tag = commands(scope).update_product_tag(&by, id, input.name, scope.ledger()).await;
        let product_tag = One(ProductTag::new(done(scope, tag)?.into()));
        Ok(Some(One(UpdateProductTagPayload { product_tag })))
    }

    /// Creates a product. For staff.
    async fn create_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: CreateProductInput,
    ) -> Result<Option<One<CreateProductPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let CreateProductInput { sku, name, description, price, category_id: category, tag_ids } = input;
        let mut invalid = Vec::new();
        let category_id =
            valid_or(CategoryId(Uuid::nil()), category_id("categoryId", &category), &mut invalid);
        let tag_ids = parse_tag_ids(&tag_ids, &mut invalid);
        let price = typed(price);
        let command = CreateProduct { sku, name, description, price, category_id, tag_ids };
        if !invalid.is_empty() {
            return Err(errors::invalid(&[invalid, command.invalid_fields()].concat()));
        }
        let product = commands(scope).create_product(&by, command, scope.ledger()).await;
        let product = One(Product::new(done(scope, product)?.into()));
        Ok(Some(One(CreateProductPayload { product })))
    }

    /// Changes a product; omitted fields stay. For staff.
    async fn update_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The changes.")] input: UpdateProductInput,
    ) -> Result<Option<One<UpdateProductPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let UpdateProductInput { product_id: id, name, description, price, is_sold_out, tag_ids } = input;
        let mut invalid = Vec::new();
        let nil = (CategoryId(Uuid::nil()), ProductId(Uuid::nil()));
        let (category_id, product_id) = valid_or(nil, product_id("productId", &id), &mut invalid);
        let tag_ids = change_of(tag_ids).map(Option::unwrap_or_default);
        let tag_ids = tag_ids.map(|ids| parse_tag_ids(&ids, &mut invalid));
        let price = price.map(typed);
        let command =
            UpdateProduct { category_id, product_id, name, description, price, is_sold_out, tag_ids };
        if !invalid.is_empty() {
            return Err(errors::invalid(&[invalid, command.invalid_fields()].concat()));
        }
        let product = commands(scope).update_product(&by, command, scope.ledger()).await;
        let product = One(Product::new(done(scope, product)?.into()));
        Ok(Some(One(UpdateProductPayload { product })))
    }

    /// Deletes a product. Placed orders keep their copy of its data. For staff.
    async fn delete_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: DeleteProductInput,
    ) -> Result<Option<One<DeleteProductPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let (category, id) = product_id("productId", &input.product_id).map_err(refused)?;
        let deleted = commands(scope).delete_product(&by, category, id, scope.ledger()).await;
        done(scope, deleted)?;
        let deleted_product_id = GlobalId::Product(category, id).encode().into();
        Ok(Some(One(DeleteProductPayload { deleted_product_id })))
    }
}

fn commands(scope: &RequestScope) -> &WebstoreCommands {
    &scope.services().webstore.commands
}

fn done<T>(scope: &RequestScope, outcome: Result<T, CommandError>) -> Result<T> {
    outcome.map_err(|failure| scope.command_error(failure))
}

fn typed(MoneyInput { amount, currency_code }: MoneyInput) -> TypedMoney {
    TypedMoney { amount: amount.0, currency_code }
}

fn category_id(field: &'static str, id: &str) -> Result<CategoryId, InvalidField> {
    match GlobalId::decode(id) {
        Ok(GlobalId::ProductCategory(id)) => Ok(id),
        Ok(_) => Err(InvalidField::new(field, "is not the id of a category")),
        Err(invalid) => Err(InvalidField::new(field, invalid)),
    }
}

fn tag_id(field: &'static str, id: &str) -> Result<TagId, InvalidField> {
    match GlobalId::decode(id) {
        Ok(GlobalId::ProductTag(id)) => Ok(id),
        Ok(_) => Err(InvalidField::new(field, "is not the id of a tag")),
        Err(invalid) => Err(InvalidField::new(field, invalid)),
    }
}

/// The ids of tags; an id that is none of a tag is among the invalid fields.
fn parse_tag_ids(ids: &[ID], invalid: &mut Vec<InvalidField>) -> Vec<TagId> {
    // One tag more than may be is enough to refuse them all.
    let ids = ids.iter().take(TAGS_PER_PRODUCT_MAX + 1).enumerate();
    let parsed = ids.map(|(index, id)| {
        let parsed = tag_id("tagIds", id).map_err(|invalid| invalid.at(&[InputStep::Index(index)]));
        // Equal ids would be one tag.
        valid_or(TagId(Uuid::from_u128(index as u128)), parsed, invalid)
    });
    parsed.collect()
}

fn product_id(field: &'static str, id: &str) -> Result<(CategoryId, ProductId), InvalidField> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Product(category, id)) => Ok((category, id)),
        Ok(_) => Err(InvalidField::new(field, "is not the id of a product")),
        Err(invalid) => Err(InvalidField::new(field, invalid)),
    }
}

/// The parsed value, or another one beside the error, so that the other fields can be checked, too.
fn valid_or<T>(otherwise: T, parsed: Result<T, InvalidField>, invalid: &mut Vec<InvalidField>) -> T {
    parsed.unwrap_or_else(|field| {
        invalid.push(field);
        otherwise
    })
}

fn refused(invalid: InvalidField) -> Error {
    errors::invalid(&[invalid])
}
