//! Survey of a data model's database, the footprints of its requests, and the charges of passes over all of
//! its data: input of the report on partition keys, provisioning and background work.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;

use super::model_follower::follower;
use super::write_path::writes_over;
use crate::app::{App, Member};
use crate::blog::containers::{FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS, USERS};
use crate::blog::items::types;
use crate::blog::read_models;
use crate::blog::reads::{DataModel, ReadModels};
use crate::blog::study::footprints::{ModelFootprints, footprints_of_commands, footprints_of_reads};
use crate::blog::study::measure::{ModelDatabase, Workload};
use crate::blog::study::read_path::ReadPath;
use crate::blog::study::report::SurveyedModel;
use crate::blog::study::survey::Survey;
use crate::blog::verify::verifier;
use onehop_read_models::verify::Settle;
use onehop_store::{ContainerName, Direction, Fault, Ledger, PartitionKey, Query, Store};
use onehop_study::background::{BackgroundPass, ChangeFeedFollowing, PageListing};
use onehop_study::follower::Follower;
use onehop_study::metered::MeteredStore;
use onehop_study::partitions::{Footprint, contents_of};
use onehop_study::retries::RetryingStore;

/// Entries that a listing of the feed asks for: posts that were just added or deleted are among them.
const LISTED_POSTS_MAX: usize = 3 * FEED_POSTS_MAX;

/// The footprints of the reads, on a database as it was made.
pub(super) async fn survey_reads(
    app: &App,
    workload: &Workload,
    model: DataModel,
) -> anyhow::Result<Vec<(ReadPath, Vec<Footprint>)>> {
    let survey = Survey::of(&RetryingStore(Arc::clone(&app.store)), model).await?;
    let meter = Arc::new(MeteredStore::with_touches(Arc::clone(&app.store)));
    let database = database(app, &meter, model, None);
    Ok(footprints_of_reads(&database, &meter, workload, &survey).await?)
}

/// Surveys the database of a data model, and then runs commands and passes on it. `reads`: their footprints.
pub(super) async fn survey(
    app: &App,
    member: &Member,
    workload: &Workload,
    (model, reads): (DataModel, Vec<(ReadPath, Vec<Footprint>)>),
) -> anyhow::Result<SurveyedModel> {
    let survey = Survey::of(&RetryingStore(Arc::clone(&app.store)), model).await?;
    let meter = Arc::new(MeteredStore::with_touches(Arc::clone(&app.store)));
    let recent = MeteredStore::with_touches(Arc::clone(&app.recent));
    let database = database(app, &meter, model, follower(app, member, model, recent).await?);
    let commands = footprints_of_commands(&database, &meter, workload, &survey).await?;
    let footprints = ModelFootprints { reads, commands };
    let mut following = None;
    if let Some(follower) = database.follower {
        following = Some(following_of(app, &follower, model, &survey).await?);
        follower.release().await?;
    }
    let physical_partitions = partition_counts(app, &survey).await?;
    Ok(SurveyedModel { model, survey, footprints, following, physical_partitions })
}

/// Containers whose changes the projections of a data model follow: names for V2, everything for V3.
async fn following_of(
    app: &App,
    follower: &Follower,
    model: DataModel,
    survey: &Survey,
) -> anyhow::Result<ChangeFeedFollowing> {
    Ok(match model {
        DataModel::V1 => ChangeFeedFollowing::default(),
        DataModel::V2 => ChangeFeedFollowing { sources: vec![USERS], ..ChangeFeedFollowing::default() },
        DataModel::V3 => ChangeFeedFollowing {
            sources: vec![USERS, POSTS],
            listings: vec![listing_of_feed(app).await?],
            passes: passes_over(app, follower, survey).await?,
        },
    })
}

#[derive(Deserialize)]
struct ListedPost {
    id: String,
}

/// The charges of the listing of the feed and of its confirmation, as the projection reads them.
async fn listing_of_feed(app: &App) -> Result<PageListing, Fault> {
    let ledger = Ledger::new();
    let query = Query::Partition {
        container: FEED,
        partition_key: &PartitionKey::from(FEED_PARTITION),
        item_type: types::POST,
        direction: Direction::NewestFirst,
        after: None,
        limit: LISTED_POSTS_MAX,
        order_by: None,
    };
    let page = app.recent.query(&query, &ledger).await?;
    let confirmation = Ledger::new();
    if let Some(last) = page.items.last() {
        let ListedPost { id } = last.decode()?;
        app.recent.read(FEED, &PartitionKey::from(FEED_PARTITION), &id, &confirmation).await?;
    }
    Ok(PageListing {
        source: POSTS,
        container: FEED,
        request_charge: ledger.total().0,
        confirmation_charge: confirmation.total().0,
    })
}

/// Physical partitions of each surveyed container.
async fn partition_counts(app: &App, survey: &Survey) -> anyhow::Result<BTreeMap<ContainerName, u32>> {
    let mut counts = BTreeMap::new();
    for contents in &survey.contents {
        let ranges = app.store.feed_ranges(contents.container).await?;
        counts.insert(contents.container, u32::try_from(ranges.len())?);
    }
    Ok(counts)
}

/// The database of a data model, through a meter.
fn database(
    app: &App,
    meter: &Arc<MeteredStore>,
    model: DataModel,
    follower: Option<Follower>,
) -> ModelDatabase {
    let store: Arc<dyn Store> = Arc::clone(meter) as _;
    ModelDatabase { model, reads: ReadModels::new(&store), writes: writes_over(&store, app, model), follower }
}

/// The charge of rebuilding every read model, and of verifying all of them, once.
async fn passes_over(app: &App, follower: &Follower, survey: &Survey) -> anyhow::Result<Vec<BackgroundPass>> {
    let mut request_charge = 0.0;
    for projection in read_models::projections() {
        let before = (follower.store.charge().0, follower.store.feed_charge().0);
        follower.processor.rebuild(projection.name(), &|_| {}).await?;
        let read = follower.store.feed_charge().0 - before.1;
        // The embedded store returns the wanted types alone; the service charges for all.
        let contents = contents_of(&survey.contents, projection.source());
        let all =
            app.calibration().zip(contents).map(|(calibration, contents)| contents.feed_charge(calibration));
        let read_all = all.unwrap_or(read);
        request_charge += follower.store.charge().0 - before.0 - read + read_all;
    }
    let rebuild = BackgroundPass { name: "rebuild of every read model".to_owned(), request_charge };
    let store = Arc::new(RetryingStore(Arc::clone(&app.background)));
    let metered = Arc::new(MeteredStore::new(store));
    let verifier = verifier(Arc::clone(&metered) as Arc<dyn Store>, Arc::new(Settled));
    verifier.verify(|_| {}).await?;
    let request_charge = metered.charge().0;
    Ok(vec![rebuild, BackgroundPass { name: "verification".to_owned(), request_charge }])
}

/// Read models that have caught up: nothing else writes to the databases of a comparison.
struct Settled;

#[async_trait]
impl Settle for Settled {
    async fn settle(&self) -> Result<(), Fault> {
        Ok(())
    }
}
