//! Inference: item types, their ids, and their fields from data files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::composite_ids::{composite_id, has_sort_key};
use super::names::{
    PARTITION_KEYS, capital, field_name, is_count_name, is_id_name, is_id_of, is_path, name_match,
    plain_letters, plural, small,
};
use super::shapes::{ID_BYTES_MAX, ID_PROPERTIES, Shape, TimeForm};
use super::sources::{Source, read_sources};
use crate::data::SYSTEM_PROPERTIES;
use crate::directory::StudyErrors;

/// Values of a property with few values.
pub(super) const FEW_VALUES: usize = 20;
/// Bytes of a text by which people know an item, in the mean.
const LABEL_BYTES_MAX: u64 = 60;
/// The share of a property's values that are ids of a type, from which on it is a reference.
pub(super) const REFERENCE_SHARE: f64 = 0.9;
/// A value with this share of the items is a hot spot.
pub(super) const HOT_SHARE: f64 = 0.1;
/// Properties that a model writes, so that a field has another name.
const MODEL_PROPERTIES: [&str; 4] = ["type", "version", "deleted", "ttl"];

/// Names of texts by which people know an item.
const LABELS: [&str; 5] = ["name", "title", "label", "username", "email"];
/// Names of ids beside those that end as one.
const KEYS: [&str; 8] = ["uuid", "guid", "key", "code", "sku", "isbn", "ean", "slug"];

/// An item type that was found.
#[derive(Debug, Clone)]
pub(super) struct FoundType {
    pub name: String,
    pub file: PathBuf,
    /// In a file with several types: the property with the type, and its value.
    pub condition: Option<(String, String)>,
    pub items: u64,
    pub id: FoundId,
    /// The values of the id.
    pub ids: Shape,
    pub fields: Vec<FoundField>,
}

/// The id of the items of a type.
#[derive(Debug, Clone)]
pub(super) enum FoundId {
    Property(String),
    /// Two properties, whose values are unique together.
    Pair([String; 2]),
    /// Items are numbered.
    Number,
}

impl FoundId {
    /// The property that is the id.
    pub fn property(&self) -> Option<&str> {
        match self {
            Self::Property(property) => Some(property),
            Self::Pair(_) | Self::Number => None,
        }
    }
}

/// A field that was found.
#[derive(Debug, Clone)]
pub(super) struct FoundField {
    pub name: String,
    pub property: String,
    pub shape: Shape,
    /// Whether every item has it.
    pub is_required: bool,
    pub time: Option<TimeForm>,
    /// The type that it refers to.
    pub target: Option<String>,
    /// The frequent value of a property with few values.
    pub frequent: Option<String>,
}

impl FoundField {
    /// Whether it is a list of references.
    pub fn is_list(&self) -> bool {
        self.shape.arrays > 0
    }

    /// Whether one value has a large share of the items.
    pub fn is_hot(&self) -> bool {
        self.shape.largest_share() > HOT_SHARE
    }
}

impl FoundType {
    /// The field by which people know an item.
    pub fn label(&self) -> Option<&FoundField> {
        let is_short = |field: &&FoundField| field.shape.text_bytes <= LABEL_BYTES_MAX * field.shape.texts;
        let texts = || {
            let texts = self.fields.iter().filter(|field| field.target.is_none() && field.time.is_none());
            texts.filter(|field| field.shape.has_texts()).filter(is_short)
        };
        let by_name = LABELS.iter().find_map(|name| texts().find(|field| field.name == *name));
        let ends =
            |field: &&FoundField| ["Name", "Title", "Label"].iter().any(|end| field.name.ends_with(end));
        let has_many = |field: &&FoundField| {
            field.is_required
                && field.shape.different_values() > FEW_VALUES.min(self.items as usize / 2) as f64
        };
        by_name.or_else(|| texts().find(ends)).or_else(|| texts().find(has_many))
    }

    /// The field by which lists are ordered: the time of creation, else another one that every item has.
    pub fn order(&self) -> Option<&FoundField> {
        let rank = |field: &FoundField| {
            const FIRST: [&str; 9] =
                ["creat", "open", "placed", "start", "admit", "sent", "posted", "order", "begin"];
            const LAST: [&str; 9] =
                ["updat", "modif", "due", "expir", "birth", "end", "clos", "discharg", "finish"];
            let name = field.name.to_lowercase();
            match &name {
                _ if FIRST.iter().any(|word| name.contains(word)) => 0,
                _ if LAST.iter().any(|word| name.contains(word)) => 2,
                _ => 1,
            }
        };
        let times = self.fields.iter().filter(|field| field.time.is_some() && field.is_required);
        times.min_by_key(|field| rank(field))
    }

    /// The references.
    pub fn references(&self) -> impl Iterator<Item = (&FoundField, &str)> {
        self.fields.iter().filter_map(|field| Some((field, field.target.as_deref()?)))
    }

    /// Whether a field refers to a type, also within embedded objects.
    pub fn refers_to(&self, ty: &str) -> bool {
        self.fields.iter().any(|field| field.target.as_deref() == Some(ty) || field.shape.refers_to(ty))
    }

    /// The field of a target with these items: `orders`, or `ordersByBuyer` for a second reference or where
    /// the target has a field of this name.
    pub fn reverse_name(&self, types: &[FoundType], reference: &FoundField) -> String {
        let plain = small(&plural(&self.name));
        let target = reference.target.as_deref().unwrap_or_default();
        let first = self.references().find(|(_, known)| *known == target).map(|(field, _)| &field.name);
        let owner = types.iter().find(|ty| ty.name == target);
        let is_free = owner.is_some_and(|owner| owner.fields.iter().all(|field| field.name != plain));
        if first == Some(&reference.name) && is_free {
            plain
        } else {
            format!("{plain}By{}", capital(&reference.name))
        }
    }
}

/// The label of the type of this name.
pub(super) fn label_of<'t>(types: &'t [FoundType], name: &str) -> Option<&'t FoundField> {
    types.iter().find(|ty| ty.name == name).and_then(FoundType::label)
}

/// The types of the files, without references.
pub(super) fn infer(files: &[PathBuf], errors: &mut StudyErrors) -> Vec<FoundType> {
    let sources = read_sources(files, errors);
    if !errors.is_empty() {
        return Vec::new();
    }
    let ids = ids_of(&sources).into_iter();
    let ids = ids.zip(&sources).map(|(id, source)| match id {
        Some(id) if !LABELS.contains(&id.as_str()) || !has_sort_key(&source.shape) => FoundId::Property(id),
        label => {
            let other = || label.map_or(FoundId::Number, FoundId::Property);
            composite_id(source, errors).map_or_else(other, FoundId::Pair)
        }
    });
    sources.iter().zip(ids.collect::<Vec<_>>()).map(|(source, id)| found_type(source, id)).collect()
}

/// The property of the id of each type: of several that no two items share, one by which other types refer to
/// it, such as the code of a country.
fn ids_of(sources: &[Source]) -> Vec<Option<String>> {
    let id = |(number, source): (usize, &Source)| {
        let Source { name: ty, shape, .. } = source;
        let own = id_of(ty, shape)?;
        let others = || sources.iter().enumerate().filter(move |(other, _)| *other != number);
        let is_referred_to = |id: &str, ids: &Shape| {
            let properties = others()
                .flat_map(|(_, other)| other.shape.properties.iter().map(move |found| (other, found)));
            properties.into_iter().any(|(other, (property, found))| {
                let is_array = found.elements.is_some() && found.arrays == found.present;
                let values = found.elements.as_deref().filter(|_| is_array).unwrap_or(found);
                // `account_id` of an account is no reference to items that have it, too.
                let is_own = name_match(property, &other.name).is_some();
                let has_same_name = is_id_of(property, id) && !is_own;
                values.is_key_like()
                    && (has_same_name || !values.is_unique())
                    && (values.has_texts() || is_array || !is_count_name(property))
                    && (name_match(property, ty).is_some() || has_same_name)
                    && values.share_within(ids) >= REFERENCE_SHARE
            })
        };
        if shape.properties.get(&own).is_some_and(|ids| is_referred_to(&own, ids)) {
            return Some(own);
        }
        let is_key = |key: &(&String, &Shape)| is_short_text(key) || is_id_name(key.0);
        let mut natural = unique_properties(shape).into_iter().filter(is_key);
        let found = natural.find(|(id, ids)| is_referred_to(id, ids)).map(|(property, _)| property.clone());
        found.or(Some(own))
    };
    sources.iter().enumerate().map(id).collect()
}

fn found_type(source: &Source, found_id: FoundId) -> FoundType {
    let Source { name, file, condition, shape } = source;
    let id = found_id.property();
    let has_own_id = id.is_some_and(|id| ID_PROPERTIES.contains(&id));
    // A partition key that has the id: each design has a key of its own.
    let is_key_with_id = |property: &str, found: &Shape| {
        has_own_id
            && found.same_as_id == shape.objects
            && (is_id_name(property) || PARTITION_KEYS.contains(&plain_letters(property).as_str()))
    };
    let is_field = |(property, found): &(&String, &Shape)| {
        // Beside a natural id, the property `id` is left out: items store their id there.
        Some(property.as_str()) != id
            && !ID_PROPERTIES.contains(&property.as_str())
            && condition.as_ref().is_none_or(|(of_types, _)| *of_types != **property)
            && !SYSTEM_PROPERTIES.contains(&property.as_str())
            && !is_key_with_id(property, found)
            && is_path(property)
    };
    let mut names = BTreeSet::from(["id".to_owned()]);
    let mut fields = Vec::new();
    for (property, found) in shape.properties.iter().filter(is_field) {
        let mut field = field_name(property);
        if MODEL_PROPERTIES.contains(&field.as_str()) || field == "id" {
            field = format!("{}{}", small(name), capital(&field));
        }
        // Headings without letters of ASCII have no names of their own.
        let (plain, mut number) = (field.clone(), 1);
        while names.contains(&field) || (field != *property && shape.properties.contains_key(&field)) {
            number += 1;
            field = format!("{plain}{number}");
        }
        names.insert(field.clone());
        fields.push(FoundField {
            name: field,
            property: property.clone(),
            is_required: found.present == shape.objects,
            time: found.time(property),
            target: None,
            frequent: found.frequent_of_few(FEW_VALUES).map(str::to_owned),
            shape: found.clone(),
        });
    }
    let ids = id.and_then(|id| shape.properties.get(id)).cloned().unwrap_or_default();
    let (name, file, condition) = (name.clone(), file.clone(), condition.clone());
    FoundType { name, file, condition, items: shape.objects, id: found_id, ids, fields }
}

/// The properties that all items have and no two share.
fn unique_properties(shape: &Shape) -> Vec<(&String, &Shape)> {
    let properties = shape.properties.iter();
    properties.filter(|(_, found)| found.present == shape.objects && found.is_unique()).collect()
}

fn is_short_text((property, found): &(&String, &Shape)) -> bool {
    found.has_texts() && found.time(property).is_none() && found.text_bytes <= ID_BYTES_MAX * found.texts
}

/// The property of the id: by its name, else a short text that no two items share.
fn id_of(ty: &str, shape: &Shape) -> Option<String> {
    let ids = unique_properties(shape);
    let named =
        |is: &dyn Fn(&str) -> bool| ids.iter().find(|(property, _)| is(property)).map(|found| found.0);
    let plain = plain_letters;
    let own = ty.to_lowercase();
    let of_type = |property: &str| {
        let property = plain(property);
        property
            .strip_prefix(&own)
            .is_some_and(|rest| ["id", "key", "code", "no", "number", "uuid"].contains(&rest))
    };
    let text = |found: &&(&String, &Shape)| is_short_text(found);
    let found = named(&|property| property == "id")
        .or_else(|| named(&|property| plain(property) == "id"))
        .or_else(|| named(&|property| of_type(property)))
        .or_else(|| named(&|property| is_id_name(property) && name_match(property, ty).is_some()))
        .or_else(|| named(&|property| KEYS.contains(&plain(property).as_str())))
        .or_else(|| named(&|property| is_id_name(property)))
        .or_else(|| {
            ids.iter().filter(text).find(|found| !LABELS.contains(&found.0.as_str())).map(|found| found.0)
        })
        .or_else(|| ids.iter().find(text).map(|found| found.0));
    found.cloned()
}
