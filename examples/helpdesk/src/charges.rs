//! Request charges of two designs of the helpdesk, over the data of a study directory.

use std::ops::ControlFlow;
use std::path::Path;

use onehop_store::charges::Calibration;
use onehop_study::data::{DataSurvey, SurveySpec};
use onehop_study::design_study::{DesignStudy, design_report};
use onehop_study::directory::{StudyDirectory, StudyErrors};
use onehop_study::report::StudyReport;

/// Compares the designs of a study directory: no store is opened, and no account is needed.
pub fn compare(study: &Path) -> Result<StudyReport, StudyErrors> {
    let directory = StudyDirectory::read(study)?;
    let spec = SurveySpec::of_designs(&directory);
    let survey = DataSurvey::read(&directory, &spec, &mut |_| ControlFlow::Continue(()))?;
    let calibration = Calibration::current();
    Ok(design_report(&DesignStudy::new(&directory, &survey, calibration)))
}
