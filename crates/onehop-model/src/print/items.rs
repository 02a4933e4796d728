//! Text of types: item types, embedded types and enums.

use super::authorization;
use super::directive::{DirectiveText, description};
use super::fields::field;
use crate::defaults::{DELETED_PROPERTY, DELETED_TTL_SECONDS, LOG_SEQUENCE_NUMBER, TYPE_PROPERTY};
use crate::value::{
    Deletion, DeletionMode, EmbeddedType, EnumType, Field, ItemType, ItemVersion, KeySource, Keyword,
    Literal, Model, Name, PathTest, PropertyPath,
};

/// The default property of a version.
const VERSION_PROPERTY: &str = "version";

/// An item type.
pub(super) fn item(model: &Model, item: &ItemType) -> String {
    let mut directives = vec![item_directive(model, item)];
    directives.extend(conditions(item));
    directives.extend(deletes(&item.deletion));
    let one = |name, argument: &str, field: &Name| DirectiveText::new(name).text(argument, field).build();
    directives.extend(item.owned_by.as_ref().map(|by| one("owned", "by", by)));
    directives.extend(item.login.as_ref().map(|login| one("account", "login", login)));
    directives.extend(authorization::of_item(item));
    directives.extend(item.hidden.then(|| "@hidden".to_owned()));
    object(model, &item.name, item.description.as_deref(), &directives, &item.fields)
}

/// An embedded type.
pub(super) fn embedded(model: &Model, embedded: &EmbeddedType) -> String {
    let mut directives = vec!["@embedded".to_owned()];
    directives.extend(embedded.hidden.then(|| "@hidden".to_owned()));
    object(model, &embedded.name, embedded.description.as_deref(), &directives, &embedded.fields)
}

fn object(model: &Model, name: &str, text: Option<&str>, directives: &[String], fields: &[Field]) -> String {
    let head = match directives {
        [directive] => format!(" {directive}"),
        directives => directives.iter().map(|directive| format!("\n  {directive}")).collect(),
    };
    let fields: String = fields.iter().map(|it| field(model, name, it)).collect();
    format!("{}type {name}{head} {{\n{fields}}}\n", description(text, ""))
}

/// An enum.
pub(super) fn enum_type(it: &EnumType) -> String {
    let values = it.values.iter().map(|value| {
        let is_default = value.stored == *value.name;
        let stored = DirectiveText::new("stored")
            .optional_text("as", Some(&value.stored).filter(|_| !is_default))
            .texts("former", &value.former);
        let stored = (!is_default || !value.former.is_empty()).then(|| format!(" {}", stored.build()));
        let text = description(value.description.as_deref(), "  ");
        format!("{text}  {}{}\n", value.name, stored.unwrap_or_default())
    });
    let values: String = values.collect();
    format!("{}enum {} {{\n{values}}}\n", description(it.description.as_deref(), ""), it.name)
}

fn item_directive(model: &Model, item: &ItemType) -> String {
    let default_type = item.name.camel_case();
    let type_value = Some(&item.type_value).filter(|value| **value != *default_type);
    let version = match &item.version {
        ItemVersion::LogSequenceNumber => Some(LOG_SEQUENCE_NUMBER.to_owned()),
        ItemVersion::Property(path) => Some(path.to_string()).filter(|path| path != VERSION_PROPERTY),
    };
    DirectiveText::new("item")
        .text("container", &*item.container)
        .texts("partition", &partition(model, item))
        .optional_text("type", type_value)
        .optional_text("version", version)
        .texts("idFrom", &item.id_from)
        .keywords("write", &item.writes)
        .build()
}

/// The argument `partition`: nothing where each path of the key is stored by its field, or is `id` or `type`.
fn partition(model: &Model, item: &ItemType) -> Vec<String> {
    let paths =
        model.container(&item.container).map(|container| container.key.as_slice()).unwrap_or_default();
    let is_stored = |(path, source): (&PropertyPath, &KeySource)| match source {
        KeySource::Id => path.properties() == ["id"],
        KeySource::Type => path.properties() == [TYPE_PROPERTY],
        KeySource::Field(field) => item.field(field).and_then(Field::property) == Some(path),
    };
    if paths.iter().zip(&item.key).all(is_stored) {
        return Vec::new();
    }
    let names = item.key.iter().map(|source| match source {
        KeySource::Id => "id".to_owned(),
        KeySource::Type => TYPE_PROPERTY.to_owned(),
        KeySource::Field(field) => field.to_string(),
    });
    names.collect()
}

fn conditions(item: &ItemType) -> Vec<String> {
    let conditions = item.recognised_by.iter().map(|condition| {
        let text = DirectiveText::new("where").text("path", &condition.path);
        match &condition.test {
            PathTest::Is(value) => text.raw("is", value),
            PathTest::In(values) => text.literals("in", values),
            PathTest::Prefix(prefix) => text.text("prefix", prefix),
            PathTest::Exists(exists) => text.raw("exists", exists),
        }
        .build()
    });
    conditions.collect()
}

/// The form of deletions, unless it is the default.
fn deletes(deletion: &Deletion) -> Option<String> {
    let text = DirectiveText::new("deletes");
    let mode = |mode: DeletionMode| Some(text_of(mode));
    match deletion {
        Deletion::Hard => mode(DeletionMode::Hard),
        Deletion::Ttl => mode(DeletionMode::Ttl),
        Deletion::AllVersions => mode(DeletionMode::AllVersions),
        Deletion::Soft { path, is, ttl_seconds } => {
            let path = Some(path.to_string()).filter(|path| path != DELETED_PROPERTY);
            let is = Some(is).filter(|is| **is != Literal::Boolean(true));
            let ttl = Some(ttl_seconds).filter(|ttl| **ttl != DELETED_TTL_SECONDS);
            let differs = path.is_some() || is.is_some() || ttl.is_some();
            let text = text.raw("by", DeletionMode::Soft.name()).optional_text("path", path);
            differs.then(|| text.optional("is", is).optional("ttl", ttl).build())
        }
    }
}

fn text_of(mode: DeletionMode) -> String {
    DirectiveText::new("deletes").raw("by", mode.name()).build()
}
