//! Commands of the web store in an episode, and the answers to clients.

use std::collections::{BTreeMap, BTreeSet};

use onehop::domain::error::RefusalCode;
use onehop::webstore::ids::{CategoryId, CustomerId, SalesOrderId, TagId};
use onehop::webstore::reads::WebstoreReads;
use onehop_store::Ledger;

use super::Episode;
use crate::cosmos::world::Process;
use crate::webstore::shop::{ProductEdit, ProductKey, key_of};

/// The answers to clients of the web store. A category, tag or product whose answer was lost may be there
/// beside these.
#[derive(Default)]
pub struct ShopAnswers {
    customers: BTreeMap<CustomerId, BTreeSet<SalesOrderId>>,
    categories: BTreeMap<CategoryId, String>,
    tags: BTreeMap<TagId, String>,
    products: BTreeMap<ProductKey, ShopProduct>,
}

/// The answers about a product.
struct ShopProduct {
    name: String,
    tags: Vec<TagId>,
}

impl Episode {
    pub(super) async fn begin_shop(&mut self) {
        self.sign_up_customer().await;
        self.create_category().await;
        self.create_tag().await;
        self.create_product().await;
    }

    pub(super) async fn act_in_shop(&mut self) {
        match self.dice.roll(66) {
            0..4 => self.sign_up_customer().await,
            4..6 => self.create_category().await,
            6..9 => self.create_tag().await,
            9..17 => self.create_product().await,
            17..23 => self.rename_category().await,
            23..29 => self.rename_tag().await,
            29..41 => self.edit_product().await,
            41..43 => self.delete_product().await,
            43..58 => self.order().await,
            _ => self.delete_order().await,
        }
    }

    /// All answered writes are there, under the present names.
    pub(super) async fn assert_shop(&self, process: &Process) {
        let (reads, ledger) = (WebstoreReads::new(process.store.clone()), Ledger::new());
        for (id, orders) in &self.shop.customers {
            let customer = reads.customer(*id, &ledger).await.expect("an answer").expect("a customer");
            assert_eq!(customer.sales_order_count as usize, orders.len(), "{id}");
            for order in orders {
                let found = reads.sales_order(*id, *order, &ledger).await.expect("an answer");
                assert!(found.is_some(), "the order {order} is lost");
            }
        }
        for ((category, id), known) in &self.shop.products {
            let product = reads.product(*category, *id, &ledger).await.expect("an answer");
            let product = product.unwrap_or_else(|| panic!("the product {id} is lost"));
            assert_eq!(
                (&product.name, &product.category_name),
                (&known.name, &self.shop.categories[category])
            );
            let tags: Vec<_> = product.tags.iter().map(|tag| (tag.id, tag.name.as_str())).collect();
            let expected: Vec<_> = known.tags.iter().map(|id| (*id, self.shop.tags[id].as_str())).collect();
            assert_eq!(tags, expected, "{id}");
        }
    }

    async fn sign_up_customer(&mut self) {
        let key = self.key();
        let address = format!("customer{}@example.com", self.keys);
        let send = async |process: &Process| process.shop.sign_up(&address, Some(&key)).await;
        let customer = self.send(send, None).await.expect("an answer");
        self.shop.customers.insert(customer.id, BTreeSet::new());
    }

    async fn create_category(&mut self) {
        let name = self.key();
        let id = self.send(async |process: &Process| process.shop.create_category(&name).await, None).await;
        self.shop.categories.insert(id.expect("an answer"), name);
    }

    async fn create_tag(&mut self) {
        let name = self.key();
        let id = self.send(async |process: &Process| process.shop.create_tag(&name).await, None).await;
        self.shop.tags.insert(id.expect("an answer"), name);
    }

    async fn rename_category(&mut self) {
        let (id, name) = (self.any(self.shop.categories.keys()).expect("a category"), self.key());
        self.send(async |process: &Process| process.shop.rename_category(id, &name).await, None).await;
        self.shop.categories.insert(id, name);
    }

    async fn rename_tag(&mut self) {
        let (id, name) = (self.any(self.shop.tags.keys()).expect("a tag"), self.key());
        self.send(async |process: &Process| process.shop.rename_tag(id, &name).await, None).await;
        self.shop.tags.insert(id, name);
    }

    async fn create_product(&mut self) {
        let category = self.any(self.shop.categories.keys()).expect("a category");
        let (name, tags) = (self.key(), self.some_tags());
        let send = async |process: &Process| process.shop.create_product(&name, category, &tags).await;
        let product = self.send(send, None).await.expect("an answer");
        self.shop.products.insert(key_of(&product), ShopProduct { name, tags });
    }

    async fn edit_product(&mut self) {
        let Some(key) = self.any(self.shop.products.keys()) else { return };
        let (name, tags) = (self.key(), self.some_tags());
        let edit = ProductEdit { name: Some(&name), tags: Some(&tags), price: None };
        self.send(async |process: &Process| process.shop.update_product(key, edit).await, None).await;
        self.shop.products.insert(key, ShopProduct { name, tags });
    }

    async fn delete_product(&mut self) {
        let Some(key) = self.any(self.shop.products.keys()) else { return };
        let send = async |process: &Process| process.shop.delete_product(key).await;
        self.send(send, Some(RefusalCode::NotFound)).await;
        self.shop.products.remove(&key);
    }

    async fn order(&mut self) {
        let customer = self.any(self.shop.customers.keys()).expect("a customer");
        let Some(product) = self.any(self.shop.products.keys()) else { return };
        let key = self.key();
        let send = async |process: &Process| process.shop.order(customer, &[product], Some(&key)).await;
        let settled = self.send(send, None).await.expect("an answer");
        self.shop.customers.entry(customer).or_default().insert(settled.order.id);
    }

    async fn delete_order(&mut self) {
        let customer = self.any(self.shop.customers.keys()).expect("a customer");
        let Some(order) = self.any(self.shop.customers[&customer].iter()) else { return };
        let send = async |process: &Process| process.shop.delete_order(customer, order).await;
        self.send(send, Some(RefusalCode::NotFound)).await;
        self.shop.customers.entry(customer).or_default().remove(&order);
    }

    /// One of these, if there are any.
    fn any<'a, T: Copy + 'a>(&self, of: impl ExactSizeIterator<Item = &'a T>) -> Option<T> {
        let all: Vec<T> = of.copied().collect();
        (!all.is_empty()).then(|| self.dice.pick(&all))
    }

    /// Up to two tags.
    fn some_tags(&self) -> Vec<TagId> {
        let tags = (0..self.dice.roll(3)).filter_map(|_| self.any(self.shop.tags.keys()));
        tags.collect::<BTreeSet<_>>().into_iter().collect()
    }
}
