//! Report of the blog's study: puts measurements and the survey together, names the article as their
//! reference, and keeps the names that the JSON output of `onehop compare` has.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::article::{self, ArticleRequest};
use super::footprints::ModelFootprints;
use super::read_path::ReadPath;
use super::survey::Survey;
use crate::blog::reads::DataModel;
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, ContainerName, Indexing};
use onehop_study::background::{BackgroundWork, ChangeFeedFollowing};
use onehop_study::measurement::{ConcurrentCharge, EstimateErrors, MeasurementRow, Measurements};
use onehop_study::partitions::{ContainerContents, PartitionReport, PartitionStudy};
use onehop_study::provisioning::{PlanModel, PlanStudy, Provisioning, ProvisioningInput, Verdict};
use onehop_study::rates::RequestRate;
use onehop_study::report::{AccountSummary, Captions, KnownPartitions, StudyReport};
use onehop_study::traffic::Traffic;

/// Physical partitions of the article's containers, as the charges of V2's Q3 and Q6 imply, at some 2.8 RU
/// each.
pub const ARTICLE_PARTITIONS: u16 = 70;

/// The findings in the database of one data model.
pub struct SurveyedModel {
    pub model: DataModel,
    pub survey: Survey,
    pub footprints: ModelFootprints,
    /// `None` where it has no projections.
    pub following: Option<ChangeFeedFollowing>,
    /// Physical partitions of its containers, as it was measured.
    pub physical_partitions: BTreeMap<ContainerName, u32>,
}

/// The input of a report.
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
    pub known_partitions: KnownPartitions,
    pub indexing: Indexing,
    /// The constants of estimated charges.
    pub calibration: Arc<Calibration>,
    /// `None` on the embedded store.
    pub account: Option<AccountSummary>,
    /// The traffic that was given.
    pub rates: Option<Vec<RequestRate>>,
    pub provisioning: ProvisioningInput,
}

/// The findings about a traffic.
struct TrafficFindings {
    traffic: Traffic,
    verdict: Verdict,
    provisioning: Vec<Provisioning>,
    background: Vec<BackgroundWork>,
    partitions: PartitionReport,
}

impl StudyFindings {
    /// Works out the report.
    #[must_use]
    pub fn report(mut self) -> StudyReport {
        let measurements = self.measurements();
        let found = self.rates.as_ref().map(|rates| self.under_traffic(&measurements, rates));
        let (mut traffic, mut verdict, mut partitions) = (None, None, None);
        let (mut provisioning, mut background) = (Vec::new(), Vec::new());
        if let Some(found) = found {
            (traffic, verdict, partitions) =
                (Some(found.traffic), Some(found.verdict), Some(found.partitions));
            (provisioning, background) = (found.provisioning, found.background);
        }
        let parameters = [("users", json!(self.users)), ("rngSeed", json!(self.rng_seed))];
        StudyReport {
            outlook: None,
            passes: Vec::new(),
            captions: captions(self.users, self.rng_seed, self.compares_with_the_article()),
            concurrent: self.concurrent,
            partitions,
            background,
            calibration: self.calibration,
            traffic,
            verdict,
            provisioning,
            estimate_errors: EstimateErrors::of(&measurements.rows),
            measurements,
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            samples: self.samples,
            physical_partitions: self.physical_partitions,
            known_partitions: self.known_partitions,
            indexing: self.indexing,
            charge_source: match self.account {
                Some(_) => ChargeSource::Measured,
                None => ChargeSource::Estimated,
            },
            account: self.account,
        }
    }

    /// The article's figures are of its own engine and its own physical partitions, and stand beside no
    /// others.
    fn compares_with_the_article(&self) -> bool {
        self.known_partitions == KnownPartitions::AsTheArticle
            && self.calibration.name() == Calibration::article_2019().name()
    }

    /// As in the article's table: by request, then by data model.
    fn measurements(&mut self) -> Measurements {
        let position = |row: &MeasurementRow| {
            ArticleRequest::ALL.iter().position(|request| request.name() == row.request)
        };
        self.rows.sort_by_key(position);
        let mut rows = std::mem::take(&mut self.rows);
        if !self.compares_with_the_article() {
            rows = rows.into_iter().map(MeasurementRow::alone).collect();
        }
        Measurements { requests: article::requests(), plans: ReadPath::ALL.map(ReadPath::plan).into(), rows }
    }

    fn under_traffic(&self, measurements: &Measurements, rates: &[RequestRate]) -> TrafficFindings {
        let plans: Vec<PlanModel> =
            ReadPath::ALL.into_iter().map(|path| self.plan(path, measurements, rates)).collect();
        let provisioning: Vec<Provisioning> = plans.iter().map(PlanModel::provisioning).collect();
        let partitions_of = |model: &str, container| {
            provisioning.iter().find(|found| found.model == model)?.physical_partitions(container)
        };
        let background = |(path, plan): (ReadPath, &PlanModel)| {
            let model = path.plan().to_string();
            plan.background_work(&|container| partitions_of(&model, container)).filter(|_| !path.batched)
        };
        TrafficFindings {
            traffic: Traffic::of(measurements, rates.to_vec(), &provisioning, &self.calibration),
            verdict: Verdict::of(&plans, &self.provisioning),
            background: ReadPath::ALL.into_iter().zip(&plans).filter_map(background).collect(),
            partitions: self.partitions(measurements, rates, &partitions_of),
            provisioning,
        }
    }

    /// A plan under the traffic, with the requests as it reads them.
    fn plan(&self, path: ReadPath, measurements: &Measurements, rates: &[RequestRate]) -> PlanModel {
        let (no_survey, no_footprints) = (Survey::default(), ModelFootprints::default());
        let found = self.surveyed_of(path.model);
        let (survey, footprints) =
            found.map_or((&no_survey, &no_footprints), |found| (&found.survey, &found.footprints));
        PlanModel::of(PlanStudy {
            plan: &path.plan(),
            contents: &survey.contents,
            population: &survey.population(),
            footprints: &footprints.of_path(path),
            following: found.and_then(|found| found.following.as_ref()),
            known_partitions: found.map(|found| self.known_partitions_of(found)).unwrap_or_default(),
            measurements,
            rates,
            calibration: &self.calibration,
            input: &self.provisioning,
        })
    }

    fn surveyed_of(&self, model: DataModel) -> Option<&SurveyedModel> {
        self.surveyed.iter().find(|surveyed| surveyed.model == model)
    }

    /// At most as many as there are logical partitions.
    fn known_partitions_of(&self, found: &SurveyedModel) -> BTreeMap<ContainerName, u32> {
        let logical = |contents: &ContainerContents| {
            let scale = contents.scale(self.provisioning.data_scale);
            // A float to an integer saturates.
            (contents.sizes.len() as f64 * scale) as u32
        };
        let of_article = |contents: &ContainerContents| {
            (contents.container, u32::from(ARTICLE_PARTITIONS).min(logical(contents)).max(1))
        };
        match self.known_partitions {
            KnownPartitions::Derived => BTreeMap::new(),
            KnownPartitions::OfAccount => found.physical_partitions.clone(),
            KnownPartitions::AsTheArticle => found.survey.contents.iter().map(of_article).collect(),
        }
    }

    /// The partition keys of V3, which has the most containers.
    fn partitions(
        &self,
        measurements: &Measurements,
        rates: &[RequestRate],
        physical_partitions: &dyn Fn(&str, ContainerName) -> Option<u32>,
    ) -> PartitionReport {
        let path = ReadPath { model: DataModel::V3, batched: false };
        let (no_survey, no_footprints) = (Survey::default(), ModelFootprints::default());
        let (survey, footprints) = self
            .surveyed_of(path.model)
            .map_or((&no_survey, &no_footprints), |found| (&found.survey, &found.footprints));
        PartitionReport::of(PartitionStudy {
            model: &path.plan().model,
            contents: &survey.contents,
            population: &survey.population(),
            footprints: &footprints.of_path(path),
            data_scale: self.provisioning.data_scale,
            rates: rates.to_vec(),
            measurements,
            physical_partitions,
            calibration: &self.calibration,
        })
    }
}

fn captions(users: u32, rng_seed: u64, compares_with_the_article: bool) -> Captions {
    Captions {
        title: "What each data model costs".to_owned(),
        reference: if compares_with_the_article { "article" } else { "" }.to_owned(),
        data_set: format!("{users} users, seed {rng_seed}"),
        subjects: "on the users and posts nearest to the article's (27 posts; 20 comments, 50 likes). \
                   Pages: Q3 all \
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
