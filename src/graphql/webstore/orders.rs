//! Sales orders in the schema: placing, cancelling, deleting and shipping them.

use async_graphql::{Context, Error, ID, InputObject, Object, Result, SimpleObject};
use uuid::Uuid;

use super::customer::Customer;
use super::customers::{CustomerAddressInput, typed};
use super::sales_order::SalesOrder;

use crate::domain::error::{InputStep, InvalidField};
use crate::graphql::errors::{self, Code, bad_input, error};
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::One;
use crate::graphql::scope::{self, RequestScope};
use crate::graphql::staff;
use crate::graphql::writes::within_limit;
use crate::webstore::commands::{
    CreateSalesOrder, DeleteSalesOrder, ORDER_LINES_MAX, OrderedProduct, SettledOrder,
};
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId};
use crate::webstore::write_limits;

/// The ordered quantity of one product.
#[derive(InputObject)]
pub struct SalesOrderLineInput {
    /// The product's id.
    pub product_id: ID,
    /// 1 to 1,000.
    pub quantity: i32,
}

/// A new order of the signed-in customer.
#[derive(InputObject)]
pub struct CreateSalesOrderInput {
    /// 1 to 100 lines, of products with one currency.
    pub lines: Vec<SalesOrderLineInput>,
    /// Where the order goes.
    pub shipping_address: Option<CustomerAddressInput>,
    /// A repeat with the same key returns the first outcome; the same key with other input is a `CONFLICT`.
    pub idempotency_key: Option<String>,
}

/// The order to delete.
#[derive(InputObject)]
pub struct DeleteSalesOrderInput {
    /// The order's id.
    pub sales_order_id: ID,
}

/// The order to cancel.
#[derive(InputObject)]
pub struct CancelSalesOrderInput {
    /// The order's id.
    pub sales_order_id: ID,
}

/// The order to ship.
#[derive(InputObject)]
pub struct ShipSalesOrderInput {
    /// The order's id.
    pub sales_order_id: ID,
}

/// The order that was placed.
#[derive(SimpleObject)]
pub struct CreateSalesOrderPayload {
    /// The new order.
    sales_order: One<SalesOrder>,
    /// The customer, with the order counted.
    customer: One<Customer>,
}

/// The order that is gone.
#[derive(SimpleObject)]
pub struct DeleteSalesOrderPayload {
    /// The id that the order had.
    deleted_sales_order_id: ID,
    /// The customer, with the order no longer counted.
    customer: One<Customer>,
}

/// The order that is cancelled.
#[derive(SimpleObject)]
pub struct CancelSalesOrderPayload {
    /// The order.
    sales_order: One<SalesOrder>,
}

/// The order that is shipped.
#[derive(SimpleObject)]
pub struct ShipSalesOrderPayload {
    /// The order.
    sales_order: One<SalesOrder>,
}

/// The part of the root of all writes that is about sales orders.
#[derive(Default)]
pub struct SalesOrderMutation;

/// Writes of sales orders.
#[Object]
impl SalesOrderMutation {
    /// Places an order of the signed-in customer, at the prices of this moment.
    async fn create_sales_order(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The order.")] input: CreateSalesOrderInput,
    ) -> Result<Option<One<CreateSalesOrderPayload>>> {
        let scope = scope::for_write(ctx)?;
        let customer_id = scope.signed_in_customer()?;
        let CreateSalesOrderInput { lines, shipping_address, idempotency_key } = input;
        let (lines, invalid) = parse_lines(&lines);
        let shipping_address = shipping_address.map(typed);
        let command = CreateSalesOrder { customer_id, lines, shipping_address, idempotency_key };
        if !invalid.is_empty() {
            return Err(errors::invalid(&[invalid, command.invalid_fields()].concat()));
        }
        let placing = scope.services().webstore.commands.create_sales_order(command, scope.ledger());
        let SettledOrder { order, customer } =
            within_limit(scope, &write_limits::SALES_ORDERS, customer_id, placing).await?;
        Ok(Some(One(CreateSalesOrderPayload {
            sales_order: One(SalesOrder::new(order.into())),
            customer: One(Customer::new(customer.into())),
        })))
    }

    /// Cancels an order of one's own that is not shipped. It stays among the customer's orders, and counts.
    async fn cancel_sales_order(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The order.")] input: CancelSalesOrderInput,
    ) -> Result<Option<One<CancelSalesOrderPayload>>> {
        let scope = scope::for_write(ctx)?;
        let (customer_id, order_id) = own_order(scope, &input.sales_order_id)?;
        let commands = &scope.services().webstore.commands;
        let cancelling = commands.cancel_sales_order(customer_id, order_id, scope.ledger());
        let limit = &write_limits::SALES_ORDER_CANCELLATIONS;
        let order = within_limit(scope, limit, customer_id, cancelling).await?;
        Ok(Some(One(CancelSalesOrderPayload { sales_order: One(SalesOrder::new(order.into())) })))
    }

    /// Deletes an order of one's own that is not shipped.
    async fn delete_sales_order(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The order.")] input: DeleteSalesOrderInput,
    ) -> Result<Option<One<DeleteSalesOrderPayload>>> {
        let scope = scope::for_write(ctx)?;
        let (customer_id, order_id) = own_order(scope, &input.sales_order_id)?;
        let command = DeleteSalesOrder { customer_id, order_id };
        let deleting = scope.services().webstore.commands.delete_sales_order(command, scope.ledger());
        let limit = &write_limits::SALES_ORDER_DELETIONS;
        let SettledOrder { customer, .. } = within_limit(scope, limit, customer_id, deleting).await?;
        Ok(Some(One(DeleteSalesOrderPayload {
            deleted_sales_order_id: GlobalId::SalesOrder(customer_id, order_id).encode().into(),
            customer: One(Customer::new(customer.into())),
        })))
    }

    /// Notes that an order is shipped. For staff.
    async fn ship_sales_order(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The order.")] input: ShipSalesOrderInput,
    ) -> Result<Option<One<ShipSalesOrderPayload>>> {
        let scope = scope::for_write(ctx)?;
        let by = staff::member(scope)?;
        let (customer, id) = parse_order_id(&input.sales_order_id)?;
        let commands = &scope.services().webstore.commands;
        let shipped = commands.ship_sales_order(&by, customer, id, scope.ledger()).await;
        let order = shipped.map_err(|failure| scope.command_error(failure))?;
        Ok(Some(One(ShipSalesOrderPayload { sales_order: One(SalesOrder::new(order.into())) })))
    }
}

/// The lines, and the invalid ids among them.
fn parse_lines(lines: &[SalesOrderLineInput]) -> (Vec<OrderedProduct>, Vec<InvalidField>) {
    let mut invalid = Vec::new();
    // One line more than may be is enough to refuse them all.
    let lines = lines.iter().take(ORDER_LINES_MAX + 1).enumerate();
    let parse = |(index, line): (usize, &SalesOrderLineInput)| {
        let product = match GlobalId::decode(&line.product_id) {
            Ok(GlobalId::Product(category_id, product_id)) => Ok((category_id, product_id)),
            Ok(_) => Err(InvalidField::new("productId", "is not the id of a product")),
            Err(invalid) => Err(InvalidField::new("productId", invalid)),
        };
        let (category_id, product_id) = product.unwrap_or_else(|field| {
            invalid.push(field.within(&[InputStep::Field("lines"), InputStep::Index(index)]));
            (CategoryId(Uuid::nil()), ProductId(Uuid::nil()))
        });
        OrderedProduct { category_id, product_id, quantity: line.quantity }
    };
    (lines.map(parse).collect(), invalid)
}

/// The caller, and an order of theirs.
fn own_order(scope: &RequestScope, id: &str) -> Result<(CustomerId, SalesOrderId), Error> {
    let customer_id = scope.signed_in_customer()?;
    match parse_order_id(id)? {
        (owner, order_id) if owner == customer_id => Ok((customer_id, order_id)),
        _ => Err(error(Code::Forbidden, "This is not an order of yours.")),
    }
}

fn parse_order_id(id: &str) -> Result<(CustomerId, SalesOrderId), Error> {
    match GlobalId::decode(id) {
        Ok(GlobalId::SalesOrder(customer, id)) => Ok((customer, id)),
        Ok(_) => Err(bad_input("salesOrderId", "is not the id of an order")),
        Err(invalid) => Err(bad_input("salesOrderId", invalid)),
    }
}
