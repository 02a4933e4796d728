//! Storms: many commands on the same items at once, by two processes, while the change feed is read.

use std::collections::BTreeSet;
use std::sync::Arc;

use onehop::webstore::ids::{CategoryId, TagId};
use onehop::webstore::reads::{ProductView, SalesOrderView};
use onehop_change_feed::Processor;
use onehop_store::{Keyset, Ledger};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::shop::{ProductEdit, ProductKey, Shop, key_of};
use crate::pages::pages;
use crate::process::TestProcess;
use crate::support::store::is_cosmos;

/// A web store that two processes write to.
struct Scene {
    process: TestProcess,
    shops: [Shop; 2],
}

impl Scene {
    async fn new() -> Self {
        let process = TestProcess::new().await;
        let other = process.other_webstore_commands(Arc::clone(&process.app.store));
        let shops = [Shop::new(&process.app.webstore_commands), Shop::new(&other)];
        Self { process, shops }
    }

    /// Reads the change feed, page by page, until the tasks have ended; then all of it, and verifies.
    async fn weather(&self, mut tasks: JoinSet<()>) {
        let stop = CancellationToken::new();
        let storm = async {
            while let Some(ended) = tasks.join_next().await {
                ended.expect("a task of the storm");
            }
            stop.cancel();
        };
        tokio::join!(storm, read_until(&self.process.app.processor, &stop));
        self.process.drain().await;
        self.process.assert_clean().await;
    }

    async fn products_of_category(&self, category: CategoryId) -> Vec<ProductView> {
        let (reads, ledger) = (&self.process.app.webstore_reads, Ledger::new());
        let ask = async |page| reads.products_of_category(category, &page, &ledger).await;
        pages(100, ask, keyset, None).await
    }

    async fn products_of_tag(&self, tag: TagId) -> Vec<ProductView> {
        let (reads, ledger) = (&self.process.app.webstore_reads, Ledger::new());
        let ask = async |page| reads.products_of_tag(tag, &page, &ledger).await;
        pages(100, ask, keyset, None).await
    }
}

async fn read_until(processor: &Processor, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        processor.run_once().await.expect("a page");
        tokio::task::yield_now().await;
    }
}

fn keyset(product: &ProductView) -> Keyset {
    Keyset { order_value: product.name.clone(), id: product.id.to_string() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_and_deletions_at_once_leave_an_exact_count() {
    let scene = Scene::new().await;
    let shop = &scene.shops[0];
    let eva = shop.sign_up("eva@example.com", None).await.expect("a sign-up").id;
    let bikes = shop.create_category("Bikes").await.expect("a category");
    let comet = key_of(&shop.create_product("Comet", bikes, &[]).await.expect("a product"));
    let mut tasks = JoinSet::new();
    for number in 0..24 {
        let shop = scene.shops[number % 2].clone();
        tasks.spawn(async move {
            // Every third order is sent by both processes under one key.
            let key = (number % 3 == 0).then(|| format!("key {}", number / 6));
            let placed = shop.order(eva, &[comet], key.as_deref()).await.expect("an order").order.id;
            if number % 3 == 1 {
                shop.delete_order(eva, placed).await.expect("a deletion");
            }
        });
    }
    scene.weather(tasks).await;
    let reads = &scene.process.app.webstore_reads;
    let ledger = Ledger::new();
    let ask = async |page| reads.sales_orders(eva, &page, &ledger).await;
    let keyset =
        |order: &SalesOrderView| Keyset { order_value: order.order_date.clone(), id: order.id.to_string() };
    let orders = pages(3, ask, keyset, None).await;
    let customer = reads.customer(eva, &ledger).await.expect("an answer").expect("a customer");
    // Of 24, a third are sent twice, and a third are deleted.
    assert_eq!((customer.sales_order_count, orders.len()), (12, 12));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_category_renamed_while_its_products_are_edited() {
    const PRODUCTS: usize = 24;
    let scene = Scene::new().await;
    let [shop, other] = scene.shops.clone();
    let bikes = shop.create_category("Bikes").await.expect("a category");
    let red = shop.create_tag("red").await.expect("a tag");
    let mut products = Vec::new();
    for number in 0..PRODUCTS {
        let product = shop.create_product(&format!("P{number:02}"), bikes, &[red]).await;
        products.push(key_of(&product.expect("a product")));
    }
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        for name in ["Cycles", "Wheels", "Bicycles"] {
            shop.rename_category(bikes, name).await.expect("a rename");
            tokio::task::yield_now().await;
        }
    });
    for (number, product) in products.into_iter().enumerate() {
        let shop = other.clone();
        tasks.spawn(async move {
            for edit in 0..5 {
                let name = format!("P{number:02}, edition {edit}");
                let edit = ProductEdit { name: Some(&name), ..ProductEdit::default() };
                shop.update_product(product, edit).await.expect("an edit");
                tokio::task::yield_now().await;
            }
        });
    }
    scene.weather(tasks).await;
    for found in [scene.products_of_category(bikes).await, scene.products_of_tag(red).await] {
        assert_eq!(found.len(), PRODUCTS);
        for (number, product) in found.iter().enumerate() {
            assert_eq!(product.category_name, "Bicycles");
            assert_eq!(product.name, format!("P{number:02}, edition 4"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_renamed_on_1000_products_while_tags_come_and_go() {
    // The emulator copies a physical partition for each batch.
    let products = if is_cosmos() { 60 } else { 1_000 };
    let scene = Scene::new().await;
    let [shop, other] = scene.shops.clone();
    let bikes = shop.create_category("Bikes").await.expect("a category");
    let red = shop.create_tag("red").await.expect("a tag");
    let fast = shop.create_tag("fast").await.expect("a tag");
    let mut making = JoinSet::new();
    for number in 0..products {
        let shop = shop.clone();
        making.spawn(async move {
            // Every tenth product gets its tag in the storm.
            let tags: &[TagId] = if number % 10 == 0 { &[fast] } else { &[red] };
            key_of(&shop.create_product(&format!("P{number:03}"), bikes, tags).await.expect("a product"))
        });
    }
    let made: Vec<ProductKey> = making.join_all().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        for name in ["ruby", "rose", "scarlet"] {
            shop.rename_tag(red, name).await.expect("a rename");
            tokio::task::yield_now().await;
        }
    });
    let (of_red, of_fast) = (red, fast);
    for chunk in made.chunks(products / 4) {
        let (shop, chunk) = (other.clone(), chunk.to_vec());
        tasks.spawn(async move {
            for (number, product) in chunk.into_iter().enumerate() {
                let tags: &[TagId] = match number % 3 {
                    0 => &[of_red, of_fast],
                    1 => &[of_fast],
                    _ => continue,
                };
                let edit = ProductEdit { tags: Some(tags), ..ProductEdit::default() };
                shop.update_product(product, edit).await.expect("an edit");
            }
        });
    }
    scene.weather(tasks).await;
    let all = scene.products_of_category(bikes).await;
    assert_eq!(all.len(), products);
    for (tag, name) in [(red, "scarlet"), (fast, "fast")] {
        let tagged = |product: &&ProductView| product.tags.iter().any(|of| of.id == tag);
        let expected: BTreeSet<_> = all.iter().filter(tagged).map(|product| product.id).collect();
        let found = scene.products_of_tag(tag).await;
        assert_eq!(found.iter().map(|product| product.id).collect::<BTreeSet<_>>(), expected);
        let names = all.iter().chain(&found).flat_map(|product| &product.tags).filter(|of| of.id == tag);
        assert!(names.clone().all(|of| of.name == name), "{:?}", names.collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_members_of_staff_rename_at_once_and_both_count() {
    let scene = Scene::new().await;
    let shop = &scene.shops[0];
    let bikes = shop.create_category("Bikes").await.expect("a category");
    let red = shop.create_tag("red").await.expect("a tag");
    shop.create_product("Comet", bikes, &[red]).await.expect("a product");
    let mut tasks = JoinSet::new();
    for (shop, name) in scene.shops.clone().into_iter().zip(["one", "other"]) {
        tasks.spawn(async move {
            for number in 0..5 {
                shop.rename_category(bikes, &format!("{name} {number}")).await.expect("a rename");
                shop.rename_tag(red, &format!("{name} {number}")).await.expect("a rename");
            }
        });
    }
    scene.weather(tasks).await;
    // A rename to the name that it has already returns the version.
    let (reads, ledger) = (&scene.process.app.webstore_reads, Ledger::new());
    let categories = reads.categories(&ledger).await.expect("a list");
    let tags = reads.tags(&ledger).await.expect("a list");
    assert_eq!(scene.shops[0].rename_category(bikes, &categories[0].name).await.expect("a version"), 11);
    assert_eq!(scene.shops[0].rename_tag(red, &tags[0].name).await.expect("a version"), 11);
    let [comet] = &scene.products_of_tag(red).await[..] else { panic!("not one product") };
    assert_eq!((&comet.category_name, &comet.tags), (&categories[0].name, &tags));
}
