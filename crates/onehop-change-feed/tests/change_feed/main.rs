//! The change feed processor with several instances over one store, seen through a toy projection, and the
//! tail: no blog here.

mod backfills;
mod checkpoints;
mod clocks;
mod expiring_bodies;
mod faults;
mod features;
mod handlers;
mod pages;
mod read_cache;
mod rest;
mod schedules;
mod sharing;
mod sources;
mod splits;
mod splitting_store;
mod status;
mod tail;
mod toy;
