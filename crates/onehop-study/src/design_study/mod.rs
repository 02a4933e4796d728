//! Design study: all designs of a study directory over its data, with the charge of each request,
//! feasibility, throughput, bills and the verdict. Charges are estimated from plans, or are those that an
//! account answered to the trials of the plans; no store is opened.

mod explain;
mod outlook;
mod plan_mean;
mod profile;
mod regression;
mod report;
mod rows;
#[cfg(test)]
mod tests;
mod trials;

use std::sync::Arc;

use onehop_model::Request;

use crate::data::DataSurvey;
use crate::designs::DesignData;
use crate::directory::StudyDirectory;
use crate::measurement::ModelVariant;
use crate::plans::{Planner, RequestPlan};
use onehop_store::charges::Calibration;
use plan_mean::mean_plan;

pub use explain::{ExplainedOperation, ExplainedPlan, ExplainedRequest, explain, plan_text};
pub use outlook::{Outlook, WinnerRange};
pub use regression::{DearerRequest, EarlierReportError, dearer};
pub use report::design_report;
pub use trials::{
    ChargesFileError, MeasuredCharges, MeasuredDatabase, MeasuredOperation, RequestTrials, TrialContainer,
};

/// Subjects of a request whose plans are worked out.
const SUBJECTS_MAX: usize = 200;

/// A study with its data.
pub struct DesignStudy<'a> {
    /// The study.
    pub directory: &'a StudyDirectory,
    /// The data.
    pub survey: &'a DataSurvey,
    /// The constants of the charges.
    pub calibration: Arc<Calibration>,
    /// Charges of an account; `None` where all are estimates.
    pub measured: Option<&'a MeasuredCharges>,
}

/// A design with the plans of all requests, with or without a data loader.
pub(crate) struct PlannedDesign<'a> {
    pub variant: ModelVariant,
    /// For each request the plans of its subjects; none where the design does not make it.
    pub requests: Vec<(&'a Request, Vec<RequestPlan>)>,
    /// The means of these plans, in the same order.
    pub means: Vec<(&'a Request, RequestPlan)>,
}

impl<'a> DesignStudy<'a> {
    /// A study whose charges are estimates.
    #[must_use]
    pub fn new(directory: &'a StudyDirectory, survey: &'a DataSurvey, calibration: Arc<Calibration>) -> Self {
        Self { directory, survey, calibration, measured: None }
    }

    /// The designs over the data, in the order of the study.
    #[must_use]
    pub fn designs(&self) -> Vec<DesignData<'a>> {
        self.directory.designs.iter().map(|design| DesignData::new(design, self.survey)).collect()
    }

    /// The plans of one design: without a data loader, and with one where it makes a difference.
    pub(crate) fn planned(&self, data: &DesignData<'a>) -> Vec<PlannedDesign<'a>> {
        let plain = self.variant(data, false);
        let batched = self.variant(data, true);
        let differs = plain.requests.iter().zip(&batched.requests).any(|((_, one), (_, other))| one != other);
        if differs { vec![plain, batched] } else { vec![plain] }
    }

    fn variant(&self, data: &DesignData<'a>, batched: bool) -> PlannedDesign<'a> {
        let planner = self.planner(data, batched);
        let plans = |request: &'a Request| {
            let is_made = request.is_of(&data.design.name);
            let subjects = if is_made { planner.subjects(request).min(SUBJECTS_MAX) } else { 0 };
            let plan = |subject| {
                let mut plan = planner.plan(request, subject);
                if let Some(measured) = self.measured {
                    measured.apply(&data.design.name, &request.name, &mut plan);
                }
                plan
            };
            (request, (0..subjects).map(plan).collect())
        };
        let requests: Vec<(&Request, Vec<RequestPlan>)> =
            self.directory.requests.requests().iter().map(plans).collect();
        let means = requests.iter().map(|(request, plans)| (*request, mean_plan(plans))).collect();
        PlannedDesign { variant: ModelVariant { model: data.design.name.clone(), batched }, requests, means }
    }

    /// The planner of a design, with or without a data loader.
    pub fn planner<'d>(&'d self, data: &'d DesignData<'a>, batched: bool) -> Planner<'d> {
        Planner {
            data,
            calibration: &self.calibration,
            consistency: self.directory.settings.consistency,
            batched,
            scale: self.directory.settings.scale,
            trials: None,
        }
    }
}
