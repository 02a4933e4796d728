//! Copy rules of a model: `@copy` on references and on scalars, grouped by the copied field.

use onehop_model::{
    Action, CopyOrigin, CountField, Field, FieldKind, ItemType, Kept, KeySource, Model, Mutation, Name,
    TypeOf,
};
use onehop_store::interned;
use serde_json::Value;

use super::back_references::list_of;
use super::conditions::stored_values;
use super::item_types::{ItemTypes, property, root_property};
use super::model_error::ModelError;
use super::projection_names::ProjectionNames;
use super::relations::{copied, key_properties, list_by};
use crate::item_type::{ID, ItemPartition};
use crate::rule::{CopyMode, CopyRule, CopyTarget, Rule};

const COPY: &str = "@copy";

/// One copy that a model declares.
struct DeclaredCopy<'a> {
    /// The type of item that carries it.
    item: &'a ItemType,
    /// `Type.field`.
    place: String,
    /// The array of the item in whose elements it is.
    array: Option<&'a Field>,
    /// The reference to the source; `None` where the command finds it otherwise.
    reference: Option<&'a Field>,
    source: &'a Name,
    field: &'a Name,
    /// The property of the copy, in the item or in each element.
    property: &'a onehop_model::PropertyPath,
    frozen: bool,
}

/// The copy rules, in the order in which their first targets are declared.
pub(super) fn rules(
    model: &Model,
    types: &ItemTypes,
    names: &ProjectionNames,
) -> Vec<Result<Rule, ModelError>> {
    let mut groups: Vec<CopyGroup<'_>> = Vec::new();
    for copy in model.items().iter().flat_map(|item| declared(model, item)) {
        let is_same = |group: &&mut CopyGroup<'_>| {
            (group.source, group.field, group.frozen) == (copy.source, copy.field, copy.frozen)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.copies.push(copy),
            None => groups.push(CopyGroup {
                source: copy.source,
                field: copy.field,
                frozen: copy.frozen,
                place: copy.place.clone(),
                copies: vec![copy],
            }),
        }
    }
    groups.iter().map(|group| group.rule(model, types, names)).collect()
}

/// The copies of one field.
struct CopyGroup<'a> {
    source: &'a Name,
    field: &'a Name,
    frozen: bool,
    /// `Type.field` of the first copy.
    place: String,
    copies: Vec<DeclaredCopy<'a>>,
}

impl CopyGroup<'_> {
    fn rule(&self, model: &Model, types: &ItemTypes, names: &ProjectionNames) -> Result<Rule, ModelError> {
        let Self { source, field, frozen, place, copies } = self;
        let path = model.item(source).and_then(|item| item.field(field)).and_then(Field::property);
        let path = path.ok_or_else(|| {
            ModelError::unsupported(place, COPY, format!("`{source}.{field}` is not stored in its items"))
        })?;
        let source_type = types.get(source)?.clone();
        // A count has a projection of its own, with the name of its field.
        let is_count = model.item(source).and_then(|item| item.field(field)).is_some_and(is_kept_behind);
        let name = format!("{source}.{field}{}", if is_count { ".copies" } else { "" });
        // A frozen copy has no projection.
        let name = if *frozen { format!("{name}.frozen") } else { names.of_copy(&name) };
        let rule = CopyRule {
            name: interned(&name)?,
            source: source_type,
            field: property(path)?,
            targets: copies.iter().map(|copy| target(model, types, names, copy)).collect::<Result<_, _>>()?,
            mode: if *frozen { CopyMode::Frozen } else { CopyMode::Follows },
            absent: absent(model, source, field),
            deletes_sources: model.item(source).is_some_and(|item| is_deleted_by_clients(model, item)),
        };
        Ok(Rule::Copy(rule.into()))
    }
}

/// Whether a projection keeps the field, a count.
fn is_kept_behind(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Count(CountField { kept: Kept::Behind { .. }, .. }))
}

/// Whether generated mutations delete the items of a type, or its items expire.
fn is_deleted_by_clients(model: &Model, item: &ItemType) -> bool {
    let by_mutation = |mutation: &Mutation| {
        mutation.item_type == item.name && mutation.action == Action::Delete && !mutation.rust
    };
    item.writes.contains(&Action::Delete) || model.expires(item) || model.mutations().iter().any(by_mutation)
}

/// The value of copies where a source has no such field: null, or a default that items do not store.
fn absent(model: &Model, source: &Name, field: &Name) -> Option<Value> {
    let field = model.item(source)?.field(field)?;
    let default = match &field.kind {
        FieldKind::Stored(stored) => stored.default.as_ref(),
        _ => None,
    };
    match default {
        Some(default) if default.sparse => stored_values(model, field, &default.value).into_iter().next(),
        Some(_) => None,
        None => (!field.ty.non_null).then_some(Value::Null),
    }
}

/// Whether the copies of a rule follow their source.
pub(super) fn follows(rule: &Rule) -> bool {
    matches!(rule, Rule::Copy(copy) if copy.mode == CopyMode::Follows)
}

/// The copies that the items of a type carry, in the order of its fields.
fn declared<'a>(model: &'a Model, item: &'a ItemType) -> Vec<DeclaredCopy<'a>> {
    let mut copies = declared_in(item, &item.name, &item.fields, None);
    for array in &item.fields {
        let TypeOf::Embedded(name) = &array.ty.of else { continue };
        let Some(embedded) = model.embedded_type(name) else { continue };
        copies.extend(declared_in(item, &embedded.name, &embedded.fields, Some(array)));
    }
    copies
}

fn declared_in<'a>(
    item: &'a ItemType,
    owner: &Name,
    fields: &'a [Field],
    array: Option<&'a Field>,
) -> Vec<DeclaredCopy<'a>> {
    let mut copies = Vec::new();
    for field in fields {
        let place = format!("{owner}.{}", field.name);
        if let FieldKind::Reference(reference) = &field.kind {
            copies.extend(reference.copies.iter().map(|copy| DeclaredCopy {
                item,
                place: place.clone(),
                array,
                reference: Some(field),
                source: &reference.target,
                field: &copy.field,
                property: &copy.property,
                frozen: reference.frozen,
            }));
        }
        let (Some(copied), Some(property)) = (copied(field), field.property()) else { continue };
        let (reference, source, of) = match &copied.from {
            CopyOrigin::Type { item_type, field } => (None, item_type, field),
            CopyOrigin::Reference { reference, field: of } => {
                let reference = fields.iter().find(|field| field.name == *reference);
                let Some(FieldKind::Reference(to)) = reference.map(|field| &field.kind) else { continue };
                (reference, &to.target, of)
            }
        };
        copies.push(DeclaredCopy {
            item,
            place,
            array,
            reference,
            source,
            field: of,
            property,
            frozen: copied.frozen,
        });
    }
    copies
}

fn target(
    model: &Model,
    types: &ItemTypes,
    names: &ProjectionNames,
    copy: &DeclaredCopy<'_>,
) -> Result<CopyTarget, ModelError> {
    let item_type = types.get(&copy.item.name)?;
    let in_elements = |path: &str, elements: &Field| -> Result<&'static str, ModelError> {
        let array = elements.property().map(property).transpose()?.unwrap_or_default();
        Ok(interned(&format!("{array}[].{path}"))?)
    };
    let reference_list = copy.reference.filter(|reference| reference.ty.list.is_some());
    let key = copy.reference.and_then(Field::property);
    let (field, by) = match (copy.array, reference_list) {
        (Some(array), None) => {
            let of_element = |path| in_elements(root_property(&copy.place, path)?, array);
            (of_element(copy.property)?, key.map(of_element).transpose()?.unwrap_or_default())
        }
        (Some(_), _) => {
            let reason = "a list of references in an embedded type has no copies";
            return Err(ModelError::unsupported(&copy.place, COPY, reason));
        }
        (None, Some(list)) => (in_elements(copy.property.last(), list)?, in_elements(ID, list)?),
        (None, None) => {
            let by = key.map(|key| root_property(&copy.place, key)).transpose()?;
            (property(copy.property)?, by.unwrap_or_default())
        }
    };
    let is_optional = copy.reference.is_some_and(|reference| !reference.ty.non_null);
    let target = CopyTarget { is_optional, ..CopyTarget::new(item_type, field, by) };
    if copy.frozen {
        return Ok(target);
    }
    let source_key = source_key(model, types, copy)?;
    let target = CopyTarget { source_key, ..target };
    let target = CopyTarget { catch_up: interned(&names.of_catch_up(&copy.item.container))?, ..target };
    let list = match (copy.array, reference_list) {
        (None, None) => return Ok(target),
        (None, Some(references)) => list_by(model, copy.item, &references.name).map(interned).transpose()?,
        (Some(_), _) => None,
    };
    let list = match list {
        Some(list) => Some(list),
        None => list_of(model, copy.item, by)?,
    };
    match list {
        Some(list) => Ok(target.through(list)),
        None => Err(ModelError::unsupported(&copy.place, COPY, "nothing finds the copies by their source")),
    }
}

/// The properties of an item that hold the partition key of a copy's source; `None` where it is the id or
/// constant.
fn source_key(
    model: &Model,
    types: &ItemTypes,
    copy: &DeclaredCopy<'_>,
) -> Result<Option<&'static str>, ModelError> {
    let source = model.item(copy.source);
    let (Some(source), Some(field)) = (source, copy.reference) else { return Ok(None) };
    let FieldKind::Reference(reference) = &field.kind else { return Ok(None) };
    if !matches!(types.get(copy.source)?.partition, ItemPartition::Field(_)) {
        return Ok(None);
    }
    // The fields beside the reference: of the item, or of the object in it. The ids of a list are elements.
    let fields = match copy.array.map(|array| &array.ty.of) {
        Some(TypeOf::Embedded(name)) => model.embedded_type(name).map_or(&[][..], |found| &found.fields),
        _ => &copy.item.fields,
    };
    let paths = key_properties(source, reference, fields).ok_or_else(|| {
        let reason = "a copy needs the fields of its source's partition key beside the reference";
        ModelError::unsupported(&copy.place, COPY, reason)
    })?;
    let mut properties = Vec::new();
    for (part, path) in source.key.iter().zip(paths) {
        let is_of_element = copy.array.is_some() || *part == KeySource::Id && field.ty.list.is_some();
        let property = match *part {
            KeySource::Id if field.ty.list.is_some() => ID,
            _ => root_property(&copy.place, path)?,
        };
        properties.push(if is_of_element { format!("[].{property}") } else { property.to_owned() });
    }
    Ok(Some(interned(&properties.join("/"))?))
}
