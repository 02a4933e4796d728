//! Sales orders: placing, cancelling, deleting and shipping them. An order freezes number, name and price of
//! each product.
//!
//! The order and the customer's `salesOrderCount` are written in one transactional batch, with If-Match on
//! the customer, so the count is exact under any number of concurrent orders and deletions. Commands on one
//! customer take turns within a process; between processes the batch that comes second is refused and sent
//! again. Each batch leaves the command's marker in the order, so that a batch whose answer was lost is
//! recognised.

use std::collections::HashMap;

use uuid::Uuid;

use crate::accounts::staff::StaffMember;
use crate::domain::command_marker::{command_of, encode_marked};
use crate::domain::conditional_write::judge;
use crate::domain::digest::sha256_hex;
use crate::domain::error::{CommandError, InputStep, InvalidField, InvalidFields, Refusal, contended};
use crate::domain::money::CurrencyCode;
use crate::domain::reservations::HolderLookup;
use crate::domain::text::IdempotencyKey;
use crate::webstore::containers::{CUSTOMER, PRODUCT};
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId};
use crate::webstore::items::{
    AddressItem, CustomerItem, OrderLineItem, ProductItem, SalesOrderItem, TOMBSTONE_TTL_S, rank_key, types,
};
use onehop_runtime::clock::format_timestamp;
use onehop_runtime::planted;
use onehop_store::{Batch, ETag, Fault, Item, Ledger, NewItem, WriteOp};

use super::address::{TypedAddress, parse_shipping_address};
use super::customer::no_such_customer;
use super::holders::StoredCustomer;
use super::{ItemAddress, WebstoreCommands, is_of_type};

/// The most lines of an order.
pub const ORDER_LINES_MAX: usize = 100;
/// The most of one product in a line.
pub const QUANTITY_MAX: u32 = 1_000;
/// Attempts of a batch while other processes change the same customer.
const BATCH_ATTEMPTS_MAX: u32 = 64;

/// A product and its ordered quantity, as typed.
#[derive(Debug, Clone, Copy)]
pub struct OrderedProduct {
    pub category_id: CategoryId,
    pub product_id: ProductId,
    pub quantity: i32,
}

/// A new order of the signed-in customer, as typed.
pub struct CreateSalesOrder {
    pub customer_id: CustomerId,
    pub lines: Vec<OrderedProduct>,
    pub shipping_address: Option<TypedAddress>,
    pub idempotency_key: Option<String>,
}

/// The order that its customer deletes.
#[derive(Debug, Clone, Copy)]
pub struct DeleteSalesOrder {
    pub customer_id: CustomerId,
    pub order_id: SalesOrderId,
}

/// An order with its customer, as they are after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledOrder {
    pub order: SalesOrderItem,
    pub customer: CustomerItem,
}

/// An order as read.
struct StoredOrder {
    order: SalesOrderItem,
    etag: ETag,
    /// The command that wrote it last, where it left its marker.
    written_by: Option<Uuid>,
}

impl CreateSalesOrder {
    /// The invalid fields, for an input that is refused for another one anyway.
    #[must_use]
    pub fn invalid_fields(self) -> Vec<InvalidField> {
        let mut invalid = InvalidFields::default();
        invalid.check(self.idempotency_key.map(IdempotencyKey::parse).transpose());
        invalid.check(check_lines(&self.lines));
        invalid.check(parse_shipping_address(self.shipping_address));
        invalid.into_vec()
    }
}

impl WebstoreCommands {
    /// Places an order; with an idempotency key used before, returns the order placed then.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `lines`, `shippingAddress` or `idempotencyKey`; `NOT_FOUND` on `lines` where a
    /// product does not exist, on `idempotencyKey` when its order was deleted; `CONFLICT` on `lines` where a
    /// product is sold out, and on `idempotencyKey`; `UNAUTHENTICATED` when the customer does not exist.
    pub async fn create_sales_order(
        &self,
        input: CreateSalesOrder,
        ledger: &Ledger,
    ) -> Result<SettledOrder, CommandError> {
        let mut invalid = InvalidFields::default();
        let key = invalid.check(input.idempotency_key.map(IdempotencyKey::parse).transpose());
        let lines = invalid.check(check_lines(&input.lines));
        let address = invalid.check(parse_shipping_address(input.shipping_address));
        let (Some(key), Some(lines), Some(address)) = (key, lines, address) else {
            return Err(invalid.refusal().into());
        };
        let customer_id = input.customer_id;
        let (id, content_hash) = match &key {
            Some(key) => {
                let content_hash = content_hash(&input.lines, address.as_ref());
                (SalesOrderId::derive(customer_id, key.as_str()), Some(content_hash))
            }
            None => (SalesOrderId(self.new_id()), None),
        };
        let _turn = self.turns.wait(customer_id.0).await;
        if key.is_some()
            && let Some(first) = self.read_order(customer_id, id, ledger).await?
        {
            return self.first_order(first.order, content_hash.as_deref(), ledger).await;
        }
        let details = self.order_lines(&input.lines, &lines, ledger).await?;
        let order = self.new_order((id, customer_id), details, address, content_hash);
        self.place(order, ledger).await
    }

    /// Deletes an order that is not shipped. A tombstone without lines stays for as long as projections may
    /// need to see it.
    ///
    /// # Errors
    /// `NOT_FOUND` on `salesOrderId`; `CONFLICT` on it when the order is shipped.
    pub async fn delete_sales_order(
        &self,
        input: DeleteSalesOrder,
        ledger: &Ledger,
    ) -> Result<SettledOrder, CommandError> {
        let DeleteSalesOrder { customer_id, order_id } = input;
        let command_id = self.new_id();
        let _turn = self.turns.wait(customer_id.0).await;
        for _ in 0..BATCH_ATTEMPTS_MAX {
            let stored = self.read_order(customer_id, order_id, ledger).await?;
            let StoredOrder { order, etag, written_by } = stored.ok_or_else(order_not_found)?;
            let StoredCustomer { customer, etag: customer_etag, .. } =
                self.read_customer(customer_id, ledger).await?;
            if order.deleted && written_by == Some(command_id) {
                return Ok(SettledOrder { order, customer });
            }
            if order.deleted {
                return Err(order_not_found().into());
            }
            if order.ship_date.is_some() {
                return Err(already("shipped").into());
            }
            let customer = counted(&customer, customer.sales_order_count.saturating_sub(1));
            let order = SalesOrderItem {
                shipping_address: None,
                details: Vec::new(),
                version: order.version + 1,
                deleted: true,
                ttl: Some(TOMBSTONE_TTL_S),
                ..order
            };
            let item = encode_marked(order_id.to_string(), &order, command_id);
            let write = WriteOp::Replace { item, if_match: Some(etag) };
            if self.settle(&customer, customer_etag, write, ledger).await? {
                return Ok(SettledOrder { order, customer });
            }
        }
        Err(contended("a customer's orders").into())
    }

    /// Cancels an order before its shipment. A second cancellation changes nothing. The customer still sees
    /// the order, and it still counts.
    ///
    /// # Errors
    /// `NOT_FOUND` on `salesOrderId`; `CONFLICT` on it when the order is shipped.
    pub async fn cancel_sales_order(
        &self,
        customer_id: CustomerId,
        order_id: SalesOrderId,
        ledger: &Ledger,
    ) -> Result<SalesOrderItem, CommandError> {
        let cancel_date = format_timestamp(self.clock.now_ms());
        let cancel = |order: &SalesOrderItem| {
            if order.ship_date.is_some() {
                return Err(already("shipped"));
            }
            let cancelled = SalesOrderItem { cancel_date: Some(cancel_date.clone()), ..next_version(order) };
            Ok(order.cancel_date.is_none().then_some(cancelled))
        };
        self.change_order(customer_id, order_id, cancel, ledger).await
    }

    /// Marks an order as shipped. A second call changes nothing.
    ///
    /// # Errors
    /// `NOT_FOUND` on `salesOrderId`; `CONFLICT` on it when the order is cancelled.
    pub async fn ship_sales_order(
        &self,
        _by: &StaffMember,
        customer_id: CustomerId,
        order_id: SalesOrderId,
        ledger: &Ledger,
    ) -> Result<SalesOrderItem, CommandError> {
        let ship_date = format_timestamp(self.clock.now_ms());
        let ship = |order: &SalesOrderItem| {
            if order.cancel_date.is_some() {
                return Err(already("cancelled"));
            }
            let shipped = SalesOrderItem { ship_date: Some(ship_date.clone()), ..next_version(order) };
            Ok(order.ship_date.is_none().then_some(shipped))
        };
        self.change_order(customer_id, order_id, ship, ledger).await
    }

    /// Changes an order with optimistic concurrency. `change` gives the new order, or `None` for no change. A
    /// deleted order is `NOT_FOUND`.
    async fn change_order(
        &self,
        customer_id: CustomerId,
        order_id: SalesOrderId,
        change: impl Fn(&SalesOrderItem) -> Result<Option<SalesOrderItem>, Refusal> + Send + Sync,
        ledger: &Ledger,
    ) -> Result<SalesOrderItem, CommandError> {
        let change =
            |order: &SalesOrderItem| if order.deleted { Err(order_not_found()) } else { change(order) };
        let (partition_key, id) = (customer_id.partition_key(), order_id.to_string());
        self.change(
            ItemAddress { container: CUSTOMER, partition_key: &partition_key, item_type: types::SALES_ORDER },
            &id,
            order_not_found,
            change,
            ledger,
        )
        .await
    }

    /// Writes a new order and its customer's count.
    async fn place(&self, order: SalesOrderItem, ledger: &Ledger) -> Result<SettledOrder, CommandError> {
        let command_id = self.new_id();
        for _ in 0..BATCH_ATTEMPTS_MAX {
            let stored = self.read_customer(order.customer_id, ledger).await?;
            let count = stored.customer.sales_order_count.checked_add(1);
            let count = count.ok_or_else(|| Refusal::limit_exceeded("there are too many orders"))?;
            let customer = counted(&stored.customer, count);
            let create = WriteOp::Create(encode_marked(order.id.to_string(), &order, command_id));
            if self.settle(&customer, stored.etag, create, ledger).await? {
                return Ok(SettledOrder { order, customer });
            }
            // It may be there already: by this command, whose answer was lost, or by another process with the
            // same key.
            let Some(found) = self.read_order(order.customer_id, order.id, ledger).await? else { continue };
            if found.written_by == Some(command_id) {
                let customer = self.read_customer(order.customer_id, ledger).await?.customer;
                return Ok(SettledOrder { order: found.order, customer });
            }
            return self.first_order(found.order, order.content_hash.as_deref(), ledger).await;
        }
        Err(contended("a customer's orders").into())
    }

    /// The batch of a customer with a new count and of the write of an order; `false` where both have to be
    /// read again.
    async fn settle(
        &self,
        customer: &CustomerItem,
        etag: ETag,
        order: WriteOp,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let mut batch = Batch::new(CUSTOMER, customer.id.partition_key());
        let item = NewItem::encode(customer.id.to_string(), customer);
        batch.operations = vec![WriteOp::Replace { item, if_match: Some(etag) }, order];
        Ok(judge(self.store.batch(batch, ledger).await)?.is_some())
    }

    /// The answer to a repeat: the order of the first use of the key.
    async fn first_order(
        &self,
        order: SalesOrderItem,
        content_hash: Option<&str>,
        ledger: &Ledger,
    ) -> Result<SettledOrder, CommandError> {
        if order.content_hash.as_deref() != content_hash {
            return Err(Refusal::key_reused().into());
        }
        if order.deleted {
            let message = "the order placed with this idempotencyKey was deleted";
            return Err(Refusal::not_found("idempotencyKey", message).into());
        }
        let customer = self.read_customer(order.customer_id, ledger).await?.customer;
        Ok(SettledOrder { order, customer })
    }

    fn new_order(
        &self,
        (id, customer_id): (SalesOrderId, CustomerId),
        lines: Lines,
        shipping_address: Option<AddressItem>,
        content_hash: Option<String>,
    ) -> SalesOrderItem {
        let order_date = format_timestamp(self.clock.now_ms());
        SalesOrderItem {
            id,
            item_type: types::SALES_ORDER.to_owned(),
            customer_id,
            sort_key: order_date.clone(),
            order_date,
            ship_date: None,
            cancel_date: None,
            shipping_address,
            details: lines.details,
            currency_code: lines.currency_code,
            total: lines.total,
            version: 1,
            content_hash,
            deleted: false,
            ttl: None,
        }
    }

    /// The lines with the present names and prices of the products, by one batch of point reads.
    async fn order_lines(
        &self,
        ordered: &[OrderedProduct],
        quantities: &[u32],
        ledger: &Ledger,
    ) -> Result<Lines, CommandError> {
        let mut keys: Vec<_> = ordered.iter().map(|line| (line.category_id, line.product_id)).collect();
        keys.sort_unstable();
        keys.dedup();
        let reads: Vec<_> =
            keys.iter().map(|(category, id)| (category.partition_key(), id.to_string())).collect();
        let mut products = HashMap::with_capacity(keys.len());
        for (key, item) in keys.into_iter().zip(self.store.read_many(PRODUCT, &reads, ledger).await?) {
            // The place of a product that was given up holds an item of another type.
            let is_product = |item: &Item| is_of_type(item, types::PRODUCT);
            let product: Option<ProductItem> = match item {
                Some(item) if is_product(&item)? => Some(item.decode()?),
                _ => None,
            };
            let product = product.filter(|product| !product.deleted);
            let product = product.ok_or_else(|| refused_product(ordered, key, product_missing()))?;
            if product.is_sold_out && !planted!("sold-out-product-is-ordered") {
                return Err(refused_product(ordered, key, product_sold_out()).into());
            }
            products.insert(key, product);
        }
        let ordered = ordered.iter().map(|line| &products[&(line.category_id, line.product_id)]);
        Ok(frozen(&ordered.zip(quantities.iter().copied()).collect::<Vec<_>>())?)
    }

    pub(super) async fn read_customer(
        &self,
        id: CustomerId,
        ledger: &Ledger,
    ) -> Result<StoredCustomer, CommandError> {
        match self.customers.read(id, ledger).await? {
            HolderLookup::Found(stored) => Ok(stored),
            HolderLookup::Missing | HolderLookup::Abandoned => Err(no_such_customer().into()),
        }
    }

    async fn read_order(
        &self,
        customer: CustomerId,
        id: SalesOrderId,
        ledger: &Ledger,
    ) -> Result<Option<StoredOrder>, Fault> {
        let item = self.store.read(CUSTOMER, &customer.partition_key(), &id.to_string(), ledger).await?;
        let Some(item) = item else { return Ok(None) };
        if !is_of_type(&item, types::SALES_ORDER)? {
            return Ok(None);
        }
        let written_by = command_of(&item)?;
        Ok(Some(StoredOrder { order: item.decode()?, etag: item.etag, written_by }))
    }
}

/// The lines of an order, and their sum.
struct Lines {
    details: Vec<OrderLineItem>,
    currency_code: CurrencyCode,
    total: i64,
}

/// The refusal of a product, at the first line that has it.
fn refused_product(ordered: &[OrderedProduct], of: (CategoryId, ProductId), refusal: Refusal) -> Refusal {
    let index = ordered.iter().position(|line| (line.category_id, line.product_id) == of);
    refusal.at(&[InputStep::Index(index.unwrap_or_default()), InputStep::Field("productId")])
}

fn product_missing() -> Refusal {
    Refusal::not_found("lines", "there is no such product")
}

fn product_sold_out() -> Refusal {
    Refusal::conflict("lines", "the product is sold out")
}

/// The lines of these products: one currency, an exact sum.
fn frozen(ordered: &[(&ProductItem, u32)]) -> Result<Lines, Refusal> {
    let Some((first, _)) = ordered.first() else {
        return Err(Refusal::bad_input("lines", "must not be empty"));
    };
    let mut total: i64 = 0;
    let mut details = Vec::with_capacity(ordered.len());
    for (index, (product, quantity)) in ordered.iter().enumerate() {
        if product.currency_code != first.currency_code {
            let steps = [InputStep::Index(index), InputStep::Field("productId")];
            return Err(Refusal::bad_input("lines", "must have products of one currency").at(&steps));
        }
        let line = product.money().times(*quantity).and_then(|line| total.checked_add(line.minor_units));
        total = line.ok_or_else(|| Refusal::limit_exceeded("the total of the order is too large"))?;
        details.push(OrderLineItem {
            sku: product.sku.clone(),
            name: product.name.clone(),
            price: product.price,
            quantity: *quantity,
        });
    }
    Ok(Lines { details, currency_code: first.currency_code.clone(), total })
}

/// The quantities of the lines.
fn check_lines(lines: &[OrderedProduct]) -> Result<Vec<u32>, Refusal> {
    if !(1..=ORDER_LINES_MAX).contains(&lines.len()) {
        let rule = format_args!("must be 1 to {ORDER_LINES_MAX}, are {}", lines.len());
        return Err(Refusal::bad_input("lines", rule));
    }
    let mut invalid = InvalidFields::default();
    let mut quantities = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let steps = [InputStep::Field("lines"), InputStep::Index(index)];
        quantities.extend(invalid.check_within(&steps, parse_quantity(line.quantity)));
    }
    invalid.unless_any(quantities)
}

fn parse_quantity(quantity: i32) -> Result<u32, Refusal> {
    let parsed = u32::try_from(quantity).ok().filter(|quantity| (1..=QUANTITY_MAX).contains(quantity));
    let rule = || format!("must be 1 to {QUANTITY_MAX}, is {quantity}");
    parsed.ok_or_else(|| Refusal::bad_input("quantity", rule()))
}

fn content_hash(lines: &[OrderedProduct], address: Option<&AddressItem>) -> String {
    let line = |line: &OrderedProduct| format!("{}/{}*{}", line.category_id, line.product_id, line.quantity);
    let address = address.map(|address| serde_json::json!(address).to_string());
    let lines: Vec<String> = lines.iter().map(line).chain(address).collect();
    sha256_hex(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The refusal of a change to an order in its final state.
fn already(what: &str) -> Refusal {
    Refusal::conflict("salesOrderId", &format!("the order has been {what}"))
}

/// A copy of the order with the next version number.
fn next_version(order: &SalesOrderItem) -> SalesOrderItem {
    SalesOrderItem { version: order.version + 1, ..order.clone() }
}

/// The customer with another number of orders.
fn counted(customer: &CustomerItem, sales_order_count: u32) -> CustomerItem {
    CustomerItem {
        sales_order_count,
        sort_key: rank_key(u64::from(sales_order_count)),
        version: customer.version + 1,
        ..customer.clone()
    }
}

fn order_not_found() -> Refusal {
    Refusal::not_found("salesOrderId", "there is no such order")
}
