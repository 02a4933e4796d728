//! Architecture tests: rules on names, imports and language that Cargo cannot enforce. They read the sources
//! of all crates.

mod features;
mod imports;
mod records;
mod rules;
mod sentences;
mod sources;
mod texts;
mod type_names;
