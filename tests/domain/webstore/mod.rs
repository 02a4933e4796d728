//! The web store without HTTP: sign-ups that die, what happens at once, and what verification finds and repairs.

mod address_changes;
pub mod shop;
mod sign_ups;
mod skus;
mod storms;
mod verification;
