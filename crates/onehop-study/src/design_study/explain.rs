//! Explanation of plans: each operation of each request under each design, with its scope and its charge.

use std::fmt::Write as _;

use serde::Serialize;

use super::DesignStudy;
use super::plan_mean::PlanCharges;
use crate::charge_errors::relative_error;
use crate::figure::figure;
use crate::plans::{PlannedOperation, PlannedScope};
use onehop_store::{ContainerName, OperationKind};

/// A request with its plan under each design.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRequest {
    /// The request's name.
    pub request: String,
    /// Whether it is a mutation.
    pub is_write: bool,
    /// How often it comes.
    pub per_second: f64,
    /// The plans, in the order of the designs.
    pub plans: Vec<ExplainedPlan>,
}

/// The plan of a request for the subject with the median charge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedPlan {
    /// The design, with or without a data loader.
    pub design: String,
    /// RU of the request itself, the median over the subjects.
    pub request_charge: f64,
    /// RU of the read models because of it, the median.
    pub read_model_charge: f64,
    /// The operations that the request waits for.
    pub operations: Vec<ExplainedOperation>,
    /// The operations of the read models.
    pub read_models: Vec<ExplainedOperation>,
}

/// Operations of one kind with one purpose.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedOperation {
    /// The kind.
    pub kind: OperationKind,
    /// The container.
    pub container: ContainerName,
    /// The partitions that each asks.
    pub scope: PlannedScope,
    /// The purpose.
    pub about: String,
    /// How many there are.
    pub times: f64,
    /// Items that they return or write together.
    pub items: f64,
    /// Bytes of these items.
    pub bytes: f64,
    /// RU of all of them, with one physical partition.
    pub request_charge: f64,
    /// The error of the charge, above or below, as a share of it.
    pub error: f64,
}

/// The plans of all requests, with one physical partition.
#[must_use]
pub fn explain(study: &DesignStudy<'_>) -> Vec<ExplainedRequest> {
    let one = |_: ContainerName| 1;
    let designs = study.designs();
    let planned: Vec<_> = designs.iter().flat_map(|data| study.planned(data)).collect();
    let explained = |(number, request): (usize, &onehop_model::Request)| ExplainedRequest {
        request: request.name.to_string(),
        is_write: request.is_write,
        per_second: request.per_second,
        plans: planned
            .iter()
            .filter(|design| !design.requests[number].1.is_empty())
            .map(|design| {
                let charges = PlanCharges::of(&design.requests[number].1, &study.calibration, &one);
                let operations = |of: fn(&crate::plans::RequestPlan) -> &[PlannedOperation]| {
                    let own = charges.typical.map(of).unwrap_or_default();
                    own.iter().map(|operation| explained_operation(operation, study)).collect()
                };
                ExplainedPlan {
                    design: design.variant.to_string(),
                    request_charge: charges.own.median,
                    read_model_charge: charges.behind_median,
                    operations: operations(|plan| &plan.operations),
                    read_models: operations(|plan| &plan.behind),
                }
            })
            .collect(),
    };
    study.directory.requests.requests().iter().enumerate().map(explained).collect()
}

fn explained_operation(operation: &PlannedOperation, study: &DesignStudy<'_>) -> ExplainedOperation {
    let PlannedOperation { container, kind, about, scope, times, items, bytes, request_charge, .. } =
        operation.clone();
    let error = relative_error(&study.calibration, kind);
    ExplainedOperation { kind, container, scope, about, times, items, bytes, request_charge, error }
}

/// Explained plans as a text for a terminal.
#[must_use]
pub fn plan_text(requests: &[ExplainedRequest]) -> String {
    let mut text = String::new();
    for request in requests {
        let kind = if request.is_write { "mutation" } else { "query" };
        let _ = writeln!(text, "{kind} {}, {} a second", request.request, figure(request.per_second));
        for plan in &request.plans {
            let _ = write!(text, "  {}: {:.2} RU", plan.design, plan.request_charge);
            let _ = match plan.read_model_charge {
                0.0 => writeln!(text),
                behind => writeln!(text, ", read models {behind:.2} RU"),
            };
            plan.operations.iter().for_each(|operation| line(&mut text, "    ", operation));
            plan.read_models.iter().for_each(|operation| line(&mut text, "    behind: ", operation));
        }
        text.push('\n');
    }
    text
}

fn line(text: &mut String, indent: &str, operation: &ExplainedOperation) {
    let ExplainedOperation { container, kind, about, scope, times, items, request_charge, error, .. } =
        operation;
    let scope = match scope {
        PlannedScope::Item => "",
        PlannedScope::LogicalPartition => ", one logical partition",
        PlannedScope::PartitionPrefix => ", the prefix of a hierarchical key",
        PlannedScope::AllPartitions => ", each physical partition",
    };
    let kind = kind.name().replace('_', " ");
    let error = error * 100.0;
    let _ = writeln!(
        text,
        "{indent}{} {kind} in {container}{scope}: {about}, {} items, {request_charge:.2} RU ± {error:.0} %",
        figure(*times),
        figure(*items),
    );
}
