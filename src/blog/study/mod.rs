//! Study of the blog: its data set, the article's requests and figures, and the workload that measures each
//! data model. The analysis and the reports are in [`onehop_study`], which knows no blog.

pub mod article;
pub mod dataset;
pub mod footprints;
pub mod measure;
pub mod read_path;
pub mod report;
pub mod seed;
pub mod subjects;
pub mod survey;
pub mod writes;
