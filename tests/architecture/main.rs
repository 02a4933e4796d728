//! Architecture tests: rules on names and imports that Cargo cannot enforce. They read the sources of all crates.

mod imports;
mod rules;
mod sources;
mod type_names;
