//! Survey: one pass over the data files with samples of each type and sketches of its groupings.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use onehop_model::{FieldKind, ItemType, KeySource, Model, Name, QueryKind, RelatedField, RelatedSource};
use serde_json::Value;

use super::embedded::embedded_references;
use super::group_sketch::GroupSketch;
use super::identity::identify;
use super::items::{ItemRefusal, for_each_item};
use super::visible::VisibleType;
use super::{SAMPLE_BYTES_MAX, SAMPLED_ITEMS_MAX, key_text, sample_hash};
use crate::directory::{StudyDirectory, StudyErrors};

/// The names of properties without a field that are kept for a type.
const UNKNOWN_PROPERTIES_MAX: usize = 20;

/// Properties that the service writes, which no design has.
pub(crate) const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// Bytes between two reports of progress.
const PROGRESS_BYTES: u64 = 16 * 1024 * 1024;

/// Fields whose values group the items of a type.
pub type Grouping = Vec<String>;

/// The groupings of a survey, by type; `true`: with samples of each group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurveySpec {
    /// By the name of the type.
    pub groupings: BTreeMap<String, BTreeMap<Grouping, bool>>,
}

/// The progress of a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurveyProgress<'a> {
    /// The file that is being read, or was read last.
    pub file: &'a str,
    /// Items of its type so far.
    pub items: u64,
    /// Bytes of all files so far.
    pub bytes: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
}

/// The data of a study.
#[derive(Debug, Default)]
pub struct DataSurvey {
    /// By the name of the type.
    pub types: BTreeMap<String, TypeSurvey>,
    /// Types whose number of items does not grow with the data.
    pub fixed: BTreeSet<String>,
}

/// The items of one type.
#[derive(Debug, Default)]
pub struct TypeSurvey {
    /// All items.
    pub items: u64,
    /// Bytes of their lines.
    pub bytes: u64,
    /// Bytes of the longest line.
    pub bytes_max: u64,
    /// A sample by the hash of the id: the id and the item with the names of fields.
    pub sample: Vec<(String, Value)>,
    /// The places in the sample of the items that requests are about; all where it is empty.
    pub subjects: Vec<usize>,
    /// The groupings.
    pub groups: BTreeMap<Grouping, GroupSketch>,
    /// Properties that no field has, with the number of lines.
    pub unknown: BTreeMap<String, u64>,
}

impl SurveySpec {
    /// The groupings that plans and containers of the designs need.
    #[must_use]
    pub fn of_designs(study: &StudyDirectory) -> Self {
        let mut spec = Self::default();
        for design in &study.designs {
            spec.add_design(&design.model);
        }
        spec
    }

    /// Adds a grouping.
    pub fn add(&mut self, ty: &str, fields: impl IntoIterator<Item = impl ToString>, keeps_items: bool) {
        let fields: Grouping = fields.into_iter().map(|field| field.to_string()).collect();
        if !fields.is_empty() && fields != ["id"] {
            *self.groupings.entry(ty.to_owned()).or_default().entry(fields).or_default() |= keeps_items;
        }
    }

    fn add_design(&mut self, model: &Model) {
        for item in model.items() {
            self.add(&item.name, key_fields(item), false);
            for found in embedded_references(model, item) {
                if !found.reference.copies.is_empty() {
                    self.add(&item.name, [found.name()], true);
                }
            }
            for field in &item.fields {
                match &field.kind {
                    FieldKind::Related(related) => self.add_related(related),
                    // The targets of a copy are found by the reference.
                    FieldKind::Reference(reference) if !reference.copies.is_empty() => {
                        self.add(&item.name, [&field.name], true);
                    }
                    _ => {}
                }
            }
        }
        for query in model.queries() {
            if let QueryKind::Related(related) = &query.kind {
                self.add_related(related);
            }
        }
    }

    fn add_related(&mut self, related: &RelatedField) {
        match &related.source {
            RelatedSource::Partition { by } => self.add(&related.item_type, by, true),
            RelatedSource::Find { by: Some(by), through: None } => self.add(&related.item_type, [by], true),
            RelatedSource::Find { by: Some(by), through: Some(link) } => {
                self.add(&link.item_type, [by], true)
            }
            RelatedSource::Find { by: None, .. } => {}
            RelatedSource::List(list) => self.add(&related.item_type, &list.by, true),
        }
    }
}

/// The fields that fill the partition key of a type's container.
pub(crate) fn key_fields(item: &ItemType) -> Vec<Name> {
    let field = |source: &KeySource| match source {
        KeySource::Field(field) => Some(field.clone()),
        KeySource::Id => item.field("id").map(|id| id.name.clone()),
        KeySource::Type => None,
    };
    item.key.iter().filter_map(field).collect()
}

impl DataSurvey {
    /// Reads the data files of each type once. `progress` is called every 16 MiB and after each file, and can
    /// stop it.
    ///
    /// # Errors
    /// Lines that are no items, files that cannot be read, and a stop.
    pub fn read(
        study: &StudyDirectory,
        spec: &SurveySpec,
        progress: &mut dyn FnMut(&SurveyProgress<'_>) -> ControlFlow<()>,
    ) -> Result<Self, StudyErrors> {
        let mut errors = StudyErrors::default();
        let mut types = BTreeMap::new();
        let files = study.settings.data.values().flatten();
        let size = |file: &String| std::fs::metadata(study.path.join(file)).map_or(0, |found| found.len());
        let bytes_total = files.map(size).sum();
        let (mut bytes_read, mut reported, mut is_stopped) = (0, 0, false);
        for (name, files) in &study.settings.data {
            let Some(visible) = VisibleType::of(name, &study.designs) else { continue };
            let groupings = spec.groupings.get(name).cloned().unwrap_or_default();
            let mut sampler = Sampler::new(visible, groupings);
            let id = study.settings.ids.get(name);
            let condition = study.settings.conditions.get(name);
            sampler.known.extend(condition.into_iter().flat_map(BTreeMap::keys).cloned());
            let is_of_type = |item: &Value| {
                condition.into_iter().flatten().all(|(property, expected)| {
                    item.get(property).and_then(key_text).is_some_and(|found| found == *expected)
                })
            };
            for file in files {
                for_each_item(&study.path, file, &mut errors, |mut item, bytes| {
                    if is_of_type(&item) {
                        if let Some(properties) = id {
                            identify(&mut item, properties, sampler.survey.items + 1)?;
                        }
                        sampler.add(&item, bytes)?;
                    }
                    // A line ends in one more byte; cells of a CSV file have more bytes as JSON.
                    bytes_read += bytes + 1;
                    if bytes_read < reported + PROGRESS_BYTES {
                        return Ok(());
                    }
                    reported = bytes_read;
                    let items = sampler.survey.items;
                    let bytes = bytes_read.min(bytes_total);
                    match progress(&SurveyProgress { file, items, bytes, bytes_total }) {
                        ControlFlow::Continue(()) => Ok(()),
                        ControlFlow::Break(()) => {
                            is_stopped = true;
                            Err(ItemRefusal::Stop)
                        }
                    }
                });
                let items = sampler.survey.items;
                let found = SurveyProgress { file, items, bytes: bytes_read.min(bytes_total), bytes_total };
                if is_stopped || progress(&found).is_break() {
                    errors.add(file, None, "the reading was stopped");
                    return Err(errors);
                }
            }
            if sampler.survey.items == 0 && errors.is_empty() {
                errors.add(&files.join(", "), None, format!("there is no item of {name}"));
            }
            types.insert(name.clone(), sampler.finish());
        }
        let fixed = study.settings.fixed.iter().cloned().collect();
        if errors.is_empty() { Ok(Self { types, fixed }) } else { Err(errors) }
    }

    /// Takes items that a program makes in the place of data files: the name of the type, and the item.
    ///
    /// # Errors
    /// Items without a required field. Items of a type that no design has are left out.
    pub fn of_items<'n>(
        study: &StudyDirectory,
        spec: &SurveySpec,
        items: impl IntoIterator<Item = (&'n str, Value)>,
    ) -> Result<Self, StudyErrors> {
        let mut errors = StudyErrors::default();
        let mut samplers: BTreeMap<String, Sampler> = BTreeMap::new();
        for (name, item) in items {
            let sampler = match samplers.get_mut(name) {
                Some(sampler) => sampler,
                None => {
                    let Some(visible) = VisibleType::of(name, &study.designs) else { continue };
                    let groupings = spec.groupings.get(name).cloned().unwrap_or_default();
                    samplers.entry(name.to_owned()).or_insert_with(|| Sampler::new(visible, groupings))
                }
            };
            if let Err(message) = sampler.add(&item, item.to_string().len() as u64) {
                errors.add(name, None, message);
            }
        }
        let fixed = study.settings.fixed.iter().cloned().collect();
        let types = samplers.into_iter().map(|(name, sampler)| (name, sampler.finish())).collect();
        if errors.is_empty() { Ok(Self { types, fixed }) } else { Err(errors) }
    }

    /// The items of a type; `None` where the study has no data of it.
    #[must_use]
    pub fn of(&self, ty: &str) -> Option<&TypeSurvey> {
        self.types.get(ty)
    }
}

impl TypeSurvey {
    /// The number of items that requests are about.
    #[must_use]
    pub fn subject_count(&self) -> usize {
        if self.subjects.is_empty() { self.sample.len() } else { self.subjects.len() }
    }

    /// One of the items that requests are about, beginning again after the last.
    #[must_use]
    pub fn subject(&self, number: usize) -> Option<&Value> {
        let number = number % self.subject_count().max(1);
        let place = self.subjects.get(number).copied().unwrap_or(number);
        self.sample.get(place).map(|(_, value)| value)
    }

    /// Makes the sampled items with the smallest distance the subjects, up to a limit.
    pub fn prefer(&mut self, at_most: usize, distance: impl Fn(&str, &Value) -> u64) {
        let mut places: Vec<usize> = (0..self.sample.len()).collect();
        places.sort_by_cached_key(|place| {
            let (id, value) = &self.sample[*place];
            distance(id, value)
        });
        places.truncate(at_most);
        self.subjects = places;
    }

    /// The groups by these fields.
    #[must_use]
    pub fn grouped<T: ToString>(&self, fields: &[T]) -> Option<&GroupSketch> {
        let fields: Grouping = fields.iter().map(ToString::to_string).collect();
        self.groups.get(&fields)
    }
}

/// Samples the items of one type.
struct Sampler {
    visible: VisibleType,
    keeps_items: Vec<(Grouping, bool)>,
    /// By the hash of the id, the smallest of all.
    sample: BTreeMap<u64, (String, Box<str>)>,
    threshold: u64,
    sampled_bytes: usize,
    known: BTreeSet<String>,
    survey: TypeSurvey,
}

impl Sampler {
    fn new(visible: VisibleType, groupings: BTreeMap<Grouping, bool>) -> Self {
        let groups =
            groupings.iter().map(|(fields, keeps)| (fields.clone(), GroupSketch::new(*keeps))).collect();
        let known = visible.fields.iter().flat_map(|field| &field.places).filter_map(|place| place.first());
        Self {
            known: known.cloned().collect(),
            keeps_items: groupings.into_iter().collect(),
            visible,
            sample: BTreeMap::new(),
            threshold: u64::MAX,
            sampled_bytes: 0,
            survey: TypeSurvey { groups, ..TypeSurvey::default() },
        }
    }

    fn add(&mut self, line: &Value, bytes: u64) -> Result<(), String> {
        let name = &self.visible.name;
        for field in self.visible.fields.iter().filter(|field| field.is_required) {
            if field.value(line).is_none() {
                let places: Vec<String> = field.places.iter().map(|place| place.join("/")).collect();
                let mut places: Vec<&str> = places.iter().map(String::as_str).collect();
                places.dedup();
                return Err(format!(
                    "`{}` of {name} is missing; expected at {}",
                    field.name,
                    places.join(" or ")
                ));
            }
        }
        self.survey.items += 1;
        self.survey.bytes += bytes;
        self.survey.bytes_max = self.survey.bytes_max.max(bytes);
        self.note_unknown(line);
        for (fields, _) in &self.keeps_items {
            let Some(sketch) = self.survey.groups.get_mut(fields) else { continue };
            for key in group_keys(&self.visible, fields, line) {
                sketch.add(&key, bytes, || self.visible.normalised(line).to_string().into());
            }
        }
        // Items with a derived id are sampled by their number.
        let id = self.visible.field("id").and_then(|field| key_text(field.value(line)?));
        self.keep(id.unwrap_or_else(|| self.survey.items.to_string()), line);
        Ok(())
    }

    fn note_unknown(&mut self, line: &Value) {
        let properties = line.as_object().into_iter().flat_map(|object| object.keys());
        let is_unknown = |property: &&String| {
            !self.known.contains(*property) && !SYSTEM_PROPERTIES.contains(&property.as_str())
        };
        for property in properties.filter(is_unknown) {
            let unknown = &mut self.survey.unknown;
            if unknown.contains_key(property) || unknown.len() < UNKNOWN_PROPERTIES_MAX {
                *unknown.entry(property.clone()).or_default() += 1;
            }
        }
    }

    fn keep(&mut self, id: String, line: &Value) {
        let hash = sample_hash(&id);
        if hash > self.threshold {
            return;
        }
        let item: Box<str> = self.visible.normalised(line).to_string().into();
        self.sampled_bytes += item.len();
        if let Some((_, before)) = self.sample.insert(hash, (id, item)) {
            self.sampled_bytes -= before.len();
        }
        while self.sample.len() > SAMPLED_ITEMS_MAX
            || (self.sampled_bytes > SAMPLE_BYTES_MAX && self.sample.len() > 1)
        {
            let Some((hash, (_, item))) = self.sample.pop_last() else { break };
            self.threshold = hash.saturating_sub(1);
            self.sampled_bytes -= item.len();
        }
    }

    fn finish(self) -> TypeSurvey {
        let item = |(id, text): (String, Box<str>)| Some((id, serde_json::from_str(&text).ok()?));
        TypeSurvey { sample: self.sample.into_values().filter_map(item).collect(), ..self.survey }
    }
}

/// The keys of the groups that an item is in: one, or one for each element of an array. Without a value it is
/// in no group.
pub(crate) fn group_keys(visible: &VisibleType, fields: &[String], line: &Value) -> Vec<String> {
    let mut keys = vec![String::new()];
    for (place, name) in fields.iter().enumerate() {
        let texts: Vec<String> = visible.values(name, line).into_iter().filter_map(element_key).collect();
        let separator = if place > 0 { "\n" } else { "" };
        let with =
            |key: &String| texts.iter().map(|text| format!("{key}{separator}{text}")).collect::<Vec<_>>();
        keys = keys.iter().flat_map(with).collect();
    }
    keys
}

/// A scalar, or the id of an object.
pub(crate) fn element_key(value: &Value) -> Option<String> {
    key_text(value).or_else(|| key_text(value.get("id")?))
}
