//! The required data, computed from the acknowledged commands alone. The last of several edits is the one
//! with the highest version.

use std::collections::BTreeMap;

use onehop::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use onehop::webstore::items::{CustomerItem, ProductItem, SalesOrderItem};
use onehop::webstore::reads::SalesOrderView;

use crate::properties::model::Latest;
use crate::webstore::shop::ProductKey;

#[derive(Debug, Default)]
pub struct ShopModel {
    pub customers: BTreeMap<CustomerId, ModelCustomer>,
    pub categories: BTreeMap<CategoryId, Latest<String>>,
    pub tags: BTreeMap<TagId, Latest<String>>,
    pub products: BTreeMap<ProductId, ModelProduct>,
    pub orders: BTreeMap<SalesOrderId, ModelOrder>,
}

#[derive(Debug)]
pub struct ModelCustomer {
    pub address: String,
    /// The last name with the number of postal addresses.
    pub details: Latest<(String, usize)>,
}

#[derive(Debug)]
pub struct ModelProduct {
    pub category: CategoryId,
    pub name: Latest<String>,
    /// In minor units.
    pub price: Latest<i64>,
    pub tags: Latest<Vec<TagId>>,
    pub deleted: bool,
}

#[derive(Debug)]
pub struct ModelOrder {
    pub customer: CustomerId,
    /// As it was acknowledged first.
    pub order: SalesOrderView,
    pub deleted: bool,
}

impl ShopModel {
    /// A sign-up was acknowledged.
    pub fn signed_up(&mut self, customer: &CustomerItem) {
        let address = customer.email_address.to_lowercase();
        assert!(self.customers.values().all(|known| known.address != address), "{address} is given twice");
        let details = Latest::first(&(customer.last_name.clone(), customer.addresses.len()));
        let before = self.customers.insert(customer.id, ModelCustomer { address, details });
        assert!(before.is_none(), "an id is given twice");
    }

    /// An update of a customer was acknowledged.
    pub fn updated(&mut self, customer: &CustomerItem, last_name: &str, addresses: usize) {
        let known = self.customers.get_mut(&customer.id).expect("a known customer");
        known.details.note(customer.version, &(last_name.to_owned(), addresses));
    }

    /// A product with these tags was created.
    pub fn created(&mut self, product: &ProductItem, tags: &[TagId]) {
        let known = ModelProduct {
            category: product.category_id,
            name: Latest::first(&product.name),
            price: Latest::first(&product.price),
            tags: Latest::first(&tags.to_vec()),
            deleted: false,
        };
        assert!(self.products.insert(product.id, known).is_none(), "an id is given twice");
    }

    /// An edit of a product was acknowledged.
    pub fn edited(
        &mut self,
        product: &ProductItem,
        name: Option<&String>,
        price: Option<i64>,
        tags: Option<&Vec<TagId>>,
    ) {
        let known = self.products.get_mut(&product.id).expect("a known product");
        name.into_iter().for_each(|name| known.name.note(product.version, name));
        price.iter().for_each(|price| known.price.note(product.version, price));
        tags.into_iter().for_each(|tags| known.tags.note(product.version, tags));
    }

    pub fn is_product_deleted(&self, id: ProductId) -> bool {
        self.products[&id].deleted
    }

    pub fn product_deleted(&mut self, id: ProductId) {
        self.products.get_mut(&id).expect("a known product").deleted = true;
    }

    /// An order was placed, perhaps before. A repeat gets the result of the first.
    pub fn ordered(&mut self, order: &SalesOrderItem) {
        let (customer, order) = (order.customer_id, SalesOrderView::from(order.clone()));
        let first = self.orders.entry(order.id).or_insert_with(|| ModelOrder {
            customer,
            order: order.clone(),
            deleted: false,
        });
        assert_eq!(first.order, order, "a repeat got another order");
    }

    pub fn order_deleted(&mut self, id: SalesOrderId) {
        let known = self.orders.get_mut(&id).expect("a known order");
        assert!(!known.deleted, "the order {id} was deleted twice");
        known.deleted = true;
    }

    /// The products that are left and of which this holds, by name.
    pub fn products_left(&self, wanted: impl Fn(&ModelProduct) -> bool) -> Vec<ProductId> {
        let left = self.products.iter().filter(|(_, product)| !product.deleted && wanted(product));
        let mut left: Vec<_> = left.map(|(id, product)| (product.name.only(), *id)).collect();
        left.sort_unstable();
        left.into_iter().map(|(_, id)| id).collect()
    }

    /// The orders of a customer that are left, newest first.
    pub fn orders_left(&self, customer: CustomerId) -> Vec<&SalesOrderView> {
        let left = self.orders.values().filter(|known| known.customer == customer && !known.deleted);
        let mut left: Vec<_> = left.map(|known| &known.order).collect();
        left.sort_by_key(|order| std::cmp::Reverse((order.order_date.clone(), order.id)));
        left
    }

    /// Customers with the number of their orders, the first of the ranking first.
    pub fn ranking(&self) -> Vec<(CustomerId, usize)> {
        let count = |id: &CustomerId| (*id, self.orders_left(*id).len());
        let mut ranking: Vec<_> = self.customers.keys().map(count).collect();
        ranking.sort_by_key(|(id, count)| std::cmp::Reverse((*count, *id)));
        ranking
    }

    /// The key of a product.
    pub fn key_of(&self, id: ProductId) -> ProductKey {
        (self.products[&id].category, id)
    }
}
