//! The domain without HTTP: commands, projections, reads of all data models, and the state after the death of
//! processes.

mod charges;
mod commands;
mod copy;
mod cosmos;
mod count_alternatives;
mod crash;
mod derived_plans;
mod fan_out_charges;
mod lagging_replicas;
mod models_agree;
mod operations;
mod pages;
mod process;
mod projections;
mod properties;
mod provision;
#[path = "../support/mod.rs"]
mod support;
mod unseen_deletions;
mod webstore;
