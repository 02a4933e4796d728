//! Contents of containers: bytes, the largest logical partition and the largest item, from the survey.

use onehop_model::{FieldKind, ItemType, KeySource, Name};
use serde_json::Value;

use super::design_data::{DesignData, DesignList, is_single};
use crate::data::{TypeSurvey, key_text};

/// With so few values, the groups of a key grow with the data; with more, their number does.
const FEW_VALUES: u64 = 100;

/// The content of a container, in bytes of JSON.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContainerSize {
    /// Of all items and entries.
    pub bytes: f64,
    /// Of the largest logical partition, at most.
    pub partition_bytes_max: f64,
    /// Of the largest item.
    pub item_bytes_max: f64,
    /// Items and entries.
    pub items: f64,
    /// Whether there is one logical partition by design.
    pub is_single: bool,
}

/// The largest group of a key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyShare {
    /// Different values.
    pub values: u64,
    /// The largest group's value.
    pub key: String,
    /// The largest group's share of all items.
    pub share: f64,
    /// Whether groups grow with the data, because there are few values.
    pub grows: bool,
    /// Whether the values are times, so that new items share the newest value.
    pub is_time: bool,
}

impl DesignData<'_> {
    /// The content of a container at this multiple of the data.
    #[must_use]
    pub fn container_size(&self, container: &str, scale: f64) -> ContainerSize {
        let mut size = ContainerSize { is_single: true, ..ContainerSize::default() };
        for item in self.design.model.items().iter().filter(|item| &*item.container == container) {
            let Some(survey) = self.survey.of(&item.name) else { continue };
            let share = self.key_share(item);
            let (items, bytes) = (survey.items as f64, self.item_bytes(&item.name));
            let scale = self.growth_of(&item.name, scale);
            let growth = if share.grows { scale } else { 1.0 };
            size.items += items * scale;
            size.bytes += items * bytes * scale;
            size.partition_bytes_max += (items * bytes * share.share * growth).max(bytes);
            let overhead = (bytes - survey.bytes as f64 / items.max(1.0)).max(0.0);
            size.item_bytes_max = size.item_bytes_max.max(survey.bytes_max as f64 + overhead);
            size.is_single &= is_single(item);
        }
        for found in self.lists().into_iter().filter(|found| &*found.list.container == container) {
            self.add_list(&mut size, found, scale);
        }
        size
    }

    fn add_list(&self, size: &mut ContainerSize, found: DesignList<'_>, scale: f64) {
        let Some(survey) = self.survey.of(&found.related.item_type) else { return };
        let bytes = self.entry_bytes(&found.list.projection);
        let keep = found.list.keep.map_or(f64::INFINITY, f64::from);
        let (entries, largest) = match survey.grouped(&found.list.by) {
            None => ((survey.items as f64 * scale).min(keep), (survey.items as f64 * scale).min(keep)),
            Some(groups) => {
                let of_all = groups.items as f64 * scale;
                let of_groups = groups.values() as f64 * scale * keep;
                (of_all.min(of_groups), (groups.heaviest().share * groups.items as f64).min(keep))
            }
        };
        size.items += entries;
        size.bytes += entries * bytes;
        size.partition_bytes_max += largest * bytes;
        size.item_bytes_max = size.item_bytes_max.max(bytes);
        size.is_single &= found.list.by.is_empty();
    }

    /// The largest logical partition among the items of a type.
    #[must_use]
    pub fn key_share(&self, item: &ItemType) -> KeyShare {
        if is_single(item) {
            return KeyShare {
                values: 1,
                key: item.type_value.clone(),
                share: 1.0,
                grows: true,
                is_time: false,
            };
        }
        let fields: Vec<&Name> = item
            .key
            .iter()
            .filter_map(|source| match source {
                KeySource::Field(field) => Some(field),
                KeySource::Id => item.field("id").map(|id| &id.name),
                KeySource::Type => None,
            })
            .collect();
        self.share_of(&item.name, &fields)
    }

    /// The factor of a type's items at this multiple of the data.
    #[must_use]
    pub fn growth_of(&self, ty: &str, scale: f64) -> f64 {
        if self.survey.fixed.contains(ty) { 1.0 } else { scale }
    }

    /// Whether groups by these fields grow with the data, and not their number: all fields refer to types
    /// that do not grow.
    #[must_use]
    pub fn grows<T: ToString>(&self, ty: &str, fields: &[T]) -> bool {
        let item = self.design.model.item(ty);
        let is_fixed = |field: &T| {
            let field = item.and_then(|item| item.field(&field.to_string()));
            field.is_some_and(|field| match &field.kind {
                FieldKind::Reference(reference) => self.survey.fixed.contains(&*reference.target),
                _ => false,
            })
        };
        !fields.is_empty() && fields.iter().all(is_fixed)
    }

    /// The largest group by these fields of a type.
    pub(crate) fn share_of<T: ToString>(&self, ty: &str, fields: &[T]) -> KeyShare {
        let items = self.items(ty);
        let Some(found) = self.survey.of(ty) else { return KeyShare::default() };
        let Some(groups) = found.grouped(fields) else {
            return KeyShare { values: items, share: 1.0 / items.max(1) as f64, ..KeyShare::default() };
        };
        let (heaviest, values) = (groups.heaviest(), groups.values());
        KeyShare {
            values,
            share: heaviest.share,
            key: heaviest.key,
            grows: values < FEW_VALUES || self.grows(ty, fields),
            is_time: fields.iter().all(|field| is_time_key(found, &field.to_string())),
        }
    }
}

/// Whether the values of a field are dates or times, as texts such as `2026-11`, `2026-11-23T09:20` or
/// `20261123`.
#[must_use]
pub fn is_time_key(survey: &TypeSurvey, field: &str) -> bool {
    let is_date = |text: &str| {
        let bytes = text.as_bytes();
        let is_digits = |part: Option<&[u8]>| part.is_some_and(|part| part.iter().all(u8::is_ascii_digit));
        let is_compact = || {
            let within =
                |part: &str, max: u32| part.parse::<u32>().is_ok_and(|found| (1..=max).contains(&found));
            bytes.len() == 8
                && is_digits(bytes.get(..))
                && (text.starts_with("19") || text.starts_with("20"))
                && within(&text[4..6], 12)
                && within(&text[6..], 31)
        };
        (is_digits(bytes.get(..4)) && bytes.get(4) == Some(&b'-') && is_digits(bytes.get(5..7)))
            || is_compact()
    };
    let values =
        survey.sample.iter().filter_map(|(_, item)| key_text(item.get(field).unwrap_or(&Value::Null)));
    let mut values = values.take(50).peekable();
    values.peek().is_some() && values.all(|text| is_date(&text))
}
