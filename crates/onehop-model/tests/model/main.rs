//! Tests of the model language: parsed models, errors, differences, diagrams and requests.

mod diagrams;
mod differences;
mod errors;
mod generated;
mod literals;
mod mutations;
mod reference;
mod requests;
mod samples;
