//! Study directory: settings, designs, requests and data of a study, read with all errors at once. Each error
//! names its file, its line and the expected form.

mod boundary;
mod errors;
mod reader;
mod settings;
mod table_reader;
#[cfg(test)]
mod tests;

pub use boundary::{LISTED_STUDIES_MAX, StudyBoundary};
pub use errors::{StudyError, StudyErrors};
pub use reader::{Design, StudyDirectory};
pub use settings::StudySettings;

/// The file with the settings of a study.
pub const SETTINGS_FILE: &str = "study.toml";
/// The file with the requests of a study.
pub const REQUESTS_FILE: &str = "requests.graphql";
/// The directory with the designs of a study.
pub const DESIGNS_DIRECTORY: &str = "designs";

/// Designs of a study at most.
pub const DESIGNS_MAX: usize = 20;
/// Data files of a study at most.
pub const DATA_FILES_MAX: usize = 1_000;
/// Errors that are reported; further ones are counted.
pub const STUDY_ERRORS_MAX: usize = 100;
