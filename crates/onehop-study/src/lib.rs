#![doc = include_str!("../README.md")]

pub mod account_logs;
pub mod assumptions;
pub mod azure_limits;
pub mod background;
pub mod bicep;
pub mod bounds;
pub mod charge_errors;
pub mod data;
pub mod design_study;
pub mod designs;
pub mod directory;
pub mod fan_out_charge;
pub mod feasibility;
mod figure;
#[cfg(test)]
mod fixtures;
pub mod init;
pub mod keys;
pub mod ledger;
pub mod measurement;
pub mod partitions;
pub mod plans;
pub mod prose;
pub mod provisioning;
pub mod rates;
pub mod render;
pub mod report;
pub mod rng;
pub mod traffic;
