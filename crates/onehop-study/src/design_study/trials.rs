//! Trials of a study: the operations that an account has to run to measure the plans of a design, and their
//! charges beside the estimates.

use onehop_store::{ContainerName, OperationKind, RequestCharge};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{DesignStudy, SUBJECTS_MAX};
use crate::designs::{DesignData, IndexedPaths};
use crate::plans::{PlannedOperation, PlannedScope, RequestPlan, Trial, TrialAnswer, TrialItem, TrialLog};
use crate::report::AccountSummary;

/// Subjects of a request among whose plans the largest operations are sought.
const TRIED_SUBJECTS_MAX: usize = 20;
/// The container of unique values, which no design declares.
const ID_PATH: &str = "/id";

/// The trials of one request under one design.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTrials {
    /// The name of the request.
    pub request: String,
    /// One for each kind and purpose of its operations.
    pub trials: Vec<Trial>,
}

/// A container of a design, as the charges assume it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialContainer {
    /// Its name.
    pub name: String,
    /// The paths of its partition key, such as `/customerId`.
    pub key: Vec<String>,
    /// Paths without an index, such as `/text/*`.
    pub excluded: Vec<String>,
    /// The paths of each composite index, such as `/type`.
    pub composites: Vec<Vec<String>>,
}

/// One operation of a plan with its charge on an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MeasuredOperation {
    /// The name of the design.
    pub design: String,
    /// The name of the request.
    pub request: String,
    /// The container.
    pub container: String,
    /// The kind.
    pub kind: OperationKind,
    /// The partitions that it asks.
    pub scope: PlannedScope,
    /// The purpose.
    pub about: String,
    /// RU that the account charged.
    pub measured: f64,
    /// RU by the charge model for the same operation.
    pub estimated: f64,
}

/// The measured operations of all designs.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCharges {
    /// The operations.
    pub operations: Vec<MeasuredOperation>,
    /// The account that charged them.
    pub account: AccountSummary,
    /// The databases that a measurement made there and has not deleted.
    pub made: Vec<String>,
}

/// A database that a measurement made, or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MeasuredDatabase {
    /// Its name.
    pub database: String,
    /// Whether it is there.
    pub is_there: bool,
}

impl MeasuredOperation {
    /// The measurement of a trial.
    #[must_use]
    pub fn of(
        (design, request): (&str, &str),
        trial: &Trial,
        study: &DesignStudy<'_>,
        answer: &TrialAnswer,
    ) -> Self {
        let consistency = study.directory.settings.consistency;
        Self {
            design: design.to_owned(),
            request: request.to_owned(),
            container: trial.container.to_string(),
            kind: trial.kind,
            scope: trial.scope,
            about: trial.about.clone(),
            measured: answer.request_charge,
            estimated: trial.estimate(&study.calibration, consistency, answer),
        }
    }

    fn is_of(&self, operation: &PlannedOperation) -> bool {
        (&*self.container, self.kind, self.scope, &self.about)
            == (operation.container.0, operation.kind, operation.scope, &operation.about)
    }
}

/// Why a file has no measured charges.
#[derive(Debug, Error)]
pub enum ChargesFileError {
    /// The file has no line.
    #[error(
        "the file is empty; its first line names the account: {{\"endpoint\":\"https://..\",\"databases\":[..]}}"
    )]
    Empty,
    /// A line in another form.
    #[error("line {line}: {source}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The mistake.
        source: serde_json::Error,
    },
}

impl MeasuredCharges {
    /// Charges of an account without an operation.
    #[must_use]
    pub fn new(account: AccountSummary) -> Self {
        Self { operations: Vec::new(), account, made: Vec::new() }
    }

    /// Notes that a database is there now, or no longer.
    pub fn note(&mut self, found: MeasuredDatabase) {
        self.made.retain(|known| *known != found.database);
        if found.is_there {
            self.made.push(found.database);
        }
    }

    /// Reads JSON lines: the account, then its operations and databases. A last line without an end, which
    /// a killed run left, is no operation.
    ///
    /// # Errors
    /// A line that is neither.
    pub fn read(text: &str) -> Result<Self, ChargesFileError> {
        fn value<'t, T: Deserialize<'t>>((place, text): (usize, &'t str)) -> Result<T, ChargesFileError> {
            serde_json::from_str(text).map_err(|source| ChargesFileError::Line { line: place + 1, source })
        }
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines().enumerate();
        let account: AccountSummary = value(lines.next().ok_or(ChargesFileError::Empty)?)?;
        let mut charges = Self::new(account);
        for line in lines {
            match serde_json::from_str::<MeasuredDatabase>(line.1) {
                Ok(database) => charges.note(database),
                Err(_) => charges.operations.push(value(line)?),
            }
        }
        Ok(charges)
    }

    /// Whether a trial of a request was measured already.
    #[must_use]
    pub fn has(&self, (design, request): (&str, &str), trial: &Trial) -> bool {
        self.operations.iter().any(|measured| {
            (&*measured.design, &*measured.request) == (design, request)
                && (&*measured.container, measured.kind, measured.scope, &measured.about)
                    == (trial.container.0, trial.kind, trial.scope, &trial.about)
        })
    }

    /// Puts the measured charges into a plan: each operation in the proportion of its trial. An operation
    /// without a trial stays an estimate.
    pub(super) fn apply(&self, design: &str, request: &str, plan: &mut RequestPlan) {
        for operation in plan.operations.iter_mut().chain(&mut plan.behind) {
            let measured = self.operations.iter().find(|measured| {
                measured.design == design && measured.request == request && measured.is_of(operation)
            });
            if let Some(MeasuredOperation { measured, estimated, .. }) = measured
                && *estimated > 0.0
            {
                operation.measure(measured / estimated);
            }
        }
    }
}

impl DesignStudy<'_> {
    /// The trials of a design: for each of its requests one for each kind and purpose of its operations.
    #[must_use]
    pub fn trials(&self, data: &DesignData<'_>) -> Vec<RequestTrials> {
        let requests = self.directory.requests.requests().iter();
        let of_request = |request: &onehop_model::Request| {
            let log = TrialLog::default();
            let mut planner = self.planner(data, false);
            planner.trials = Some(&log);
            let subjects = planner.subjects(request).min(TRIED_SUBJECTS_MAX).min(SUBJECTS_MAX);
            for subject in 0..subjects {
                drop(planner.plan(request, subject));
            }
            RequestTrials { request: request.name.to_string(), trials: log.into_trials() }
        };
        requests.filter(|request| request.is_of(&data.design.name)).map(of_request).collect()
    }

    /// The containers that the trials of a design need.
    #[must_use]
    pub fn trial_containers(&self, data: &DesignData<'_>, trials: &[RequestTrials]) -> Vec<TrialContainer> {
        let model = &data.design.model;
        let mut names: Vec<ContainerName> =
            trials.iter().flat_map(|request| &request.trials).map(|trial| trial.container).collect();
        names.sort_unstable();
        names.dedup();
        let container = |name: ContainerName| {
            let declared = model.containers().iter().find(|container| *container.name == *name.0);
            let paths =
                declared.map_or_else(IndexedPaths::none, |declared| IndexedPaths::of(model, &declared.name));
            TrialContainer {
                name: name.0.to_owned(),
                key: declared.map_or_else(
                    || vec![ID_PATH.to_owned()],
                    |declared| declared.key.iter().map(|path| path.slashed()).collect(),
                ),
                excluded: paths.excluded,
                composites: paths.composites,
            }
        };
        names.into_iter().map(container).collect()
    }

    /// The estimated charge of the trials of a design, with the writes of the items that they need.
    #[must_use]
    pub fn trial_budget(&self, data: &DesignData<'_>, trials: &[RequestTrials]) -> RequestCharge {
        let mut written: Vec<(ContainerName, &TrialItem)> = Vec::new();
        let mut budget = 0.0;
        for trial in trials.iter().flat_map(|request| &request.trials) {
            for item in trial.items_before() {
                if !written.contains(&(trial.container, item)) {
                    let terms = data.terms(trial.container.0, &item.stored);
                    budget += self.calibration.create(item.bytes(), terms).total().0;
                    written.push((trial.container, item));
                }
            }
            let answer = TrialAnswer {
                request_charge: 0.0,
                items: trial.size(),
                bytes: trial.items_before().iter().map(|item| item.bytes()).sum(),
                physical_partitions: 1,
            };
            budget += trial.estimate(&self.calibration, self.directory.settings.consistency, &answer);
        }
        RequestCharge(budget)
    }
}
