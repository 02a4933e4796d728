//! Data sets and the comparison of data models.

pub mod article;
mod blocks;
pub mod dataset;
pub mod html;
pub mod measure;
pub mod metered;
pub mod partitions;
pub mod plan;
pub mod report;
pub mod seed;
pub mod show;
pub mod subjects;
pub mod traffic;
pub mod writes;
