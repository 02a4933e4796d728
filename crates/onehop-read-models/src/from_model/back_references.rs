//! Back references: the lists by which copies in arrays and objects of items are found from their sources.
//! Where a model has no list by the elements of an array, one follows from the copies: an entry without
//! fields for each reference, in a container of its own.

use onehop_model::{Field, FieldKind, ItemType, Model, TypeOf};
use onehop_store::{ContainerName, ContainerSpec, interned, interned_list, property_of_path};

use super::item_types::ItemTypes;
use super::model_error::ModelError;
use super::relations::{element_id, is_followed, list_by};
use crate::rule::{ElementFields, Keep, ListPartition, ListRule, Rule};

/// The property of an entry with the id of the source, its partition key.
const SOURCE_ID: &str = "sourceId";

/// The references of a type in an array or object, along which copies follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackReferences<'a> {
    pub(super) item: &'a ItemType,
    /// The path of the foreign key, as `array[].field`.
    pub(super) by: &'static str,
    /// The name of the list and its container.
    pub(super) name: &'static str,
}

/// All references in arrays and objects whose copies no list of the model finds.
pub(super) fn back_references(model: &Model) -> Result<Vec<BackReferences<'_>>, ModelError> {
    let mut found: Vec<BackReferences<'_>> = Vec::new();
    for item in model.items() {
        for field in &item.fields {
            for by in followed_paths(model, item, field) {
                let path = by.replace("[].", "-").replace('/', "-");
                let name = interned(&format!("{}-{path}", item.type_value))?;
                found.push(BackReferences { item, by: interned(&by)?, name });
            }
        }
    }
    Ok(found)
}

/// The paths of foreign keys in a field of an item, along which copies follow.
fn followed_paths(model: &Model, item: &ItemType, field: &Field) -> Vec<String> {
    let Some(root) = field.property().map(|path| property_of_path(path.properties())) else {
        return Vec::new();
    };
    if let FieldKind::Reference(reference) = &field.kind {
        let is_found = field.ty.list.is_none() || list_by(model, item, &field.name).is_some();
        let follows = !is_found && is_followed(&item.fields, &field.name, reference);
        return follows.then(|| format!("{root}[].id")).into_iter().collect();
    }
    let TypeOf::Embedded(name) = &field.ty.of else { return Vec::new() };
    let embedded = model.embedded_type(name).map_or(&[][..], |embedded| &embedded.fields);
    let followed = embedded.iter().filter_map(|inner| match &inner.kind {
        FieldKind::Reference(to) if inner.ty.list.is_none() && is_followed(embedded, &inner.name, to) => {
            Some(format!("{root}[].{}", to.property.last()))
        }
        _ => None,
    });
    followed.collect()
}

/// The list with an entry for each of these references.
pub(super) fn list_of(model: &Model, item: &ItemType, by: &str) -> Result<Option<&'static str>, ModelError> {
    let found = back_references(model)?;
    Ok(found.iter().find(|found| found.item.name == item.name && found.by == by).map(|found| found.name))
}

/// The lists that follow from copies in arrays and objects.
pub(super) fn rules(model: &Model, types: &ItemTypes) -> Vec<Result<Rule, ModelError>> {
    match back_references(model) {
        Ok(found) => found.iter().map(|found| found.rule(types)).collect(),
        Err(error) => vec![Err(error)],
    }
}

impl BackReferences<'_> {
    /// The container of the entries.
    pub(super) fn container_spec(&self) -> Result<ContainerSpec, ModelError> {
        Ok(ContainerSpec {
            name: ContainerName(self.name),
            partition_key: SOURCE_ID,
            order_by: None,
            orders: &[],
            ttl_s: None,
            equality: interned_list(&[element_id(self.item)?])?,
            newest_types: &[],
            soft_deletes: false,
        })
    }

    fn rule(&self, types: &ItemTypes) -> Result<Rule, ModelError> {
        let source = types.get(&self.item.name)?.clone();
        let fields = source.partition.fields_of_entries().collect();
        let element = ElementFields { partition_key: SOURCE_ID, id: element_id(self.item)? };
        let rule = ListRule {
            name: self.name,
            entry_type: source.name,
            source,
            container: ContainerName(self.name),
            order_by: None,
            partition: ListPartition::Element(self.by),
            fields,
            unless_zero: Vec::new(),
            optional: Vec::new(),
            computed: Vec::new(),
            defaults: Vec::new(),
            element: Some(element),
            key_field: None,
            immutable_partition: false,
            entry_changes: None,
            conditions: Vec::new(),
            keep: Keep::All,
            is_counted: false,
        };
        Ok(Rule::List(rule.into()))
    }
}
