//! The contract of the store port, written against the port alone and run over every adapter.

mod harness;
mod items;
