//! Seeder: writes a data set of the web store through the store port. Each customer and the customer's orders
//! are one transactional batch, so counts are exact at any time. Existing items are passed over, so an
//! interrupted seeding is resumed by running it again with the same parameters. Its customers have no
//! password and cannot sign in.

use std::sync::Arc;

use futures::stream::{self, StreamExt as _};
use thiserror::Error;

use super::commands::{ProductKey, email_reservation, sku_reservation};
use super::containers::{CUSTOMER, PRODUCT, PRODUCT_META};
use super::dataset::{SeedOrder, SeedProduct, WebstoreDataset};
use super::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use super::items::{
    AddressItem, CustomerItem, MetaItem, OrderLineItem, ProductItem, SalesOrderItem, TagCopy, rank_key, types,
};
use crate::accounts::email_address::EmailAddress;
use crate::domain::containers::ACCOUNTS;
use crate::domain::money::CurrencyCode;
use onehop_runtime::clock::format_timestamp;
use onehop_store::{
    Batch, ContainerName, Fault, Ledger, NewItem, PartitionKey, Rejection, Store, WriteError, WriteOp,
};

/// The currency of all prices.
const CURRENCY: &str = "EUR";
/// Batches that are on the way to the store at once.
const BATCHES_IN_FLIGHT_MAX: usize = 128;

/// Why a data set could not be written.
#[derive(Debug, Error)]
pub enum WebstoreSeedError {
    #[error("an item of the data set was refused: {0}")]
    Refused(Rejection),
    #[error(transparent)]
    Store(#[from] Fault),
    #[error("the data set breaks a rule of the web store: {0}")]
    Invalid(&'static str),
}

/// Writes data sets.
pub struct WebstoreSeeder {
    store: Arc<dyn Store>,
    dataset: WebstoreDataset,
    currency: CurrencyCode,
    products: Vec<SeedProduct>,
}

impl WebstoreSeeder {
    /// A seeder of this data set.
    ///
    /// # Errors
    /// The currency does not exist.
    pub fn new(store: Arc<dyn Store>, dataset: WebstoreDataset) -> Result<Self, WebstoreSeedError> {
        let currency = CurrencyCode::parse(CURRENCY).map_err(|_| WebstoreSeedError::Invalid("currency"))?;
        let products = (0..dataset.products()).map(|index| dataset.product(index)).collect();
        Ok(Self { store, dataset, currency, products })
    }

    /// Writes the whole data set, reports after each batch how many items are done, and returns their number.
    ///
    /// # Errors
    /// See [`WebstoreSeedError`]; items written before stay.
    pub async fn run(&self, mut progress: impl FnMut(u64)) -> Result<u64, WebstoreSeedError> {
        let mut done = 0;
        for (item_type, count) in
            [(types::CATEGORY, self.dataset.categories()), (types::TAG, self.dataset.tags())]
        {
            for index in 0..count {
                done += self.write_meta(item_type, index).await?;
                progress(done);
            }
        }
        let products = (0..self.dataset.products()).map(|index| self.write_product(index));
        let mut products = stream::iter(products).buffer_unordered(BATCHES_IN_FLIGHT_MAX);
        while let Some(written) = products.next().await {
            done += written?;
            progress(done);
        }
        let customers = (0..self.dataset.customers()).map(|index| self.write_customer(index));
        let mut customers = stream::iter(customers).buffer_unordered(BATCHES_IN_FLIGHT_MAX);
        while let Some(written) = customers.next().await {
            done += written?;
            progress(done);
        }
        Ok(done)
    }

    async fn write_meta(&self, item_type: &'static str, index: u32) -> Result<u64, WebstoreSeedError> {
        let meta = match item_type {
            types::CATEGORY => self.dataset.category(index),
            _ => self.dataset.tag(index),
        };
        let item = MetaItem { id: meta.id, item_type: item_type.to_owned(), name: meta.name, version: 1 };
        let create = WriteOp::Create(NewItem::encode(meta.id.to_string(), &item));
        self.write(PRODUCT_META, PartitionKey::from(item_type), vec![create]).await
    }

    /// The reservation of the SKU, then the product.
    async fn write_product(&self, index: u32) -> Result<u64, WebstoreSeedError> {
        let product = &self.products[index as usize];
        let category = self.dataset.category(product.category);
        let category_id = CategoryId(category.id);
        let tags = product.tags.iter().map(|tag| {
            let tag = self.dataset.tag(*tag);
            TagCopy { id: TagId(tag.id), name: tag.name }
        });
        let item = ProductItem {
            id: ProductId(product.id),
            item_type: types::PRODUCT.to_owned(),
            category_id,
            category_name: category.name,
            sku: product.sku.clone(),
            name: product.name.clone(),
            description: product.description.clone(),
            price: product.price,
            currency_code: self.currency.clone(),
            is_sold_out: product.is_sold_out,
            tags: tags.collect(),
            version: 1,
            deleted: false,
            ttl: None,
        };
        let reservation = sku_reservation(&item.sku, ProductKey::of(&item));
        let key = PartitionKey::from(reservation.id.as_str());
        let reserve = WriteOp::Create(NewItem::encode(reservation.id.clone(), &reservation));
        self.write(ACCOUNTS, key, vec![reserve]).await?;
        let create = WriteOp::Create(NewItem::encode(product.id.to_string(), &item));
        self.write(PRODUCT, category_id.partition_key(), vec![create]).await
    }

    /// The reservation of the address, then the customer with all orders.
    async fn write_customer(&self, index: u32) -> Result<u64, WebstoreSeedError> {
        let seed = self.dataset.customer(index);
        let id = CustomerId(seed.id);
        let address = EmailAddress::parse(&seed.email_address)
            .map_err(|_| WebstoreSeedError::Invalid("e-mail address"))?;
        let reservation = email_reservation(&address, id);
        let key = PartitionKey::from(reservation.id.as_str());
        let reserve = WriteOp::Create(NewItem::encode(reservation.id.clone(), &reservation));
        self.write(ACCOUNTS, key, vec![reserve]).await?;

        let orders = self.dataset.orders_of(index);
        let sales_order_count = u32::try_from(orders.len()).unwrap_or(u32::MAX);
        let customer = CustomerItem {
            id,
            item_type: types::CUSTOMER.to_owned(),
            customer_id: id,
            title: None,
            first_name: seed.first_name,
            last_name: seed.last_name,
            email_address: seed.email_address,
            phone_number: None,
            creation_date: format_timestamp(seed.creation_ms),
            addresses: vec![AddressItem {
                address_line1: format!("{} Main Street", index + 1),
                address_line2: None,
                city: seed.city.to_owned(),
                state: None,
                country: seed.country.to_owned(),
                zip_code: format!("{:05}", index % 100_000),
            }],
            password: None,
            sales_order_count,
            sort_key: rank_key(u64::from(sales_order_count)),
            version: 1,
        };
        let create = WriteOp::Create(NewItem::encode(id.to_string(), &customer));
        let orders = orders
            .iter()
            .map(|order| self.order(id, customer.addresses.first(), order))
            .map(|order| WriteOp::Create(NewItem::encode(order.id.to_string(), &order)));
        self.write(CUSTOMER, id.partition_key(), std::iter::once(create).chain(orders).collect()).await
    }

    fn order(
        &self,
        customer_id: CustomerId,
        address: Option<&AddressItem>,
        order: &SeedOrder,
    ) -> SalesOrderItem {
        let lines = order.lines.iter().map(|(product, quantity)| {
            let product = &self.products[*product as usize];
            OrderLineItem {
                sku: product.sku.clone(),
                name: product.name.clone(),
                price: product.price,
                quantity: *quantity,
            }
        });
        let details: Vec<OrderLineItem> = lines.collect();
        let order_date = format_timestamp(order.creation_ms);
        SalesOrderItem {
            id: SalesOrderId(order.id),
            item_type: types::SALES_ORDER.to_owned(),
            customer_id,
            sort_key: order_date.clone(),
            order_date,
            ship_date: order.ship_ms.map(format_timestamp),
            cancel_date: None,
            shipping_address: address.cloned(),
            total: details.iter().map(|line| line.price * i64::from(line.quantity)).sum(),
            details,
            currency_code: self.currency.clone(),
            version: 1,
            content_hash: None,
            deleted: false,
            ttl: None,
        }
    }

    /// One batch of new items; existing ones are passed over.
    async fn write(
        &self,
        container: ContainerName,
        partition_key: PartitionKey,
        operations: Vec<WriteOp>,
    ) -> Result<u64, WebstoreSeedError> {
        let items = operations.len() as u64;
        let batch = Batch { operations, ..Batch::new(container, partition_key) };
        match self.store.batch(batch, &Ledger::new()).await {
            Ok(_) | Err(WriteError::Rejected { reason: Rejection::Conflict, .. }) => Ok(items),
            Err(WriteError::Rejected { reason, .. }) => Err(WebstoreSeedError::Refused(reason)),
            Err(WriteError::Fault(fault)) => Err(fault.into()),
        }
    }
}
