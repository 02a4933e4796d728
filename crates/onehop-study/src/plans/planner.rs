//! Planner: derives the plan of a request under a design, for one subject of the data.

use onehop_model::{ItemType, Model, QueryKind, Request};
use serde_json::Value;

use super::operation::RequestPlan;
use super::row::Row;
use super::trial::TrialLog;
use crate::data::TypeSurvey;
use crate::designs::{DesignData, ItemWriter};
use onehop_store::charges::{Calibration, ReadConsistency};

/// Derives plans under one design.
#[derive(Debug, Clone, Copy)]
pub struct Planner<'a> {
    /// The design over the data.
    pub data: &'a DesignData<'a>,
    /// The constants of the charges.
    pub calibration: &'a Calibration,
    /// The consistency of reads.
    pub consistency: ReadConsistency,
    /// Whether a data loader reads each target of a reference once in a request.
    pub batched: bool,
    /// The multiple of the data.
    pub scale: f64,
    /// The trials of its operations, where they are wanted.
    pub trials: Option<&'a TrialLog>,
}

impl<'a> Planner<'a> {
    pub(super) fn model(&self) -> &'a Model {
        &self.data.design.model
    }

    pub(super) fn writer(&self) -> ItemWriter<'a> {
        ItemWriter { data: self.data }
    }

    /// The factor of a type's items at the multiple of the data.
    #[must_use]
    pub fn growth_of(&self, ty: &str) -> f64 {
        self.data.growth_of(ty, self.scale)
    }

    /// The number of subjects of a request in the sample, at least 1.
    #[must_use]
    pub fn subjects(&self, request: &Request) -> usize {
        let sampled = |ty: &str| self.data.survey.of(ty).map_or(0, TypeSurvey::subject_count);
        let of_field = |name: &str| {
            if request.is_write {
                return self.model().write_target(name).map_or(0, |target| sampled(&target.item_type));
            }
            let query = self.model().queries().iter().find(|query| &*query.name == name);
            match query.map(|query| (&query.kind, &query.item_type)) {
                Some((QueryKind::Related(_), _)) | None => 1,
                Some((_, ty)) => sampled(ty),
            }
        };
        request.fields.iter().map(|selection| of_field(&selection.field)).max().unwrap_or(1).max(1)
    }

    /// The plan for a subject by its number in the sample.
    #[must_use]
    pub fn plan(&self, request: &Request, subject: usize) -> RequestPlan {
        let mut plan = RequestPlan::default();
        for selection in &request.fields {
            if request.is_write {
                self.write(selection, subject, &mut plan);
            } else {
                self.read(selection, subject, &mut plan.operations);
            }
        }
        plan
    }

    /// The first sampled item of a type.
    pub(super) fn sampled(&self, item: &ItemType) -> Option<Value> {
        self.data.survey.of(&item.name)?.sample.first().map(|(_, value)| value.clone())
    }

    /// A sampled item of a type; one without values where there is no data.
    pub(super) fn row(&self, item: &ItemType, subject: usize) -> Row {
        let found = self.data.survey.of(&item.name).and_then(|found| found.subject(subject));
        Row::of(found.cloned().unwrap_or_default())
    }
}
