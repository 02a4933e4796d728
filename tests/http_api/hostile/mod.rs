//! The cost of refusing hostile requests. Bytes are counted by the allocator of this binary; time is measured
//! by `cargo bench --bench hostile`, which sends the same.

mod allocations;
mod documents;
mod endpoint;
mod parsed;
mod plans;
mod shapes;
mod variables;
