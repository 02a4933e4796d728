//! Estimates: the charge of a published case under a calibration, as the sum of its parts.

use onehop_store::charges::{
    Calibration, ChargeParts, IndexTerms, QueryWork, ReadConsistency, RefusedWrite, Replacement, TermCount,
};

use super::case::ChargeCase;
use super::indexing::CasePolicy;
use super::sql::SqlParts;

/// Paths of an item that a case does not show: as many as the median of the shown ones, and one more for each
/// further size.
const UNKNOWN_PATHS_MIN: usize = 4;
const BYTES_FOR_EACH_UNKNOWN_PATH: usize = 130;
/// Bytes of a returned item of unknown size.
const UNKNOWN_ITEM_BYTES: f64 = 100.0;

/// The estimated charge of a case; `None` for an operation that the model does not know.
pub(super) fn estimate(case: &ChargeCase, calibration: &Calibration) -> Option<ChargeParts> {
    let policy = CasePolicy::of(case.indexing.as_ref());
    let estimate = Estimate { case, calibration, policy: &policy, consistency: consistency(case) };
    match case.operation.to_lowercase().as_str() {
        "create" | "insert" => Some(estimate.create()),
        "upsert" if case.changed_paths.is_none() && case.item_before.is_none() => Some(estimate.create()),
        "delete" => Some(calibration.delete(case.bytes(), estimate.terms())),
        "replace" | "upsert" => Some(calibration.replace(estimate.replacement())),
        "patch" => Some(calibration.patch(estimate.replacement(), estimate.operations(1))),
        "batch" => Some(estimate.batch()),
        "refused" => Some(calibration.refused(estimate.refusal())),
        "read" | "pointread" => Some(estimate.read()),
        "readmany" => {
            Some(estimate.query_of(SqlParts { conditions: 1, has_from: true, ..SqlParts::default() }))
        }
        "query" => Some(estimate.query()),
        "count" => Some(calibration.count(case.physical_partitions(), 0, estimate.consistency)),
        "changefeed" | "feed" => Some(estimate.feed()),
        "storedprocedure" => Some(estimate.batch() + calibration.stored_procedure()),
        _ => None,
    }
}

fn consistency(case: &ChargeCase) -> ReadConsistency {
    let level = case.consistency.as_deref().unwrap_or_default().to_lowercase();
    let quorum = ["strong", "bounded", "committed"].iter().any(|name| level.contains(name));
    if quorum { ReadConsistency::Quorum } else { ReadConsistency::OneReplica }
}

struct Estimate<'a> {
    case: &'a ChargeCase,
    calibration: &'a Calibration,
    policy: &'a CasePolicy,
    consistency: ReadConsistency,
}

impl Estimate<'_> {
    /// The index terms of the item; of an item that the case does not show, a number that its size suggests.
    fn terms(&self) -> TermCount {
        let policy = &self.policy.policy;
        match (&self.case.item, self.policy.included) {
            (Some(item), _) => IndexTerms::of(policy, item.get()).count(policy),
            // `id` is indexed in any case.
            (None, Some(included)) => TermCount::of(included as u32 + 1),
            (None, None) => {
                let paths = (self.case.bytes() / BYTES_FOR_EACH_UNKNOWN_PATH).max(UNKNOWN_PATHS_MIN);
                TermCount::of(paths as u32)
            }
        }
    }

    fn create(&self) -> ChargeParts {
        let created = self.calibration.create(self.case.bytes(), self.terms());
        created + self.calibration.unique_keys(self.policy.policy.unique_keys())
    }

    fn replacement(&self) -> Replacement {
        let bytes = self.case.bytes();
        let bytes_before = self.case.item_before.as_ref().map_or(bytes, |item| item.get().len());
        let changed = match (self.case.changed_paths, &self.case.item_before, &self.case.item) {
            (Some(paths), ..) => {
                let literals = u32::from(paths.fract() >= 0.25);
                TermCount { plain: paths as u32, literals, composites: 0 }
            }
            (None, Some(before), Some(after)) => {
                let policy = &self.policy.policy;
                let [before, after] = [before, after].map(|item| IndexTerms::of(policy, item.get()));
                before.changed(&after, policy)
            }
            // Where nothing is indexed, nothing changes; otherwise a replace changes one value.
            (None, ..) => TermCount::of(u32::from(self.policy.included != Some(0))),
        };
        Replacement { bytes_before, bytes_after: bytes, changed, is_rewritten: false }
    }

    fn operations(&self, unless_known: usize) -> usize {
        self.case.results.map_or(unless_known, |results| results as usize)
    }

    /// The sum of its operations: the items where the case shows them, otherwise equal creates.
    fn batch(&self) -> ChargeParts {
        let items: Vec<&serde_json::value::RawValue> = self
            .case
            .item
            .as_ref()
            .and_then(|items| serde_json::from_str(items.get()).ok())
            .unwrap_or_default();
        let policy = &self.policy.policy;
        if items.is_empty() {
            let paths = number_before(&self.case.note(), " paths").unwrap_or(UNKNOWN_PATHS_MIN as u32);
            let each = self.calibration.create(self.case.bytes(), TermCount::of(paths));
            return (0..self.operations(1)).fold(ChargeParts::default(), |sum, _| sum + each);
        }
        let create = |item: &serde_json::value::RawValue| {
            let terms = IndexTerms::of(policy, item.get()).count(policy);
            self.calibration.create(item.get().len(), terms)
        };
        items.into_iter().map(create).fold(ChargeParts::default(), |sum, each| sum + each)
    }

    fn refusal(&self) -> RefusedWrite {
        let note = self.case.note();
        let has = |words: &[&str]| words.iter().any(|word| note.contains(word));
        let properties = || {
            let item = self.case.item.as_ref()?;
            let properties: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(item.get()).ok()?;
            Some(properties.len())
        };
        let properties = properties();
        if has(&["unique"]) {
            return RefusedWrite::UniqueKey { properties: properties.unwrap_or(UNKNOWN_PATHS_MIN) };
        }
        let is_conflict = has(&["409", "conflict", "exists"]);
        let is_precondition = has(&["400", "404", "412", "etag", "precondition", "not found"]);
        match properties {
            Some(properties) if is_conflict || !is_precondition => RefusedWrite::Conflict { properties },
            None if is_conflict => RefusedWrite::Conflict { properties: UNKNOWN_PATHS_MIN },
            _ => RefusedWrite::Precondition,
        }
    }

    fn read(&self) -> ChargeParts {
        let note = self.case.note();
        let is_empty = ["304", "404", "not modified", "not found"].iter().any(|word| note.contains(word));
        let bytes = if is_empty { 0 } else { self.case.bytes() };
        self.calibration.point_read(bytes, self.consistency)
    }

    /// A query without SQL is a list of items, which is read as the change feed is.
    fn query(&self) -> ChargeParts {
        match self.case.sql() {
            Some(sql) if sql.to_uppercase().contains("SELECT") || self.case.filtered.is_some() => {
                self.query_of(SqlParts::of(sql))
            }
            None if self.case.filtered.is_some() => {
                let conditions = u32::from(self.case.filtered == Some(true));
                self.query_of(SqlParts { conditions, has_from: true, ..SqlParts::default() })
            }
            _ => self.feed(),
        }
    }

    fn query_of(&self, sql: SqlParts) -> ChargeParts {
        let items = if sql.has_from || self.case.item_bytes.is_some() { self.operations(0) } else { 0 };
        let item_bytes = self.case.item_bytes.unwrap_or(UNKNOWN_ITEM_BYTES);
        // Words in the place of SQL: the case itself says whether an index serves the query.
        let conditions = match (sql.has_from, self.case.filtered) {
            (false, Some(true)) => sql.conditions.max(1),
            _ => sql.conditions,
        };
        let work = QueryWork {
            physical_partitions: self.case.physical_partitions(),
            conditions,
            in_values: sql.in_values,
            functions: sql.functions,
            compares_items: sql.compares_items,
            is_ordered: sql.is_ordered,
            join_rows: if sql.has_join { items } else { 0 },
            items,
            bytes: (items as f64 * item_bytes) as usize,
            scanned_bytes: 0,
        };
        self.calibration.query(&work, self.consistency)
    }

    fn feed(&self) -> ChargeParts {
        let items = self.operations(0);
        let bytes = items as f64 * self.case.item_bytes.unwrap_or(UNKNOWN_ITEM_BYTES);
        self.calibration.change_feed(items, bytes as usize, self.consistency)
    }
}

/// The number before a word of a note: 5 in `creates of 5 paths`.
fn number_before(note: &str, word: &str) -> Option<u32> {
    let place = note.find(word)?;
    let digits = note[..place].rsplit(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok()
}
