//! The store port: the contract of every adapter, and the embedded adapter's own tests.

mod contract;
mod cosmos;
mod embedded;
