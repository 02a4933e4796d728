//! Input paths: where in an input a value is that cannot be taken, as fields and indexes from the input
//! object on. They are in the extensions of errors.

use async_graphql::{ErrorExtensionValues, PathSegment, Value};

/// The path of a value within its input.
pub const PATH: &str = "path";
/// The name of the field, the last one of the path.
pub const FIELD: &str = "field";

/// Adds a path, and the field that it leads to, to the extensions of an error.
pub fn set_input_path(extensions: &mut ErrorExtensionValues, path: &[PathSegment]) {
    if let Some(field) = field_of(path) {
        extensions.set(FIELD, field);
    }
    extensions.set(PATH, path_value(path));
}

/// A path as clients see it: `["lines", 1, "quantity"]`.
#[must_use]
pub fn path_value(path: &[PathSegment]) -> Value {
    let segments = path.iter().map(|segment| match segment {
        PathSegment::Field(name) => Value::from(name.as_str()),
        PathSegment::Index(index) => Value::from(*index),
    });
    Value::List(segments.collect())
}

/// The last name of a path.
#[must_use]
pub fn field_of(path: &[PathSegment]) -> Option<&str> {
    path.iter().rev().find_map(|segment| match segment {
        PathSegment::Field(name) => Some(name.as_str()),
        PathSegment::Index(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_fields_and_indexes() {
        let path = [
            PathSegment::Field("lines".to_owned()),
            PathSegment::Index(1),
            PathSegment::Field("quantity".to_owned()),
        ];
        let mut extensions = ErrorExtensionValues::default();
        set_input_path(&mut extensions, &path);
        let shown = serde_json::to_value(extensions).unwrap();
        assert_eq!(shown, serde_json::json!({ "field": "quantity", "path": ["lines", 1, "quantity"] }));
    }
}
