//! The report of a study: everything that was measured and worked out, as values that serialize to JSON. The
//! module [`render`](super::render) shows it to people.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::background::BackgroundWork;
use super::design_study::Outlook;
use super::measurement::{EstimateErrors, MeasurementRow, Measurements};
use super::partitions::PartitionSummary;
use super::provisioning::{Provisioning, Verdict};
use super::traffic::Traffic;
use onehop_store::ChargeSource;
use onehop_store::charges::Calibration;

/// Everything that a study found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StudyReport {
    #[serde(rename = "rows", serialize_with = "rows")]
    pub measurements: Measurements,
    /// Parameters of the data set, by name.
    #[serde(flatten)]
    pub parameters: Map<String, Value>,
    /// The most subjects of a request whose plans were worked out.
    pub samples: usize,
    /// The most that a query across them asks.
    pub physical_partitions: u32,
    pub known_partitions: KnownPartitions,
    pub charge_source: ChargeSource,
    /// The account that was measured; `None` where all charges are estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountSummary>,
    /// Errors of the estimates, where there are any beside the charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_errors: Option<EstimateErrors>,
    /// The logical partitions of each container of each design.
    pub partitions: Vec<PartitionSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// The plan with the smallest bill for the traffic; `None` without a traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The verdict at other traffics; `None` where it was not worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Outlook>,
    /// The provisioning for the traffic under each plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provisioning: Vec<Provisioning>,
    /// Of the data models with a change feed processor; empty without a traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundWork>,
    /// Passes over all data of each design.
    pub passes: Vec<DataPasses>,
    /// The constants of the estimated charges.
    #[serde(serialize_with = "calibration_name")]
    pub calibration: Arc<Calibration>,
    #[serde(skip)]
    pub captions: Captions,
}

/// Passes over all data of a design, each once, RU.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataPasses {
    /// The design.
    pub design: String,
    /// Creates of all items.
    pub load_charge: f64,
    /// The changes of all items, and creates of all entries.
    pub lists_charge: f64,
    /// The index entries of all items and entries: the index part of their creates.
    pub index_charge: f64,
}

/// Where the numbers of physical partitions come from that a bill is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KnownPartitions {
    /// They follow from storage and throughput.
    Derived,
    /// An account has them.
    OfAccount,
    /// As many as the article's charges imply.
    AsTheArticle,
}

/// The account that a study measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountSummary {
    pub endpoint: String,
    /// One for each data model.
    pub databases: Vec<String>,
}

/// Texts about one study, which a report shows beside its figures.
#[derive(Debug, Clone, Default)]
pub struct Captions {
    pub title: String,
    /// The reference of the rows, as one word: `article`. Empty without a reference.
    pub reference: String,
    /// The data set, as the beginning of a sentence: `200 users, seed 1`.
    pub data_set: String,
    /// The subjects of the requests, as the end of a sentence and further ones: `on the largest orders. Pages
    /// have 20 items.`
    pub subjects: String,
}

fn rows<S: serde::Serializer>(measurements: &Measurements, serializer: S) -> Result<S::Ok, S::Error> {
    let rows: &[MeasurementRow] = &measurements.rows;
    rows.serialize(serializer)
}

fn calibration_name<S: Serializer>(calibration: &Calibration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(calibration.name())
}
