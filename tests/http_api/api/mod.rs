//! The whole application over real HTTP, one file for each feature. `server` starts what `onehop serve` composes, in
//! this process and over a directory of its own; `caller` is a client who may be signed in; `binary` runs the program.

mod binary;
pub mod caller;
mod collector;
#[path = "../../../examples/cosmos-emulator/forward.rs"]
mod forward;
mod logs;
mod provider;
pub mod server;

mod account_topology;
mod attempts;
mod backup;
pub mod budgets;
mod charges;
mod cli;
mod comments;
mod compare;
mod compare_account;
mod configuration;
mod documents;
mod entity_tags;
mod errors;
mod file_modes;
mod full_disk;
mod idempotency;
mod introspection;
mod likes;
mod limits;
mod live;
mod metrics;
mod open_files;
mod operations;
mod ownership;
mod paging;
mod partitions;
mod persisted;
mod plans;
pub mod positions;
mod post_versions;
mod posts;
mod production;
mod projections;
mod readme;
mod reads;
mod rename;
mod repair;
mod response_size;
mod sessions;
mod sign_in;
mod sign_up;
mod token_secret;
mod tokens;
mod traces;
mod user_sessions;
mod validation;
mod write_limits;
