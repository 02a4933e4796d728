//! One data model's database: made, filled, measured, and closed.

use std::sync::Arc;

use super::model_follower::follower;
use super::survey::{survey, survey_reads};
use super::write_path::writes_over;
use crate::accounts::password::Password;
use crate::app::comparison::Databases;
use crate::app::work::{DEMO_PASSWORD, Progress};
use crate::app::{App, Member};
use crate::blog::containers::POSTS;
use crate::blog::reads::DataModel;
use crate::blog::study::measure::{ModelDatabase, Workload, WorkloadFigures};
use crate::blog::study::report::SurveyedModel;
use crate::blog::study::seed::{SeedProgress, Seeder};
use crate::cli::progress::Bar;
use onehop_study::follower;
use onehop_study::measurement::{ConcurrentCharge, MeasurementRow};
use onehop_study::metered::MeteredStore;

/// The measurements of a database.
pub(super) struct Measuring<'a> {
    pub model: DataModel,
    pub workload: &'a Workload,
    /// Whether its logical partitions are surveyed as well.
    pub with_survey: bool,
}

/// The results for one database.
pub(super) struct Measured {
    pub rows: Vec<MeasurementRow>,
    pub concurrent: Vec<ConcurrentCharge>,
    pub surveyed: Option<SurveyedModel>,
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
        let Self { model, workload, with_survey } = *self;
        self.fill(app, bar).await?;
        let reads = if with_survey {
            self.show(bar, "its logical partitions", 0, None);
            survey_reads(app, workload, model).await?
        } else {
            Vec::new()
        };
        let database = ModelDatabase {
            model,
            reads: app.reads.clone(),
            writes: writes_over(&app.decisive, app, model),
            follower: follower(app, member, model, MeteredStore::new(Arc::clone(&app.recent))).await?,
        };
        let (total, mut done) = (workload.requests(model), 0);
        let WorkloadFigures { rows, concurrent } = workload
            .run(&database, || {
                done += 1;
                self.show(bar, "measuring", done, Some(total));
            })
            .await?;
        if let Some(follower) = database.follower {
            follower.release().await?;
        }
        let physical_partitions = u32::try_from(app.store.feed_ranges(POSTS).await?.len())?;
        let surveyed = if with_survey {
            self.show(bar, "its logical partitions", 0, None);
            Some(survey(app, member, workload, (model, reads)).await?)
        } else {
            None
        };
        Ok(Measured { rows, concurrent, surveyed, physical_partitions })
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
            follower::drain(&app.processor).await?;
            app.processor.release().await;
        }
        Ok(())
    }

    fn show(&self, bar: &mut Bar, step: &str, done: u64, total: Option<u64>) {
        bar.show(&Progress { step: format!("{:?}: {step}", self.model), done, total });
    }
}
