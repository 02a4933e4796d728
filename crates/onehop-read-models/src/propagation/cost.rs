//! Request charge of a propagation: pages of targets are listed beside the source, and each target is
//! replaced.

use onehop_change_feed::Cause;
use onehop_store::OperationKind::{PointRead, Query, Replace};

use super::{ENTRY_PAGE_ITEMS, PAGE_ITEMS, Propagation};
use crate::cost::{
    Charged, DataProfile, FieldEdit, Operations, PredictedChange, RuleProjection, SampleChange, SampleEdit,
    StoredType, a,
};
use crate::item_type::ItemPartition;
use crate::rule::{CopyTarget, ListRule};

impl RuleProjection for Propagation {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        // A part of the partition key never changes.
        if self.rule.source.partition.fields().any(|field| field == self.rule.field) {
            return Vec::new();
        }
        let Some((item, targets)) = data.typical_source(self.rule.name) else { return Vec::new() };
        let operations = self.rule.targets.iter().zip(&targets).enumerate();
        let operations = operations.fold(Operations::default(), |operations, (place, (target, number))| {
            operations.then(match self.list_of(place) {
                None => self.found_by_query(target, *number, data),
                Some((list, _)) => self.found_by_list(list, target, *number, data),
            })
        });
        let source = &self.rule.source;
        let edit = SampleEdit::Change(vec![FieldEdit::Alter(self.rule.field)]);
        vec![PredictedChange {
            charged: Charged::Projection(self.rule.name),
            change: format!("`{}` of {} changes", self.rule.field, a(source.name)),
            fan_out: targets.iter().sum(),
            operations,
            sample: SampleChange { item_type: source.clone(), item, edit },
        }]
    }
}

impl Propagation {
    /// For each page the source is read and the targets are listed; then each is replaced.
    fn found_by_query(&self, target: &CopyTarget, number: usize, data: &DataProfile) -> Operations {
        let stored = StoredType::from(&target.item_type);
        let is_partition = target.item_type.partition == ItemPartition::Field(target.by);
        let mut operations = Operations::default();
        for (page, rest) in pages(number, PAGE_ITEMS) {
            let query = match is_partition {
                true => data.partition_query_charge(&stored, page),
                false => data.query_charge(&stored, rest, PAGE_ITEMS, 1),
            };
            operations = operations.and(PointRead, 1, self.source_charge(data)).and(Query, 1, query);
        }
        operations.and(Replace, number, self.target_charge(target, data))
    }

    /// For each page the source is read and the entries are listed. Then the source is read again with the
    /// items of the entries, and each item is replaced.
    fn found_by_list(
        &self,
        list: &ListRule,
        target: &CopyTarget,
        number: usize,
        data: &DataProfile,
    ) -> Operations {
        let (stored, entry) = (StoredType::from(&target.item_type), StoredType::entry_of(list));
        let mut operations = Operations::default();
        for (page, _) in pages(number, ENTRY_PAGE_ITEMS) {
            operations = operations
                .and(PointRead, 1, self.source_charge(data))
                .and(Query, 1, data.partition_query_charge(&entry, page))
                .and(PointRead, 1, self.source_charge(data))
                .and(PointRead, page, data.read_charge(&stored));
        }
        operations.and(Replace, number, self.target_charge(target, data))
    }

    fn source_charge(&self, data: &DataProfile) -> onehop_store::RequestCharge {
        data.read_charge(&StoredType::from(&self.rule.source))
    }

    fn target_charge(&self, target: &CopyTarget, data: &DataProfile) -> onehop_store::RequestCharge {
        data.replace_charge(&StoredType::from(&target.item_type), &[target.field, Cause::FIELD])
    }
}

/// The items of each page, and how many are left when it is read. Without items there is one empty page.
fn pages(number: usize, page_items: usize) -> impl Iterator<Item = (usize, usize)> {
    let pages = number.div_ceil(page_items).max(1);
    (0..pages).map(move |page| {
        let rest = number - page * page_items;
        (rest.min(page_items), rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_fan_out_still_reads_one_page() {
        assert_eq!(pages(0, 500).collect::<Vec<_>>(), [(0, 0)]);
        assert_eq!(pages(500, 500).collect::<Vec<_>>(), [(500, 500)]);
        assert_eq!(pages(501, 500).collect::<Vec<_>>(), [(500, 501), (1, 1)]);
    }
}
