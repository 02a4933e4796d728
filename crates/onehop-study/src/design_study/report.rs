//! Report of a design study: rows, feasibility, throughput, bills and the verdict, as a comparison of
//! measured data models has them.

use serde_json::json;

use super::outlook::Outlook;
use super::rows::rows;
use super::{DesignStudy, PlannedDesign, SUBJECTS_MAX};
use crate::azure_limits::PHYSICAL_PARTITION_GB_MAX;
use crate::data::TypeSurvey;
use crate::designs::DesignData;
use crate::feasibility::gigabytes;
use crate::measurement::{EstimateErrors, Measurements, StudyRequest};
use crate::partitions::PartitionSummary;
use crate::provisioning::{PlanModel, Provisioning, Verdict};
use crate::report::{Captions, KnownPartitions, StudyReport};
use crate::traffic::Traffic;
use onehop_store::{ChargeSource, ContainerName};

/// The report on all designs.
#[must_use]
pub fn design_report(study: &DesignStudy<'_>) -> StudyReport {
    let designs = study.designs();
    let planned: Vec<(&DesignData<'_>, PlannedDesign<'_>)> = designs
        .iter()
        .flat_map(|data| study.planned(data).into_iter().map(move |planned| (data, planned)))
        .collect();
    let input = study.directory.settings.provisioning();
    // The physical partitions follow from the charges, and the charges of queries across them from these.
    let first = measurements(study, &planned, &[]);
    let models: Vec<PlanModel> =
        planned.iter().map(|(data, planned)| study.plan_model(data, planned, &first, &input)).collect();
    let provisioning: Vec<Provisioning> = models.iter().map(PlanModel::provisioning).collect();
    let measurements = measurements(study, &planned, &provisioning);
    let source = if study.measured.is_some() { ChargeSource::Measured } else { ChargeSource::Estimated };
    let background = models.iter().zip(&provisioning).filter(|(_, found)| found.feasible);
    let background = background.filter_map(|(model, found)| {
        model.background_work(&|container| found.physical_partitions(container))
    });
    let background: Vec<_> = background.collect();
    // Without a traffic there is nothing to provision.
    let has_traffic = !study.rates().is_empty();
    let under_traffic = || (Verdict::of(&models, &input), Outlook::of(&models, &provisioning, &input));
    let (verdict, outlook) = has_traffic.then(under_traffic).unzip();
    StudyReport {
        traffic: has_traffic
            .then(|| Traffic::of(&measurements, study.rates(), &provisioning, &study.calibration)),
        verdict,
        outlook,
        background: if has_traffic { background } else { Vec::new() },
        passes: designs.iter().map(|data| study.passes(data)).collect(),
        physical_partitions: largest(&measurements),
        estimate_errors: study.measured.and_then(|_| EstimateErrors::of(&measurements.rows)),
        measurements,
        provisioning: if has_traffic { provisioning } else { Vec::new() },
        parameters: [("scale".to_owned(), json!(study.directory.settings.scale))].into_iter().collect(),
        samples: study
            .survey
            .types
            .values()
            .map(TypeSurvey::subject_count)
            .max()
            .unwrap_or(0)
            .min(SUBJECTS_MAX),
        known_partitions: if study.directory.settings.partitions.is_empty() {
            KnownPartitions::Derived
        } else {
            KnownPartitions::OfAccount
        },
        charge_source: source,
        account: study.measured.map(|measured| measured.account.clone()),
        partitions: partitions(study, &planned),
        calibration: std::sync::Arc::clone(&study.calibration),
        captions: captions(study),
    }
}

/// The logical partitions of each container of each design with data.
fn partitions(
    study: &DesignStudy<'_>,
    planned: &[(&DesignData<'_>, PlannedDesign<'_>)],
) -> Vec<PartitionSummary> {
    let plain = planned.iter().filter(|(_, planned)| !planned.variant.batched);
    plain
        .flat_map(|(data, planned)| {
            let containers = data.design.model.containers().iter();
            containers.filter_map(|container| study.container_partitions(data, planned, container))
        })
        .collect()
}

fn measurements(
    study: &DesignStudy<'_>,
    planned: &[(&DesignData<'_>, PlannedDesign<'_>)],
    provisioning: &[Provisioning],
) -> Measurements {
    let request = |request: &onehop_model::Request| StudyRequest {
        name: request.name.to_string(),
        title: request.fields.iter().map(|field| field.field.to_string()).collect::<Vec<_>>().join(", "),
        is_write: request.is_write,
    };
    let requests: Vec<StudyRequest> = study.directory.requests.requests().iter().map(request).collect();
    let mut all = Vec::new();
    for (data, planned) in planned {
        let found = provisioning.iter().find(|found| found.model == planned.variant.to_string());
        let partitions = |container: ContainerName| {
            let known = found.and_then(|found| found.physical_partitions(container));
            known.unwrap_or_else(|| by_storage(study, data, container))
        };
        all.extend(rows(planned, &study.calibration, &partitions));
    }
    // By request, then by design.
    all.sort_by_key(|row| requests.iter().position(|request| request.name == row.request));
    Measurements {
        requests,
        plans: planned.iter().map(|(_, planned)| planned.variant.clone()).collect(),
        rows: all,
    }
}

/// Physical partitions that storage takes: at least these, where the traffic has no feasible number.
fn by_storage(study: &DesignStudy<'_>, data: &DesignData<'_>, container: ContainerName) -> u32 {
    let bytes = data.container_size(container.0, study.directory.settings.scale).bytes;
    let with_index = bytes * (1.0 + study.directory.settings.index_share.high);
    // A float to an integer saturates.
    let of_storage = (gigabytes(with_index) / PHYSICAL_PARTITION_GB_MAX).ceil().max(1.0) as u32;
    study.directory.settings.partitions.get(container.0).copied().unwrap_or(1).max(of_storage)
}

fn largest(measurements: &Measurements) -> u32 {
    let operations = measurements.rows.iter().flat_map(|row| &row.operations);
    operations.map(|operation| operation.physical_partitions).max().unwrap_or(1)
}

fn captions(study: &DesignStudy<'_>) -> Captions {
    let sizes = study.survey.types.iter().map(|(name, found)| format!("{} {name}", found.items));
    let without: Vec<String> = study
        .directory
        .designs
        .first()
        .into_iter()
        .flat_map(|design| {
            let items = design.model.items().iter().filter(|item| study.survey.of(&item.name).is_none());
            items.map(|item| item.name.to_string()).collect::<Vec<_>>()
        })
        .collect();
    let lacking = if without.is_empty() {
        String::new()
    } else {
        format!(" There is no data of {}, whose items count as none.", without.join(", "))
    };
    let scale = study.directory.settings.scale;
    let scaled = if scale == 1.0 { String::new() } else { format!(", {scale} times") };
    Captions {
        title: study.directory.settings.name.clone(),
        reference: String::new(),
        data_set: format!("{}{scaled}", sizes.collect::<Vec<_>>().join(", ")),
        subjects: format!("of the data.{lacking}"),
    }
}
