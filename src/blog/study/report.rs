//! Report of the blog's study: puts measurements and the survey together, names the article as their reference, and keeps
//! the names that the JSON output of `onehop compare` has.

use serde_json::{Value, json};

use super::article::{self, ArticleRequest};
use super::read_path::ReadPath;
use super::survey::Survey;
use crate::blog::reads::DataModel;
use onehop_store::ReplaceCost;
use onehop_store::{ChargeSource, Indexing};
use onehop_study::background::BackgroundThroughput;
use onehop_study::measurement::{ConcurrentCharge, EstimateErrors, MeasurementRow, Measurements};
use onehop_study::partitions::{Footprint, PartitionReport, PartitionStudy};
use onehop_study::provisioning::{Provisioning, ProvisioningInput};
use onehop_study::report::{AccountSummary, Captions, StudyReport};
use onehop_study::sensitivity::{MeasuredWith, Sensitivity};
use onehop_study::traffic::{RequestRate, Traffic};

/// Containers whose changes the projections of V3 follow: users and posts.
const SOURCES: u64 = 2;

/// What a report is made from.
pub struct StudyFindings {
    /// Of all data models, in any order.
    pub rows: Vec<MeasurementRow>,
    /// Of commands that arrive at the same time on one post.
    pub concurrent: Vec<ConcurrentCharge>,
    /// Of V3's database, which has every container.
    pub survey: Survey,
    pub footprints: Vec<Footprint>,
    pub users: u32,
    pub rng_seed: u64,
    pub samples: usize,
    pub physical_partitions: u32,
    pub indexing: Indexing,
    /// What estimated charges take for the charge of a replace.
    pub replace_cost: ReplaceCost,
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
            rows: self.rows,
        };
        let partitions = PartitionReport::of(PartitionStudy {
            model: &ReadPath { model: DataModel::V3, batched: false }.plan().model,
            contents: &self.survey.contents,
            population: &self.survey.population(),
            footprints: &self.footprints,
            rates: self.rates.clone(),
            measurements: &measurements,
        });
        let with =
            MeasuredWith { replace_cost: self.replace_cost, physical_partitions: self.physical_partitions };
        let sensitivity = self.rates.as_ref().map(|rates| Sensitivity::of(&measurements, rates, with));
        let background = BackgroundThroughput::of(SOURCES, self.physical_partitions);
        let price_per_100_ru = self.provisioning.prices.manual;
        let provisioning = self.rates.as_ref().map(|_| Provisioning::of(&partitions, &self.provisioning));
        let parameters = [("users", json!(self.users)), ("rngSeed", json!(self.rng_seed))];
        StudyReport {
            concurrent: self.concurrent,
            partitions,
            sensitivity,
            provisioning,
            background,
            replace_cost: self.replace_cost,
            traffic: self.rates.map(|rates| Traffic::of(&measurements, rates, price_per_100_ru)),
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
