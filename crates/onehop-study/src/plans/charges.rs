//! Charges of planned operations: the charge model on the JSON that a design stores.

use onehop_model::{ItemType, ListSource};
use onehop_store::OperationKind;
use onehop_store::charges::{IndexTerms, QueryWork, ReadConsistency, Replacement, TermCount};
use serde_json::Value;

use super::operation::{BusiestShare, PlannedOperation, PlannedScope, interned};
use super::planner::Planner;
use super::trial::{Trial, TrialAction, TrialItem, TrialWrite};
use super::trial_shape::TrialShape;
use crate::fan_out_charge::FanOutQueries;

/// A query before it is charged.
pub(super) struct PlannedQuery<'a> {
    pub container: &'a str,
    pub about: String,
    pub scope: PlannedScope,
    /// Items that meet the query.
    pub found: f64,
    /// Items of its page.
    pub limit: u32,
    pub item_bytes: f64,
    /// Conditions that an index serves.
    pub conditions: u32,
    /// Bytes that it loads because no index serves a condition.
    pub scanned_bytes: f64,
    pub busiest: BusiestShare,
    /// The shape of its trial, where trials are wanted.
    pub shape: Option<TrialShape>,
}

/// One write of a batch.
pub(super) struct PlannedWrite {
    pub kind: OperationKind,
    pub charge: f64,
    pub bytes: f64,
    /// The bodies before and after, where trials are wanted.
    pub bodies: Option<(Option<Value>, Option<Value>)>,
}

impl Planner<'_> {
    /// Point reads of items with this many bytes in the mean.
    pub(super) fn point_reads(
        &self,
        item: &ItemType,
        about: String,
        times: f64,
        bytes: f64,
        busiest: BusiestShare,
    ) -> PlannedOperation {
        let each = self.calibration.point_read(bytes as usize, self.consistency).total().0;
        self.try_out(&item.container, (OperationKind::PointRead, PlannedScope::Item), &about, || {
            let sampled = self.sampled(item)?;
            let stored = self.writer().item(item, &sampled);
            Some(TrialAction::Read(TrialItem::of(self.data, &item.container, stored)?))
        });
        PlannedOperation {
            container: interned(&item.container),
            kind: OperationKind::PointRead,
            about,
            scope: PlannedScope::Item,
            times,
            items: times,
            bytes: bytes * times,
            request_charge: each * times,
            across: None,
            busiest,
            measured: None,
        }
    }

    /// One page of a query.
    pub(super) fn query(&self, query: PlannedQuery<'_>) -> PlannedOperation {
        let PlannedQuery {
            container,
            about,
            scope,
            found,
            limit,
            item_bytes,
            conditions,
            scanned_bytes,
            busiest,
            shape,
        } = query;
        self.try_out(container, (OperationKind::Query, scope), &about, || {
            Some(TrialAction::Query(shape?.query((self.data, container), scope, limit, false)?))
        });
        let limit = limit as usize;
        let asked = self.calibration.ordered_pages().items_per_partition(1, limit);
        let returned = (found.round() as usize).min(asked);
        let (items, has_more) = (found.min(limit as f64), found > limit as f64);
        let work = QueryWork {
            physical_partitions: 1,
            conditions,
            items: returned,
            bytes: (returned as f64 * item_bytes) as usize,
            scanned_bytes: scanned_bytes as usize,
            ..QueryWork::default()
        };
        let charge = self.calibration.query(&work, self.consistency).total().0;
        let across = (scope == PlannedScope::AllPartitions).then_some(FanOutQueries {
            charge,
            times: 1.0,
            items,
            returned: returned as f64,
            has_more,
            physical_partitions: 1,
        });
        PlannedOperation {
            container: interned(container),
            kind: OperationKind::Query,
            about,
            scope,
            times: 1.0,
            items,
            bytes: items * item_bytes,
            request_charge: charge,
            across,
            busiest,
            measured: None,
        }
    }

    /// A COUNT of this many items.
    pub(super) fn count(
        &self,
        (container, about, scope): (&str, String, PlannedScope),
        items: f64,
        busiest: BusiestShare,
        shape: Option<TrialShape>,
    ) -> PlannedOperation {
        // The client library counts in one logical partition alone.
        let shape = shape.filter(|_| scope == PlannedScope::LogicalPartition);
        self.try_out(container, (OperationKind::Count, scope), &about, || {
            Some(TrialAction::Count(shape?.query((self.data, container), scope, u32::MAX, true)?))
        });
        let charge = self.calibration.count(1, items.round() as u64, self.consistency).total().0;
        let across = FanOutQueries { charge, times: 1.0, physical_partitions: 1, ..FanOutQueries::default() };
        PlannedOperation {
            container: interned(container),
            kind: OperationKind::Count,
            about,
            scope,
            times: 1.0,
            // The answer is one value.
            items: 1.0,
            bytes: 0.0,
            request_charge: charge,
            across: (scope == PlannedScope::AllPartitions).then_some(across),
            busiest,
            measured: None,
        }
    }

    /// The write of a new item.
    pub(super) fn create(&self, container: &str, stored: &Value) -> PlannedWrite {
        let text = stored.to_string();
        let charge = self.calibration.create(text.len(), self.data.terms(container, stored)).total().0;
        let bodies = self.bodies(None, Some(stored));
        PlannedWrite { kind: OperationKind::Create, charge, bytes: text.len() as f64, bodies }
    }

    /// The index part of a create.
    pub(super) fn index_part(&self, container: &str, stored: &Value) -> f64 {
        let bytes = stored.to_string().len();
        let whole = self.calibration.create(bytes, self.data.terms(container, stored)).total().0;
        whole - self.calibration.create(bytes, TermCount::default()).total().0
    }

    /// The write of a new version of an item.
    pub(super) fn replace(&self, container: &str, before: &Value, after: &Value) -> PlannedWrite {
        let policy = self.data.policy(container);
        let bodies = self.bodies(Some(before), Some(after));
        let (before, after) = (before.to_string(), after.to_string());
        let [old, new] = [&before, &after].map(|text| IndexTerms::of(&policy, text));
        let replacement = Replacement {
            bytes_before: before.len(),
            bytes_after: after.len(),
            changed: old.changed(&new, &policy),
            is_rewritten: false,
        };
        let charge = self.calibration.replace(replacement).total().0;
        PlannedWrite { kind: OperationKind::Replace, charge, bytes: after.len() as f64, bodies }
    }

    /// The removal of an item.
    pub(super) fn delete(&self, container: &str, stored: &Value) -> PlannedWrite {
        let bodies = self.bodies(Some(stored), None);
        PlannedWrite { kind: OperationKind::Delete, bodies, ..self.create(container, stored) }
    }

    fn bodies(
        &self,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Option<(Option<Value>, Option<Value>)> {
        self.trials.map(|_| (before.cloned(), after.cloned()))
    }

    /// Adds a trial, where trials are wanted and there are items for it.
    pub(super) fn try_out(
        &self,
        container: &str,
        (kind, scope): (OperationKind, PlannedScope),
        about: &str,
        action: impl FnOnce() -> Option<TrialAction>,
    ) {
        let Some(log) = self.trials else { return };
        if let Some(action) = action() {
            let container = interned(container);
            log.add(Trial { container, kind, about: about.to_owned(), scope, action });
        }
    }

    /// The writes of a trial: all in one logical partition.
    fn trial_writes(&self, container: &str, writes: &[PlannedWrite]) -> Option<Vec<TrialWrite>> {
        let item = |stored: &Value| TrialItem::of(self.data, container, stored.clone());
        let write = |write: &PlannedWrite| match write.bodies.as_ref()? {
            (Some(before), Some(after)) => {
                Some(TrialWrite::Replace { before: item(before)?, after: item(after)? })
            }
            (None, Some(after)) => Some(TrialWrite::Create(item(after)?)),
            (Some(before), None) => Some(TrialWrite::Delete(item(before)?)),
            (None, None) => None,
        };
        let writes: Vec<TrialWrite> = writes.iter().map(write).collect::<Option<_>>()?;
        let first = writes.first()?.item();
        let is_sound = |write: &TrialWrite| match write {
            TrialWrite::Replace { before, after } => before.key == first.key && before.id == after.id,
            TrialWrite::Create(item) | TrialWrite::Delete(item) => item.key == first.key,
        };
        writes.iter().all(is_sound).then_some(writes)
    }

    /// Writes in one logical partition: one alone, or a transactional batch.
    pub(super) fn batch(
        &self,
        container: &str,
        about: String,
        writes: &[PlannedWrite],
        busiest: BusiestShare,
    ) -> PlannedOperation {
        let kind = match writes {
            [write] => write.kind,
            _ => OperationKind::Batch,
        };
        let sum =
            |value: fn(&PlannedWrite) -> f64| writes.iter().map(value).fold(0.0, |sum, value| sum + value);
        self.try_out(container, (kind, PlannedScope::Item), &about, || {
            let estimated = sum(|write| write.charge);
            Some(TrialAction::Write { writes: self.trial_writes(container, writes)?, estimated })
        });
        PlannedOperation {
            container: interned(container),
            kind,
            about,
            scope: PlannedScope::Item,
            times: 1.0,
            items: writes.len() as f64,
            bytes: sum(|write| write.bytes),
            request_charge: sum(|write| write.charge),
            across: None,
            busiest,
            measured: None,
        }
    }

    /// The share of a change in a page of the change feed.
    pub(super) fn change(&self, item: &ItemType, bytes: f64) -> PlannedOperation {
        let charge = self.calibration.change_feed(1, bytes as usize, ReadConsistency::Quorum).total().0;
        let about = format!("change of {}", item.name);
        self.try_out(
            &item.container,
            (OperationKind::ChangeFeed, PlannedScope::AllPartitions),
            &about,
            || {
                let stored = self.writer().item(item, &self.sampled(item)?);
                Some(TrialAction::ChangeFeed(TrialItem::of(self.data, &item.container, stored)?))
            },
        );
        PlannedOperation {
            container: interned(&item.container),
            kind: OperationKind::ChangeFeed,
            about,
            scope: PlannedScope::AllPartitions,
            times: 1.0,
            items: 1.0,
            bytes,
            request_charge: charge,
            across: None,
            busiest: BusiestShare::default(),
            measured: None,
        }
    }

    /// The change of a written entry, in a container that is followed for other items: no read model wants
    /// it, and its page is read for the others.
    pub(super) fn unwanted_change(&self, list: &ListSource, bytes: f64) -> PlannedOperation {
        let page =
            |items, bytes| self.calibration.change_feed(items, bytes, ReadConsistency::Quorum).total().0;
        PlannedOperation {
            container: interned(&list.container),
            kind: OperationKind::ChangeFeed,
            about: format!("change of entry of {}", list.projection),
            scope: PlannedScope::AllPartitions,
            times: 1.0,
            items: 1.0,
            bytes,
            request_charge: page(1, bytes as usize) - page(0, 0),
            across: None,
            busiest: BusiestShare::default(),
            measured: None,
        }
    }
}

impl PlannedOperation {
    /// The same operations so many times.
    pub(crate) fn repeated(mut self, times: f64) -> Self {
        self.times *= times;
        self.items *= times;
        self.bytes *= times;
        self.request_charge *= times;
        if let Some(queries) = &mut self.across {
            queries.charge *= times;
            queries.times *= times;
            queries.items *= times;
            queries.returned *= times;
        }
        self
    }
}
