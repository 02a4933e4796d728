//! Nodes of the web store, each read from its logical partition.

use async_graphql::Result;

pub(in crate::graphql) use super::category::ProductCategory;
pub(in crate::graphql) use super::customer::Customer;
pub(in crate::graphql) use super::product::Product;
pub(in crate::graphql) use super::sales_order::SalesOrder;

pub(in crate::graphql) use super::tag::ProductTag;
use crate::graphql::scope::RequestScope;
use crate::graphql::staff;
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use onehop_runtime::planted;

pub(in crate::graphql) async fn product(
    scope: &RequestScope,
    category: CategoryId,
    id: ProductId,
) -> Result<Option<Product>> {
    let product = scope.services().webstore.reads.product(category, id, scope.ledger()).await;
    Ok(product.map_err(|fault| scope.fault(&fault))?.map(Product::new))
}

pub(in crate::graphql) async fn category(
    scope: &RequestScope,
    id: CategoryId,
) -> Result<Option<ProductCategory>> {
    let category = scope.services().webstore.reads.category(id, scope.ledger()).await;
    Ok(category.map_err(|fault| scope.fault(&fault))?.map(ProductCategory::new))
}

pub(in crate::graphql) async fn tag(scope: &RequestScope, id: TagId) -> Result<Option<ProductTag>> {
    let tag = scope.services().webstore.reads.tag(id, scope.ledger()).await;
    Ok(tag.map_err(|fault| scope.fault(&fault))?.map(ProductTag::new))
}

/// A customer, for the customer and for staff; `None` for all others.
pub(in crate::graphql) async fn customer(scope: &RequestScope, id: CustomerId) -> Result<Option<Customer>> {
    if !staff::may_see(scope, id) {
        return Ok(None);
    }
    customer_of(scope, id).await
}

/// A customer whom the caller may see.
pub(super) async fn customer_of(scope: &RequestScope, id: CustomerId) -> Result<Option<Customer>> {
    let customer = scope.services().webstore.reads.customer(id, scope.ledger()).await;
    Ok(customer.map_err(|fault| scope.fault(&fault))?.map(Customer::new))
}

/// An order, for its customer and for staff; `None` for all others.
pub(in crate::graphql) async fn sales_order(
    scope: &RequestScope,
    customer: CustomerId,
    id: SalesOrderId,
) -> Result<Option<SalesOrder>> {
    if !staff::may_see(scope, customer) && !planted!("order-for-everybody") {
        return Ok(None);
    }
    let order = scope.services().webstore.reads.sales_order(customer, id, scope.ledger()).await;
    Ok(order.map_err(|fault| scope.fault(&fault))?.map(SalesOrder::new))
}
