#![doc = include_str!("../README.md")]

pub mod account_model;
pub mod allocations;
pub mod emulator;
pub mod event_stream;
pub mod failing_store;
pub mod feed_requests;
pub mod lagging_account;
pub mod operations;
pub mod request_counts;
pub mod request_log;
pub mod small_disk;
pub mod stepped_store;
pub mod virtual_clock;
pub mod websocket;
