//! Properties of items by their names: `createdAt` at the root of an item, or a path below objects, such as
//! `/contact/email`.

use serde_json::{Map, Value};

/// Begins a path below objects, and separates the names in it.
const SLASH: char = '/';

/// The property with this path of names: its name at the root, or the names with a slash before each.
#[must_use]
pub fn property_of_path(path: &[String]) -> String {
    match path {
        [name] => name.clone(),
        names => names.iter().flat_map(|name| ["/", name]).collect(),
    }
}

/// Whether a property is below an object.
#[must_use]
pub fn is_nested(property: &str) -> bool {
    property.starts_with(SLASH)
}

/// The names on the way to a property.
pub fn names_of_property(property: &str) -> impl Iterator<Item = &str> {
    let path = property.strip_prefix(SLASH);
    path.unwrap_or(property).split(move |character| path.is_some() && character == SLASH)
}

/// The name at the root of the item.
#[must_use]
pub fn root_of_property(property: &str) -> &str {
    if !is_nested(property) {
        return property;
    }
    names_of_property(property).next().unwrap_or_default()
}

/// The value of a property; `None` where it is absent or null.
#[must_use]
pub fn property_in<'v>(object: &'v Map<String, Value>, property: &str) -> Option<&'v Value> {
    let value = if is_nested(property) {
        let mut names = names_of_property(property);
        let root = object.get(names.next()?)?;
        names.try_fold(root, |value, name| value.get(name))
    } else {
        object.get(property)
    };
    value.filter(|value| !value.is_null())
}

/// The stored value of a property, to be changed.
pub fn property_mut<'v>(object: &'v mut Map<String, Value>, property: &str) -> Option<&'v mut Value> {
    let mut names = names_of_property(property);
    let root = object.get_mut(names.next()?)?;
    names.try_fold(root, |value, name| value.get_mut(name))
}

/// Writes a property, and the objects on the way to it. Null removes it.
pub fn set_property(object: &mut Map<String, Value>, property: &str, value: Value) {
    let mut names = names_of_property(property).peekable();
    let mut object = object;
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            match value {
                Value::Null => drop(object.remove(name)),
                value => drop(object.insert(name.to_owned(), value)),
            }
            return;
        }
        let inner = object.entry(name.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        let Value::Object(inner) = inner else { return };
        object = inner;
    }
}

/// The path of a property in an indexing policy.
#[must_use]
pub(crate) fn index_path(property: &str) -> String {
    if is_nested(property) { property.to_owned() } else { format!("{SLASH}{property}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_property_is_found_at_the_root_and_below_objects() {
        let item = json!({ "a": 1, "b.c": 2, "o": { "p": { "q": 3, "n": null } } });
        let item = item.as_object().unwrap();
        assert_eq!(property_in(item, "a"), Some(&json!(1)));
        assert_eq!(property_in(item, "b.c"), Some(&json!(2)));
        assert_eq!(property_in(item, "/o/p/q"), Some(&json!(3)));
        for absent in ["/o/p/n", "/o/x/q", "/a/q", "q", ""] {
            assert_eq!(property_in(item, absent), None, "{absent}");
        }
        assert_eq!((root_of_property("a"), root_of_property("/o/p/q")), ("a", "o"));
    }

    #[test]
    fn a_property_is_written_with_the_objects_on_the_way() {
        let mut item = json!({ "o": { "kept": 1 }, "text": "x" });
        let object = item.as_object_mut().unwrap();
        set_property(object, "/o/p/q", json!(3));
        set_property(object, "/text/inner", json!(4));
        set_property(object, "a", json!(5));
        set_property(object, "/o/kept", Value::Null);
        assert_eq!(item, json!({ "o": { "p": { "q": 3 } }, "text": { "inner": 4 }, "a": 5 }));
    }

    #[test]
    fn a_path_is_one_name_or_names_with_slashes() {
        assert_eq!(property_of_path(&["a".to_owned()]), "a");
        assert_eq!(property_of_path(&["a".to_owned(), "b".to_owned()]), "/a/b");
        assert_eq!((index_path("a"), index_path("/a/b")), ("/a".to_owned(), "/a/b".to_owned()));
    }
}
