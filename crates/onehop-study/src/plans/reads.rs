//! Plans of queries: point reads, queries in one logical partition or across all, look-ups one by one or
//! batched, counts.

use std::collections::BTreeSet;

use onehop_model::{
    Condition, CountField, Deletion, FieldKind, FieldTest, ItemType, Kept, KeySource, Link, ListSource, Name,
    QueryKind, RelatedField, RelatedSource, Selection, TypeOf,
};
use onehop_runtime::clock::parse_timestamp;
use onehop_store::OperationKind;
use serde_json::{Value, json};

use super::charges::PlannedQuery;
use super::embedded::{is_copied, values_of};
use super::operation::{BusiestShare, PlannedOperation, PlannedScope, interned, push};
use super::planner::Planner;
use super::row::Row;
use super::trial::{TrialAction, TrialItem};
use crate::data::{FoundGroup, GroupSketch};
use crate::designs::parent_key;

/// Bytes of the reservation of a unique value.
const RESERVATION_BYTES: f64 = 120.0;
/// Names for the container of reservations: the first name without a container of the model.
const RESERVATIONS: [&str; 2] = ["accounts", "reservations"];

/// A group of items: how many, and some of them.
struct FoundRows {
    items: f64,
    rows: Vec<Row>,
}

impl Planner<'_> {
    pub(super) fn read(&self, selection: &Selection, subject: usize, operations: &mut Vec<PlannedOperation>) {
        let Some(query) = self.model().queries().iter().find(|query| query.name == selection.field) else {
            return;
        };
        let Some(item) = self.model().item(&query.item_type) else { return };
        match &query.kind {
            QueryKind::Related(related) => {
                self.related(None, &query.name, related, selection, &[], operations)
            }
            QueryKind::ById | QueryKind::Caller => self.item(item, selection, subject, operations),
            QueryKind::ByUnique(field) => {
                push(operations, self.reservation_read(item, field));
                self.item(item, selection, subject, operations);
            }
        }
    }

    fn item(
        &self,
        item: &ItemType,
        selection: &Selection,
        subject: usize,
        operations: &mut Vec<PlannedOperation>,
    ) {
        let row = self.row(item, subject);
        if needs_item(item, selection) {
            let bytes = self.writer().item(item, &row.value).to_string().len() as f64;
            let about = format!("{} by id", item.name);
            push(operations, self.point_reads(item, about, 1.0, bytes, self.item_share(item)));
        }
        self.children(item, selection, &[row], operations);
    }

    /// The container of reservations.
    pub(super) fn reservations(&self) -> &'static str {
        let is_own = |name: &&&str| !self.model().containers().iter().any(|known| *known.name == ***name);
        RESERVATIONS.iter().find(is_own).copied().unwrap_or("reservations-of-unique-values")
    }

    fn reservation_read(&self, item: &ItemType, field: &str) -> PlannedOperation {
        let charge = self.calibration.point_read(RESERVATION_BYTES as usize, self.consistency).total().0;
        let about = format!("reservation of {}.{field}", item.name);
        let container = self.reservations();
        self.try_out(container, (OperationKind::PointRead, PlannedScope::Item), &about, || {
            Some(TrialAction::Read(TrialItem::of(self.data, container, reservation())?))
        });
        PlannedOperation {
            container: interned(container),
            kind: OperationKind::PointRead,
            about,
            scope: PlannedScope::Item,
            times: 1.0,
            items: 1.0,
            bytes: RESERVATION_BYTES,
            request_charge: charge,
            across: None,
            busiest: self.subject_share(&item.name),
            measured: None,
        }
    }

    /// The further operations for the selected fields of some items.
    fn children(
        &self,
        item: &ItemType,
        selection: &Selection,
        rows: &[Row],
        operations: &mut Vec<PlannedOperation>,
    ) {
        for inner in &selection.selections {
            let Some(field) = item.field(&inner.field) else { continue };
            match &field.kind {
                FieldKind::Reference(reference) => {
                    if !is_copied(reference, inner) {
                        let Some(target) = self.model().item(&reference.target) else { continue };
                        let share = self.target_share(item, &field.name, target);
                        let about = format!("{} of {}.{}", target.name, item.name, field.name);
                        let ids = rows.iter().flat_map(|row| ids_of(row, &field.name));
                        self.look_ups((target, about, share), inner, ids, operations);
                    }
                }
                FieldKind::Related(related) => {
                    self.related(Some(item), &field.name, related, inner, rows, operations);
                }
                FieldKind::Count(count) => self.counts(item, count, rows, operations),
                FieldKind::HasCaller(of) => self.callers(item, of, rows, operations),
                FieldKind::Stored(_) => {
                    if let TypeOf::Embedded(of) = &field.ty.of {
                        let at = format!("{}.{}", item.name, field.name);
                        self.embedded(&at, of, inner, &values_of(field, rows), operations);
                    }
                }
            }
        }
    }

    /// Point reads of the targets of a reference, which have a purpose and a share of the busiest partition.
    pub(super) fn look_ups(
        &self,
        (target, about, share): (&ItemType, String, BusiestShare),
        selection: &Selection,
        ids: impl Iterator<Item = (Value, usize)>,
        operations: &mut Vec<PlannedOperation>,
    ) {
        let mut seen = BTreeSet::new();
        let is_read = |(id, number): &(Value, usize)| !self.batched || seen.insert((id.to_string(), *number));
        let ids: Vec<(Value, usize)> = ids.filter(is_read).collect();
        if ids.is_empty() {
            return;
        }
        let bytes = self.data.item_bytes(&target.name);
        push(operations, self.point_reads(target, about, ids.len() as f64, bytes, share));
        let target_row =
            |id: &Value| Row::of(self.data.target(&target.name, id).cloned().unwrap_or(json!({"id": id})));
        let targets: Vec<Row> = ids.iter().map(|(id, _)| target_row(id)).collect();
        self.children(target, selection, &targets, operations);
    }

    /// A COUNT for each item.
    fn counts(
        &self,
        owner: &ItemType,
        count: &CountField,
        rows: &[Row],
        operations: &mut Vec<PlannedOperation>,
    ) {
        let Some(FieldKind::Related(related)) = owner.field(&count.of).map(|field| &field.kind) else {
            return;
        };
        if count.kept != Kept::Query {
            return;
        }
        let Some(item) = self.model().item(&related.item_type) else { return };
        let (scope, container) = self.place(Some(owner), item, related);
        for row in rows {
            let items = self.data.count_of(owner, &count.of, &row.value)
                * self.selectivity(item, &related.conditions);
            let about = format!("{} of {}.{}", item.name, owner.name, count.of);
            let shape = self.shape(|| {
                let found = self.found(Some(owner), item, related, row);
                self.related_shape(item, related, &found.rows, found.items)
            });
            let share = self.subject_share(&owner.name);
            push(operations, self.count((container, about, scope), items, share, shape));
        }
    }

    /// Whether a list has an item of the caller: a point read where the id is derived from both.
    fn callers(&self, owner: &ItemType, of: &Name, rows: &[Row], operations: &mut Vec<PlannedOperation>) {
        let Some(FieldKind::Related(related)) = owner.field(of).map(|field| &field.kind) else { return };
        let Some(item) = self.model().item(&related.item_type) else { return };
        let about = format!("{} of the caller in {}.{of}", item.name, owner.name);
        let (bytes, share) = (self.data.item_bytes(&item.name), self.subject_share(&owner.name));
        if !item.id_from.is_empty() {
            let reads = self.point_reads(item, about, rows.len() as f64, bytes, share);
            return push(operations, reads);
        }
        let (scope, container) = self.place(Some(owner), item, related);
        for _ in rows {
            let query = PlannedQuery {
                container,
                about: about.clone(),
                scope,
                found: 1.0,
                limit: 1,
                item_bytes: bytes,
                conditions: 3,
                scanned_bytes: 0.0,
                busiest: share,
                shape: self.shape(|| self.caller_shape(item, related)),
            };
            push(operations, self.query(query));
        }
    }

    /// A page of related items, for each parent; once under `Query`.
    fn related(
        &self,
        owner: Option<&ItemType>,
        name: &Name,
        related: &RelatedField,
        selection: &Selection,
        parents: &[Row],
        operations: &mut Vec<PlannedOperation>,
    ) {
        let Some(item) = self.model().item(&related.item_type) else { return };
        let page = &related.page;
        let limit = selection.number("first").unwrap_or(page.default_items()).min(page.max.max(1));
        let about = format!("{} of {}.{name}", item.name, owner.map_or("Query", |owner| &*owner.name));
        let nothing = [Row::of(Value::Null)];
        for parent in if owner.is_some() { parents } else { &nothing[..] } {
            let mut found = self.found(owner, item, related, parent);
            if let RelatedSource::Find { through: Some(link), by } = &related.source {
                found = self.through((link, by.as_ref()), &about, &found, limit, operations);
                push(operations, self.targets(item, &about, found.items.min(f64::from(limit))));
            } else {
                push(operations, self.page((owner, item, related), about.clone(), &found, limit));
            }
            found.rows = standing_for(found.rows, found.items.min(f64::from(limit)).round() as usize);
            if let RelatedSource::List(list) = &related.source
                && lacks_fields(item, list, selection)
            {
                let (share, bytes) = (self.item_share(item), self.data.item_bytes(&item.name));
                let whole = format!("whole {about}");
                push(operations, self.point_reads(item, whole, found.rows.len() as f64, bytes, share));
            }
            self.children(item, selection, &found.rows, operations);
        }
    }

    fn page(
        &self,
        (owner, item, related): (Option<&ItemType>, &ItemType, &RelatedField),
        about: String,
        found: &FoundRows,
        limit: u32,
    ) -> PlannedOperation {
        let (scope, container) = self.place(owner, item, related);
        let is_list = matches!(related.source, RelatedSource::List(_));
        let has_mark = !is_list && matches!(item.deletion, Deletion::Soft { .. });
        let finds = u32::from(matches!(related.source, RelatedSource::Find { by: Some(_), .. }));
        let conditions = if is_list { 0 } else { related.conditions.len() as u32 };
        let busiest = match owner {
            Some(owner) => self.subject_share(&owner.name),
            None => BusiestShare::certain(1.0),
        };
        self.query(PlannedQuery {
            container,
            about,
            scope,
            found: found.items,
            limit,
            item_bytes: match &related.source {
                RelatedSource::List(list) => self.data.entry_bytes(&list.projection),
                _ => self.data.item_bytes(&item.name),
            },
            conditions: 1 + u32::from(has_mark) + finds + conditions,
            scanned_bytes: self.scanned(item, related),
            busiest,
            shape: self.shape(|| self.related_shape(item, related, &found.rows, found.items)),
        })
    }

    /// Bytes that a query loads where the index excludes the property that it looks for.
    fn scanned(&self, item: &ItemType, related: &RelatedField) -> f64 {
        let RelatedSource::Find { by: Some(by), through: None } = &related.source else { return 0.0 };
        let path = item.field(by).and_then(|field| field.property());
        let excluded = self.model().container(&item.container).map(|container| container.exclude.as_slice());
        let is_excluded = path.is_some_and(|path| excluded.unwrap_or_default().contains(path));
        if is_excluded { self.data.items(&item.name) as f64 * self.data.item_bytes(&item.name) } else { 0.0 }
    }

    /// The query of the links, and the items that they name.
    fn through(
        &self,
        (link, by): (&Link, Option<&Name>),
        about: &str,
        found: &FoundRows,
        limit: u32,
        operations: &mut Vec<PlannedOperation>,
    ) -> FoundRows {
        if let Some(item) = self.model().item(&link.item_type) {
            let query = PlannedQuery {
                container: &item.container,
                about: format!("{} for {about}", link.item_type),
                scope: PlannedScope::AllPartitions,
                found: found.items,
                limit,
                item_bytes: self.data.item_bytes(&link.item_type),
                conditions: 3,
                scanned_bytes: 0.0,
                busiest: BusiestShare::default(),
                shape: self.shape(|| self.link_shape(item, by, &found.rows, found.items)),
            };
            push(operations, self.query(query));
        }
        let target = |(id, _): (Value, usize)| Row::of(json!({ "id": id }));
        let ids = found.rows.iter().flat_map(|row| ids_of(row, &link.to));
        FoundRows { items: found.items, rows: ids.map(target).collect() }
    }

    pub(super) fn targets(&self, item: &ItemType, about: &str, times: f64) -> PlannedOperation {
        let (bytes, share) = (self.data.item_bytes(&item.name), self.item_share(item));
        self.point_reads(item, about.to_owned(), times, bytes, share)
    }

    /// The scope of a query for related items, and its container.
    fn place<'r>(
        &self,
        owner: Option<&ItemType>,
        item: &'r ItemType,
        related: &'r RelatedField,
    ) -> (PlannedScope, &'r str) {
        match &related.source {
            RelatedSource::List(list) => (PlannedScope::LogicalPartition, &list.container),
            RelatedSource::Partition { .. } => (PlannedScope::LogicalPartition, &item.container),
            RelatedSource::Find { by, through: None } if owner.is_some() => {
                let is_by = |source: &KeySource| matches!(source, KeySource::Field(field) if Some(field) == by.as_ref());
                let scope = match item.key.as_slice() {
                    [key] if is_by(key) => PlannedScope::LogicalPartition,
                    [first, ..] if is_by(first) => PlannedScope::PartitionPrefix,
                    _ => PlannedScope::AllPartitions,
                };
                (scope, &item.container)
            }
            RelatedSource::Find { .. } => (PlannedScope::AllPartitions, &item.container),
        }
    }

    /// The items of a related field, and some of them.
    fn found(
        &self,
        owner: Option<&ItemType>,
        item: &ItemType,
        related: &RelatedField,
        parent: &Row,
    ) -> FoundRows {
        let (ty, by): (&str, Vec<Name>) = match &related.source {
            RelatedSource::Partition { by } => (&item.name, by.clone()),
            RelatedSource::Find { by, through } => {
                (through.as_ref().map_or(&*item.name, |link| &*link.item_type), by.iter().cloned().collect())
            }
            RelatedSource::List(list) => (&item.name, list.by.clone()),
        };
        let keep = match &related.source {
            RelatedSource::List(list) => list.keep.map_or(f64::INFINITY, f64::from),
            _ => f64::INFINITY,
        };
        let share = self.selectivity(item, &related.conditions);
        let Some(survey) = self.data.survey.of(ty) else { return FoundRows { items: 0.0, rows: Vec::new() } };
        let groups = survey.grouped(&by).zip(owner);
        let (items, rows) = match groups {
            None => {
                let rows = survey.sample.iter().map(|(_, value)| Row::of(value.clone()));
                (survey.items as f64 * self.growth_of(ty), rows.collect())
            }
            Some((groups, owner)) => {
                let (items, rows) = group_of(groups, &parent_key(owner, &by, &parent.value));
                (items * self.group_growth(ty, &by), rows)
            }
        };
        let meets = |row: &Row| related.conditions.iter().all(|condition| meets(condition, &row.value));
        let rows = rows.into_iter().filter(meets).collect();
        FoundRows { items: (items * share).min(keep), rows }
    }

    /// The factor of the items of each group, where the number of groups does not grow with the data.
    fn group_growth(&self, ty: &str, by: &[Name]) -> f64 {
        if self.data.grows(ty, by) { self.growth_of(ty) } else { 1.0 }
    }

    /// The share of a type's items for which conditions hold.
    pub(super) fn selectivity(&self, item: &ItemType, conditions: &[Condition]) -> f64 {
        if conditions.is_empty() {
            return 1.0;
        }
        let sample = self.data.survey.of(&item.name).map(|found| found.sample.as_slice()).unwrap_or_default();
        let met =
            sample.iter().filter(|(_, value)| conditions.iter().all(|condition| meets(condition, value)));
        met.count() as f64 / sample.len().max(1) as f64
    }
}

fn group_of(groups: &GroupSketch, key: &str) -> (f64, Vec<Row>) {
    let row = |text: &str| Row::of(serde_json::from_str(text).unwrap_or(Value::Null));
    match groups.group(key) {
        FoundGroup::Known(group) => (group.items as f64, group.sample.iter().map(|text| row(text)).collect()),
        FoundGroup::Empty => (0.0, Vec::new()),
        FoundGroup::Unknown => {
            let any = groups.groups().next();
            let rows = any.into_iter().flat_map(|group| group.sample.iter()).map(|text| row(text)).collect();
            (groups.items_mean(), rows)
        }
    }
}

/// The reservation of a unique value.
pub(super) fn reservation() -> Value {
    json!({"id": "a-value-of-some-length", "type": "reservation", "owner": "0".repeat(36), "version": 1})
}

/// So many rows: the first of them, or all, each standing for several.
fn standing_for(rows: Vec<Row>, number: usize) -> Vec<Row> {
    let known = rows.len().max(1);
    let row =
        |(place, row): (usize, &Row)| Row { number: row.number * number + place / known, ..row.clone() };
    rows.iter().cycle().take(if rows.is_empty() { 0 } else { number }).enumerate().map(row).collect()
}

/// The ids of a reference in an item, each with the number of the item.
fn ids_of(row: &Row, reference: &str) -> Vec<(Value, usize)> {
    let ids: Vec<&Value> = match row.value.get(reference) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(ids)) => ids.iter().collect(),
        Some(id) => vec![id],
    };
    ids.into_iter().map(|id| (id.get("id").unwrap_or(id).clone(), row.number)).collect()
}

/// Whether a selection needs the item itself: more than its id and related items.
fn needs_item(item: &ItemType, selection: &Selection) -> bool {
    selection.selections.iter().any(|inner| match item.field(&inner.field).map(|field| &field.kind) {
        Some(FieldKind::Related(_) | FieldKind::HasCaller(_)) | None => false,
        Some(FieldKind::Count(count)) => count.kept != Kept::Query,
        Some(FieldKind::Stored(_) | FieldKind::Reference(_)) => &*inner.field != "id",
    })
}

/// Whether entries lack a selected field, so that the items are read, too.
fn lacks_fields(item: &ItemType, list: &ListSource, selection: &Selection) -> bool {
    let has = |field: &Name| &**field == "id" || list.fields.iter().any(|path| path.first() == field);
    selection.selections.iter().any(|inner| match item.field(&inner.field) {
        Some(field) => match (&field.kind, &field.ty.of) {
            (FieldKind::Related(_) | FieldKind::HasCaller(_), _) => false,
            (FieldKind::Count(count), _) if count.kept == Kept::Query => false,
            (_, TypeOf::Embedded(_)) => !list.fields.iter().any(|path| path.first() == &inner.field),
            _ => !has(&inner.field),
        },
        None => false,
    })
}

/// Whether a value of the data is the one of a model. Times of the data may be without milliseconds.
fn is_same(value: &Value, literal: &Value) -> bool {
    let instant = |value: &Value| parse_timestamp(value.as_str()?);
    value == literal || instant(value).is_some_and(|at| instant(literal) == Some(at))
}

/// Whether a condition holds for a visible item.
fn meets(condition: &Condition, item: &Value) -> bool {
    let value = condition.field.fields().iter().try_fold(item, |value, field| value.get(&**field));
    let value = value.filter(|value| !value.is_null());
    let number = |value: &Value| value.as_f64();
    match (&condition.test, value) {
        (FieldTest::Exists(exists), value) => value.is_some() == *exists,
        (_, None) => false,
        (FieldTest::Is(literal), Some(value)) => is_same(value, &json!(literal)),
        (FieldTest::In(literals), Some(value)) => {
            literals.iter().any(|literal| is_same(value, &json!(literal)))
        }
        (FieldTest::AtLeast(literal), Some(value)) => match (number(value), number(&json!(literal))) {
            (Some(value), Some(bound)) => value >= bound,
            _ => value.as_str() >= json!(literal).as_str(),
        },
        (FieldTest::Below(literal), Some(value)) => match (number(value), number(&json!(literal))) {
            (Some(value), Some(bound)) => value < bound,
            _ => value.as_str() < json!(literal).as_str(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_same_with_and_without_milliseconds() {
        let (time, other) = (json!("2027-01-01T00:00:00.000Z"), json!("2027-01-01T00:00:00.001Z"));
        assert!(is_same(&json!("2027-01-01T00:00:00Z"), &time));
        assert!(!is_same(&json!("2027-01-01T00:00:00Z"), &other));
        assert!(is_same(&json!("open"), &json!("open")));
        assert!(!is_same(&json!("open"), &json!("shut")));
    }
}
