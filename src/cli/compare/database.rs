//! One data model's database: made, filled, asked, and closed.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::study::{Studied, study};
use crate::accounts::password::Password;
use crate::app::App;
use crate::app::comparison::Databases;
use crate::blog::containers::POSTS;
use crate::blog::projections::{self, Usernames};
use crate::blog::reads::DataModel;
use crate::cli::progress::Bar;
use crate::cli::work::DEMO_PASSWORD;
use crate::compare::measure::{self, Database, Follower, Workload};
use crate::compare::metered::Metered;
use crate::compare::report::Row;
use crate::compare::seed::{SeedProgress, Seeder};
use crate::compare::writes::{Plain, WritePath};
use crate::config::Member;
use crate::control::Progress;
use onehop_change_feed::{Processor, Projection, Settings};
use onehop_store::Store;

/// What is done with a database.
pub(super) struct Measuring<'a> {
    pub model: DataModel,
    pub workload: &'a Workload,
    /// Whether V3's logical partitions are studied as well.
    pub is_studied: bool,
}

/// What was found in one database.
pub(super) struct Measured {
    pub rows: Vec<Row>,
    /// Of V3's database, which has every container; `None` for the others.
    pub studied: Option<Studied>,
    /// Of `posts`, the only container that is queried across them.
    pub physical_partitions: u32,
}

impl Measuring<'_> {
    /// Makes the database of the data model, runs the workload on it, and closes it.
    pub async fn run(&self, databases: &mut Databases, bar: &mut Bar) -> anyhow::Result<Measured> {
        self.show(bar, "making the database", 0, None);
        let app = databases.make(self.model).await?;
        let measured = self.run_on(&app, &databases.member(), bar).await;
        app.close().await;
        measured
    }

    async fn run_on(&self, app: &App, member: &Member, bar: &mut Bar) -> anyhow::Result<Measured> {
        let Self { model, workload, is_studied } = *self;
        self.fill(app, bar).await?;
        let database = Database {
            model,
            reads: app.reads.clone(),
            writes: writes_of(app, model),
            follower: follower(app, member, model, Metered::new(Arc::clone(&app.recent))).await?,
        };
        let (total, mut done) = (workload.requests(model), 0);
        let rows = workload
            .run(&database, || {
                done += 1;
                self.show(bar, "measuring", done, Some(total));
            })
            .await?;
        if let Some(follower) = database.follower {
            release(&follower).await?;
        }
        let physical_partitions = u32::try_from(app.store.feed_ranges(POSTS).await?.len())?;
        let studied = if model == DataModel::V3 && is_studied {
            self.show(bar, "its logical partitions", 0, None);
            Some(study(app, member, workload).await?)
        } else {
            None
        };
        Ok(Measured { rows, studied, physical_partitions })
    }

    /// Writes the data set, and in V3 the copies.
    async fn fill(&self, app: &App, bar: &mut Bar) -> anyhow::Result<()> {
        let hash = app.passwords.hash(Password::parse(DEMO_PASSWORD)?).await?;
        let seeder = Seeder {
            store: Arc::clone(&app.store),
            dataset: self.workload.dataset,
            demo_password_hash: hash.to_stored(),
        };
        seeder.run(|SeedProgress { done, total }| self.show(bar, "writing", done, Some(total))).await?;
        if self.model == DataModel::V3 {
            self.show(bar, "making the copies", 0, None);
            measure::drain(&app.processor).await?;
            app.processor.release().await;
        }
        Ok(())
    }

    fn show(&self, bar: &mut Bar, step: &str, done: u64, total: Option<u64>) {
        bar.show(&Progress { step: format!("{:?}: {step}", self.model), done, total });
    }
}

/// Ends following. What was parked on the way is missing in the charges.
pub(super) async fn release(follower: &Follower) -> anyhow::Result<()> {
    let parked: u64 = follower.processor.status().await?.iter().map(|status| status.dead_letters).sum();
    anyhow::ensure!(parked == 0, "{parked} changes could not be projected, so the charges say too little");
    follower.processor.release().await;
    Ok(())
}

fn writes_of(app: &App, model: DataModel) -> WritePath {
    let plain = || Plain { store: Arc::clone(&app.store), clock: Arc::clone(&app.clock) };
    match model {
        DataModel::V1 => WritePath::SingleItems(plain()),
        DataModel::V2 => WritePath::Batches(plain()),
        DataModel::V3 => WritePath::Commands(Box::new(app.commands.clone())),
    }
}

/// What follows the writes of a data model: nothing in V1, the usernames in V2, everything in V3. `store` should be as
/// recent as what the processor of a server reads.
pub(super) async fn follower(
    app: &App,
    member: &Member,
    model: DataModel,
    store: Metered,
) -> anyhow::Result<Option<Follower>> {
    let projections: Vec<Arc<dyn Projection>> = match model {
        DataModel::V1 => return Ok(None),
        DataModel::V2 => vec![Arc::new(Usernames)],
        DataModel::V3 => projections::all(),
    };
    let store = Arc::new(store);
    let settings = Settings { sharing: member.sharing, ..Settings::new(member.owner.clone()) };
    let port: Arc<dyn Store> = Arc::clone(&store) as _;
    let stop = CancellationToken::new();
    let processor = Processor::open(port, Arc::clone(&app.clock), projections, settings, stop).await?;
    Ok(Some(Follower { processor, store }))
}
