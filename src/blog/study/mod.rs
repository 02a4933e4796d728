//! Study of the blog: its data set, the article's requests and figures, and the built-in study of its data
//! models. The analysis and the reports are in [`onehop_study`], which knows no blog.

pub mod article;
pub mod built_in;
pub mod dataset;
pub mod items;
pub mod read_path;
pub mod seed;
