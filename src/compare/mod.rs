//! Data sets and the comparison of data models.

pub mod article;
pub mod dataset;
pub mod plan;
pub mod seed;
