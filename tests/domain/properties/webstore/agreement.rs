//! The answers of queries after the read models have caught up: they match the acknowledged commands, on
//! pages of every size.

use std::collections::BTreeMap;

use onehop::domain::page::PageRequest;
use onehop::webstore::ids::{CategoryId, ProductId, TagId};
use onehop::webstore::reads::{CustomerView, ProductView, SalesOrderView, TagView, WebstoreReads};
use onehop_store::{Keyset, Ledger};

use super::model::ShopModel;
use crate::pages::pages;
use crate::process::TestProcess;
use crate::webstore::shop::Shop;

/// Sizes of pages with which every list is read: smaller than most lists, and as large as can be.
const PAGE_SIZES: [i64; 3] = [1, 3, 100];

/// Asserts all conditions of a web store that has come to rest.
pub async fn assert_agreement(process: &TestProcess, model: &ShopModel) {
    let asked = Asked { reads: &process.app.webstore_reads, model };
    asked.assert_lookup_lists().await;
    for id in model.categories.keys() {
        asked.assert_products_of_category(*id).await;
    }
    for id in model.tags.keys() {
        asked.assert_products_of_tag(*id).await;
    }
    for id in model.products.keys() {
        asked.assert_product(*id).await;
    }
    asked.assert_customers(&Shop::new(&process.app.webstore_commands)).await;
    asked.assert_ranking().await;
}

/// A product as a list shows it.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    id: ProductId,
    name: String,
    price: i64,
    category: (CategoryId, String),
    tags: Vec<TagView>,
}

impl From<&ProductView> for Listed {
    fn from(product: &ProductView) -> Self {
        Self {
            id: product.id,
            name: product.name.clone(),
            price: product.money().minor_units,
            category: (product.category_id, product.category_name.clone()),
            tags: product.tags.clone(),
        }
    }
}

struct Asked<'a> {
    reads: &'a WebstoreReads,
    model: &'a ShopModel,
}

impl Asked<'_> {
    async fn assert_lookup_lists(&self) {
        let categories = self.reads.categories(&Ledger::new()).await.expect("a list");
        let found: BTreeMap<_, _> = categories.iter().map(|of| (of.id, of.name.as_str())).collect();
        let known = self.model.categories.iter().map(|(id, name)| (*id, name.only().as_str())).collect();
        assert_eq!(found, known);
        assert!(categories.is_sorted_by_key(|of| (of.name.clone(), of.id)));
        let tags = self.reads.tags(&Ledger::new()).await.expect("a list");
        let found: BTreeMap<_, _> = tags.iter().map(|of| (of.id, of.name.as_str())).collect();
        let known = self.model.tags.iter().map(|(id, name)| (*id, name.only().as_str())).collect();
        assert_eq!(found, known);
        assert!(tags.is_sorted_by_key(|of| (of.name.clone(), of.id)));
    }

    async fn assert_products_of_category(&self, id: CategoryId) {
        let expected = self.listed(self.model.products_left(|product| product.category == id));
        for first in PAGE_SIZES {
            let ask =
                async |page: PageRequest| self.reads.products_of_category(id, &page, &Ledger::new()).await;
            let found = pages(first, ask, by_name, None).await;
            assert_eq!(found.iter().map(Listed::from).collect::<Vec<_>>(), expected, "category {id}");
        }
    }

    async fn assert_products_of_tag(&self, id: TagId) {
        let expected = self.listed(self.model.products_left(|product| product.tags.only().contains(&id)));
        for first in PAGE_SIZES {
            let ask = async |page: PageRequest| self.reads.products_of_tag(id, &page, &Ledger::new()).await;
            let found = pages(first, ask, by_name, None).await;
            assert_eq!(found.iter().map(Listed::from).collect::<Vec<_>>(), expected, "tag {id}");
        }
    }

    async fn assert_product(&self, id: ProductId) {
        let known = &self.model.products[&id];
        let found = self.reads.product(known.category, id, &Ledger::new()).await.expect("an answer");
        let expected = (!known.deleted).then(|| self.listed_product(id));
        assert_eq!(found.as_ref().map(Listed::from), expected, "product {id}");
    }

    /// Customers with their orders, whose lines are as they were ordered.
    async fn assert_customers(&self, shop: &Shop) {
        for (id, known) in &self.model.customers {
            let found = self.reads.customer(*id, &Ledger::new()).await.expect("an answer");
            let found = found.unwrap_or_else(|| panic!("the customer {id} is lost"));
            let addresses = found.addresses.as_ref().map_or(0, Vec::len);
            assert_eq!(&(found.last_name.clone(), addresses), known.details.only());
            let orders = self.model.orders_left(*id);
            assert_eq!(found.sales_order_count as usize, orders.len(), "orders of {id}");
            for first in PAGE_SIZES {
                let ask = async |page: PageRequest| self.reads.sales_orders(*id, &page, &Ledger::new()).await;
                let found = pages(first, ask, by_date, None).await;
                assert_eq!(found.iter().collect::<Vec<_>>(), orders, "orders of {id}");
            }
            assert_eq!(shop.sign_in(&known.address).await.expect("a sign-in").id, *id);
        }
        for (id, known) in self.model.orders.iter().filter(|(_, known)| known.deleted) {
            let found = self.reads.sales_order(known.customer, *id, &Ledger::new()).await;
            assert_eq!(found.expect("an answer"), None, "the order {id} came back");
        }
    }

    async fn assert_ranking(&self) {
        let ranks = |customers: &[CustomerView]| -> Vec<_> {
            customers.iter().map(|of| (of.id, of.sales_order_count as usize)).collect()
        };
        for first in PAGE_SIZES {
            let ask = async |page: PageRequest| self.reads.top_customers(&page, &Ledger::new()).await;
            assert_eq!(ranks(&pages(first, ask, by_rank, None).await), self.model.ranking());
        }
        let page = PageRequest::new(100, None).expect("a page request");
        let across = self.reads.top_customers_across_partitions(&page, &Ledger::new()).await;
        assert_eq!(ranks(&across.expect("an answer")), self.model.ranking());
    }

    fn listed(&self, ids: Vec<ProductId>) -> Vec<Listed> {
        ids.into_iter().map(|id| self.listed_product(id)).collect()
    }

    /// The fields of a product in lists, with the present names of its category and tags.
    fn listed_product(&self, id: ProductId) -> Listed {
        let known = &self.model.products[&id];
        let tag = |id: &TagId| TagView { id: *id, name: self.model.tags[id].only().clone() };
        Listed {
            id,
            name: known.name.only().clone(),
            price: *known.price.only(),
            category: (known.category, self.model.categories[&known.category].only().clone()),
            tags: known.tags.only().iter().map(tag).collect(),
        }
    }
}

fn by_name(product: &ProductView) -> Keyset {
    Keyset { order_value: product.name.clone(), id: product.id.to_string() }
}

fn by_date(order: &SalesOrderView) -> Keyset {
    Keyset { order_value: order.order_date.clone(), id: order.id.to_string() }
}

fn by_rank(customer: &CustomerView) -> Keyset {
    Keyset { order_value: customer.sort_key.clone(), id: customer.id.to_string() }
}
