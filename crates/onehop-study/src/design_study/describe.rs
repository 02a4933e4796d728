//! Description of a study: its designs, the size of its data and its requests, for people and agents that have
//! not seen its files.

use serde::Serialize;

use super::DesignStudy;
use onehop_model::{KeySource, Skew};

/// A study without its charges.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StudyDescription {
    /// The title.
    pub name: String,
    /// The multiple of the data of the files.
    pub scale: f64,
    /// Regions of the account.
    pub regions: u32,
    /// The designs.
    pub designs: Vec<DescribedDesign>,
    /// The data by item type.
    pub data: Vec<DescribedData>,
    /// The requests.
    pub requests: Vec<DescribedRequest>,
}

/// A design: its containers and where its items lie.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedDesign {
    /// Its name.
    pub name: String,
    /// Its containers.
    pub containers: Vec<DescribedContainer>,
}

/// A container of a design.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedContainer {
    /// Its name.
    pub name: String,
    /// The paths of its partition key.
    pub partition_key: Vec<String>,
    /// The time to live of its items, in seconds.
    pub ttl_seconds: Option<u32>,
    /// The item types in it, each with the fields that fill the partition key.
    pub items: Vec<DescribedItem>,
}

/// The items of one type in a container.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedItem {
    /// The item type.
    #[serde(rename = "type")]
    pub item_type: String,
    /// The fields that fill the partition key; `type` for the name of the type.
    pub key: Vec<String>,
}

/// The data of one item type.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedData {
    /// The item type.
    #[serde(rename = "type")]
    pub item_type: String,
    /// The files, relative to the study.
    pub files: Vec<String>,
    /// Items.
    pub items: u64,
    /// Bytes of an item in the mean.
    pub bytes_mean: f64,
    /// Bytes of the largest item.
    pub bytes_max: u64,
    /// Properties without a field, which are left out.
    pub unknown_properties: Vec<String>,
}

/// A request with its rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedRequest {
    /// Its name.
    pub name: String,
    /// Whether it is a mutation.
    pub is_write: bool,
    /// How often it comes in the mean.
    pub per_second: f64,
    /// The peak as a multiple of the mean.
    pub peak: f64,
    /// `uniform` or `zipf`; `None` where it is not known.
    pub skew: Option<&'static str>,
    /// Its root fields.
    pub fields: Vec<String>,
}

/// Describes a study.
#[must_use]
pub fn describe(study: &DesignStudy<'_>) -> StudyDescription {
    let settings = &study.directory.settings;
    let design = |design: &crate::directory::Design| DescribedDesign {
        name: design.name.clone(),
        containers: design
            .model
            .containers()
            .iter()
            .map(|container| DescribedContainer {
                name: container.name.to_string(),
                partition_key: container.key.iter().map(|path| path.slashed()).collect(),
                ttl_seconds: container.ttl_seconds,
                items: items(&design.model, &container.name),
            })
            .collect(),
    };
    let data = |(item_type, files): (&String, &Vec<String>)| {
        let found = study.survey.of(item_type);
        let items = found.map_or(0, |found| found.items);
        DescribedData {
            item_type: item_type.clone(),
            files: files.clone(),
            items,
            bytes_mean: (found.map_or(0, |found| found.bytes) as f64 / items.max(1) as f64).round(),
            bytes_max: found.map_or(0, |found| found.bytes_max),
            unknown_properties: found
                .map(|found| found.unknown.keys().cloned().collect())
                .unwrap_or_default(),
        }
    };
    let request = |request: &onehop_model::Request| DescribedRequest {
        name: request.name.to_string(),
        is_write: request.is_write,
        per_second: request.per_second,
        peak: request.peak,
        skew: request.skew.map(|skew| match skew {
            Skew::Uniform => "uniform",
            Skew::Zipf => "zipf",
        }),
        fields: request.fields.iter().map(|selection| selection.field.to_string()).collect(),
    };
    StudyDescription {
        name: settings.name.clone(),
        scale: settings.scale,
        regions: settings.regions,
        designs: study.directory.designs.iter().map(design).collect(),
        data: settings.data.iter().map(data).collect(),
        requests: study.directory.requests.requests().iter().map(request).collect(),
    }
}

fn items(model: &onehop_model::Model, container: &str) -> Vec<DescribedItem> {
    let key = |source: &KeySource| match source {
        KeySource::Field(field) => field.to_string(),
        KeySource::Id => "id".to_owned(),
        KeySource::Type => "type".to_owned(),
    };
    let own = model.items().iter().filter(|item| &*item.container == container);
    own.map(|item| DescribedItem {
        item_type: item.name.to_string(),
        key: item.key.iter().map(key).collect(),
    })
    .collect()
}
