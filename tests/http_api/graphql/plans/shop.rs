//! A small web store beside the blog, with its copies: texts that are hard to copy, currencies without
//! decimals, deleted items.

use std::sync::Arc;

use onehop::domain::money::CurrencyCode;
use onehop::graphql::GlobalId;
use onehop::webstore::containers::{CUSTOMER, PRODUCT, PRODUCT_META};
use onehop::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use onehop::webstore::items::{
    AddressItem, CustomerItem, MetaItem, OrderLineItem, PasswordItem, ProductItem, SalesOrderItem, TagCopy,
    rank_key, types,
};
use onehop::webstore::read_models::read_models;
use onehop_change_feed::{Processor, Settings};
use onehop_runtime::clock::{Clock, format_timestamp};
use onehop_store::{PartitionKey, Store};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::blog::{Blog, NOW_MS};

/// Names of products, of which each list shows the names in its category or tag.
const NAMES: [&str; 6] =
    ["Comet", "\"Quoted\" back\\slash", "Zebra\nline", "日本語 \u{1f600}", "Gone", "Añejo"];
const CURRENCIES: [&str; 3] = ["EUR", "JPY", "KWD"];
/// The product that is deleted.
const DELETED: u128 = 4;

fn id(kind: u128, number: u128) -> Uuid {
    Uuid::from_u128(0x0190_0000_0000_7000_8000_0001_0000_0000 + (kind << 16) + number)
}

/// The id of a customer, by number.
pub fn customer_id(number: u128) -> CustomerId {
    CustomerId(id(1, number))
}

fn category_id(number: u128) -> CategoryId {
    CategoryId(id(2, number % 2))
}

fn tag_id(number: u128) -> TagId {
    TagId(id(3, number % 3))
}

/// The id of a category as clients see it.
pub fn category_node(number: u128) -> String {
    GlobalId::ProductCategory(category_id(number)).encode()
}

/// The id of a tag as clients see it.
pub fn tag_node(number: u128) -> String {
    GlobalId::ProductTag(tag_id(number)).encode()
}

/// The id of a product as clients see it.
pub fn product_node(number: u128) -> String {
    GlobalId::Product(category_id(number), ProductId(id(4, number))).encode()
}

/// The id of a customer as clients see it.
pub fn customer_node(number: u128) -> String {
    GlobalId::Customer(customer_id(number)).encode()
}

/// The id of an order of a customer in the form for clients; the second customer has no order.
pub fn order_node(customer: u128, number: u128) -> String {
    GlobalId::SalesOrder(customer_id(customer), SalesOrderId(id(5, number))).encode()
}

impl Blog {
    /// Adds a catalogue and two customers, of whom the first one has ordered three times.
    pub async fn add_shop(&self) {
        for number in 0..2 {
            let name = ["Bikes \u{1f6b2}", "Parts & \"more\""][usize::try_from(number).unwrap()];
            self.put_meta(types::CATEGORY, category_id(number).0, name).await;
        }
        for (number, name) in (0..).zip(["red", "\tfast", "new"]) {
            self.put_meta(types::TAG, tag_id(number).0, name).await;
        }
        for number in 0..6 {
            let product = product(number);
            self.put(PRODUCT, &product.category_id.partition_key(), &product.id.to_string(), &product).await;
        }
        for number in 0..2 {
            let customer = customer(number);
            self.put(CUSTOMER, &customer.id.partition_key(), &customer.id.to_string(), &customer).await;
        }
        for number in 0..4 {
            let order = order(number);
            self.put(CUSTOMER, &order.customer_id.partition_key(), &order.id.to_string(), &order).await;
        }
        let (store, clock): (Arc<dyn Store>, Arc<dyn Clock>) = (self.store.clone(), self.clock.clone());
        let (projections, settings) = (read_models().projections(), Settings::new("shop").without_delays());
        let processor = Processor::open(store, clock, projections, settings, CancellationToken::new()).await;
        processor.expect("the processor opens").drain().await.expect("the change feed drains");
    }

    async fn put_meta(&self, item_type: &str, id: Uuid, name: &str) {
        let item = MetaItem { id, item_type: item_type.to_owned(), name: name.to_owned(), version: 1 };
        self.put(PRODUCT_META, &PartitionKey::from(item_type), &id.to_string(), &item).await;
    }
}

fn product(number: u128) -> ProductItem {
    let place = usize::try_from(number).unwrap();
    let tags = (0..number % 4).map(|tag| TagCopy { id: tag_id(tag), name: format!("tag {tag}\u{1}") });
    ProductItem {
        id: ProductId(id(4, number)),
        item_type: types::PRODUCT.to_owned(),
        category_id: category_id(number),
        category_name: format!("Category \"{}\"", number % 2),
        sku: format!("S-{number}"),
        name: NAMES[place].to_owned(),
        description: format!("{}: *marked*\n", NAMES[place]),
        price: [0, 5, 1_250, 99_999_999_999, 1, 700][place],
        currency_code: CurrencyCode::parse(CURRENCIES[place % 3]).unwrap(),
        is_sold_out: number % 2 == 1,
        tags: tags.collect(),
        version: 1,
        deleted: number == DELETED,
        ttl: (number == DELETED).then_some(1_000),
    }
}

fn customer(number: u128) -> CustomerItem {
    let address = |line2: Option<&str>| AddressItem {
        address_line1: "1 \"Main\" Street".to_owned(),
        address_line2: line2.map(str::to_owned),
        city: "Zürich".to_owned(),
        state: line2.map(str::to_owned),
        country: "CH".to_owned(),
        zip_code: "8000".to_owned(),
    };
    CustomerItem {
        id: customer_id(number),
        item_type: types::CUSTOMER.to_owned(),
        customer_id: customer_id(number),
        title: (number == 0).then(|| "Dr.".to_owned()),
        first_name: "Ada\\".to_owned(),
        last_name: format!("Lovelace {number}"),
        email_address: format!("ada{number}@example.com"),
        phone_number: (number == 1).then(|| "+41 1".to_owned()),
        creation_date: format_timestamp(NOW_MS),
        addresses: if number == 0 { vec![address(None), address(Some("c/o"))] } else { Vec::new() },
        password: (number == 0).then(|| PasswordItem { hash: "$argon2id$secret".to_owned() }),
        sales_order_count: if number == 0 { 3 } else { 0 },
        sort_key: rank_key(if number == 0 { 3 } else { 0 }),
        version: 1,
    }
}

fn order(number: u128) -> SalesOrderItem {
    let lines = (0..number).map(|line| OrderLineItem {
        sku: format!("S-{line}"),
        name: NAMES[usize::try_from(line).unwrap()].to_owned(),
        price: 1_999,
        quantity: u32::try_from(line).unwrap() + 1,
    });
    let details: Vec<_> = lines.collect();
    let order_date = format_timestamp(NOW_MS + i64::try_from(number).unwrap() * 1_000);
    SalesOrderItem {
        id: SalesOrderId(id(5, number)),
        item_type: types::SALES_ORDER.to_owned(),
        customer_id: customer_id(0),
        sort_key: order_date.clone(),
        order_date: order_date.clone(),
        ship_date: (number == 1).then(|| order_date.clone()),
        cancel_date: (number == 2).then_some(order_date),
        shipping_address: (number != 2).then(|| AddressItem {
            address_line1: "Main Street 1".to_owned(),
            address_line2: None,
            city: "Zürich".to_owned(),
            state: None,
            country: "Switzerland".to_owned(),
            zip_code: "8001".to_owned(),
        }),
        total: details.iter().map(|line| line.price * i64::from(line.quantity)).sum(),
        details,
        currency_code: CurrencyCode::parse(CURRENCIES[usize::try_from(number % 3).unwrap()]).unwrap(),
        version: 1,
        content_hash: None,
        deleted: number == 3,
        ttl: None,
    }
}
