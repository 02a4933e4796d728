//! Settings: flags and environment variables `ONEHOP_...`, one struct for each concern. clap checks a value's
//! form and names the flag in the error; checks that span several settings are here. A value is a setting
//! only where it depends on the machine, the network, the clients or the operator's rules; all other limits
//! and intervals are constants of the code that they bound. Secrets have no flags: they come from files or
//! from the environment.

mod accounts;
mod calibration;
mod callers;
mod cosmos;
mod data;
mod documents;
mod environment;
mod exposure;
mod limits;
mod log;
pub mod memory_limits;
mod serve;
mod store;
#[cfg(test)]
mod tests;
mod throughput;
mod traces;
mod webstore;

use std::ops::RangeInclusive;

use clap::builder::RangedU64ValueParser;

pub use accounts::{AccountSettings, GivenKeys, TOKEN_SECRET_VARIABLE};
pub use calibration::CalibrationSettings;
pub use callers::{CallerSettings, ForwardingHeaderSetting};
pub use cosmos::{ConsistencySetting, CosmosSettings, CredentialSetting, KEY_VARIABLE};
pub use data::{DataSettings, DurabilitySetting};
pub use documents::DocumentSettings;
pub use environment::Environment;
pub use exposure::ExposureSettings;
pub use limits::{LimitSettings, SubscriptionSettings};
pub use log::{LogFormat, LogSettings, ProcessLog, RequestLogArguments};
pub use serve::ServeSettings;
pub use store::{StoreChoice, StoreKind, StoreSettings};
pub use throughput::{LeasesThroughput, LeasesThroughputSetting, ThroughputScopeSetting, ThroughputSettings};
pub use traces::TraceExportSettings;
pub use webstore::WebstoreSettings;

/// Error of a setting that cannot be used, or of settings that contradict each other. The text names the
/// setting and never a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(String);

impl SettingError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A parser of numbers in this range.
fn number(range: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}
