//! Printer: the canonical SDL of a model. Reading it gives an equal model, and printing that gives the same
//! text. Arguments and directives that equal the defaults are left out.

mod authorization;
mod directive;
mod fields;
mod items;
mod operations;
mod related;
mod schema;

use crate::value::Model;

impl Model {
    /// The canonical SDL.
    pub fn print(&self) -> String {
        let mut parts = vec![schema::schema(self)];
        parts.extend(self.items().iter().map(|item| items::item(self, item)));
        parts.extend(self.embedded().iter().map(|it| items::embedded(self, it)));
        parts.extend(self.enums().iter().map(items::enum_type));
        parts.extend(operations::operations(self));
        parts.join("\n")
    }
}
