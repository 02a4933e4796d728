//! The settings, one struct per concern. Each is a flag and an environment variable `ONEHOP_...`; clap checks its
//! form and names it in the error, and what spans several settings is checked where they are put together. Secrets
//! have no flags: they come from files or from the environment.

mod accounts;
mod callers;
mod cosmos;
mod data;
mod documents;
mod environment;
mod exposure;
mod limits;
mod live;
mod log;
mod serve;
mod store;
#[cfg(test)]
mod tests;
mod throughput;
mod traces;

pub use accounts::{AccountSettings, GivenSecrets, TOKEN_SECRET_VARIABLE};
pub use callers::{CallerSettings, ForwardingHeaderSetting};
pub use cosmos::{ConsistencySetting, CosmosSettings, CredentialSetting, KEY_VARIABLE};
pub use data::{DataSettings, DurabilitySetting};
pub use documents::DocumentSettings;
pub use environment::Environment;
pub use exposure::ExposureSettings;
pub use limits::LimitSettings;
pub use live::SubscriptionSettings;
pub use log::{LogFormat, LogSettings};
pub use serve::ServeSettings;
pub use store::{CosmosChoice, Member, SharingSettings, StoreChoice, StoreKind, StoreSettings};
pub use throughput::{ThroughputScopeSetting, ThroughputSettings};
pub use traces::TraceExportSettings;

/// Settings that do not go together, or one that cannot be used. The text names the setting and never a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(String);

impl SettingError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
