//! Text of one directive: arguments that equal their defaults are left out by the caller.

use crate::value::{Keyword, Literal, quoted};

/// A directive while it is written.
pub(super) struct DirectiveText {
    name: &'static str,
    arguments: Vec<String>,
}

impl DirectiveText {
    pub fn new(name: &'static str) -> Self {
        Self { name, arguments: Vec::new() }
    }

    /// An argument with its text.
    pub fn raw(mut self, name: &str, value: impl ToString) -> Self {
        self.arguments.push(format!("{name}: {}", value.to_string()));
        self
    }

    /// A text in quotes.
    pub fn text(self, name: &str, value: impl ToString) -> Self {
        let value = quoted(&value.to_string());
        self.raw(name, value)
    }

    /// A text in quotes, where there is one.
    pub fn optional_text(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// A number or value, where there is one.
    pub fn optional(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.raw(name, value),
            None => self,
        }
    }

    /// A boolean, where it is true.
    pub fn flag(self, name: &str, value: bool) -> Self {
        if value { self.raw(name, true) } else { self }
    }

    /// Texts in quotes: an empty list is left out, and one text needs no brackets.
    pub fn texts<T: ToString>(self, name: &str, values: &[T]) -> Self {
        let values: Vec<String> = values.iter().map(|value| quoted(&value.to_string())).collect();
        self.list(name, &values)
    }

    /// Texts in quotes and brackets, also an empty list.
    pub fn texts_in_brackets<T: ToString>(self, name: &str, values: &[T]) -> Self {
        let values: Vec<String> = values.iter().map(|value| quoted(&value.to_string())).collect();
        self.raw(name, format!("[{}]", values.join(", ")))
    }

    /// Values of an enum: an empty list is left out, and one value needs no brackets.
    pub fn keywords<K: Keyword>(self, name: &str, values: &[K]) -> Self {
        let values: Vec<String> = values.iter().map(|value| value.name().to_owned()).collect();
        self.list(name, &values)
    }

    /// Literals in brackets, also an empty list.
    pub fn literals(self, name: &str, values: &[Literal]) -> Self {
        self.raw(name, Literal::List(values.to_vec()))
    }

    fn list(self, name: &str, values: &[String]) -> Self {
        match values {
            [] => self,
            [value] => self.raw(name, value),
            values => self.raw(name, format!("[{}]", values.join(", "))),
        }
    }

    /// The text, such as `@stored(as: "userId")`.
    pub fn build(self) -> String {
        match self.arguments.as_slice() {
            [] => format!("@{}", self.name),
            arguments => format!("@{}({})", self.name, arguments.join(", ")),
        }
    }
}

/// A description as a block string where it has several lines and reads back as it is, else as a string on
/// one line.
pub(super) fn description(text: Option<&str>, indent: &str) -> String {
    let Some(text) = text else { return String::new() };
    let lines: Vec<&str> = text.split('\n').collect();
    let is_block = lines.len() > 1
        && !text.contains(['\r', '\\'])
        && !text.contains("\"\"\"")
        && !text.chars().any(|character| character.is_control() && character != '\n')
        && [lines.first(), lines.last()].iter().all(|line| line.is_some_and(|line| !line.trim().is_empty()))
        && lines.iter().any(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
        && lines.iter().all(|line| line.is_empty() || !line.trim().is_empty());
    if !is_block {
        return format!("{indent}{}\n", quoted(text));
    }
    let mut block = format!("{indent}\"\"\"\n");
    for line in lines {
        let line = if line.is_empty() { String::new() } else { format!("{indent}{line}") };
        block.push_str(&line);
        block.push('\n');
    }
    format!("{block}{indent}\"\"\"\n")
}
