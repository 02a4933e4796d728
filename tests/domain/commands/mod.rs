//! The write side over the embedded store: refusals, exact counts, unique names, crashes, repeats.

mod batches;
mod closures;
mod counts;
mod crashes;
pub mod harness;
mod identities;
mod names;
mod refusals;
mod request_charges;
mod repeats;
mod sessions;
mod slowness;
mod staff_names;
mod writes;
