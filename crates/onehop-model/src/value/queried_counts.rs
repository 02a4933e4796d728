//! Counts that no command and no projection keeps as the model says, in the form that a server has.

use super::field::{CopyOrigin, Field, FieldKind, Kept, ValueSource};
use super::names::{Name, PropertyPath};
use super::related::{Condition, RelatedField, RelatedSource};
use super::types::{Deletion, ItemType};
use super::{Model, QueryKind};

impl Model {
    /// Such a count is a query. Where the model uses its stored value, as in an order, the items are a list,
    /// which is counted `BEHIND`.
    pub(super) fn count_filtered_items(&mut self) {
        for place in 0..self.parts.items.len() {
            for field in 0..self.parts.items[place].fields.len() {
                let Some(of) = self.filtered_items(place, field) else { continue };
                let name = self.parts.items[place].fields[field].name.clone();
                if self.uses_stored(&self.parts.items[place], &name) {
                    self.count_list(place, of);
                } else {
                    self.count_by_query(place, field);
                }
            }
        }
    }

    /// The place of the field with the counted items, where they lie in a logical partition and conditions
    /// choose them.
    fn filtered_items(&self, place: usize, field: usize) -> Option<usize> {
        let item = &self.parts.items[place];
        let FieldKind::Count(count) = &item.fields[field].kind else { return None };
        let of = item.fields.iter().position(|field| field.name == count.of)?;
        let FieldKind::Related(related) = &item.fields[of].kind else { return None };
        let is_filtered =
            matches!(related.source, RelatedSource::Partition { .. }) && !related.conditions.is_empty();
        (is_filtered && count.kept != Kept::Query).then_some(of)
    }

    /// A stored count that no projection can keep is a query, where the model does not use its stored value.
    pub(super) fn count_without_projection(&mut self) {
        for place in 0..self.parts.items.len() {
            for field in 0..self.parts.items[place].fields.len() {
                let item = &self.parts.items[place];
                if self.is_without_projection(item, &item.fields[field])
                    && !self.uses_stored(item, &item.fields[field].name)
                {
                    self.count_by_query(place, field);
                }
            }
        }
    }

    /// Whether a field is a stored count of items whose changes do not lead to it: through a link type, in a
    /// list or a logical partition by several fields, or with `HARD` deletions.
    fn is_without_projection(&self, item: &ItemType, field: &Field) -> bool {
        let FieldKind::Count(count) = &field.kind else { return false };
        let of = item.fields.iter().find(|field| field.name == count.of);
        let Some(related) = of.and_then(related_of) else { return false };
        let counted = self.item(&related.item_type);
        let is_hard = counted.is_some_and(|counted| counted.deletion == Deletion::Hard);
        let refers_here = |by: &Name| {
            let kind = counted.and_then(|counted| counted.field(by)).map(|field| &field.kind);
            matches!(kind, Some(FieldKind::Reference(reference)) if reference.target == item.name)
        };
        match (&related.source, &count.kept) {
            (_, Kept::Query) => false,
            (RelatedSource::Find { .. }, _) => true,
            (RelatedSource::List(list), _) => !matches!(list.by.as_slice(), [by] if refers_here(by)),
            (RelatedSource::Partition { by }, Kept::Behind { .. }) => {
                let is_key = |counted: &ItemType, by: &Name| {
                    counted.has_key_of(by, item) || counted.has_key_below(by, item)
                };
                let leads_here =
                    |by: &Name| refers_here(by) && counted.is_some_and(|counted| is_key(counted, by));
                let is_found = match by.as_slice() {
                    [by] => refers_here(by),
                    several => several.iter().any(leads_here),
                };
                is_hard || !is_found
            }
            (RelatedSource::Partition { .. }, Kept::Batch { .. }) => false,
        }
    }

    /// Whether an order, a condition, a computed value or a copy has the stored value of a count.
    fn uses_stored(&self, item: &ItemType, count: &Name) -> bool {
        let is_tested = |conditions: &[Condition]| conditions.iter().any(|test| test.field.first() == count);
        let of_query = self.parts.queries.iter().filter_map(|query| match &query.kind {
            QueryKind::Related(related) => Some(related),
            _ => None,
        });
        let fields = || self.parts.items.iter().flat_map(|item| &item.fields);
        let mut related = fields().filter_map(related_of).chain(of_query);
        let is_in_related = related.any(|related| {
            related.item_type == item.name
                && (is_tested(&related.conditions) || related.order.iter().any(|order| order.field == *count))
        });
        let mut mutations = self.parts.mutations.iter();
        let is_in_mutation =
            mutations.any(|mutation| mutation.item_type == item.name && is_tested(&mutation.conditions));
        let is_computed = item.fields.iter().any(|field| match &field.kind {
            FieldKind::Stored(stored) => match &stored.source {
                ValueSource::Computed(computed) => computed.from.iter().any(|path| path.first() == count),
                _ => false,
            },
            _ => false,
        });
        let embedded = self.parts.embedded.iter().flat_map(|embedded| &embedded.fields);
        let is_copied = fields().chain(embedded).any(|field| match &field.kind {
            FieldKind::Reference(reference) => {
                reference.target == item.name && reference.copies.iter().any(|copy| copy.field == *count)
            }
            FieldKind::Stored(stored) => match &stored.source {
                ValueSource::Copied(copy) => match &copy.from {
                    CopyOrigin::Reference { field, .. } => field == count,
                    CopyOrigin::Type { item_type, field } => *item_type == item.name && field == count,
                },
                _ => false,
            },
            _ => false,
        });
        is_in_related || is_in_mutation || is_computed || is_copied
    }

    /// Has a count read by a query. Entries do not have it.
    pub(super) fn count_by_query(&mut self, place: usize, field: usize) {
        let item = self.parts.items[place].name.clone();
        let name = self.parts.items[place].fields[field].name.clone();
        if let FieldKind::Count(count) = &mut self.parts.items[place].fields[field].kind {
            count.kept = Kept::Query;
        }
        for related in self.related_mut().filter(|related| related.item_type == item) {
            if let RelatedSource::List(list) = &mut related.source {
                list.fields.retain(|path| *path.first() != name);
            }
        }
    }

    /// Makes the items a list, and keeps all counts of them `BEHIND`, if a reference leads to the parent.
    fn count_list(&mut self, place: usize, of: usize) {
        let item = &self.parts.items[place];
        let Some(RelatedField { source: RelatedSource::Partition { by }, .. }) = related_of(&item.fields[of])
        else {
            return;
        };
        let [by] = by.as_slice() else { return };
        let counted = related_of(&item.fields[of]).and_then(|related| self.item(&related.item_type));
        let Some(key) = counted.and_then(|counted| counted.field(by)).and_then(Field::property) else {
            return;
        };
        let Some((container, list)) = self.own_list(item, &item.fields[of], by, key.clone()) else { return };
        self.parts.containers.push(container);
        let fields = &mut self.parts.items[place].fields;
        if let FieldKind::Related(related) = &mut fields[of].kind {
            related.source = RelatedSource::List(list);
        }
        let list = fields[of].name.clone();
        let counts = fields.iter_mut().filter_map(|field| match &mut field.kind {
            FieldKind::Count(count) if count.of == list => Some(count),
            _ => None,
        });
        for count in counts {
            let (property, former): (PropertyPath, Vec<PropertyPath>) = match &count.kept {
                Kept::Batch { property, former } | Kept::Behind { property, former, .. } => {
                    (property.clone(), former.clone())
                }
                Kept::Query => continue,
            };
            count.kept = Kept::Behind { property, former, within_seconds: None };
        }
    }
}

fn related_of(field: &Field) -> Option<&RelatedField> {
    match &field.kind {
        FieldKind::Related(related) => Some(related),
        _ => None,
    }
}
