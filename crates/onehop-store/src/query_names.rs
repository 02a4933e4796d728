//! Names in texts of the query language.

use serde_json::json;

use crate::property_path::names_of_property;

/// The keywords of the query language. A name that equals one stands in brackets.
const KEYWORDS: [&str; 44] = [
    "ALL",
    "AND",
    "ARRAY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CONVERT",
    "CROSS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "ESCAPE",
    "EXISTS",
    "FALSE",
    "FOR",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "RIGHT",
    "SELECT",
    "TOP",
    "TRUE",
    "UNDEFINED",
    "VALUE",
    "WHERE",
];

/// A property by its name, which is declared in code or in a model. In brackets any text is a name, also a
/// keyword; the client plans queries across partitions by itself where no name needs them.
#[must_use]
pub fn property_text(property: &str) -> String {
    names_of_property(property).fold("c".to_owned(), |parent, name| match is_plain(name) {
        true => format!("{parent}.{name}"),
        false => format!("{parent}[{}]", json!(name)),
    })
}

/// Whether a name stands without brackets.
fn is_plain(name: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphabetic() || character == '_';
    let is_keyword = KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
    name.starts_with(is_letter)
        && name.chars().all(|character| is_letter(character) || character.is_ascii_digit())
        && !is_keyword
}
