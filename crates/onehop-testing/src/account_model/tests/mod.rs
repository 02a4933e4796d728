//! Tests of the account beyond the contract of the store port.

mod clients;
mod determinism;
mod faults;
mod lag;
mod ranges;
