//! Inference: item types, ids and references of data files.

use std::path::{Path, PathBuf};

use super::names::{capital, field_name, plural, small, type_name};
use super::shapes::Shape;
use crate::data::for_each_line;
use crate::directory::StudyErrors;

/// The share of a property's values that are ids of a type, from which on it is a reference.
const REFERENCE_SHARE: f64 = 0.9;
/// Values of a property with few values.
const FEW_VALUES: usize = 20;
/// Properties that the service or the model writes.
const SYSTEM_PROPERTIES: [&str; 9] =
    ["_rid", "_self", "_etag", "_attachments", "_ts", "type", "version", "deleted", "ttl"];

/// An item type that was found.
#[derive(Debug, Clone)]
pub(super) struct FoundType {
    pub name: String,
    pub file: PathBuf,
    pub items: u64,
    /// The property of the id.
    pub id: String,
    pub fields: Vec<FoundField>,
}

/// A field that was found.
#[derive(Debug, Clone)]
pub(super) struct FoundField {
    pub name: String,
    pub property: String,
    pub shape: Shape,
    /// Whether every item has it.
    pub is_required: bool,
    /// The type that it refers to.
    pub target: Option<String>,
    /// The frequent value of a property with few values.
    pub frequent: Option<String>,
}

impl FoundType {
    /// The field by which people know an item.
    pub fn label(&self) -> Option<&FoundField> {
        let texts = || {
            self.fields
                .iter()
                .filter(|field| field.target.is_none() && field.shape.scalar() == Some("String"))
        };
        let named = ["name", "title", "label", "username", "email"];
        let by_name = named.iter().find_map(|name| texts().find(|field| field.name == *name));
        by_name.or_else(|| texts().find(|field| field.is_required))
    }

    /// The field by which lists are ordered.
    pub fn order(&self) -> Option<&FoundField> {
        self.fields.iter().find(|field| field.shape.scalar() == Some("DateTime") && field.is_required)
    }

    /// The references.
    pub fn references(&self) -> impl Iterator<Item = (&FoundField, &str)> {
        self.fields.iter().filter_map(|field| Some((field, field.target.as_deref()?)))
    }

    /// The field of a target with these items: `orders`, or `ordersByBuyer` for a second reference.
    pub fn reverse_name(&self, reference: &FoundField) -> String {
        let plain = small(&plural(&self.name));
        let target = reference.target.as_deref().unwrap_or_default();
        let first = self.references().find(|(_, known)| *known == target).map(|(field, _)| &field.name);
        if first == Some(&reference.name) { plain } else { format!("{plain}By{}", capital(&reference.name)) }
    }
}

/// The types of the files, with references between them.
pub(super) fn infer(files: &[PathBuf], errors: &mut StudyErrors) -> Vec<FoundType> {
    let shapes: Vec<(PathBuf, Shape)> =
        files.iter().map(|file| (file.clone(), shape_of(file, errors))).collect();
    if !errors.is_empty() {
        return Vec::new();
    }
    let mut types: Vec<FoundType> =
        shapes.iter().filter_map(|(file, shape)| found_type(file, shape, errors)).collect();
    for (number, ty) in types.iter().enumerate() {
        if types[..number].iter().any(|known| known.name == ty.name) {
            let file = ty.file.display().to_string();
            errors.add(
                &file,
                None,
                format!("a second file gives the type {}; other file names are expected", ty.name),
            );
        }
    }
    let ids: Vec<(String, Shape)> = types
        .iter()
        .zip(&shapes)
        .filter_map(|(ty, (_, shape))| Some((ty.name.clone(), shape.properties.get(&ty.id)?.clone())))
        .collect();
    for ty in &mut types {
        let own = ty.name.clone();
        for field in &mut ty.fields {
            field.target = target(&own, field, &ids);
            if field.target.is_some() {
                field.name = reference_name(&field.property);
                field.frequent = None;
            }
        }
    }
    types
}

fn shape_of(file: &Path, errors: &mut StudyErrors) -> Shape {
    let mut shape = Shape::default();
    let name = file.display().to_string();
    for_each_line(Path::new(""), &name, errors, |line, _| {
        shape.add(line, 0);
        Ok(())
    });
    if shape.objects == 0 && errors.is_empty() {
        errors.add(&name, None, "the file has no line; one JSON object a line is expected");
    }
    shape
}

fn found_type(file: &Path, shape: &Shape, errors: &mut StudyErrors) -> Option<FoundType> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = type_name(&stem);
    let is_id = |property: &str| {
        shape
            .properties
            .get(property)
            .is_some_and(|found| found.present == shape.objects && found.is_unique())
    };
    let known =
        ["id".to_owned(), "_id".to_owned(), format!("{}Id", small(&name)), format!("{}_id", small(&name))];
    let id = known.into_iter().find(|property| is_id(property));
    let id = id.or_else(|| shape.properties.keys().find(|property| is_id(property)).cloned());
    let Some(id) = id else {
        errors.add(
            &file.display().to_string(),
            None,
            "no property identifies an item: an `id` without repeated values is expected",
        );
        return None;
    };
    let is_field = |property: &&String| **property != id && !SYSTEM_PROPERTIES.contains(&property.as_str());
    let fields = shape.properties.iter().filter(|(property, _)| is_field(property));
    let field = |(property, found): (&String, &Shape)| FoundField {
        name: field_name(property),
        property: property.clone(),
        is_required: found.present == shape.objects,
        target: None,
        frequent: found.frequent_of_few(FEW_VALUES).map(str::to_owned),
        shape: found.clone(),
    };
    let mut fields: Vec<FoundField> = fields.map(field).filter(|field| field.name != "id").collect();
    fields.dedup_by(|one, other| one.name == other.name);
    Some(FoundType { name, file: file.to_owned(), items: shape.objects, id, fields })
}

/// The type whose ids a property has: by its name, or because its texts are ids.
fn target(own: &str, field: &FoundField, ids: &[(String, Shape)]) -> Option<String> {
    if !field.shape.is_key_like() {
        return None;
    }
    let is_named = |ty: &str| {
        let reference = reference_name(&field.property).to_lowercase();
        reference.ends_with(&ty.to_lowercase()) && field.property.to_lowercase() != ty.to_lowercase() + "name"
    };
    let within = ids.iter().filter(|(_, ids)| field.shape.share_within(ids) >= REFERENCE_SHARE);
    let mut within: Vec<&(String, Shape)> = within.collect();
    within.sort_by_key(|(ty, _)| !is_named(ty));
    // Small numbers are ids of every type with numbers.
    let has_texts = field.shape.texts == field.shape.present;
    let found = within
        .into_iter()
        .find(|(ty, _)| is_named(ty) || (has_texts && ty != own && !field.shape.is_unique()));
    found.map(|(ty, _)| ty.clone())
}

/// `customerId`, `customer_id` and `customer` give `customer`.
fn reference_name(property: &str) -> String {
    let name = field_name(property);
    let stem = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID")).filter(|stem| !stem.is_empty());
    stem.map_or(name.clone(), str::to_owned)
}
