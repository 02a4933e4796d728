//! The write side over the embedded store: refusals, exact counts, unique names, crashes, repeats.

mod batches;
mod closures;
mod counts;
mod crashes;
pub mod harness;
mod identities;
mod names;
mod refusals;
mod repeats;
mod request_charges;
mod sessions;
mod slowness;
mod staff_names;
mod writes;
