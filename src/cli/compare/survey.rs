//! Survey of V3's database and the footprints of its requests: input of the report on partition keys.

use std::sync::Arc;

use super::model_follower::follower;
use crate::app::{App, Member};
use crate::blog::commands::{CommandLimits, CommandParts, Commands};
use crate::blog::ids::RandomIds;
use crate::blog::reads::{DataModel, ReadModels};
use crate::blog::study::footprints::footprints;
use crate::blog::study::measure::{ModelDatabase, Workload};
use crate::blog::study::survey::Survey;
use crate::blog::study::writes::WritePath;
use onehop_store::Store;
use onehop_study::metered::MeteredStore;
use onehop_study::partitions::Footprint;

/// What was found in V3's database.
#[derive(Default)]
pub(super) struct Surveyed {
    pub survey: Survey,
    pub footprints: Vec<Footprint>,
}

/// Surveys V3's database, and then runs requests on it.
pub(super) async fn survey(app: &App, member: &Member, workload: &Workload) -> anyhow::Result<Surveyed> {
    let survey = Survey::of(app.store.as_ref()).await?;
    let meter = Arc::new(MeteredStore::with_touches(Arc::clone(&app.store)));
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
    let database = ModelDatabase {
        model,
        reads: ReadModels::new(&store),
        writes: WritePath::Commands(Box::new(commands)),
        follower: follower(app, member, model, MeteredStore::with_touches(Arc::clone(&app.recent))).await?,
    };
    let footprints = footprints(&database, &meter, workload, &survey).await?;
    if let Some(follower) = database.follower {
        follower.release().await?;
    }
    Ok(Surveyed { survey, footprints })
}
