//! Opening of the embedded store on a simulated disk, with its writer as a task of the simulation.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::disk::SimulatedDisk;
use crate::ContainerSpec;
use crate::embedded::directory::Directory;
use crate::embedded::engine::Engine;
use crate::embedded::open::{EmbeddedConfig, check_physical_partitions, damaged};
use crate::embedded::open_error::OpenError;
use crate::embedded::store::EmbeddedStore;
use onehop_runtime::clock::Clock;

/// The replacements of a directory and a thread in a simulation.
pub struct SimulatedParts<'a> {
    /// The disk with the content of the store.
    pub disk: &'a SimulatedDisk,
    /// Runs the writer until it ends: after the store is dropped, or with its process.
    pub spawn: &'a dyn Fn(BoxFuture<'static, ()>),
}

impl EmbeddedStore {
    /// Opens the store on a simulated disk. The path of the configuration is a name in messages alone, and
    /// the disk is in use until the writer has ended.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_simulated(
        config: &EmbeddedConfig,
        specs: &[ContainerSpec],
        clock: Arc<dyn Clock>,
        parts: &SimulatedParts<'_>,
    ) -> Result<Self, OpenError> {
        check_physical_partitions(config)?;
        let directory = Directory::simulated(&config.path, parts.disk)?;
        let mark = parts.disk.mark().map(|mark| serde_json::from_slice(&mark)).transpose();
        let mark = mark.map_err(|_| damaged(config, "the high-water mark"))?;
        let engine = Engine::simulated(&config.path, parts.disk, config.durability)?;
        let (store, writer) = Self::with_writer(directory, engine, mark, config, specs, clock)?;
        let directory = Arc::clone(&store.directory);
        (parts.spawn)(Box::pin(async move {
            writer.await;
            drop(directory);
        }));
        Ok(store)
    }
}
