//! Typed directives: one struct for each directive, with the position of each value.

use super::usage::Arguments;
use crate::syntax::At;
use crate::value::{
    Action, CountMode, DeletionMode, Event, Format, Function, Literal, Normalize, Place, Who,
};

/// A directive whose arguments have been checked against its definition.
pub(crate) trait Directive: Sized {
    /// The directive; `None` where a required argument is missing, which is already reported.
    fn decode(arguments: &Arguments) -> Option<Self>;
}

/// `@model`.
#[derive(Debug, Clone)]
pub(crate) struct ModelDirective {
    pub name: At<String>,
    pub design: Option<At<String>>,
    pub version: At<i64>,
    pub description: Option<String>,
}

impl Directive for ModelDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            name: arguments.text("name")?,
            design: arguments.text("design"),
            version: arguments.int("version")?,
            description: arguments.text("description").map(|text| text.value),
        })
    }
}

/// `@container`.
#[derive(Debug, Clone)]
pub(crate) struct ContainerDirective {
    pub name: At<String>,
    pub key: Vec<At<String>>,
    pub place: Place,
    pub followed: bool,
    pub ttl: Option<At<i64>>,
    pub exclude: Vec<At<String>>,
    pub composite: Option<Vec<Vec<At<String>>>>,
}

impl Directive for ContainerDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            name: arguments.text("name")?,
            key: arguments.texts("key"),
            place: arguments.keyword("place")?.value,
            followed: arguments.flag("followed"),
            ttl: arguments.int("ttl"),
            exclude: arguments.texts("exclude"),
            composite: arguments.text_lists("composite"),
        })
    }
}

/// `@item`.
#[derive(Debug, Clone)]
pub(crate) struct ItemDirective {
    pub container: At<String>,
    pub partition: Vec<At<String>>,
    pub type_value: Option<At<String>>,
    pub version: At<String>,
    pub id_from: Vec<At<String>>,
    pub write: Vec<At<Action>>,
}

impl Directive for ItemDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            container: arguments.text("container")?,
            partition: arguments.texts("partition"),
            type_value: arguments.text("type"),
            version: arguments.text("version")?,
            id_from: arguments.texts("idFrom"),
            write: arguments.keywords("write"),
        })
    }
}

/// `@where`.
#[derive(Debug, Clone)]
pub(crate) struct WhereDirective {
    pub field: Option<At<String>>,
    pub path: Option<At<String>>,
    pub is: Option<At<Literal>>,
    pub one_of: Option<Vec<At<Literal>>>,
    pub prefix: Option<At<String>>,
    pub exists: Option<bool>,
    pub at_least: Option<At<Literal>>,
    pub below: Option<At<Literal>>,
}

impl Directive for WhereDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            field: arguments.text("field"),
            path: arguments.text("path"),
            is: arguments.literal("is"),
            one_of: arguments.literals("in"),
            prefix: arguments.text("prefix"),
            exists: arguments.boolean("exists"),
            at_least: arguments.literal("atLeast"),
            below: arguments.literal("below"),
        })
    }
}

/// `@deletes`.
#[derive(Debug, Clone)]
pub(crate) struct DeletesDirective {
    pub by: At<DeletionMode>,
    pub path: Option<At<String>>,
    pub is: Option<At<Literal>>,
    pub ttl: Option<At<i64>>,
}

impl Directive for DeletesDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            by: arguments.keyword("by")?,
            path: arguments.text("path"),
            is: arguments.literal("is"),
            ttl: arguments.int("ttl"),
        })
    }
}

/// `@owned` and `@account`: a directive with one field.
#[derive(Debug, Clone)]
pub(crate) struct OneField(pub At<String>);

impl Directive for OneField {
    fn decode(arguments: &Arguments) -> Option<Self> {
        arguments.text("by").or_else(|| arguments.text("login")).map(Self)
    }
}

/// `@auth`.
#[derive(Debug, Clone)]
pub(crate) struct AuthDirective {
    pub on: Vec<At<Action>>,
    pub allow: Vec<At<Who>>,
    pub owner: Vec<At<String>>,
    pub claim: Option<At<String>>,
    pub has: Option<At<Literal>>,
}

impl Directive for AuthDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            on: arguments.keywords("on"),
            allow: arguments.keywords("allow"),
            owner: arguments.texts("owner"),
            claim: arguments.text("claim"),
            has: arguments.literal("has"),
        })
    }
}

/// `@stored`.
#[derive(Debug, Clone)]
pub(crate) struct StoredDirective {
    pub property: Option<At<String>>,
    pub format: Option<At<Format>>,
    pub former: Vec<At<String>>,
}

impl Directive for StoredDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            property: arguments.text("as"),
            format: arguments.keyword("format"),
            former: arguments.texts("former"),
        })
    }
}

/// `@default`.
#[derive(Debug, Clone)]
pub(crate) struct DefaultDirective {
    pub value: At<Literal>,
    pub sparse: bool,
}

impl Directive for DefaultDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { value: arguments.literal("value")?, sparse: arguments.flag("sparse") })
    }
}

/// `@updated` and `@version`: a directive with the fields that it counts.
#[derive(Debug, Clone)]
pub(crate) struct OfFields(pub Vec<At<String>>);

impl Directive for OfFields {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self(arguments.texts("of")))
    }
}

/// `@length` and `@range`: two bounds.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub min: Option<At<Literal>>,
    pub max: Option<At<Literal>>,
}

impl Directive for Bounds {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { min: arguments.literal("min"), max: arguments.literal("max") })
    }
}

/// `@pattern` and `@money`: a directive with one text.
#[derive(Debug, Clone)]
pub(crate) struct OneText(pub At<String>);

impl Directive for OneText {
    fn decode(arguments: &Arguments) -> Option<Self> {
        arguments.text("is").or_else(|| arguments.text("currency")).map(Self)
    }
}

/// `@computed`.
#[derive(Debug, Clone)]
pub(crate) struct ComputedDirective {
    pub by: At<Function>,
    pub from: Vec<At<String>>,
    pub length: Option<At<i64>>,
    pub stored: bool,
}

impl Directive for ComputedDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            by: arguments.keyword("by")?,
            from: arguments.texts("from"),
            length: arguments.int("length"),
            stored: arguments.flag("stored"),
        })
    }
}

/// `@unique`.
#[derive(Debug, Clone)]
pub(crate) struct UniqueDirective {
    pub normalize: Normalize,
}

impl Directive for UniqueDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { normalize: arguments.keyword("normalize")?.value })
    }
}

/// `@caller`.
#[derive(Debug, Clone)]
pub(crate) struct CallerDirective {
    pub list: Option<At<String>>,
}

impl Directive for CallerDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { list: arguments.text("in") })
    }
}

/// `@reference`.
#[derive(Debug, Clone)]
pub(crate) struct ReferenceDirective {
    pub partition: Vec<At<String>>,
}

impl Directive for ReferenceDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { partition: arguments.texts("partition") })
    }
}

/// `@copy`.
#[derive(Debug, Clone)]
pub(crate) struct CopyDirective {
    pub fields: Vec<At<String>>,
    pub from: Option<At<String>>,
    pub frozen: bool,
}

impl Directive for CopyDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            fields: arguments.texts("fields"),
            from: arguments.text("from"),
            frozen: arguments.flag("frozen"),
        })
    }
}

/// `@partition`.
#[derive(Debug, Clone)]
pub(crate) struct PartitionDirective {
    pub by: Vec<At<String>>,
}

impl Directive for PartitionDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { by: arguments.texts("by") })
    }
}

/// `@find`.
#[derive(Debug, Clone)]
pub(crate) struct FindDirective {
    pub by: Option<At<String>>,
    pub through: Option<At<String>>,
}

impl Directive for FindDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { by: arguments.text("by"), through: arguments.text("through") })
    }
}

/// `@list`.
#[derive(Debug, Clone)]
pub(crate) struct ListDirective {
    pub into: At<String>,
    pub by: Vec<At<String>>,
    pub fields: Option<Vec<At<String>>>,
    pub keep: Option<At<i64>>,
    pub entry_type: Option<At<String>>,
    pub name: Option<At<String>>,
}

impl Directive for ListDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            into: arguments.text("into")?,
            by: arguments.texts("by"),
            fields: arguments.is_given("fields").then(|| arguments.texts("fields")),
            keep: arguments.int("keep"),
            entry_type: arguments.text("type"),
            name: arguments.text("name"),
        })
    }
}

/// `@order`.
#[derive(Debug, Clone)]
pub(crate) struct OrderDirective {
    pub by: At<String>,
    pub descending: bool,
}

impl Directive for OrderDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { by: arguments.text("by")?, descending: arguments.flag("desc") })
    }
}

/// `@page`.
#[derive(Debug, Clone)]
pub(crate) struct PageDirective {
    pub first: At<i64>,
    /// Whether the file gives `first`.
    pub has_first: bool,
    pub max: At<i64>,
    pub connection: bool,
}

impl Directive for PageDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            first: arguments.int("first")?,
            has_first: arguments.is_given("first"),
            max: arguments.int("max")?,
            connection: arguments.flag("connection"),
        })
    }
}

/// `@count`.
#[derive(Debug, Clone)]
pub(crate) struct CountDirective {
    pub of: At<String>,
    pub kept: At<CountMode>,
    pub within: Option<At<i64>>,
}

impl Directive for CountDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            of: arguments.text("of")?,
            kept: arguments.keyword("kept")?,
            within: arguments.int("within"),
        })
    }
}

/// `@writes`.
#[derive(Debug, Clone)]
pub(crate) struct WritesDirective {
    pub action: At<Action>,
    pub fields: Vec<At<String>>,
    pub rust: bool,
}

impl Directive for WritesDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self {
            action: arguments.keyword("action")?,
            fields: arguments.texts("fields"),
            rust: arguments.flag("rust"),
        })
    }
}

/// `@live`.
#[derive(Debug, Clone)]
pub(crate) struct LiveDirective {
    pub of: Option<At<String>>,
    pub on: Vec<At<Event>>,
}

impl Directive for LiveDirective {
    fn decode(arguments: &Arguments) -> Option<Self> {
        Some(Self { of: arguments.text("of"), on: arguments.keywords("on") })
    }
}
