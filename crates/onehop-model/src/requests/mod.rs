//! Request documents: named operations with their rates, which a study runs under each design. They are read
//! from GraphQL and checked against every design that they are for.

mod check;
mod connections;
mod problem;
mod reader;
mod value;

pub use value::{ArgumentValue, Request, RequestSet, Selection, SelectionArgument, Skew, WriteTarget};
