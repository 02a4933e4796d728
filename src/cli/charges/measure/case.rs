//! Measured cases: the charge of one operation, as a line of a ledger that `onehop charges check` reads.

use serde::Serialize;
use serde_json::Value;

use super::containers::spec_of;
use onehop_runtime::clock::format_timestamp;
use onehop_store::cosmos::provision::definition;
use onehop_store::{ContainerName, Ledger, RequestCharge};

/// The charge of one operation.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MeasuredCase {
    pub id: String,
    pub operation: &'static str,
    pub charge: f64,
    pub partitions: u32,
    pub consistency: &'static str,
    pub indexing: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    pub date: String,
}

/// The cases so far, and the charges of all operations.
pub(super) struct Cases {
    pub measured: Vec<MeasuredCase>,
    pub total: RequestCharge,
    date: String,
}

impl Cases {
    pub(super) fn new(now_ms: i64) -> Self {
        Self { measured: Vec::new(), total: RequestCharge::default(), date: format_timestamp(now_ms) }
    }

    /// Adds the operations of a ledger as one case.
    pub(super) fn add(&mut self, container: ContainerName, ledger: &Ledger, case: MeasuredCase) {
        let charge = self.pay(ledger);
        let partitions = ledger.operations().iter().map(|record| record.physical_partitions).max();
        self.measured.push(MeasuredCase {
            id: format!("{container}/{}", case.id),
            charge: charge.0,
            partitions: partitions.unwrap_or(1).max(1),
            consistency: if case.consistency.is_empty() { "session" } else { case.consistency },
            indexing: indexing_of(container),
            date: self.date.clone(),
            ..case
        });
    }

    /// Counts operations that are no case, such as preparations.
    pub(super) fn pay(&mut self, ledger: &Ledger) -> RequestCharge {
        let charge = ledger.total();
        self.total = self.total + charge;
        charge
    }
}

/// The indexing policy of a container, as the service has it.
fn indexing_of(container: ContainerName) -> Value {
    let definition = spec_of(container).map(|(spec, indexing)| definition(&spec, indexing));
    definition
        .and_then(|definition| serde_json::to_value(definition).ok())
        .map_or(Value::Null, |definition| definition["indexingPolicy"].clone())
}

#[cfg(test)]
mod tests {
    use super::super::containers::{CONTAINERS, EVERY_PATH};
    use super::*;

    #[test]
    fn a_case_says_how_its_container_indexes() {
        for (spec, _) in CONTAINERS {
            assert!(indexing_of(spec.name)["includedPaths"].is_array(), "{}", spec.name);
        }
        assert_eq!(indexing_of(EVERY_PATH)["includedPaths"][0]["path"], "/*");
    }
}
