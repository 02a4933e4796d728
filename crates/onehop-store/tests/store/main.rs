//! The store port: the contract of every adapter, and the embedded adapter's own tests.

mod circuit_breaker;
mod contract;
mod cosmos;
mod embedded;
