//! Syntax tree: the definitions of a file with the position of each part, independent of the parser.

use crate::value::Literal;

/// A range of bytes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct At<T> {
    pub value: T,
    pub span: Span,
}

impl<T> At<T> {
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T> std::ops::Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A definition of a file.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    /// The position of the whole definition, for errors that have no better one.
    pub span: Span,
    pub description: Option<String>,
    /// `None` for the schema.
    pub name: Option<At<String>>,
    pub directives: Vec<DirectiveUse>,
    pub body: Body,
}

/// The part of a definition that depends on its kind.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// `extend schema`.
    SchemaExtension,
    /// `type`.
    Object { implements: Option<Span>, fields: Vec<FieldSyntax> },
    /// `enum`.
    Enum { values: Vec<EnumValueSyntax> },
    /// `scalar`.
    Scalar,
    /// `directive`.
    Directive { arguments: Vec<ArgumentSyntax>, repeatable: bool, locations: Vec<String> },
    /// A definition that a model does not have, by its keyword.
    Foreign(&'static str),
}

/// A field of an object type.
#[derive(Debug, Clone)]
pub(crate) struct FieldSyntax {
    pub name: At<String>,
    pub description: Option<String>,
    pub arguments: Vec<ArgumentSyntax>,
    pub ty: At<TypeSyntax>,
    /// The position of the type's name, without brackets.
    pub type_name: Span,
    pub directives: Vec<DirectiveUse>,
}

/// A value of an enum.
#[derive(Debug, Clone)]
pub(crate) struct EnumValueSyntax {
    pub name: At<String>,
    pub description: Option<String>,
    pub directives: Vec<DirectiveUse>,
}

/// An argument of a field or of a directive definition.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentSyntax {
    pub name: At<String>,
    pub ty: At<TypeSyntax>,
    pub default: Option<At<ValueSyntax>>,
}

/// A type reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypeSyntax {
    Named(String),
    List(Box<TypeSyntax>),
    NonNull(Box<TypeSyntax>),
}

impl std::fmt::Display for TypeSyntax {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => formatter.write_str(name),
            Self::List(element) => write!(formatter, "[{element}]"),
            Self::NonNull(inner) => write!(formatter, "{inner}!"),
        }
    }
}

/// A directive where it is used.
#[derive(Debug, Clone)]
pub(crate) struct DirectiveUse {
    /// The name without `@`; the position includes it.
    pub name: At<String>,
    pub arguments: Vec<(At<String>, At<ValueSyntax>)>,
}

/// A literal with the positions of its elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueSyntax {
    Null,
    Boolean(bool),
    Int(i64),
    Float(f64),
    String(String),
    Enum(String),
    List(Vec<At<ValueSyntax>>),
    Object(Vec<(String, At<ValueSyntax>)>),
}

impl ValueSyntax {
    /// The value without positions.
    pub fn literal(&self) -> Literal {
        match self {
            Self::Null => Literal::Null,
            Self::Boolean(value) => Literal::Boolean(*value),
            Self::Int(value) => Literal::Int(*value),
            Self::Float(value) => Literal::Float(*value),
            Self::String(value) => Literal::String(value.clone()),
            Self::Enum(value) => Literal::Enum(value.clone()),
            Self::List(values) => Literal::List(values.iter().map(|value| value.literal()).collect()),
            Self::Object(fields) => {
                Literal::Object(fields.iter().map(|(name, value)| (name.clone(), value.literal())).collect())
            }
        }
    }
}
