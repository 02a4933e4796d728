//! Samples of the operations that become cases: as many as a limit allows, by the hash of their places.

use std::collections::BTreeMap;

use super::LOG_CASES_MAX;
use crate::data::sample_hash;

/// The operation of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CaseKind {
    Create,
    Read,
}

/// Samples of the operations that become cases, by the hash of their place in the files.
#[derive(Debug, Default)]
pub(super) struct CaseSamples {
    pub samples: BTreeMap<CaseKind, BTreeMap<u64, CaseSample>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CaseSample {
    pub bytes: f64,
    pub charge: f64,
}

impl CaseSamples {
    /// `bytes`: of the request and of the response.
    pub fn add(&mut self, place: (usize, usize), operation: &str, status: f64, bytes: [f64; 2], charge: f64) {
        let (kind, bytes) = match operation.to_ascii_lowercase().as_str() {
            "create" if status == 201.0 => (CaseKind::Create, bytes[0]),
            "read" if status == 200.0 => (CaseKind::Read, bytes[1]),
            _ => return,
        };
        if bytes > 0.0 {
            let own = self.samples.entry(kind).or_default();
            own.insert(sample_hash(&format!("{}:{}", place.0, place.1)), CaseSample { bytes, charge });
            if own.len() > LOG_CASES_MAX {
                own.pop_last();
            }
        }
    }
}
