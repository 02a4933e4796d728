//! Plays a plan in the web store: sends the commands, and notes the acknowledged ones in the model.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use onehop::webstore::ids::{CategoryId, CustomerId, ProductId, TagId};
use proptest::sample::Index;

use super::model::ShopModel;
use super::{Edited, ShopAct};
use crate::process::TestProcess;
use crate::properties::model::Latest;
use crate::properties::plan::{Phase, Player, chosen, play_phases};
use crate::properties::play::done_or_contended;
use crate::webstore::shop::{ProductEdit, Shop};

/// Customers, and products in one category with one tag, that are there before the plan begins.
const FIRST: usize = 3;

/// Customers and staff.
#[derive(Clone)]
struct ShopPlayer {
    shop: Shop,
    notes: Arc<ShopNotes>,
}

/// The notes about a web store.
#[derive(Default)]
struct ShopNotes {
    model: Mutex<ShopModel>,
    /// For names that are never the same twice.
    names: AtomicU32,
}

/// Plays all phases in a new web store.
pub async fn play(plan: &[Phase<ShopAct>]) -> (TestProcess, ShopModel) {
    let process = TestProcess::new().await;
    let notes = Arc::new(ShopNotes::default());
    {
        let player = ShopPlayer::entering(&process, &notes);
        player.create_category().await;
        player.create_tag().await;
        for number in 0..FIRST {
            player.sign_up(&format!("first.{number}@example.com")).await;
            let (category, tag) = player.first_category_and_tag();
            player.create_product(category, vec![tag]).await;
        }
    }
    let process = play_phases::<ShopPlayer>(process, &notes, plan).await;
    let notes = Arc::into_inner(notes).expect("no task is left");
    (process, notes.model.into_inner().expect("the model"))
}

impl Player for ShopPlayer {
    type Act = ShopAct;
    type Notes = Arc<ShopNotes>;

    fn entering(process: &TestProcess, notes: &Arc<ShopNotes>) -> Self {
        Self { shop: Shop::new(&process.app.webstore_commands), notes: Arc::clone(notes) }
    }

    async fn act(&self, act: &ShopAct) {
        match act {
            ShopAct::SignUp { address } => self.sign_up(address).await,
            ShopAct::UpdateCustomer { customer, addresses } => {
                let (id, last_name) = (self.customer(customer), self.name("Stone"));
                let updated = self.shop.update_customer(id, &last_name, *addresses).await;
                if let Ok(Some(customer)) = done_or_contended(updated) {
                    self.model().updated(&customer, &last_name, *addresses);
                }
            }
            ShopAct::CreateCategory => self.create_category().await,
            ShopAct::RenameCategory { category } => {
                let (id, name) = (self.category(category), self.name("Category"));
                if let Ok(Some(version)) = done_or_contended(self.shop.rename_category(id, &name).await) {
                    self.model().categories.get_mut(&id).expect("a known category").note(version, &name);
                }
            }
            ShopAct::CreateTag => self.create_tag().await,
            ShopAct::RenameTag { tag } => {
                let (id, name) = (self.tag(tag), self.name("tag"));
                if let Ok(Some(version)) = done_or_contended(self.shop.rename_tag(id, &name).await) {
                    self.model().tags.get_mut(&id).expect("a known tag").note(version, &name);
                }
            }
            ShopAct::CreateProduct { category, tags } => {
                self.create_product(self.category(category), self.tag_list(tags)).await;
            }
            ShopAct::EditProduct { product, edited } => {
                self.edit_product(self.product(product), edited).await
            }
            ShopAct::DeleteProduct { product } => {
                let id = self.product(product);
                let (key, was_deleted) = {
                    let model = self.model();
                    (model.key_of(id), model.is_product_deleted(id))
                };
                if let Ok(Some(_)) = done_or_contended(self.shop.delete_product(key).await) {
                    // Two deletions at the same time write the same tombstone: each takes it for its own.
                    assert!(!was_deleted, "the product {id} was deleted twice");
                    self.model().product_deleted(id);
                }
            }
            ShopAct::Order { customer, products, key } => {
                self.order(self.customer(customer), products, *key).await;
            }
            ShopAct::DeleteOrder { order } => self.delete_order(order).await,
        }
    }
}

impl ShopPlayer {
    async fn sign_up(&self, address: &str) {
        if let Ok(Some(customer)) = done_or_contended(self.shop.sign_up(address, None).await) {
            self.model().signed_up(&customer);
        }
    }

    async fn create_category(&self) {
        let name = self.name("Category");
        let id = self.shop.create_category(&name).await.expect("a category");
        self.model().categories.insert(id, Latest::first(&name));
    }

    async fn create_tag(&self) {
        let name = self.name("tag");
        let id = self.shop.create_tag(&name).await.expect("a tag");
        self.model().tags.insert(id, Latest::first(&name));
    }

    async fn create_product(&self, category: CategoryId, tags: Vec<TagId>) {
        let created = self.shop.create_product(&self.name("Product"), category, &tags).await;
        self.model().created(&created.expect("a product"), &tags);
    }

    async fn edit_product(&self, id: ProductId, edited: &Edited) {
        let key = self.model().key_of(id);
        let name = matches!(edited, Edited::Name | Edited::All(_)).then(|| self.name("Product"));
        let cents = matches!(edited, Edited::Price | Edited::All(_)).then(|| 100 + i64::from(self.number()));
        let tags = match edited {
            Edited::Tags(tags) | Edited::All(tags) => Some(self.tag_list(tags)),
            Edited::Name | Edited::Price => None,
        };
        let price = cents.map(|cents| format!("{}.{:02}", cents / 100, cents % 100));
        let edit = ProductEdit { name: name.as_deref(), tags: tags.as_deref(), price: price.as_deref() };
        if let Ok(Some(product)) = done_or_contended(self.shop.update_product(key, edit).await) {
            self.model().edited(&product, name.as_ref(), cents, tags.as_ref());
        }
    }

    /// Under a key the same customer orders the same products.
    async fn order(&self, customer: CustomerId, products: &[Index], key: Option<u8>) {
        let products: Vec<_> = {
            let model = self.model();
            let id =
                |index: &Index| *chosen(model.products.keys(), index).expect("there is always a product");
            let of_key = |key| *model.products.keys().nth(usize::from(key) % FIRST).expect("a first product");
            let ids = key.map_or_else(|| products.iter().map(id).collect(), |key| vec![of_key(key)]);
            ids.into_iter().map(|id| model.key_of(id)).collect()
        };
        let key = key.map(|key| format!("key {key}"));
        let placed = self.shop.order(customer, &products, key.as_deref()).await;
        if let Ok(Some(settled)) = done_or_contended(placed) {
            self.model().ordered(&settled.order);
        }
    }

    async fn delete_order(&self, order: &Index) {
        let known = {
            let model = self.model();
            chosen(model.orders.iter(), order).map(|(id, known)| (*id, known.customer))
        };
        let Some((id, customer)) = known else { return };
        if let Ok(Some(_)) = done_or_contended(self.shop.delete_order(customer, id).await) {
            self.model().order_deleted(id);
        }
    }

    fn model(&self) -> MutexGuard<'_, ShopModel> {
        self.notes.model.lock().expect("the model")
    }

    fn first_category_and_tag(&self) -> (CategoryId, TagId) {
        let model = self.model();
        let first = model.categories.keys().zip(model.tags.keys()).next();
        first.map(|(category, tag)| (*category, *tag)).expect("a category and a tag")
    }

    fn customer(&self, index: &Index) -> CustomerId {
        *chosen(self.model().customers.keys(), index).expect("there is always a customer")
    }

    fn category(&self, index: &Index) -> CategoryId {
        *chosen(self.model().categories.keys(), index).expect("there is always a category")
    }

    fn tag(&self, index: &Index) -> TagId {
        *chosen(self.model().tags.keys(), index).expect("there is always a tag")
    }

    fn product(&self, index: &Index) -> ProductId {
        *chosen(self.model().products.keys(), index).expect("there is always a product")
    }

    /// Tags, each once.
    fn tag_list(&self, indexes: &[Index]) -> Vec<TagId> {
        let mut tags: Vec<_> = indexes.iter().map(|index| self.tag(index)).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    fn number(&self) -> u32 {
        self.notes.names.fetch_add(1, Ordering::Relaxed)
    }

    fn name(&self, what: &str) -> String {
        format!("{what} {}", self.number())
    }
}
