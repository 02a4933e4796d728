//! The settings, one struct per concern. Each is a flag and an environment variable `ONEHOP_...`; clap checks its
//! form and names it in the error, and what spans several settings is checked where they are put together.

mod accounts;
mod data;
mod log;
mod serve;

pub use accounts::AccountSettings;
pub use data::{DataSettings, DurabilitySetting};
pub use log::{LogFormat, LogSettings};
pub use serve::ServeSettings;
