#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod batches;
mod body;
mod catch_up;
mod check;
mod computation;
mod condition;
pub mod cost;
mod count_behind;
mod declaration;
mod diagram;
mod entry;
mod excerpt;
mod field_path;
mod from_model;
mod item_type;
mod list_all;
mod list_elements;
mod list_newest;
mod list_partitions;
mod listing;
mod owned;
mod plain_text;
mod projections;
mod propagation;
mod rule;
mod rule_builders;
mod source_value;
mod stored_count;
mod stored_formats;
mod target_copy;
pub mod verify;

pub use check::DeclarationError;
pub use computation::{Computation, Padding};
pub use condition::{Condition, ConditionTest};
pub use declaration::ReadModels;
pub use excerpt::excerpt;
pub use from_model::{
    ModelError, ProjectionNames, container_specs, list_conditions, list_order, shown_of_all,
    tombstone_of_owned,
};
pub use item_type::{ItemPartition, ItemType};
pub use rule::{
    AbsentText, ComputedField, CopyMode, CopyRule, CopyTarget, CountRule, CountText, ElementFields, Keep,
    ListPartition, ListRule, OwnedType, OwnsRule, Rule,
};
pub use rule_builders::{copy, count, list, owns};
pub use stored_formats::{decoded, encoded, text_of};
