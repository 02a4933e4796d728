//! Ledger of published request charges: cases that others measured, an estimate beside each, and the fit of a
//! calibration.
//!
//! A case is one JSON object on a line. [`LEDGER`] has the cases that come with this crate. Pure.

mod calibrate;
mod case;
mod check;
mod estimate;
mod explain;
mod indexing;
mod least_squares;
mod sql;
#[cfg(test)]
mod tests;

pub use calibrate::{CalibrationFit, FittedConstant, calibrate};
pub use case::{CaseError, ChargeCase, read_cases};
pub use check::{CaseEstimate, KindErrors, LedgerCheck};
pub use explain::{CaseExplanation, explain};

/// The published charges that come with this crate, one JSON object a line.
pub const LEDGER: &str = include_str!("../../ledger/request-charges.jsonl");
