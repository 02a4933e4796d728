#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod check;
mod defaults;
mod definitions;
mod diagram;
mod diff;
mod errors;
pub mod limits;
mod lines;
mod nearest;
mod print;

mod problem;
mod reader;
mod reports;
mod requests;
mod resolve;
mod syntax;
mod typed;
mod value;

pub use definitions::DIRECTIVES;
pub use diff::{Diff, Effect, Severity};
pub use errors::{Error, Errors};
pub use lines::line_of;
pub use requests::{ArgumentValue, Request, RequestSet, Selection, SelectionArgument, Skew, WriteTarget};
pub use value::*;
