//! What follows from a declaration, on a toy domain: a library with authors, books, genres and readers.

mod bounded_lists;
mod copies;
mod library;
mod lists;
mod rebuild;
mod repair;
mod verification;
