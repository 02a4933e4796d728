//! Onehop: a GraphQL API for a blogging platform whose every read is one hop to one logical partition.
//!
//! Below this program are crates that know no domain: `onehop-store` is the port to a partitioned document
//! store and its adapters; `onehop-change-feed` keeps read models current from the store's change feed;
//! `onehop-graphql-server` serves GraphQL over HTTP; `onehop-study` measures and compares data models;
//! `onehop-runtime` has the parts that all of them share.
//!
//! The modules in reading order: [`blog`] is the domain, over the domains' shared parts in [`domain`];
//! [`accounts`] signs people in; [`graphql`] is the schema; [`http`] are the pages; [`copy`] takes a blog
//! from one store to another; [`served`] is a domain that a model file declares; [`app`] and [`api`] put the
//! parts together.

pub mod accounts;
pub mod api;
pub mod app;
pub mod blog;
pub mod cli;
pub mod config;
pub mod copy;
pub mod domain;
pub mod graphql;
pub mod http;
pub mod operations;
pub mod served;
pub mod telemetry;
pub mod webstore;
