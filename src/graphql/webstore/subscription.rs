//! The subscriptions of the web store: a product, and an order, as they change.

use std::sync::Arc;

use async_graphql::{Context, Error, ID, Result, Subscription};
use futures::{Stream, StreamExt as _};
use onehop_model::Subscription as Declared;
use serde::de::DeserializeOwned;

use super::nodes::{self, Product, SalesOrder};
use crate::graphql::errors::{self, Code, bad_input};
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::One;
use crate::graphql::scope;
use crate::graphql::subscription::{Begun, overrun_of};
use crate::served::live::{EventsError, ItemEvent};
use crate::served::{ItemPlace, TypeIndex, WrittenItem};
use crate::webstore::model::MODEL;
use crate::webstore::reads::view_of;

/// The subscriptions that some callers alone may begin, so that callers share no execution of them.
pub(in crate::graphql) const PERSONAL: [&str; 1] = [SALES_ORDER_CHANGED];
const PRODUCT_CHANGED: &str = "productChanged";
const SALES_ORDER_CHANGED: &str = "salesOrderChanged";

/// The subscriptions of the web store.
#[derive(Default)]
pub struct WebstoreSubscription;

#[Subscription]
impl WebstoreSubscription {
    /// A product changed: its texts, its price, its tags, the name of its category, or whether it is sold
    /// out. Ends when the product is deleted.
    async fn product_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product's id.")] id: ID,
    ) -> Result<impl Stream<Item = Result<One<Product>>>> {
        let (category, product) = match GlobalId::decode(&id) {
            Ok(GlobalId::Product(category, product)) => (category, product),
            Ok(_) => return Err(bad_input("id", "is not the id of a product")),
            Err(invalid) => return Err(bad_input("id", invalid)),
        };
        if nodes::product(scope::of(ctx), category, product).await?.is_none() {
            return Err(errors::error(Code::NotFound, "There is no such product."));
        }
        let ty = item_type(ctx, PRODUCT_CHANGED)?;
        let place = ItemPlace { ty, partition: category.partition_key(), id: product.to_string() };
        let changes = changes(ctx, PRODUCT_CHANGED, place).await?;
        Ok(changes.map(|view| view.map(|view| One(Product::new(view)))))
    }

    /// An order changed: it was shipped or cancelled. Only its customer and staff may listen. Ends when the
    /// order is deleted.
    async fn sales_order_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The order's id.")] id: ID,
    ) -> Result<impl Stream<Item = Result<One<SalesOrder>>>> {
        let (customer, order) = match GlobalId::decode(&id) {
            Ok(GlobalId::SalesOrder(customer, order)) => (customer, order),
            Ok(_) => return Err(bad_input("id", "is not the id of a sales order")),
            Err(invalid) => return Err(bad_input("id", invalid)),
        };
        if nodes::sales_order(scope::of(ctx), customer, order).await?.is_none() {
            return Err(errors::error(Code::NotFound, "There is no such order."));
        }
        let ty = item_type(ctx, SALES_ORDER_CHANGED)?;
        let place = ItemPlace { ty, partition: customer.partition_key(), id: order.to_string() };
        let changes = changes(ctx, SALES_ORDER_CHANGED, place).await?;
        Ok(changes.map(|view| view.map(|view| One(SalesOrder::new(view)))))
    }
}

/// The declaration of a subscription in the model.
fn declared(name: &str) -> Result<&'static Declared> {
    let found = MODEL.subscriptions().iter().find(|found| *found.name == *name);
    found.ok_or_else(unknown)
}

/// The error of a subscription that the model does not declare, which a test finds.
fn unknown() -> Error {
    errors::error(Code::Internal, "The subscription is unknown.")
}

/// The type of a subscription's items.
fn item_type(ctx: &Context<'_>, name: &str) -> Result<TypeIndex> {
    let model = scope::of(ctx).services().webstore_events.model();
    model.index_of(&declared(name)?.item_type).ok_or_else(unknown)
}

/// The changes of the item at a place, as its reads decode it.
async fn changes<T: DeserializeOwned>(
    ctx: &Context<'_>,
    name: &str,
    place: ItemPlace,
) -> Result<impl Stream<Item = Result<T>> + use<T>> {
    let scope = scope::of(ctx);
    let events = &scope.services().webstore_events;
    let item = WrittenItem { place, body: Arc::default() };
    let events = events.listen(declared(name)?, Some(item), scope.ledger()).await;
    let events = events.map_err(|fault| scope.fault(&fault))?;
    let events = events.ok_or_else(unknown)?;
    ctx.data_unchecked::<Begun>().tell();
    let scope = Arc::clone(scope);
    Ok(events.map(move |event| match event {
        Ok(ItemEvent { item, .. }) => view_of(&item.body).map_err(|fault| scope.fault(&fault)),
        Err(EventsError::Overrun(overrun)) => Err(overrun_of(overrun)),
        Err(EventsError::Fault(fault)) => Err(scope.fault(&fault)),
    }))
}
