//! The write path of a data model over a store.

use std::sync::Arc;

use crate::app::App;
use crate::blog::commands::{CommandLimits, CommandParts, Commands};
use crate::blog::ids::RandomIds;
use crate::blog::reads::DataModel;
use crate::blog::study::writes::{Plain, WritePath};
use onehop_store::Store;

/// Writes as the data model does, with the limits of an account: commands that arrive together share a batch.
pub(super) fn writes_over(store: &Arc<dyn Store>, app: &App, model: DataModel) -> WritePath {
    let plain = || Plain { store: Arc::clone(store), clock: Arc::clone(&app.clock) };
    match model {
        DataModel::V1 => WritePath::SingleItems(plain()),
        DataModel::V2 => WritePath::Batches(plain()),
        DataModel::V3 => WritePath::Commands(Box::new(Commands::new(CommandParts {
            store: Arc::clone(store),
            latest: Arc::clone(store),
            clock: Arc::clone(&app.clock),
            ids: Arc::new(RandomIds),
            passwords: app.passwords.clone(),
            tasks: app.tasks.clone(),
            limits: CommandLimits::on_account(),
        }))),
    }
}
