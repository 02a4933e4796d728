//! Process runtime: what every part of a long-running server is given instead of reaching for it.
//!
//! [`clock`] is the time; [`tasks`] starts background tasks and stops them in order; [`trace_context`] identifies a span;
//! [`token_buckets`] are token buckets in bounded memory; [`sealed`] encrypts what clients keep for the server;
//! [`private_files`] makes files that only their owner reads. It knows no domain, no store and no protocol.

pub mod clock;
pub mod private_files;
pub mod sealed;
pub mod tasks;
pub mod token_buckets;
pub mod trace_context;
