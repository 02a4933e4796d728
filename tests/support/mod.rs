//! Shared parts of the program's integration tests: a store for each test, and a small blog.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod blog;
pub mod failing_reads;
pub mod store;
