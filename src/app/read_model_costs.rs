//! Request charges of read models: seeds both domains in a store of its own, and has each declaration predict
//! and measure the cost of a change.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::container_specs;
use super::engine::AppOptions;
use super::model_record::AcceptedChanges;
use super::served::ServedApp;
use crate::blog;
use crate::blog::study::dataset::{DEFAULT_END_MS, Dataset, Texts};
use crate::blog::study::seed::Seeder;
use crate::config::StoreChoice;
use crate::served::ServedModel;
use crate::webstore;
use crate::webstore::dataset::WebstoreDataset;
use crate::webstore::seeder::WebstoreSeeder;
use onehop_read_models::cost::{ChangeCost, CostCharges};
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_store::charges::Calibration;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{Indexing, Store};

/// In place of a password hash: this store serves no sign-in.
const NO_PASSWORD_HASH: &str = "none";

/// The data and the store on which request charges are predicted and measured.
#[derive(Debug, Clone)]
pub struct CostData {
    /// Users of the blog.
    pub users: u32,
    /// Customers of the web store.
    pub customers: u32,
    pub rng_seed: u64,
    pub physical_partitions: u16,
    pub indexing: Indexing,
    /// The constants of the request charges.
    pub calibration: Arc<Calibration>,
}

/// The request charges of the read models of one domain.
pub struct DomainCosts {
    pub title: &'static str,
    pub costs: Vec<ChangeCost>,
}

/// The costs of a served model, measured on a copy of its data in an empty directory.
///
/// # Errors
/// The data cannot be opened or copied; a change that cannot be measured.
pub async fn costs_of_copy(
    model: &Arc<ServedModel>,
    data: &Path,
    directory: &Path,
    charges: &CostCharges,
) -> anyhow::Result<Vec<ChangeCost>> {
    let config = |path: &Path| EmbeddedConfig {
        indexing: charges.indexing,
        calibration: Arc::clone(&charges.calibration),
        ..EmbeddedConfig::new(path)
    };
    anyhow::ensure!(data.is_dir(), "--data {}: there is no such directory", data.display());
    let choice = StoreChoice::Embedded(EmbeddedConfig::new(data));
    let app = ServedApp::open(Arc::clone(model), &choice, AcceptedChanges::Compatible, AppOptions::default())
        .await?;
    let copied = app.engine.backup(directory, None, Box::new(|_| true)).await;
    app.engine.close().await;
    copied?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = EmbeddedStore::open_with(&config(directory), model.containers(), Arc::clone(&clock))?;
    Ok(model.read_models().costs(Arc::new(store), clock, charges).await?)
}

impl CostData {
    /// Makes a store in this directory, seeds it, and predicts and measures on it.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn measure(&self, directory: &Path) -> anyhow::Result<Vec<DomainCosts>> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let config = EmbeddedConfig {
            physical_partitions: Some(self.physical_partitions),
            indexing: self.indexing,
            calibration: Arc::clone(&self.calibration),
            durability: Durability::Relaxed,
            ..EmbeddedConfig::new(directory)
        };
        let store = EmbeddedStore::open_with(&config, &container_specs(), Arc::clone(&clock))?;
        let store: Arc<dyn Store> = Arc::new(store);
        let dataset = Dataset::new(self.users, self.rng_seed, DEFAULT_END_MS).with_texts(Texts::Long);
        let demo_password_hash = NO_PASSWORD_HASH.to_owned();
        let seeder = Seeder { store: Arc::clone(&store), dataset, demo_password_hash };
        seeder.run(|_| {}).await.context("the blog cannot be seeded")?;
        let dataset = WebstoreDataset::new(self.customers, self.rng_seed, DEFAULT_END_MS);
        let seeder = WebstoreSeeder::new(Arc::clone(&store), dataset)?;
        seeder.run(|_| {}).await.context("the web store cannot be seeded")?;
        let charges = CostCharges { indexing: self.indexing, calibration: Arc::clone(&self.calibration) };
        let mut domains = Vec::new();
        for (title, declared) in
            [("Blog", blog::read_models::read_models()), ("Web store", webstore::read_models::read_models())]
        {
            let costs = declared.costs(Arc::clone(&store), Arc::clone(&clock), &charges).await?;
            domains.push(DomainCosts { title, costs });
        }
        Ok(domains)
    }
}
