//! Surveys of the MCP server: the last survey is kept, so that an agent that changes a rate does not wait for
//! the data again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::SystemTime;

use onehop_study::data::{DataSurvey, SurveyProgress, SurveySpec};
use onehop_study::directory::{Design, StudyDirectory, StudyErrors};
use onehop_study::keys::add_candidates;

/// The survey of the study that was asked last.
#[derive(Default)]
pub(super) struct LastSurvey {
    last: Option<(SurveyInput, Arc<DataSurvey>)>,
}

/// Everything that a survey depends on.
#[derive(PartialEq)]
struct SurveyInput {
    /// Files by type.
    files: BTreeMap<String, Vec<DataFile>>,
    path: std::path::PathBuf,
    fixed: Vec<String>,
    ids: BTreeMap<String, Vec<String>>,
    conditions: BTreeMap<String, BTreeMap<String, String>>,
    designs: Vec<Design>,
    spec: SurveySpec,
}

/// A data file at a time.
#[derive(PartialEq)]
struct DataFile {
    path: String,
    /// Length and time of the last change; `None` where they cannot be read.
    version: Option<(u64, SystemTime)>,
}

impl LastSurvey {
    /// The survey of a study, with the groupings of all keys.
    ///
    /// # Errors
    /// The mistakes of the data, and a stop by `progress`.
    pub fn of(
        &mut self,
        study: &StudyDirectory,
        progress: &mut dyn FnMut(&SurveyProgress<'_>) -> ControlFlow<()>,
    ) -> Result<Arc<DataSurvey>, StudyErrors> {
        let input = SurveyInput::of(study);
        if let Some((known, survey)) = &self.last
            && *known == input
        {
            return Ok(Arc::clone(survey));
        }
        // The memory of one survey at a time.
        self.last = None;
        let survey = Arc::new(DataSurvey::read(study, &input.spec, progress)?);
        self.last = Some((input, Arc::clone(&survey)));
        Ok(survey)
    }
}

impl SurveyInput {
    fn of(study: &StudyDirectory) -> Self {
        let mut spec = SurveySpec::of_designs(study);
        add_candidates(study, &mut spec);
        let file = |path: &String| {
            let found = std::fs::metadata(study.path.join(path)).ok();
            let version = found.and_then(|found| Some((found.len(), found.modified().ok()?)));
            DataFile { path: path.clone(), version }
        };
        let files = study.settings.data.iter();
        Self {
            files: files.map(|(ty, files)| (ty.clone(), files.iter().map(file).collect())).collect(),
            path: study.path.clone(),
            fixed: study.settings.fixed.clone(),
            ids: study.settings.ids.clone(),
            conditions: study.settings.conditions.clone(),
            designs: study.designs.clone(),
            spec,
        }
    }
}
