//! List places: the container, the logical partition and the order in which a served model finds the items of
//! a list.

use std::borrow::Cow;

use onehop_model::{
    CopiedField, Field, FieldKind, KeySource, ListSource, Model, Name, RelatedField, RelatedSource,
};
use onehop_read_models::{Condition, ListPartition, Rule, list_conditions, list_order, shown_of_all};
use onehop_store::{ContainerName, PartitionKey, joined_key, key_text};
use serde_json::Value;

use super::formats::currency_roots;
use super::model::{PartitionSource, ServedModel, ServedType, TypeIndex};
use super::names::{interned, property_name};

/// The place of a list's items: a logical partition, or all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPlace {
    /// The container that is queried.
    pub container: ContainerName,
    /// The property `type` of the items or entries.
    pub item_type: &'static str,
    /// The scope of the query.
    pub scope: ListScope,
    /// The order by the items' properties; `None` where the list declares none.
    pub order_by: Option<&'static str>,
    /// Whether the largest value of the order's last property comes first.
    pub descending: bool,
    /// The conditions that a read applies. Entries of read models fulfil theirs.
    pub conditions: Vec<Condition>,
    /// The number of items that the list shows, where more are stored.
    pub shown_max: Option<usize>,
    /// The properties that entries have; `None` where the list has whole items.
    pub entry_fields: Option<Vec<&'static str>>,
    /// The property with the id of the item.
    pub id_property: &'static str,
    /// The link of a list through a link type, whose items the query finds.
    pub through: Option<ThroughLink>,
}

/// The way from the items of a link type to the items of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ThroughLink {
    /// The link type.
    pub ty: TypeIndex,
    /// Its reference to the items of the list.
    pub to: Field,
    /// The order by the items' properties.
    pub order_by: Option<&'static str>,
}

/// A value of an item that is the partition key of its list, or part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerValue {
    /// Its id.
    Id,
    /// A part of its own partition key, and the property of that part. Every reference to the item has it.
    KeyPart(usize, &'static str),
    /// Another property.
    Property(&'static str),
}

/// The scope of a list's query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListScope {
    /// The logical partition of the owner's id.
    OwnerId,
    /// The logical partition of values of the owner.
    Owner(Vec<OwnerValue>),
    /// One logical partition.
    Constant(&'static str),
    /// The logical partition that the arguments of a request name: see [`ListPlace::of_arguments`].
    Arguments,
    /// The same, once they have named it.
    Named(PartitionKey),
    /// All logical partitions, where a property is the owner's id.
    Equality(&'static str),
    /// All logical partitions.
    All,
}

impl ListPlace {
    /// The place of the list in the logical partition of these values, in the order of its arguments.
    #[must_use]
    pub fn of_arguments(&self, values: &[Value]) -> Self {
        let texts: Vec<Cow<'_, str>> = values.iter().filter_map(key_text).collect();
        let key = PartitionKey::new(joined_key(texts.iter().map(AsRef::as_ref)));
        Self { scope: ListScope::Named(key), ..self.clone() }
    }
}

impl ServedModel {
    /// The place of the items of a list of an item type, or of `Query` without an owner.
    #[must_use]
    pub fn list_place(&self, owner: Option<TypeIndex>, related: &RelatedField) -> Option<ListPlace> {
        let listed = self.ty(self.index_of(&related.item_type)?);
        // Earlier fields of the order have their directions in its name.
        let descending = related.order.last().is_some_and(|order| order.descending);
        let order_by = list_order(self.model(), related).ok().flatten();
        let whole = |container, scope| ListPlace {
            container,
            item_type: listed.type_value,
            scope,
            order_by,
            descending,
            conditions: list_conditions(self.model(), "", related).unwrap_or_default(),
            shown_max: None,
            entry_fields: None,
            id_property: "id",
            through: None,
        };
        match &related.source {
            RelatedSource::Partition { by } => {
                Some(whole(listed.container, self.scope_by(owner, listed, by, false)?))
            }
            RelatedSource::Find { by, through: None } => Some(whole(
                listed.container,
                match by {
                    Some(by) => found_scope(listed, by)?,
                    None => ListScope::All,
                },
            )),
            RelatedSource::Find { by, through: Some(link) } => {
                let ty = self.index_of(&link.item_type)?;
                let links = self.ty(ty);
                let to = links.item.field(&link.to)?.clone();
                let through = Some(ThroughLink { ty, to, order_by });
                let scope = found_scope(links, by.as_ref()?)?;
                let place = whole(links.container, scope);
                Some(ListPlace { item_type: links.type_value, order_by: None, through, ..place })
            }
            RelatedSource::List(list) => {
                let mut fields = vec!["id", "type", "version"];
                if let PartitionSource::Properties(properties) = listed.key {
                    fields.extend(properties);
                }
                for path in &list.fields {
                    fields.extend(entry_properties(self.model(), listed, path.first()));
                }
                Some(ListPlace {
                    container: ContainerName(interned(&list.container)),
                    item_type: interned(&list.entry_type),
                    scope: match list.by.first() {
                        Some(_) if !list.arguments.is_empty() => ListScope::Arguments,
                        Some(_) => self.scope_by(owner, listed, &list.by, true)?,
                        None => ListScope::Constant(self.partition_of_entries(list)),
                    },
                    order_by,
                    descending,
                    conditions: Vec::new(),
                    shown_max: shown_of_all(&listed.item, related),
                    entry_fields: Some(fields),
                    id_property: match list.by.first().and_then(|by| listed.item.field(by)) {
                        Some(by) if by.ty.list.is_some() => interned(&format!("{}Id", listed.type_value)),
                        _ => "id",
                    },
                    through: None,
                })
            }
        }
    }

    /// The logical partition of the entries of a list under `Query`.
    fn partition_of_entries(&self, list: &ListSource) -> &'static str {
        let keys = self.read_models().rules().iter().filter_map(|rule| match rule {
            Rule::List(rule) if rule.name == list.projection => match rule.partition {
                ListPartition::Constant(key) => Some(key),
                _ => None,
            },
            _ => None,
        });
        keys.into_iter().next().unwrap_or_else(|| interned(&list.entry_type))
    }

    fn scope_by(
        &self,
        owner: Option<TypeIndex>,
        listed: &ServedType,
        by: &[Name],
        is_entries: bool,
    ) -> Option<ListScope> {
        let (false, Some(owner)) = (by.is_empty(), owner) else {
            return Some(ListScope::Constant(listed.type_value));
        };
        let owner = self.ty(owner);
        let value = |by: &Name| match &listed.item.field(by)?.kind {
            FieldKind::Reference(reference) if *reference.target == *owner.name => Some(OwnerValue::Id),
            _ => {
                let property = interned(owner.item.field(by)?.property()?.last());
                let is_it = |part: &KeySource| matches!(part, KeySource::Field(name) if name == by);
                Some(match owner.item.key.iter().position(is_it) {
                    Some(part) => OwnerValue::KeyPart(part, property),
                    None => OwnerValue::Property(property),
                })
            }
        };
        // Items of the type itself are in the order of its key, entries in the order of `by`.
        let in_key = listed.item.key.iter().filter_map(|source| match source {
            KeySource::Field(name) => by.iter().find(|by| *by == name),
            KeySource::Id | KeySource::Type => None,
        });
        let is_by_key = by.len() > 1 && !is_entries;
        let ordered: Vec<&Name> = if is_by_key { in_key.collect() } else { by.iter().collect() };
        let values = ordered.into_iter().map(value).collect::<Option<Vec<_>>>()?;
        Some(if values == [OwnerValue::Id] { ListScope::OwnerId } else { ListScope::Owner(values) })
    }
}

/// The scope of a query for the items with a reference: their partition key, where it is that reference.
fn found_scope(found: &ServedType, by: &Name) -> Option<ListScope> {
    let property = interned(found.item.field(by)?.property()?.last());
    Some(match found.key {
        PartitionSource::Properties([key]) if *key == property => ListScope::OwnerId,
        _ => ListScope::Equality(property),
    })
}

/// The properties of an entry that hold a field of its item.
fn entry_properties(model: &Model, ty: &ServedType, field: &str) -> Vec<&'static str> {
    let Some(field) = ty.item.field(field) else { return Vec::new() };
    match &field.kind {
        FieldKind::Reference(reference) => {
            let mut properties = vec![property_name(&reference.property)];
            if field.ty.list.is_none() {
                let copies = reference.copies.iter().flat_map(CopiedField::properties);
                properties.extend(copies.map(property_name));
            }
            properties
        }
        FieldKind::Stored(stored) => {
            let mut properties = vec![property_name(&stored.property)];
            properties.extend(currency_roots(model, field));
            properties
        }
        _ => field.property().map(property_name).into_iter().collect(),
    }
}
