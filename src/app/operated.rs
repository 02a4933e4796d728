//! Operated domain: the data that maintenance works on, of the built-in domains or of a served model.

use std::sync::Arc;

use anyhow::Context;
use tokio::sync::Semaphore;

use super::served::verify_model;
use super::work::{ProgressSink, Repair};
use super::{App, Engine, ServedApp, container_specs};
use crate::served::ServedModel;
use onehop_read_models::verify::VerificationReport;
use onehop_store::ContainerSpec;

/// The domain of the data.
#[derive(Clone)]
pub enum OperatedDomain {
    /// The blog and the web store.
    BuiltIn(Arc<App>),
    /// The domain of a model file.
    Served(ServedDomain),
}

/// A served model over an engine.
#[derive(Clone)]
pub struct ServedDomain {
    /// The parts that no domain has of its own.
    pub engine: Arc<Engine>,
    /// The model.
    pub model: Arc<ServedModel>,
    /// Concurrency limit of predictions, which read all items.
    pub(super) predictions: Arc<Semaphore>,
}

impl OperatedDomain {
    /// The parts that no domain has of its own.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        match self {
            Self::BuiltIn(app) => &app.engine,
            Self::Served(domain) => &domain.engine,
        }
    }

    /// The containers of the data.
    #[must_use]
    pub fn containers(&self) -> Vec<ContainerSpec> {
        match self {
            Self::BuiltIn(_) => container_specs(),
            Self::Served(domain) => domain.model.containers().to_vec(),
        }
    }

    /// Verifies the read models, or repairs them and verifies again.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn verify(
        &self,
        repair: impl Into<Repair>,
        progress: &ProgressSink,
    ) -> anyhow::Result<VerificationReport> {
        let repair = repair.into();
        match self {
            Self::BuiltIn(app) => app.verify(repair, progress).await,
            Self::Served(domain) => verify_model(&domain.engine, &domain.model, repair, progress).await,
        }
    }

    /// The app of the built-in domains, which have data sets and demo users.
    ///
    /// # Errors
    /// A model is served.
    pub fn built_in(&self) -> anyhow::Result<&Arc<App>> {
        let app = match self {
            Self::BuiltIn(app) => Some(app),
            Self::Served(_) => None,
        };
        app.context("the server serves a model, and the data sets are of the built-in domains")
    }

    /// The served model; `None` for the built-in domains.
    #[must_use]
    pub fn served(&self) -> Option<&ServedDomain> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Served(domain) => Some(domain),
        }
    }
}

impl From<&Arc<App>> for OperatedDomain {
    fn from(app: &Arc<App>) -> Self {
        Self::BuiltIn(Arc::clone(app))
    }
}

impl From<&ServedApp> for OperatedDomain {
    fn from(app: &ServedApp) -> Self {
        Self::Served(ServedDomain {
            engine: Arc::clone(&app.engine),
            model: Arc::clone(&app.model),
            predictions: Arc::new(Semaphore::new(1)),
        })
    }
}
