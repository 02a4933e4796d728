//! The `SalesOrder` type.

use async_graphql::{Context, ID, Object, Result};
use uuid::Uuid;

use super::customer::{Customer, CustomerAddress};
use super::decimal::MoneyValue;
use super::product::Product;

use crate::graphql::connections::{Connection, Listed};
use crate::graphql::date_time::DateTime;
use crate::graphql::errors::{Code, error};
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::{Many, One};
use crate::graphql::scope;
use crate::graphql::staff;
use crate::webstore::reads::{OrderLineView, SalesOrderView};

/// A page of orders.
pub type SalesOrderConnection = Connection<SalesOrder>;

/// A sales order.
pub struct SalesOrder {
    view: SalesOrderView,
    lines: Vec<SalesOrderLine>,
}

impl SalesOrder {
    pub(crate) fn new(view: SalesOrderView) -> Self {
        let lines = view.lines().into_iter().map(SalesOrderLine).collect();
        Self { view, lines }
    }

    /// Whether it is neither shipped nor cancelled.
    fn is_open(&self) -> bool {
        self.view.ship_date.is_none() && self.view.cancel_date.is_none()
    }

    fn global_id(&self) -> GlobalId {
        GlobalId::SalesOrder(self.view.customer_id, self.view.id)
    }
}

impl Listed for SalesOrder {
    fn place(&self) -> (&str, Uuid) {
        (&self.view.order_date, self.view.id.0)
    }
}

/// The products that a customer ordered at one time. Only the customer and staff see it.
#[Object]
impl SalesOrder {
    /// Identifies the order among all nodes.
    pub async fn id(&self) -> ID {
        self.global_id().encode().into()
    }

    /// The customer who ordered.
    async fn customer(&self, ctx: &Context<'_>) -> Result<One<Customer>> {
        let scope = scope::of(ctx);
        let customer = scope.services().webstore.reads.customer(self.view.customer_id, scope.ledger()).await;
        let customer = customer.map_err(|fault| scope.fault(&fault))?;
        let customer = customer.ok_or_else(|| error(Code::NotFound, "There is no such customer."))?;
        Ok(One(Customer::new(customer)))
    }

    /// When it was ordered.
    async fn order_date(&self) -> DateTime {
        DateTime(self.view.order_date.clone())
    }

    /// When it was shipped; null until then.
    async fn ship_date(&self) -> Option<DateTime> {
        self.view.ship_date.clone().map(DateTime)
    }

    /// When it was cancelled; null until then.
    async fn cancel_date(&self) -> Option<DateTime> {
        self.view.cancel_date.clone().map(DateTime)
    }

    /// Where the order goes; null for orders without an address.
    async fn shipping_address(&self) -> Option<One<CustomerAddress>> {
        self.view.shipping_address.clone().map(|view| One(view.into()))
    }

    /// The ordered products, at the names and prices of that moment.
    async fn lines(&self) -> Many<'_, SalesOrderLine> {
        Many(self.lines.iter().collect())
    }

    /// Whether the caller may delete the order: the customer, until it is shipped. Reading it costs nothing.
    async fn viewer_can_delete(&self, ctx: &Context<'_>) -> bool {
        self.view.ship_date.is_none() && scope::of(ctx).customer() == Some(self.view.customer_id)
    }

    /// Whether the caller may cancel the order: the customer, until it is shipped or cancelled.
    async fn viewer_can_cancel(&self, ctx: &Context<'_>) -> bool {
        self.is_open() && scope::of(ctx).customer() == Some(self.view.customer_id)
    }

    /// Whether the caller may ship the order: staff, until it is shipped or cancelled.
    async fn viewer_can_ship(&self, ctx: &Context<'_>) -> bool {
        self.is_open() && staff::viewer_is_staff(scope::of(ctx))
    }

    /// The sum of the lines.
    async fn total(&self) -> One<MoneyValue> {
        One(MoneyValue(self.view.total()))
    }
}

/// A line of an order, as clients see it.
pub struct SalesOrderLine(OrderLineView);

/// The ordered quantity of one product.
#[Object]
impl SalesOrderLine {
    /// The stock keeping unit of the product.
    async fn sku(&self) -> &str {
        &self.0.sku
    }

    /// The name that the product had.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The product that has this stock keeping unit now, by two point reads; null where none has it.
    async fn product(&self, ctx: &Context<'_>) -> Result<Option<One<Product>>> {
        let scope = scope::of(ctx);
        let product = scope.services().webstore.reads.product_by_sku(&self.0.sku, scope.ledger()).await;
        Ok(product.map_err(|fault| scope.fault(&fault))?.map(|view| One(Product::new(view))))
    }

    /// The price that one had.
    async fn price(&self) -> One<MoneyValue> {
        One(MoneyValue(self.0.price.clone()))
    }

    /// The ordered quantity.
    async fn quantity(&self) -> u32 {
        self.0.quantity
    }

    /// The price of all of them.
    async fn total(&self) -> One<MoneyValue> {
        One(MoneyValue(self.0.total.clone()))
    }
}
