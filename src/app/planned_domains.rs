//! The domains of the program as compiled plans know them: their models, their reads, and the parts of their
//! APIs that are in Rust.

use std::sync::{Arc, LazyLock};

use onehop_model::Model;
use onehop_store::Store;

use crate::domain::api_additions::ApiAdditions;
use crate::graphql::PlannedDomain;
use crate::served::{ServedModel, ServedReads};
use crate::{blog, webstore};

static BLOG: LazyLock<Arc<ServedModel>> = LazyLock::new(|| prepared(&blog::model::MODEL));
static WEBSTORE: LazyLock<Arc<ServedModel>> = LazyLock::new(|| prepared(&webstore::model::MODEL));

fn prepared(model: &Model) -> Arc<ServedModel> {
    let served = ServedModel::for_reads(model.clone());
    Arc::new(served.unwrap_or_else(|refused| panic!("the model of a domain of the program: {refused:?}")))
}

/// The web store's model, as its reads need it.
///
/// # Panics
/// A mistake in the model, which a test finds.
#[must_use]
pub fn webstore_model() -> Arc<ServedModel> {
    Arc::clone(&WEBSTORE)
}

/// The domains over a store, and over the view of it that sees commits of other processes. Accounts of the
/// first one are users, accounts of the second one are customers.
///
/// # Panics
/// A mistake in the model of a domain, which a test finds.
#[must_use]
pub fn planned_domains(store: &Arc<dyn Store>, recent: &Arc<dyn Store>) -> Arc<[PlannedDomain]> {
    let domain = |model: &Arc<ServedModel>, additions: &'static ApiAdditions| PlannedDomain {
        reads: ServedReads::new(Arc::clone(store), Arc::clone(model)),
        recent_reads: ServedReads::new(Arc::clone(recent), Arc::clone(model)),
        additions: Some(additions),
    };
    let blog = domain(&BLOG, &blog::api_additions::ADDITIONS);
    let webstore = domain(&WEBSTORE, &webstore::api_additions::ADDITIONS);
    [blog, webstore].into()
}
