//! Names and paths of a model: fields are named by the model, properties by the stored JSON.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A GraphQL name of a type, field, enum value or operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The name with a small first letter: `SalesOrder` gives `salesOrder`.
    pub fn camel_case(&self) -> Name {
        Self::new(&with_first(self, char::to_ascii_lowercase))
    }

    /// The name with a capital first letter: `username` gives `Username`.
    pub fn pascal_case(&self) -> String {
        with_first(self, char::to_ascii_uppercase)
    }
}

fn with_first(text: &str, change: impl Fn(&char) -> char) -> String {
    let mut characters = text.chars();
    characters.next().iter().map(change).chain(characters).collect()
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", &*self.0)
    }
}

/// The name of a container.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerName(Arc<str>);

impl ContainerName {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl Deref for ContainerName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContainerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ContainerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", &*self.0)
    }
}

/// A path of fields through objects and references, such as `agent.name`. It has at least one field.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Name>);

impl FieldPath {
    /// The path of a dotted text. Each part is checked where the path is resolved.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split('.').map(Name::new).collect())
    }

    /// The fields, from the first object on.
    pub fn fields(&self) -> &[Name] {
        &self.0
    }

    /// The first field.
    pub fn first(&self) -> &Name {
        &self.0[0]
    }

    /// The only field; `None` for a path through an object.
    pub fn single(&self) -> Option<&Name> {
        match self.0.as_slice() {
            [field] => Some(field),
            _ => None,
        }
    }
}

impl From<Name> for FieldPath {
    fn from(name: Name) -> Self {
        Self(vec![name])
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, field) in self.0.iter().enumerate() {
            write!(formatter, "{}{field}", if place > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}

/// A path of stored properties from the root of an item or object, such as `/contact/email`. It has at least
/// one property.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyPath(Vec<String>);

impl PropertyPath {
    /// The path of a text: a property, or properties after slashes. `None` where a property is empty or has a
    /// quote, a backslash or a control character.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let properties: Vec<String> = match text.strip_prefix('/') {
            Some(path) => path.split('/').map(str::to_owned).collect(),
            None if text.contains('/') => return None,
            None => vec![text.to_owned()],
        };
        let is_bad = |character: char| character.is_control() || matches!(character, '"' | '\\');
        let is_sound = properties.iter().all(|property| !property.is_empty() && !property.contains(is_bad));
        is_sound.then_some(Self(properties))
    }

    pub(crate) fn property(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The properties, from the root on.
    pub fn properties(&self) -> &[String] {
        &self.0
    }

    /// The last property.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The path with slashes, also where it is one property: `/agentId`.
    pub fn slashed(&self) -> String {
        format!("/{}", self.0.join("/"))
    }

    /// The path of a property in the object at this one.
    pub(crate) fn joined(&self, inner: &Self) -> Self {
        Self([self.0.as_slice(), inner.0.as_slice()].concat())
    }

    /// The path beside this one: the same object, another property.
    pub(crate) fn beside(&self, property: &str) -> Self {
        let mut properties = self.0.clone();
        properties.pop();
        properties.push(property.to_owned());
        Self(properties)
    }
}

impl fmt::Display for PropertyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [property] => formatter.write_str(property),
            _ => formatter.write_str(&self.slashed()),
        }
    }
}

impl fmt::Debug for PropertyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}
