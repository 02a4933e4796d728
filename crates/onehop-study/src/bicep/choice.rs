//! Choice of the design: the named one, or the winner of the verdict.

use crate::design_study::DesignStudy;
use crate::directory::Design;
use crate::provisioning::{PlanInterval, PlannedThroughput, Verdict};
use crate::report::StudyReport;

/// A study without a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BicepError {
    /// A name that no design has.
    #[error("there is no design {name:?}; expected one of {known}")]
    Unknown { name: String, known: String },
    /// Azure serves the design not at this traffic, or none.
    #[error("{0} is infeasible at this traffic; `onehop study run` names the limits")]
    Infeasible(String),
    /// The template could not be written.
    #[error("the template could not be written: {0}")]
    Template(String),
}

/// A feasible design with the throughput of its plan.
pub(super) struct Choice<'a> {
    pub design: &'a Design,
    pub planned: &'a PlannedThroughput,
    /// The reason, as a sentence.
    pub reason: String,
}

/// The design of a name.
///
/// # Errors
/// No such design.
pub(super) fn named<'a>(study: &DesignStudy<'a>, name: &str) -> Result<&'a Design, BicepError> {
    let designs = &study.directory.designs;
    designs.iter().find(|design| design.name == name).ok_or_else(|| {
        let known = designs.iter().map(|design| design.name.as_str()).collect::<Vec<_>>().join(", ");
        BicepError::Unknown { name: name.to_owned(), known }
    })
}

/// # Errors
/// No feasible design.
pub(super) fn choose<'a>(
    study: &DesignStudy<'a>,
    report: &'a StudyReport,
    named: Option<&'a Design>,
) -> Result<Choice<'a>, BicepError> {
    let designs = &study.directory.designs;
    if let Some(design) = named {
        return of_design(design, report, "It was named; the study may have another winner.".to_owned());
    }
    let none = || BicepError::Infeasible("each design".to_owned());
    let verdict = report.verdict.as_ref().ok_or_else(none)?;
    let model = cheapest(verdict, report).ok_or_else(none)?;
    let design = designs.iter().find(|design| design.name == model).ok_or_else(none)?;
    let reason = match &verdict.winner {
        Some(_) => "It has the smallest provisioned bill under all assumptions.".to_owned(),
        None => {
            let unbeaten = verdict.unbeaten.join(", ");
            format!("There is no difference between {unbeaten}; it has the smallest bill at the low end.")
        }
    };
    of_design(design, report, reason)
}

/// The data model of the unbeaten plan with the smallest low end of its bill.
fn cheapest(verdict: &Verdict, report: &StudyReport) -> Option<String> {
    let unbeaten = verdict.plans.iter().filter(|plan| verdict.unbeaten.contains(&plan.model));
    let low = |plan: &&PlanInterval| plan.bill.map_or(f64::INFINITY, |bill| bill.low);
    let plan = unbeaten.min_by(|one, other| low(one).total_cmp(&low(other)))?;
    let plans = report.measurements.plans.iter();
    plans.clone().find(|variant| variant.to_string() == plan.model).map(|variant| variant.model.clone())
}

/// The throughput without a data loader; with one where that alone is feasible.
fn of_design<'a>(
    design: &'a Design,
    report: &'a StudyReport,
    reason: String,
) -> Result<Choice<'a>, BicepError> {
    let plans = report.measurements.plans.iter().filter(|variant| variant.model == design.name);
    let mut planned = plans.filter_map(|variant| {
        let found = report.provisioning.iter().find(|found| found.model == variant.to_string())?;
        found.planned.as_ref()
    });
    let planned =
        planned.next().ok_or_else(|| BicepError::Infeasible(format!("the design {}", design.name)))?;
    Ok(Choice { design, planned, reason })
}
