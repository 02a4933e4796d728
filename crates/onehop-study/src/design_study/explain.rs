//! Explanation of plans: each operation of each request under each design, with its scope and its charge.

use std::fmt::Write as _;

use super::DesignStudy;
use super::plan_mean::PlanCharges;
use crate::charge_errors::relative_error;
use crate::figure::figure;
use crate::plans::{PlannedOperation, PlannedScope};
use onehop_store::ContainerName;

/// The plans of all requests as a text, each for the subject with the median charge, with one physical
/// partition.
#[must_use]
pub fn explain(study: &DesignStudy<'_>) -> String {
    let mut text = String::new();
    let one = |_: ContainerName| 1;
    let designs = study.designs();
    let planned: Vec<_> = designs.iter().flat_map(|data| study.planned(data)).collect();
    for (number, request) in study.directory.requests.requests().iter().enumerate() {
        let kind = if request.is_write { "mutation" } else { "query" };
        let _ = writeln!(text, "{kind} {}, {} a second", request.name, figure(request.per_second));
        for design in &planned {
            let (_, plans) = &design.requests[number];
            let charges = PlanCharges::of(plans, &study.calibration, &one);
            let _ = write!(text, "  {}: {:.2} RU", design.variant, charges.own.median);
            let _ = match charges.behind_median {
                0.0 => writeln!(text),
                behind => writeln!(text, ", read models {behind:.2} RU"),
            };
            let Some(typical) = charges.typical else { continue };
            for operation in &typical.operations {
                line(&mut text, "    ", operation, study);
            }
            for operation in &typical.behind {
                line(&mut text, "    behind: ", operation, study);
            }
        }
        text.push('\n');
    }
    text
}

fn line(text: &mut String, indent: &str, operation: &PlannedOperation, study: &DesignStudy<'_>) {
    let PlannedOperation { container, kind, about, scope, times, items, request_charge, .. } = operation;
    let scope = match scope {
        PlannedScope::Item => "",
        PlannedScope::LogicalPartition => ", one logical partition",
        PlannedScope::PartitionPrefix => ", the prefix of a hierarchical key",
        PlannedScope::AllPartitions => ", each physical partition",
    };
    let kind = kind.name().replace('_', " ");
    let error = relative_error(&study.calibration, operation.kind) * 100.0;
    let _ = writeln!(
        text,
        "{indent}{} {kind} in {container}{scope}: {about}, {} items, {request_charge:.2} RU ± {error:.0} %",
        figure(*times),
        figure(*items),
    );
}
