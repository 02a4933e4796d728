//! Served model: a checked model with the lookups that reads and commands need: containers, partition keys,
//! lists, counts and unique fields of each item type.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use onehop_change_feed::{DEAD_LETTERS, LEASES};
use onehop_model::{
    Action, Checks, CountField, EmbeddedType, Field, FieldKind, FieldPath, ItemType, Kept, KeySource, Model,
    Name, Normalize, RelatedSource, StoredField, ValueSource,
};
use onehop_read_models::{ReadModels, container_specs, list_conditions};
use onehop_store::{
    ContainerName, ContainerSpec, Fault, InternError, Item, PartitionKey, interned_list, joined_key, key_text,
};
use regex::Regex;
use serde_json::{Map, Value};

use super::former_values::{has_former_properties, move_values};
use super::input_names::input_name_of;
use super::names::interned;
use super::related_fields::{is_read_model, lists, placed_lists, related};
use super::supported::{Unsupported, unsupported};
use crate::domain::containers::{ACCOUNTS, ACCOUNTS_SPEC, WrittenItems};

/// A stored item or entry: its properties.
pub type Body = Map<String, Value>;

/// The default time to live of a deleted item, in seconds.
const TOMBSTONE_TTL_S: u32 = 30 * 24 * 60 * 60;
/// Containers of the server itself.
const OWN_CONTAINERS: [&str; 3] = [ACCOUNTS.0, LEASES.0, DEAD_LETTERS.0];

/// A model that the program serves.
#[derive(Debug)]
pub struct ServedModel {
    model: Model,
    types: Vec<ServedType>,
    containers: Vec<ContainerSpec>,
    patterns: HashMap<String, Regex>,
    read_models: ReadModels,
}

/// A type of items, by its place in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeIndex(usize);

/// An item type with its container and its relations to others.
#[derive(Debug)]
pub struct ServedType {
    /// The declaration.
    pub item: ItemType,
    /// Its name in the API.
    pub name: &'static str,
    /// The input with the id of the item that an update or deletion is about: `bookId`, and `id` where
    /// another input has that name.
    pub id_input: &'static str,
    /// The value of the property `type`.
    pub type_value: &'static str,
    /// The container of the items.
    pub container: ContainerName,
    /// The properties with the partition key.
    pub key_properties: &'static [&'static str],
    /// The source of the partition key.
    pub key: PartitionSource,
    /// The stored counts of other items that items of this type are part of.
    pub counted_in: Vec<StoredCount>,
    /// The unique fields.
    pub unique: Vec<UniqueField>,
    /// The values by which lists have the entries of these items. Entries follow references alone.
    pub listed_by: Vec<String>,
    /// The inputs whose values are arguments of lists, or the source of one: each value is a partition key,
    /// or part of one.
    pub argument_paths: Vec<FieldPath>,
    /// Whether older items have values at former properties.
    pub has_former_properties: bool,
}

/// The source of an item's partition key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionSource {
    /// The id.
    Id,
    /// The type: all items are in one logical partition.
    Constant,
    /// Properties: one, or up to three of a hierarchical key.
    Properties(&'static [&'static str]),
}

/// A count that a command keeps in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCount {
    /// The type of the item with the count.
    pub parent: TypeIndex,
    /// The property of the count.
    pub property: &'static str,
    /// The property of the counted item with the id of the parent.
    pub by: &'static str,
}

/// A field whose values are unique across partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniqueField {
    /// Its name.
    pub name: &'static str,
    /// The normal form in which values are compared.
    pub normalize: Normalize,
}

impl ServedModel {
    /// Prepares a model.
    ///
    /// # Errors
    /// Everything in the model that the program cannot serve, at once.
    pub fn new(model: Model) -> Result<Self, Vec<Unsupported>> {
        let model = model.for_serving().with_containers_beside(&OWN_CONTAINERS);
        let refused = unsupported(&model);
        Self::prepared(model, refused)
    }

    /// Prepares a model for reads alone: the commands of its domain are in Rust.
    ///
    /// # Errors
    /// Read models that the program does not support.
    pub fn for_reads(model: Model) -> Result<Self, Vec<Unsupported>> {
        Self::prepared(model.for_serving(), Vec::new())
    }

    fn prepared(model: Model, mut refused: Vec<Unsupported>) -> Result<Self, Vec<Unsupported>> {
        let read_models = ReadModels::from_model(&model.clone().without_former_properties());
        let own = container_specs(&model);
        for error in read_models.as_ref().err().or(own.as_ref().err()).into_iter().flatten() {
            refused.push(Unsupported::from(error));
        }
        for (place, related) in placed_lists(&model).filter(|(_, related)| !is_read_model(related)) {
            let errors = list_conditions(&model, &place, related).err();
            refused.extend(errors.iter().map(Unsupported::from));
        }
        let mut patterns = HashMap::new();
        for (place, checks) in all_checks(&model) {
            let Some(pattern) = &checks.pattern else { continue };
            match Regex::new(&format!("^(?:{pattern})$")) {
                Ok(regex) => drop(patterns.insert(pattern.clone(), regex)),
                Err(_) => refused.push(Unsupported::new(
                    place,
                    "@pattern",
                    "is no regular expression of this server",
                )),
            }
        }
        let (Ok(read_models), Ok(own), true) = (read_models, own, refused.is_empty()) else {
            return Err(refused);
        };
        let types: Vec<ServedType> = model.items().iter().map(|item| served_type(&model, item)).collect();
        let containers = all_containers(&model, own);
        let mut served = Self { model, types, containers, patterns, read_models };
        served.link();
        Ok(served)
    }

    /// The declaration.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The containers of the model and of accounts.
    #[must_use]
    pub fn containers(&self) -> &[ContainerSpec] {
        &self.containers
    }

    /// The containers in which commands delete items, or items expire, so that no change shows their end.
    #[must_use]
    pub fn containers_with_deletions(&self) -> Vec<ContainerName> {
        let is_unseen = |ty: &&ServedType| self.model.ends_unseen(&ty.item);
        self.types.iter().filter(is_unseen).map(|ty| ty.container).collect()
    }

    /// The items of commands and imports: the items of the types, and all items of accounts.
    ///
    /// # Errors
    /// The program has too many names.
    pub fn write_side(&self) -> Result<Vec<WrittenItems>, InternError> {
        let mut types: BTreeMap<ContainerName, Vec<&str>> = BTreeMap::new();
        for ty in &self.types {
            types.entry(ty.container).or_default().push(ty.type_value);
        }
        let of_types =
            types.into_iter().map(|(container, types)| Ok((container, Some(interned_list(&types)?))));
        std::iter::once(Ok((ACCOUNTS_SPEC.name, None))).chain(of_types).collect()
    }

    /// The read models.
    #[must_use]
    pub fn read_models(&self) -> &ReadModels {
        &self.read_models
    }

    /// A stored item of a type, with all values at their present properties.
    ///
    /// # Errors
    /// The item cannot be decoded.
    pub fn decoded(&self, ty: TypeIndex, item: &Item) -> Result<Body, Fault> {
        Ok(self.with_moved_values(ty, item.decode()?))
    }

    /// Moves the values of a stored item to their present properties.
    #[must_use]
    pub fn with_moved_values(&self, ty: TypeIndex, mut body: Body) -> Body {
        let ty = self.ty(ty);
        if ty.has_former_properties {
            move_values(&self.model, &ty.item.fields, &mut body);
        }
        body
    }

    /// All types.
    pub fn types(&self) -> impl Iterator<Item = (TypeIndex, &ServedType)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeIndex(index), ty))
    }

    /// A type.
    #[must_use]
    pub fn ty(&self, index: TypeIndex) -> &ServedType {
        &self.types[index.0]
    }

    /// The type of a name.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<TypeIndex> {
        self.types.iter().position(|ty| ty.name == name).map(TypeIndex)
    }

    /// The type that people sign in as.
    #[must_use]
    pub fn account(&self) -> Option<TypeIndex> {
        self.types.iter().position(|ty| ty.item.login.is_some()).map(TypeIndex)
    }

    /// The compiled regular expression of a check.
    #[must_use]
    pub fn pattern(&self, pattern: &str) -> Option<&Regex> {
        self.patterns.get(pattern)
    }

    /// The fields of an embedded type.
    #[must_use]
    pub fn embedded(&self, name: &str) -> Option<&EmbeddedType> {
        self.model.embedded_type(name)
    }

    fn link(&mut self) {
        let mut links = Vec::new();
        for (parent, ty) in self.types() {
            for field in &ty.item.fields {
                let FieldKind::Count(CountField { of, kept: Kept::Batch { property, .. } }) = &field.kind
                else {
                    continue;
                };
                let Some(counted) = ty.item.field(of).and_then(related) else { continue };
                let RelatedSource::Partition { by } = &counted.source else { continue };
                let Some(child) = self.index_of(&counted.item_type) else { continue };
                let refers_here = |field: &&Field| matches!(&field.kind, FieldKind::Reference(reference) if *reference.target == *ty.name);
                let mut fields = by.iter().filter_map(|by| self.ty(child).item.field(by));
                let Some(by) = fields.find(refers_here).and_then(Field::property) else { continue };
                links.push((
                    child,
                    StoredCount { parent, property: interned(property.last()), by: interned(by.last()) },
                ));
            }
        }
        for (child, count) in links {
            self.types[child.0].counted_in.push(count);
        }
    }
}

/// The containers of a model, of accounts and of the change feed processor.
fn all_containers(model: &Model, own: Vec<ContainerSpec>) -> Vec<ContainerSpec> {
    let mut specs = onehop_change_feed::SPECS.to_vec();
    specs.push(ACCOUNTS_SPEC);
    for mut spec in own {
        // The id of a creation that was given up is blocked by a deleted item, where the type is the key.
        let is_blocked = |item: &ItemType| {
            let is_constant = matches!(item.key.first(), Some(KeySource::Type));
            let is_unique =
                |field: &Field| matches!(&field.kind, FieldKind::Stored(stored) if stored.unique.is_some());
            *item.container == *spec.name.as_str() && is_constant && item.fields.iter().any(is_unique)
        };
        spec.soft_deletes |= model.items().iter().any(is_blocked);
        specs.push(spec);
    }
    specs
}

impl ServedType {
    /// The partition key of an item with this id, from the item or an entry of it.
    #[must_use]
    pub fn partition_key(&self, id: Option<&str>, body: &Body) -> Option<PartitionKey> {
        let text = match self.key {
            PartitionSource::Constant => Some(self.type_value),
            PartitionSource::Id => id,
            PartitionSource::Properties(properties) => {
                let values = properties.iter().map(|property| match *property {
                    // An entry has an id and a type of its own.
                    "id" => id.map(Cow::Borrowed),
                    "type" => Some(Cow::Borrowed(self.type_value)),
                    property => body.get(property).and_then(key_text),
                });
                let values: Option<Vec<Cow<'_, str>>> = values.collect();
                return values.map(|values| PartitionKey::new(joined_key(values.iter().map(AsRef::as_ref))));
            }
        };
        text.map(PartitionKey::from)
    }

    /// The time to live of a deleted item, in seconds; `None` where it is removed at once.
    #[must_use]
    pub fn tombstone_ttl_s(&self) -> Option<u32> {
        match &self.item.deletion {
            onehop_model::Deletion::Soft { ttl_seconds, .. } => Some(*ttl_seconds),
            onehop_model::Deletion::Hard => None,
            _ => Some(TOMBSTONE_TTL_S),
        }
    }

    /// Whether a mutation is generated for an action.
    #[must_use]
    pub fn writes(&self, action: Action) -> bool {
        self.item.writes.contains(&action)
    }

    /// The field with the number of changes, which clients see.
    #[must_use]
    pub fn version_field(&self) -> Option<(&Field, &StoredField)> {
        self.item.fields.iter().filter(|field| !field.hidden).find_map(|field| match &field.kind {
            FieldKind::Stored(stored) if matches!(stored.source, ValueSource::Version(_)) => {
                Some((field, stored))
            }
            _ => None,
        })
    }

    /// Whether updates leave a field unchanged: it is part of the partition key or of the id, or is a
    /// value that names the logical partition of a list's entry.
    #[must_use]
    pub fn is_fixed(&self, name: &str) -> bool {
        let is_key = |source: &KeySource| matches!(source, KeySource::Field(field) if **field == *name);
        self.item.key.iter().any(is_key)
            || self.item.id_from.iter().any(|field| **field == *name)
            || self.listed_by.iter().any(|field| field == name)
    }
}

fn served_type(model: &Model, item: &ItemType) -> ServedType {
    let container = model.container(&item.container);
    let paths = container.map_or(&[][..], |container| container.key.as_slice());
    let key_properties: Vec<&str> = paths.iter().map(|path| path.last()).collect();
    let key_properties = interned_list(&key_properties).unwrap_or(&["id"]);
    let property_of = |source: &KeySource| match source {
        KeySource::Field(field) => item.field(field).and_then(Field::property).map(|path| path.last()),
        KeySource::Id => Some("id"),
        KeySource::Type => Some("type"),
    };
    let key = match item.key.as_slice() {
        [KeySource::Id] | [] => PartitionSource::Id,
        [KeySource::Type] => PartitionSource::Constant,
        _ => {
            let properties: Vec<&str> = item.key.iter().filter_map(property_of).collect();
            PartitionSource::Properties(interned_list(&properties).unwrap_or(key_properties))
        }
    };
    let unique = item.fields.iter().filter_map(|field| match &field.kind {
        FieldKind::Stored(StoredField { unique: Some(normalize), .. }) => {
            Some(UniqueField { name: interned(&field.name), normalize: *normalize })
        }
        _ => None,
    });
    let id_input = format!("{}Id", item.name.camel_case());
    let is_taken = item.fields.iter().any(|field| input_name_of(field).is_some_and(|name| name == id_input));
    ServedType {
        name: interned(&item.name),
        id_input: if is_taken { "id" } else { interned(&id_input) },
        type_value: interned(&item.type_value),
        container: ContainerName(interned(&item.container)),
        key_properties,
        key,
        counted_in: Vec::new(),
        unique: unique.collect(),
        listed_by: listed_by(model, item),
        argument_paths: argument_paths(model, item),
        has_former_properties: has_former_properties(model, &item.fields),
        item: item.clone(),
    }
}

fn listed_by(model: &Model, item: &ItemType) -> Vec<String> {
    let of_item = lists(model).filter(|(_, related)| related.item_type == item.name);
    let of_item = of_item.filter(|(_, related)| related.arguments().is_empty());
    let fields = of_item.flat_map(|(_, related)| match &related.source {
        RelatedSource::List(list) => list.by.as_slice(),
        _ => &[],
    });
    let stays =
        |name: &&Name| item.field(name).is_some_and(|field| !matches!(field.kind, FieldKind::Reference(_)));
    fields.filter(stays).map(Name::to_string).collect()
}

/// The inputs of a type whose values are arguments of lists. A computed argument comes from others.
fn argument_paths(model: &Model, item: &ItemType) -> Vec<FieldPath> {
    let of_item = lists(model).filter(|(_, related)| related.item_type == item.name);
    let fields = of_item.flat_map(|(_, related)| match &related.source {
        RelatedSource::List(list) if !list.arguments.is_empty() => list.by.as_slice(),
        _ => &[],
    });
    let paths = fields.flat_map(|name| match item.field(name).map(|field| &field.kind) {
        Some(FieldKind::Stored(StoredField { source: ValueSource::Computed(computed), .. })) => {
            computed.from.clone()
        }
        _ => vec![FieldPath::from(name.clone())],
    });
    paths.collect()
}

/// The checks of all fields, with their places.
fn all_checks(model: &Model) -> impl Iterator<Item = (String, &Checks)> {
    let items = model.items().iter().map(|item| (&item.name, item.fields.as_slice()));
    let embedded = model.embedded().iter().map(|embedded| (&embedded.name, embedded.fields.as_slice()));
    items.chain(embedded).flat_map(|(name, fields)| {
        fields.iter().map(move |field| (format!("{name}.{}", field.name), &field.checks))
    })
}
