//! Onehop: a GraphQL API for a blogging platform whose every read is one hop to one logical partition.
//!
//! The modules in reading order: [`store`] is the port to a partitioned document store and its adapters;
//! [`changefeed`] keeps read models current from the store's change feed; [`blog`] is the domain;
//! [`accounts`] signs people in; [`graphql`] and [`http`] speak to clients; [`compare`] says what each data model costs;
//! [`copy`] takes a blog from one store to another.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod api;
pub mod app;
pub mod blog;
pub mod buckets;
pub mod changefeed;
pub mod cli;
pub mod compare;
pub mod config;
pub mod control;
pub mod copy;
pub mod graphql;
pub mod http;
pub mod lifecycle;
pub mod private_files;
pub mod sealed;
pub mod span;
pub mod store;
pub mod telemetry;
