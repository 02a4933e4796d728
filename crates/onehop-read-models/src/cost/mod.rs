//! Request charge of a change: predicted from a declaration and from data, and measured beside it.
//!
//! A prediction is operations times the charge of one of them. Each rule's module has its own: which
//! operations a kind of change needs. Sizes of items and fan-out are measured on the data. The charge of one
//! operation comes from the store's model of request charges. The measurement writes a sample of the change,
//! and takes the charges of the rule's projection while it followed.

mod cost_charges;
mod cost_error;
mod counts;
mod feeds;
mod measure;
mod operation_charge;
mod operations;
mod prediction;
mod profile;
mod sample;
mod table;

use std::sync::Arc;

use onehop_runtime::clock::Clock;
use onehop_store::{QuorumReads, RequestCharge, Store};

use self::measure::Measurement;
use crate::declaration::ReadModels;

pub use cost_charges::CostCharges;
pub use cost_error::CostError;
pub use operations::{Operations, PredictedOperation};
pub(crate) use prediction::{Charged, PredictedChange, RuleProjection, a};
pub(crate) use profile::{DataProfile, StoredType};
pub(crate) use sample::{FieldEdit, ItemKey, SampleChange, SampleEdit};
pub use table::markdown;

/// The request charge of one change of a rule, predicted alone.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedCost {
    /// The projection that is charged; for a count its field, for the change feed its container.
    pub rule: String,
    /// The change.
    pub change: String,
    /// The number of items or elements that the change reaches; for the change feed, the number of
    /// projections that follow it.
    pub fan_out: usize,
    /// The predicted operations.
    pub operations: Operations,
}

/// The request charge of one change of a rule, predicted and measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeCost {
    /// The projection that is charged; for a count its field, for the change feed its container.
    pub rule: String,
    /// The change.
    pub change: String,
    /// The number of items or elements that the change reaches; for the change feed, the number of
    /// projections that follow it.
    pub fan_out: usize,
    /// The predicted operations.
    pub operations: Operations,
    /// The charge for a sample of the change.
    pub measured: RequestCharge,
}

impl ChangeCost {
    /// The predicted request charge.
    #[must_use]
    pub fn predicted(&self) -> RequestCharge {
        self.operations.charge()
    }

    /// The difference between prediction and measurement, in percent of the measurement.
    #[must_use]
    pub fn difference_percent(&self) -> f64 {
        let difference = self.predicted().0 - self.measured.0;
        // Sums of decimal fractions differ in their last digits.
        if difference.abs() < 1e-6 { 0.0 } else { difference / self.measured.0 * 100.0 }
    }
}

impl ReadModels {
    /// Predicts the request charge of each kind of change on the data of a store, which it reads once and
    /// leaves unchanged. It keeps the key of each live item.
    ///
    /// # Errors
    /// A fault of the store, or data that the rules cannot read.
    pub async fn predicted_costs(
        &self,
        store: &dyn Store,
        charges: &CostCharges,
    ) -> Result<Vec<PredictedCost>, CostError> {
        let data = DataProfile::read(self.clone(), store, charges).await?;
        let cost = |change: PredictedChange| PredictedCost {
            rule: change.charged.to_string(),
            change: change.change,
            fan_out: change.fan_out,
            operations: change.operations,
        };
        Ok(self.predict(&self.rule_projections(), &data).into_iter().map(cost).collect())
    }

    /// Each kind of change that the data has a sample of.
    fn predict(&self, projections: &[Arc<dyn RuleProjection>], data: &DataProfile) -> Vec<PredictedChange> {
        let mut predicted = self.predict_feeds(projections, data);
        // Nobody deletes items of a container without soft-deleted ones.
        let may_happen = |change: &PredictedChange| {
            let SampleChange { item_type, edit, .. } = &change.sample;
            !edit.is_deletion() || data.has_soft_deletes(&StoredType::from(item_type))
        };
        let of_rules = projections.iter().flat_map(|projection| projection.predict(data));
        predicted.extend(of_rules.filter(may_happen));
        predicted.extend(
            self.counts().filter(|rule| rule.projection.is_none()).filter_map(|rule| rule.predict(data)),
        );
        predicted
    }

    /// Predicts and measures the request charge of each kind of change on the data of a store. The
    /// measurement adds, changes and deletes items, so the store should be a copy that nothing else needs.
    /// Its reads are charged as quorum reads, as reads of projections on an account are.
    ///
    /// # Errors
    /// A fault of the store, or data that the rules cannot read.
    pub async fn costs(
        &self,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        charges: &CostCharges,
    ) -> Result<Vec<ChangeCost>, CostError> {
        let store: Arc<dyn Store> = Arc::new(QuorumReads::new(store, &charges.calibration));
        let projections = self.rule_projections();
        let mut measurement =
            Measurement::open(self.clone(), &projections, Arc::clone(&store), clock).await?;
        let data = DataProfile::read(self.clone(), &*store, charges).await?;
        let predicted = self.predict(&projections, &data);
        let measured = measurement.measure_all(&predicted).await?;
        let cost = |(change, measured): (PredictedChange, _)| ChangeCost {
            rule: change.charged.to_string(),
            change: change.change,
            fan_out: change.fan_out,
            operations: change.operations,
            measured,
        };
        Ok(predicted.into_iter().zip(measured).map(cost).collect())
    }
}

#[cfg(test)]
mod tests;
