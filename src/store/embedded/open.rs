//! Opening a data directory: configuration, what is remembered of the containers, and the start of the writer.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::directory::Directory;
use super::engine::{Change, Engine, Space};
use super::writer::{META_SEQUENCE, QUEUE_REQUESTS_MAX, Writer, WriterContainer};
use super::{Container, Durability, EmbeddedStore, OpenError};
use crate::store::{Clock, ContainerSpec, Fault, FaultKind};

/// Physical partitions of a new data directory unless the configuration says otherwise.
pub const PHYSICAL_PARTITIONS_DEFAULT: u16 = 4;
/// The most physical partitions that are modelled.
pub const PHYSICAL_PARTITIONS_MAX: u16 = 1000;

const META_PARTITIONS: &[u8] = b"physical-partitions";
const META_CONTAINERS: &[u8] = b"containers";

/// How a data directory is opened.
#[derive(Debug, Clone)]
pub struct EmbeddedConfig {
    pub path: PathBuf,
    pub durability: Durability,
    /// `None` takes what the directory was made with.
    pub physical_partitions: Option<u16>,
    /// Bytes of the engine's block cache.
    pub cache_bytes: u64,
}

impl EmbeddedConfig {
    /// The defaults for a directory.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Sync,
            physical_partitions: None,
            cache_bytes: 128 * 1024 * 1024,
        }
    }
}

impl EmbeddedStore {
    /// Opens the store in a directory, and makes it where there is none.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        config: &EmbeddedConfig,
        specs: &[ContainerSpec],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        if let Some(wanted) = config.physical_partitions
            && !(1..=PHYSICAL_PARTITIONS_MAX).contains(&wanted)
        {
            return Err(OpenError::PhysicalPartitionsLimit { wanted, max: PHYSICAL_PARTITIONS_MAX });
        }
        let directory = Directory::open(&config.path)?;
        let engine = Arc::new(Engine::open(&directory.engine_path(), config.cache_bytes, config.durability)?);
        let engine_error = |fault: Fault| OpenError::Io {
            path: config.path.clone(),
            source: std::io::Error::other(fault.to_string()),
        };
        let partitions = stored_partitions(&engine, config)?;
        let ids = stored_container_ids(&engine, specs).map_err(engine_error)?;
        let sequence = stored_sequence(&engine).map_err(engine_error)?;

        let mut containers = Vec::with_capacity(specs.len());
        let mut writer_containers: Vec<Option<WriterContainer>> = Vec::new();
        for (spec, id) in specs.iter().zip(ids) {
            let (sender, signal) = watch::channel(0);
            let place = usize::from(id);
            if writer_containers.len() <= place {
                writer_containers.resize_with(place + 1, || None);
            }
            writer_containers[place] =
                Some(WriterContainer { newest_types: spec.newest_types, signal: sender });
            containers.push(Container { id, spec: *spec, signal });
        }
        let unused = || WriterContainer { newest_types: &[], signal: watch::channel(0).0 };
        let writer_containers =
            writer_containers.into_iter().map(|container| container.unwrap_or_else(unused));

        let (requests, receiver) = mpsc::channel(QUEUE_REQUESTS_MAX);
        let writer = Writer {
            engine: Arc::clone(&engine),
            containers: Arc::new(writer_containers.collect()),
            clock: Arc::clone(&clock),
            sequence,
        };
        let writer = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(receiver))
            .map_err(|source| OpenError::Io { path: config.path.clone(), source })?;
        Ok(Self {
            directory,
            engine,
            containers,
            partitions,
            clock,
            requests: Some(requests),
            writer: Some(writer),
        })
    }
}

fn stored_partitions(engine: &Engine, config: &EmbeddedConfig) -> Result<u16, OpenError> {
    let io = |fault: Fault| OpenError::Io {
        path: config.path.clone(),
        source: std::io::Error::other(fault.to_string()),
    };
    let stored = engine.get(Space::Meta, META_PARTITIONS).map_err(io)?;
    match stored.and_then(|bytes| Some(u16::from_be_bytes(bytes.get(0..2)?.try_into().ok()?))) {
        Some(stored) => match config.physical_partitions {
            Some(wanted) if wanted != stored => {
                Err(OpenError::PhysicalPartitions { path: config.path.clone(), stored, wanted })
            }
            _ => Ok(stored),
        },
        None => {
            let partitions = config.physical_partitions.unwrap_or(PHYSICAL_PARTITIONS_DEFAULT);
            let change: Change =
                (Space::Meta, META_PARTITIONS.to_vec(), Some(partitions.to_be_bytes().to_vec()));
            engine.commit(vec![change]).map_err(io)?;
            Ok(partitions)
        }
    }
}

/// The number of each container: those seen before keep theirs, new ones get the next.
fn stored_container_ids(engine: &Engine, specs: &[ContainerSpec]) -> Result<Vec<u8>, Fault> {
    let corrupt = |error: serde_json::Error| {
        Fault::new(FaultKind::Corrupt, "the list of containers cannot be read").with_source(error)
    };
    let mut names: Vec<String> = match engine.get(Space::Meta, META_CONTAINERS)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(corrupt)?,
        None => Vec::new(),
    };
    let known = names.len();
    let mut ids = Vec::with_capacity(specs.len());
    for spec in specs {
        let place = names.iter().position(|name| name == spec.name.as_str()).unwrap_or_else(|| {
            names.push(spec.name.as_str().to_owned());
            names.len() - 1
        });
        ids.push(u8::try_from(place).map_err(|_| Fault::new(FaultKind::Internal, "too many containers"))?);
    }
    if names.len() > known {
        let bytes = serde_json::to_vec(&names).map_err(corrupt)?;
        engine.commit(vec![(Space::Meta, META_CONTAINERS.to_vec(), Some(bytes))])?;
    }
    Ok(ids)
}

fn stored_sequence(engine: &Engine) -> Result<u64, Fault> {
    let bytes = engine.get(Space::Meta, META_SEQUENCE)?;
    Ok(bytes.and_then(|bytes| Some(u64::from_be_bytes(bytes.get(0..8)?.try_into().ok()?))).unwrap_or(0))
}
