#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod blocking;
pub mod clock;
pub mod csv;
pub mod error_chain;
pub mod memory;
pub mod planted;
pub mod private_files;
#[cfg(feature = "sealed")]
pub mod sealed;
pub mod space_saving;
pub mod tasks;
pub mod token_buckets;
pub mod trace_context;
