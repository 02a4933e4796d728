//! What the report on partition keys is made from: V3's database, surveyed, and where its requests are charged.

use std::sync::Arc;

use super::database::{follower, release};
use crate::app::App;
use crate::blog::commands::{CommandLimits, CommandParts, Commands};
use crate::blog::ids::RandomIds;
use crate::blog::reads::{DataModel, ReadModels};
use crate::compare::measure::{Database, Workload};
use crate::compare::metered::Metered;
use crate::compare::partitions::{Footprint, Survey, footprints};
use crate::compare::writes::WritePath;
use crate::config::Member;
use onehop_store::Store;

/// What was found in V3's database.
#[derive(Default)]
pub(super) struct Studied {
    pub survey: Survey,
    pub footprints: Vec<Footprint>,
}

/// Surveys V3's database as it is, and then runs requests on it.
pub(super) async fn study(app: &App, member: &Member, workload: &Workload) -> anyhow::Result<Studied> {
    let survey = Survey::of(app.store.as_ref()).await?;
    let meter = Arc::new(Metered::keeping_touches(Arc::clone(&app.store)));
    let store: Arc<dyn Store> = Arc::clone(&meter) as _;
    let commands = Commands::new(CommandParts {
        store: Arc::clone(&store),
        clock: Arc::clone(&app.clock),
        ids: Arc::new(RandomIds),
        passwords: app.passwords.clone(),
        tasks: app.tasks.clone(),
        limits: CommandLimits::default(),
    });
    let model = DataModel::V3;
    let database = Database {
        model,
        reads: ReadModels::new(&store),
        writes: WritePath::Commands(Box::new(commands)),
        follower: follower(app, member, model, Metered::keeping_touches(Arc::clone(&app.recent))).await?,
    };
    let footprints = footprints(&database, &meter, workload, &survey).await?;
    if let Some(follower) = database.follower {
        release(&follower).await?;
    }
    Ok(Studied { survey, footprints })
}
