//! The projections of declarations, on a toy domain: a library with authors, books, genres and readers.

mod bounded_lists;
mod causes;
mod copies;
mod from_model;
mod guarded_listings;
mod large_lists;
mod library;
mod lists;
mod lists_by_values;
mod poison;
mod random_rankings;
mod ranking_gaps;
mod rebuild;
mod repair;
mod stored_forms;
mod verification;
