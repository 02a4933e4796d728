//! Report of the blog's study: puts measurements and the survey together, names the article as their reference, and keeps
//! the names that the JSON output of `onehop compare` has.

use std::sync::Arc;

use serde_json::{Value, json};

use super::article::{self, ArticleRequest};
use super::footprints::ModelFootprints;
use super::read_path::ReadPath;
use super::survey::Survey;
use crate::blog::containers::{POSTS, USERS};
use crate::blog::reads::DataModel;
use onehop_store::ContainerName;
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, Indexing};
use onehop_study::background::{BackgroundInput, BackgroundPass, BackgroundWork};
use onehop_study::measurement::{ConcurrentCharge, EstimateErrors, MeasurementRow, Measurements};
use onehop_study::partitions::{PartitionReport, PartitionStudy};
use onehop_study::provisioning::{Provisioning, ProvisioningInput};
use onehop_study::report::{AccountSummary, Captions, StudyReport};
use onehop_study::sensitivity::{MeasuredWith, Sensitivity};
use onehop_study::traffic::{self, RequestRate, Traffic};

/// Containers whose changes the projections of a data model follow: names for V2, everything for V3.
fn sources(model: DataModel) -> &'static [ContainerName] {
    match model {
        DataModel::V1 => &[],
        DataModel::V2 => &[USERS],
        DataModel::V3 => &[USERS, POSTS],
    }
}

/// What was found in the database of one data model.
pub struct SurveyedModel {
    pub model: DataModel,
    pub survey: Survey,
    pub footprints: ModelFootprints,
    /// Passes over all its data.
    pub passes: Vec<BackgroundPass>,
}

/// What a report is made from.
pub struct StudyFindings {
    /// Of all data models, in any order.
    pub rows: Vec<MeasurementRow>,
    /// Of commands that arrive at the same time on one post.
    pub concurrent: Vec<ConcurrentCharge>,
    /// The databases of all data models.
    pub surveyed: Vec<SurveyedModel>,
    pub users: u32,
    pub rng_seed: u64,
    pub samples: usize,
    pub physical_partitions: u32,
    pub indexing: Indexing,
    /// The constants of estimated charges.
    pub calibration: Arc<Calibration>,
    /// `None` on the embedded store.
    pub account: Option<AccountSummary>,
    /// The traffic that was given.
    pub rates: Option<Vec<RequestRate>>,
    pub provisioning: ProvisioningInput,
}

impl StudyFindings {
    /// Works out the report.
    #[must_use]
    pub fn report(mut self) -> StudyReport {
        let position = |row: &MeasurementRow| {
            ArticleRequest::ALL.iter().position(|request| request.name() == row.request)
        };
        // As in the article's table: by request, then by data model.
        self.rows.sort_by_key(position);
        let measurements = Measurements {
            requests: article::requests(),
            plans: ReadPath::ALL.map(ReadPath::plan).into(),
            rows: std::mem::take(&mut self.rows),
        };
        let with = MeasuredWith {
            calibration: Arc::clone(&self.calibration),
            physical_partitions: self.physical_partitions,
        };
        let sensitivity = self.rates.as_ref().map(|rates| Sensitivity::of(&measurements, rates, &with));
        let v3 = ReadPath { model: DataModel::V3, batched: false };
        let partitions = partitions(&self.surveyed, v3, self.rates.clone(), &measurements);
        let background = self.background(&measurements);
        let provisioning = match &self.rates {
            Some(_) => self.provisioned(&measurements, &background),
            None => Vec::new(),
        };
        let parameters = [("users", json!(self.users)), ("rngSeed", json!(self.rng_seed))];
        StudyReport {
            concurrent: self.concurrent,
            partitions,
            sensitivity,
            background,
            calibration: self.calibration,
            traffic: self.rates.map(|rates| Traffic::of(&measurements, rates, &provisioning)),
            provisioning,
            estimate_errors: EstimateErrors::of(&measurements.rows),
            measurements,
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            samples: self.samples,
            physical_partitions: self.physical_partitions,
            indexing: self.indexing,
            charge_source: match self.account {
                Some(_) => ChargeSource::Measured,
                None => ChargeSource::Estimated,
            },
            account: self.account,
            captions: captions(self.users, self.rng_seed),
        }
    }
}

impl StudyFindings {
    /// Of the data models that have projections.
    fn background(&self, measurements: &Measurements) -> Vec<BackgroundWork> {
        let rates = self.rates.as_deref().unwrap_or_default();
        let work = |surveyed: &SurveyedModel| {
            let plan = ReadPath { model: surveyed.model, batched: false }.plan();
            BackgroundWork::of(BackgroundInput {
                sources: sources(surveyed.model),
                physical_partitions: self.physical_partitions,
                writes: traffic::writes_to(sources(surveyed.model), measurements, rates, &plan),
                discarded: traffic::discarded(measurements, rates, &plan),
                passes: surveyed.passes.clone(),
                model: plan.model,
                calibration: &self.calibration,
            })
        };
        self.surveyed.iter().filter(|surveyed| !sources(surveyed.model).is_empty()).map(work).collect()
    }

    /// What the traffic needs under each plan.
    fn provisioned(&self, measurements: &Measurements, background: &[BackgroundWork]) -> Vec<Provisioning> {
        let provisioning = |path: ReadPath| {
            let plan = path.plan();
            let work = background.iter().find(|work| work.model == plan.model);
            let report = partitions(&self.surveyed, path, self.rates.clone(), measurements);
            let beside = work.map(BackgroundWork::by_container).unwrap_or_default();
            Provisioning::of(plan.to_string(), &report, &beside, &self.provisioning)
        };
        ReadPath::ALL.into_iter().map(provisioning).collect()
    }
}

/// The partition keys of a data model, with the requests as one of its plans reads.
fn partitions(
    surveyed: &[SurveyedModel],
    path: ReadPath,
    rates: Option<Vec<RequestRate>>,
    measurements: &Measurements,
) -> PartitionReport {
    let (no_survey, no_footprints) = (Survey::default(), ModelFootprints::default());
    let found = surveyed.iter().find(|surveyed| surveyed.model == path.model);
    let (survey, footprints) =
        found.map_or((&no_survey, &no_footprints), |found| (&found.survey, &found.footprints));
    PartitionReport::of(PartitionStudy {
        model: &path.plan().model,
        contents: &survey.contents,
        population: &survey.population(),
        footprints: &footprints.of_path(path),
        rates,
        measurements,
    })
}

fn captions(users: u32, rng_seed: u64) -> Captions {
    Captions {
        title: "What each data model costs".to_owned(),
        reference: "article".to_owned(),
        data_set: format!("{users} users, seed {rng_seed}"),
        subjects: "on the users and posts nearest to the article's (27 posts; 20 comments, 50 likes). Pages: Q3 all \
                   posts, Q4 20, Q5 50, Q6 100."
            .to_owned(),
    }
}

/// The report for a program. The reference of its rows is called after the article.
///
/// # Errors
/// A figure that JSON cannot express.
pub fn json(report: &StudyReport) -> serde_json::Result<Value> {
    let mut json = serde_json::to_value(report)?;
    for row in json["rows"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(charge) = row.remove("referenceRequestCharge") {
            row.insert("articleRequestCharge".to_owned(), charge);
        }
    }
    Ok(json)
}
