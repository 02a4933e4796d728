//! Logs of an account: the tables `CDBDataPlaneRequests` and `CDBPartitionKeyRUConsumption` as Log Analytics
//! exports them, as CSV or JSON. They give rates by hour, sizes, skew, and cases for a calibration of the
//! charge model.
//!
//! Files of any size are read once in bounded memory. Columns have the names that Microsoft documents
//! ("Azure Monitor Logs reference"); others are ignored.

mod case_samples;
mod cases;
mod columns;
mod json_rows;
mod observed;
mod report;
mod rows;
mod sketches;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::directory::StudyErrors;

pub use cases::StoredItems;
pub use observed::AccountLog;
pub use report::{AccountReport, ContainerLoad, HeavyKey, OperationLoad, PartitionLoad, account_text};

/// Bytes of a row of an export.
pub const LOG_ROW_BYTES_MAX: usize = 1024 * 1024;
/// Containers, operations of a container, and physical partitions of one. Rows beyond them are skipped.
pub const LOG_CONTAINERS_MAX: usize = 1_000;
pub const LOG_OPERATIONS_MAX: usize = 100;
pub const LOG_RANGES_MAX: usize = 10_000;
/// Hours with requests: 400 days.
pub const LOG_HOURS_MAX: usize = 400 * 24;
/// Cases of a container and an operation.
pub const LOG_CASES_MAX: usize = 200;

impl AccountLog {
    /// Reads exported files.
    ///
    /// # Errors
    /// Files that cannot be read, missing columns and values of another form, with file and line.
    pub fn read(files: &[PathBuf]) -> Result<Self, StudyErrors> {
        let (mut log, mut errors) = (Self::default(), StudyErrors::default());
        for (number, file) in files.iter().enumerate() {
            rows::for_each_row(file, &mut errors, |row| log.add(number, row));
        }
        if errors.is_empty() && log.rows == 0 {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            errors.add(&names.join(", "), None, "there is no row of an operation on a container");
        }
        if errors.is_empty() { Ok(log) } else { Err(errors) }
    }
}
