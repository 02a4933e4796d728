//! The request charge model: the estimated charge of Azure Cosmos DB for one operation. Values in, request
//! units out; no I/O, and no knowledge of the request that the operation serves. `docs/request-charges.md`
//! has the law, its sources and its errors.

use super::calibration::Calibration;
use super::constants::Constant;
use super::parts::{ChargePart, ChargeParts};
use super::terms::TermCount;

/// Consistency of a read, as far as it changes the charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadConsistency {
    /// Session, consistent prefix and eventual consistency: one replica answers.
    #[default]
    OneReplica,
    /// Strong and bounded staleness consistency, and reads of the latest committed version: two replicas
    /// answer.
    Quorum,
}

/// The write of a new version of an item over an existing one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Replacement {
    /// Bytes of the item before and after, as JSON without system properties.
    pub bytes_before: usize,
    pub bytes_after: usize,
    /// Index terms that differ.
    pub changed: TermCount,
    /// Whether an earlier operation of the same batch wrote the item.
    pub is_rewritten: bool,
}

/// A refused write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedWrite {
    /// 400, 404 or 412: an invalid body, an absent item, a changed ETag.
    Precondition,
    /// 409: the item exists. The item that was to be written has this many top-level properties.
    Conflict { properties: usize },
    /// 409: another item has the unique key.
    UniqueKey { properties: usize },
}

/// The work of one query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueryWork {
    /// Physical partitions that it asks.
    pub physical_partitions: u32,
    /// Conditions of its filter that an index serves; 0 for a query without a filter.
    pub conditions: u32,
    /// Values of its `IN` lists.
    pub in_values: u32,
    /// Functions of its answer, each evaluated for each item.
    pub functions: u32,
    /// Whether its filter compares texts item by item: `LIKE`, or a function.
    pub compares_items: bool,
    pub is_ordered: bool,
    /// Rows of its joins over arrays.
    pub join_rows: usize,
    /// Items and bytes that all physical partitions return together.
    pub items: usize,
    pub bytes: usize,
    /// Bytes of the items that it loads because no index serves its filter.
    pub scanned_bytes: usize,
}

fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}

impl Calibration {
    fn units(&self, units: f64) -> f64 {
        units * self.value(Constant::WriteUnit)
    }

    fn terms(&self, terms: TermCount) -> f64 {
        f64::from(terms.plain) + f64::from(terms.literals) * self.value(Constant::LiteralUnits)
    }

    /// A create, or an upsert of an absent item. `terms` are all of the item's.
    #[must_use]
    pub fn create(&self, bytes: usize, terms: TermCount) -> ChargeParts {
        ChargeParts::of(ChargePart::Base, self.units(self.value(Constant::InsertUnits)))
            .and(ChargePart::IndexTerms, self.units(self.terms(terms)))
            .and(
                ChargePart::CompositeIndexes,
                self.units(f64::from(terms.composites) * self.value(Constant::CompositeUnits)),
            )
            .and(ChargePart::Size, self.write_size.at(bytes))
    }

    /// The unique keys of a create.
    #[must_use]
    pub fn unique_keys(&self, keys: usize) -> ChargeParts {
        ChargeParts::of(ChargePart::UniqueKeys, keys as f64 * self.value(Constant::UniqueKey))
    }

    /// A delete: it removes the item and the index terms that a create wrote.
    #[must_use]
    pub fn delete(&self, bytes: usize, terms: TermCount) -> ChargeParts {
        self.create(bytes, terms)
    }

    /// A replace, or an upsert onto an item.
    #[must_use]
    pub fn replace(&self, replacement: Replacement) -> ChargeParts {
        let Replacement { bytes_before, bytes_after, changed, is_rewritten } = replacement;
        let rewritten = if is_rewritten { f64::from(changed.plain + changed.literals) } else { 0.0 };
        let saved = rewritten * self.value(Constant::BatchRewriteUnits);
        let size = (self.write_size.at(bytes_before) + self.write_size.at(bytes_after)) / 2.0;
        let composites = f64::from(changed.composites) * self.value(Constant::CompositeUnits);
        ChargeParts::of(ChargePart::Base, self.units(self.value(Constant::ReplaceUnits)))
            .and(ChargePart::IndexTerms, self.units((self.terms(changed) - saved).max(0.0)))
            .and(ChargePart::CompositeIndexes, self.units(composites))
            .and(ChargePart::Size, size * self.value(Constant::ReplaceSizeFactor))
    }

    /// A patch of this many operations.
    #[must_use]
    pub fn patch(&self, replacement: Replacement, operations: usize) -> ChargeParts {
        let operations = operations as f64 * self.value(Constant::PatchOperation);
        self.replace(replacement).and(ChargePart::PatchOperations, operations)
    }

    /// A stored procedure, beside its operations.
    #[must_use]
    pub fn stored_procedure(&self) -> ChargeParts {
        ChargeParts::of(ChargePart::Base, self.value(Constant::StoredProcedure))
    }

    /// A refused write.
    #[must_use]
    pub fn refused(&self, refused: RefusedWrite) -> ChargeParts {
        let conflict = |properties: usize| {
            self.value(Constant::Conflict) + properties as f64 * self.value(Constant::ConflictProperty)
        };
        let charge = match refused {
            RefusedWrite::Precondition => self.value(Constant::Refusal),
            RefusedWrite::Conflict { properties } => conflict(properties),
            RefusedWrite::UniqueKey { properties } => {
                conflict(properties) + self.value(Constant::ConflictUniqueKey)
            }
        };
        ChargeParts::of(ChargePart::Refusal, charge)
    }

    fn read(&self, parts: ChargeParts, consistency: ReadConsistency) -> ChargeParts {
        match consistency {
            ReadConsistency::OneReplica => parts,
            ReadConsistency::Quorum => {
                let more = parts.total().0 * (self.value(Constant::QuorumFactor) - 1.0);
                parts.and(ChargePart::Quorum, more)
            }
        }
    }

    /// A point read of an item of this many bytes. An absent or unchanged item is charged as one of no bytes.
    #[must_use]
    pub fn point_read(&self, bytes: usize, consistency: ReadConsistency) -> ChargeParts {
        let base = self.point_read.at(0);
        let parts = ChargeParts::of(ChargePart::Base, base);
        self.read(parts.and(ChargePart::Size, self.point_read.at(bytes) - base), consistency)
    }

    /// A query.
    #[must_use]
    pub fn query(&self, work: &QueryWork, consistency: ReadConsistency) -> ChargeParts {
        let value = |constant| self.value(constant);
        let (of_partition, of_item) = if work.conditions > 0 || work.in_values > 0 || work.compares_items {
            (value(Constant::QueryFiltered), value(Constant::QueryItemFiltered))
        } else {
            (value(Constant::QueryUnfiltered), value(Constant::QueryItemUnfiltered))
        };
        let items = work.items as f64;
        let compared = if work.compares_items { items } else { 0.0 };
        let ordered = if work.is_ordered { items } else { 0.0 };
        let conditions = f64::from(work.conditions.saturating_sub(1)) * value(Constant::QueryCondition)
            + f64::from(work.in_values) * value(Constant::QueryInValue)
            + f64::from(work.functions) * value(Constant::QueryFunction)
            + compared * value(Constant::QueryComparedItem)
            + ordered * value(Constant::QueryOrderedItem)
            + work.join_rows as f64 * value(Constant::QueryJoinRow);
        let parts = ChargeParts::of(
            ChargePart::PhysicalPartitions,
            f64::from(work.physical_partitions) * of_partition,
        )
        .and(ChargePart::Items, items * of_item)
        .and(ChargePart::Size, kilobytes(work.bytes) * value(Constant::QueryKilobyte))
        .and(ChargePart::Query, conditions)
        .and(ChargePart::Scan, kilobytes(work.scanned_bytes) * value(Constant::QueryScannedKilobyte));
        self.read(parts, consistency)
    }

    /// A COUNT that asks this many physical partitions and counts this many items.
    #[must_use]
    pub fn count(&self, physical_partitions: u32, items: u64, consistency: ReadConsistency) -> ChargeParts {
        let partitions = f64::from(physical_partitions) * self.value(Constant::Count);
        let parts = ChargeParts::of(ChargePart::PhysicalPartitions, partitions)
            .and(ChargePart::Items, items as f64 * self.value(Constant::CountItem));
        self.read(parts, consistency)
    }

    /// A page of the change feed of one physical partition, or of a list of items without a query.
    #[must_use]
    pub fn change_feed(&self, items: usize, bytes: usize, consistency: ReadConsistency) -> ChargeParts {
        let parts = ChargeParts::of(ChargePart::Base, self.value(Constant::FeedPage))
            .and(ChargePart::Items, items as f64 * self.value(Constant::FeedItem))
            .and(ChargePart::Size, kilobytes(bytes) * self.value(Constant::FeedKilobyte));
        self.read(parts, consistency)
    }
}
