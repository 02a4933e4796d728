#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod batches;
mod body;
mod catch_up;
mod check;
pub mod cost;
mod declaration;
mod diagram;
mod entry;
mod field_path;
mod item_type;
mod list_all;
mod list_elements;
mod list_newest;
mod listing;
mod owned;
mod projections;
mod propagation;
mod rule;
mod source_value;
mod target_copy;
pub mod verify;

pub use check::DeclarationError;
pub use declaration::ReadModels;
pub use item_type::{ItemPartition, ItemType};
pub use rule::{
    ComputedField, CopyMode, CopyRule, CopyTarget, CountRule, CountText, ElementFields, FormerField, Keep,
    ListPartition, ListRule, OwnsRule, Rule, copy, count, list, owns,
};
