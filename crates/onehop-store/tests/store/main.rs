//! The store port: the contract of every adapter, and what is the embedded adapter's own.

mod contract;
mod cosmos;
mod embedded;
