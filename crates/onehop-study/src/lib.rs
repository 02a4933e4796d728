#![doc = include_str!("../README.md")]

pub mod assumptions;
pub mod background;
pub mod discards;
mod figure;
#[cfg(test)]
mod fixtures;
pub mod follower;
pub mod ledger;
pub mod measurement;
pub mod metered;
pub mod partitions;
pub mod prose;
pub mod provisioning;
pub mod render;
pub mod report;
pub mod retries;
pub mod rng;
pub mod sensitivity;
pub mod traffic;
