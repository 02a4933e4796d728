//! The served model as its operator sees it: containers, types with their fields and lists, and read models
//! with the projections that keep them.

use async_graphql::{Enum, SimpleObject};
use onehop_change_feed::SPECS;
use onehop_model::{Field, FieldKind, ItemType, Kept, QueryKind, RelatedField, RelatedSource};
use onehop_store::ContainerSpec;

use super::read_model_rules::ReadModelRule;
use crate::domain::containers::ACCOUNTS;
use crate::served::{PartitionSource, ServedModel, ServedType, is_secret, related};

/// A served model.
#[derive(SimpleObject)]
#[graphql(name = "Model")]
pub struct ModelDescription {
    /// Its name.
    name: String,
    /// Its version.
    version: u32,
    /// Its containers, without those of accounts and of the change feed processor.
    containers: Vec<ModelContainer>,
    /// Its types of items.
    types: Vec<ModelType>,
    /// Its lists that have no owner.
    queries: Vec<ModelList>,
    /// Its read models: copies, lists, counts, and items that are deleted with their owner.
    read_models: Vec<ReadModelRule>,
}

/// A container of a model.
#[derive(SimpleObject)]
pub struct ModelContainer {
    /// Its name.
    name: String,
    /// The properties of the partition key; several of a hierarchical key.
    key: Vec<String>,
    /// The time to live of its items, in seconds; null for ever.
    ttl_seconds: Option<u32>,
    /// The types whose items or entries are in it.
    holds: Vec<String>,
}

/// A type of items.
#[derive(SimpleObject)]
pub struct ModelType {
    /// Its name.
    name: String,
    /// Its description.
    description: Option<String>,
    /// The property `type` of its items.
    #[graphql(name = "type")]
    type_value: String,
    /// The container of its items.
    container: String,
    /// The source of the partition key.
    key_source: PartitionKeySource,
    /// The properties of the partition key.
    key: Vec<String>,
    /// Whether people sign in as this type.
    is_account: bool,
    /// Its stored fields and counts.
    fields: Vec<ModelField>,
    /// Its lists.
    lists: Vec<ModelList>,
}

/// The source of an item's partition key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum PartitionKeySource {
    /// The id.
    Id,
    /// The type: all items are in one logical partition.
    Type,
    /// Properties of the item.
    Properties,
}

/// A field of a type.
#[derive(SimpleObject)]
pub struct ModelField {
    /// Its name.
    name: String,
    /// Its description.
    description: Option<String>,
    /// Its type in the API.
    #[graphql(name = "type")]
    field_type: String,
    /// The stored property; null where nothing is stored.
    property: Option<String>,
    /// Its kind.
    kind: ModelFieldKind,
    /// Whether clients of the API do not see it.
    is_hidden: bool,
    /// Whether its values are secrets, which are not shown.
    is_secret: bool,
    /// The type that a reference leads to.
    target: Option<String>,
    /// The properties beside a reference that hold the partition key of its target; empty where that follows
    /// from the id.
    target_key: Vec<String>,
    /// The properties beside a reference that are copies of fields of its target.
    copies: Vec<String>,
}

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ModelFieldKind {
    /// A value of the item.
    Stored,
    /// The id of another item, or several.
    Reference,
    /// A number of items.
    Count,
    /// Whether the caller has an item in a list.
    Caller,
}

/// A list of items.
#[derive(SimpleObject)]
pub struct ModelList {
    /// Its name, as `entries` takes it: `Type.field` or `Query.field`.
    name: String,
    /// The field.
    field: String,
    /// The type of its items.
    item_type: String,
    /// The place where its items are found.
    source: ModelListSource,
    /// The container that is queried.
    container: Option<String>,
    /// The projection that keeps its entries; null where it queries the items themselves.
    projection: Option<String>,
    /// The number of entries that are kept; null for all.
    keep: Option<u32>,
}

/// The place where the items of a list are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ModelListSource {
    /// The items of one logical partition.
    Partition,
    /// A query across logical partitions.
    Find,
    /// The entries of a read model.
    ReadModel,
}

impl ModelDescription {
    pub(super) fn of(served: &ServedModel) -> Self {
        let model = served.model();
        let is_own = |spec: &&ContainerSpec| {
            spec.name != ACCOUNTS && SPECS.iter().all(|processor| processor.name != spec.name)
        };
        let list = |query: &onehop_model::Query| match &query.kind {
            // A list by arguments has no page without them.
            QueryKind::Related(related) if related.arguments().is_empty() => {
                Some(ModelList::of(served, "Query", &query.name, related))
            }
            _ => None,
        };
        Self {
            name: model.name().to_owned(),
            version: model.version(),
            containers: served
                .containers()
                .iter()
                .filter(is_own)
                .map(|spec| ModelContainer::of(served, spec))
                .collect(),
            types: served.types().map(|(_, ty)| ModelType::of(served, ty)).collect(),
            queries: model.queries().iter().filter_map(list).collect(),
            read_models: served.read_models().rules().iter().map(ReadModelRule::of).collect(),
        }
    }
}

impl ModelContainer {
    fn of(served: &ServedModel, spec: &ContainerSpec) -> Self {
        let items = served.types().filter(|(_, ty)| ty.container == spec.name);
        let items = items.map(|(_, ty)| ty.name.to_owned());
        let lists = served.read_models().rules().iter().filter_map(|rule| match rule {
            onehop_read_models::Rule::List(list) if list.container == spec.name => Some(list.entry_type),
            _ => None,
        });
        Self {
            name: spec.name.to_string(),
            key: spec.key_properties().map(str::to_owned).collect(),
            ttl_seconds: spec.ttl_s,
            holds: items.chain(lists.map(|entries| format!("entries: {entries}"))).collect(),
        }
    }
}

impl ModelType {
    fn of(served: &ServedModel, ty: &ServedType) -> Self {
        let lists = ty
            .item
            .fields
            .iter()
            .filter_map(|field| Some(ModelList::of(served, ty.name, &field.name, related(field)?)));
        Self {
            name: ty.name.to_owned(),
            description: ty.item.description.clone(),
            type_value: ty.type_value.to_owned(),
            container: ty.container.to_string(),
            key_source: match ty.key {
                PartitionSource::Id => PartitionKeySource::Id,
                PartitionSource::Constant => PartitionKeySource::Type,
                PartitionSource::Properties(_) => PartitionKeySource::Properties,
            },
            key: ty.key_properties.iter().map(|property| (*property).to_owned()).collect(),
            is_account: ty.item.login.is_some(),
            lists: lists.collect(),
            fields: ty.item.fields.iter().filter_map(|field| ModelField::of(&ty.item, field)).collect(),
        }
    }
}

impl ModelField {
    /// The description of a field; `None` for a list.
    fn of(item: &ItemType, field: &Field) -> Option<Self> {
        let kind = match &field.kind {
            FieldKind::Stored(_) => ModelFieldKind::Stored,
            FieldKind::Reference(_) => ModelFieldKind::Reference,
            FieldKind::Count(_) => ModelFieldKind::Count,
            FieldKind::HasCaller(_) => ModelFieldKind::Caller,
            FieldKind::Related(_) => return None,
        };
        let reference = match &field.kind {
            FieldKind::Reference(reference) => Some(reference),
            _ => None,
        };
        let property_of =
            |name: &onehop_model::Name| item.field(name)?.property().map(|path| path.to_string());
        let property = match &field.kind {
            FieldKind::Count(count) if count.kept == Kept::Query => None,
            _ => field.property().map(|path| path.to_string()),
        };
        Some(Self {
            name: field.name.to_string(),
            description: field.description.clone(),
            field_type: field.ty.to_string(),
            is_secret: is_secret(&field.name) || property.as_deref().is_some_and(is_secret),
            property,
            kind,
            is_hidden: field.hidden,
            target: reference.map(|reference| reference.target.to_string()),
            target_key: reference.iter().flat_map(|to| to.partition.iter().filter_map(property_of)).collect(),
            copies: reference
                .iter()
                .flat_map(|to| to.copies.iter().map(|copy| copy.property.to_string()))
                .collect(),
        })
    }
}

impl ModelList {
    fn of(served: &ServedModel, owner: &str, field: &str, related: &RelatedField) -> Self {
        let place = served.list_place(served.index_of(owner), related);
        let (source, list) = match &related.source {
            RelatedSource::Partition { .. } => (ModelListSource::Partition, None),
            RelatedSource::Find { .. } => (ModelListSource::Find, None),
            RelatedSource::List(list) => (ModelListSource::ReadModel, Some(list)),
        };
        Self {
            name: format!("{owner}.{field}"),
            field: field.to_owned(),
            item_type: related.item_type.to_string(),
            source,
            container: place.map(|place| place.container.to_string()),
            projection: list.map(|list| list.projection.to_string()),
            keep: list.and_then(|list| list.keep),
        }
    }
}
