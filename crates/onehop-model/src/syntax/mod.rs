//! Syntax of a model: GraphQL SDL, read into a tree with positions. This module knows no directive.
//!
//! `apollo-parser` reads the text: it continues after a syntax error, gives a position to each token, also
//! inside lists, and bounds its recursion. `async-graphql-parser`, which the program has anyway, stops at the
//! first error and has no positions inside values. An error of `apollo-parser` causes further ones in the
//! same definition, so `chunks` splits a broken file into its definitions
//! (`docs/adr/0129-the-model-language.md`).

mod chunks;
mod convert;
mod expected;
mod parse;
mod scan;
mod tree;

pub(crate) use parse::parse;
pub(crate) use tree::{
    ArgumentSyntax, At, Body, Definition, DirectiveUse, FieldSyntax, Span, TypeSyntax, ValueSyntax,
};
