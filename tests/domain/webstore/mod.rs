//! The web store without HTTP: sign-ups that die, simultaneous commands, and the findings and repairs of
//! verification.

mod address_changes;
mod published_charges;
pub mod shop;
mod sign_ups;
mod skus;
mod storms;
mod unanswered;
mod verification;
