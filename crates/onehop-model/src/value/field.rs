//! Fields of a model: stored values, references, related items and counts.

use super::authorization::FieldAuthorization;
use super::keyword::{Format, Function, Normalize};
use super::literal::Literal;
use super::names::{FieldPath, Name, PropertyPath};
use super::related::RelatedField;

/// A field of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// Its type in the API.
    pub ty: FieldType,
    /// Its kind.
    pub kind: FieldKind,
    /// The checks of input.
    pub checks: Checks,
    /// Whether the field is stored and not served.
    pub hidden: bool,
    /// The callers of the field.
    pub authorization: FieldAuthorization,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldType {
    /// The named type.
    pub of: TypeOf,
    /// For a list, whether its elements are non-null.
    pub list: Option<ListElements>,
    /// Whether the field is non-null.
    pub non_null: bool,
}

/// The elements of a list type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListElements {
    /// `[T]`.
    Nullable,
    /// `[T!]`.
    NonNull,
}

/// A named type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeOf {
    /// A scalar, or `Money`.
    Scalar(Scalar),
    /// An enum.
    Enum(Name),
    /// An embedded type.
    Embedded(Name),
    /// An item type.
    Item(Name),
}

impl TypeOf {
    /// The name of the type.
    pub fn name(&self) -> &str {
        match self {
            Self::Scalar(scalar) => scalar.name(),
            Self::Enum(name) | Self::Embedded(name) | Self::Item(name) => name,
        }
    }
}

impl std::fmt::Display for FieldType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let non_null = if self.non_null { "!" } else { "" };
        match self.list {
            None => write!(formatter, "{}{non_null}", self.of.name()),
            Some(ListElements::Nullable) => write!(formatter, "[{}]{non_null}", self.of.name()),
            Some(ListElements::NonNull) => write!(formatter, "[{}!]{non_null}", self.of.name()),
        }
    }
}

/// A scalar type of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// An opaque id.
    Id,
    /// A text.
    String,
    /// A whole number of 32 bits.
    Int,
    /// A number.
    Float,
    /// `true` or `false`.
    Boolean,
    /// An instant in UTC.
    DateTime,
    /// An exact decimal number.
    Decimal,
    /// An amount with a currency: an object in the API, stored in minor units.
    Money,
}

impl Scalar {
    /// The scalars with their names.
    pub const ALL: [(&'static str, Self); 8] = [
        ("ID", Self::Id),
        ("String", Self::String),
        ("Int", Self::Int),
        ("Float", Self::Float),
        ("Boolean", Self::Boolean),
        ("DateTime", Self::DateTime),
        ("Decimal", Self::Decimal),
        ("Money", Self::Money),
    ];

    /// The name of the scalar.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, scalar)| *scalar == self).map_or("", |(name, _)| name)
    }
}

/// The kind of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A value of the item.
    Stored(StoredField),
    /// The id of another item, or an array of ids.
    Reference(ReferenceField),
    /// Other items: of a logical partition, of a query, or of a read model.
    Related(RelatedField),
    /// The number of items of a related field.
    Count(CountField),
    /// Whether the related field of this name has an item of the caller.
    HasCaller(Name),
}

/// A value of an item or object.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredField {
    /// Its property.
    pub property: PropertyPath,
    /// Older properties, which are read and never written.
    pub former: Vec<PropertyPath>,
    /// Its stored form.
    pub format: Format,
    /// The value where the property is absent.
    pub default: Option<DefaultValue>,
    /// The source of its value.
    pub source: ValueSource,
    /// Whether the value never changes.
    pub immutable: bool,
    /// The normal form in which the value is unique across partitions.
    pub unique: Option<Normalize>,
    /// The property with the currency of an amount.
    pub currency: Option<CurrencyProperty>,
}

/// The value of a field whose property is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultValue {
    /// The value.
    pub value: Literal,
    /// Whether items, too, do not store it. Entries never store it.
    pub sparse: bool,
}

/// The source of a stored value.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueSource {
    /// The id of the item.
    Id,
    /// The input of a mutation.
    Input,
    /// The time of creation.
    Created,
    /// The time at which one of these fields last changed; null before. All fields where empty.
    Updated(Vec<Name>),
    /// One more than the number of changes of these fields. All fields where empty.
    Version(Vec<Name>),
    /// A function of other fields.
    Computed(Computed),
    /// A copy of another item's field.
    Copied(CopySource),
}

/// A computed value.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The function.
    pub function: Function,
    /// Its arguments.
    pub from: Vec<FieldPath>,
    /// The characters of an excerpt or a padded number.
    pub length: Option<u32>,
    /// Whether items store the value. Entries always do.
    pub stored: bool,
}

/// The source of a copied scalar.
#[derive(Debug, Clone, PartialEq)]
pub struct CopySource {
    /// The origin.
    pub from: CopyOrigin,
    /// Whether the copy stays as it was written.
    pub frozen: bool,
}

/// The item from which a scalar is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyOrigin {
    /// A reference of the same type, and a field of its target.
    Reference {
        /// The reference.
        reference: Name,
        /// The field of the target.
        field: Name,
    },
    /// A field of an item type that the command finds.
    Type {
        /// The item type.
        item_type: Name,
        /// Its field.
        field: Name,
    },
}

/// The property with a currency code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrencyProperty {
    /// In the same object as the amount.
    Beside(PropertyPath),
    /// From the root of the item.
    OfItem(PropertyPath),
}

/// The id of another item, stored in this one.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceField {
    /// The item type.
    pub target: Name,
    /// The property of the id; of the array where the field is a list.
    pub property: PropertyPath,
    /// Older properties, which are read and never written.
    pub former: Vec<PropertyPath>,
    /// The fields of this type with the partition key of the target; empty where it is the target's id or
    /// constant.
    pub partition: Vec<Name>,
    /// Whether the reference is the caller, set at creation.
    pub caller: bool,
    /// Whether the reference never changes.
    pub immutable: bool,
    /// The copied fields of the target.
    pub copies: Vec<CopiedField>,
    /// Whether the copies stay as they were written.
    pub frozen: bool,
}

/// A field of a reference's target that is stored beside the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedField {
    /// The field of the target.
    pub field: Name,
    /// The property of the copy: beside the id, or in each element of the array.
    pub property: PropertyPath,
    /// The property of the currency beside a frozen amount, where the model is in its
    /// [served form](crate::Model::for_serving).
    pub currency: Option<PropertyPath>,
}

impl CopiedField {
    /// The properties that hold the copy: its value, and its currency if it has one.
    pub fn properties(&self) -> impl Iterator<Item = &PropertyPath> {
        std::iter::once(&self.property).chain(&self.currency)
    }
}

/// A stored or counted number of related items.
#[derive(Debug, Clone, PartialEq)]
pub struct CountField {
    /// The related field of the same type.
    pub of: Name,
    /// The writer of the number.
    pub kept: Kept,
}

/// The writer of a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The command, in its batch.
    Batch {
        /// The property.
        property: PropertyPath,
        /// Older properties.
        former: Vec<PropertyPath>,
    },
    /// A projection.
    Behind {
        /// The property.
        property: PropertyPath,
        /// Older properties.
        former: Vec<PropertyPath>,
        /// The largest lag, in seconds; the default of the server where absent.
        within_seconds: Option<u32>,
    },
    /// A COUNT query when the field is read.
    Query,
}

/// Checks of a field's input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checks {
    /// The fewest characters of a text, or elements of a list.
    pub length_min: Option<u32>,
    /// The most characters of a text, or elements of a list.
    pub length_max: Option<u32>,
    /// The smallest number.
    pub range_min: Option<Literal>,
    /// The largest number.
    pub range_max: Option<Literal>,
    /// A regular expression of the whole text.
    pub pattern: Option<String>,
}

impl Field {
    /// The property of an amount's currency; `None` for another field.
    pub fn currency(&self) -> Option<&PropertyPath> {
        match &self.kind {
            FieldKind::Stored(stored) => match stored.currency.as_ref()? {
                CurrencyProperty::Beside(path) | CurrencyProperty::OfItem(path) => Some(path),
            },
            _ => None,
        }
    }

    /// The property that the field is stored at; `None` where items do not store it.
    pub fn property(&self) -> Option<&PropertyPath> {
        match &self.kind {
            FieldKind::Stored(stored) => match &stored.source {
                ValueSource::Computed(computed) if !computed.stored => None,
                _ => Some(&stored.property),
            },
            FieldKind::Reference(reference) => Some(&reference.property),
            FieldKind::Count(CountField { kept: Kept::Batch { property, .. }, .. })
            | FieldKind::Count(CountField { kept: Kept::Behind { property, .. }, .. }) => Some(property),
            FieldKind::Count(_) | FieldKind::Related(_) | FieldKind::HasCaller(_) => None,
        }
    }

    /// The properties at which older items have the value.
    pub fn former(&self) -> &[PropertyPath] {
        match &self.kind {
            FieldKind::Stored(stored) => &stored.former,
            FieldKind::Reference(reference) => &reference.former,
            FieldKind::Count(CountField {
                kept: Kept::Batch { former, .. } | Kept::Behind { former, .. },
                ..
            }) => former,
            FieldKind::Count(_) | FieldKind::Related(_) | FieldKind::HasCaller(_) => &[],
        }
    }
}

impl ReferenceField {
    /// The former property of a copy beside a former property of the id; `None` where the present one is not
    /// named after the reference.
    pub fn former_copy(&self, former: &PropertyPath, property: &PropertyPath) -> Option<PropertyPath> {
        let copied = property.last().strip_prefix(stem(self.property.last()))?;
        Some(former.beside(&format!("{}{copied}", stem(former.last()))))
    }
}

/// The part of a reference's property before `Id`.
pub(crate) fn stem(property: &str) -> &str {
    property.strip_suffix("Id").filter(|stem| !stem.is_empty()).unwrap_or(property)
}
