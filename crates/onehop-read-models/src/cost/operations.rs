//! Operations: a projection's operations for one change, by kind, each with its request charge.

use std::fmt;

use onehop_store::{OperationKind, RequestCharge};

/// Operations of one kind that are charged the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedOperation {
    /// The kind.
    pub kind: OperationKind,
    /// The number of operations.
    pub number: usize,
    /// The request charge of one of them.
    pub each: RequestCharge,
}

/// The operations because of one change. Their charges add up, also within one transactional batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operations(Vec<PredictedOperation>);

/// The order in which kinds are shown, with singular and plural.
const KINDS: [(OperationKind, &str, &str); 8] = [
    (OperationKind::ChangeFeed, "page of the change feed", "pages of the change feed"),
    (OperationKind::PointRead, "point read", "point reads"),
    (OperationKind::Query, "query", "queries"),
    (OperationKind::Count, "count", "counts"),
    (OperationKind::Create, "create", "creates"),
    (OperationKind::Upsert, "upsert", "upserts"),
    (OperationKind::Replace, "replace", "replaces"),
    (OperationKind::Delete, "delete", "deletes"),
];

impl Operations {
    /// These and some more of one kind.
    #[must_use]
    pub(crate) fn and(mut self, kind: OperationKind, number: usize, each: RequestCharge) -> Self {
        if number > 0 {
            self.0.push(PredictedOperation { kind, number, each });
        }
        self
    }

    /// These operations and the operations of another change.
    #[must_use]
    pub(crate) fn then(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The operations, in the order in which they happen.
    #[must_use]
    pub fn each(&self) -> &[PredictedOperation] {
        &self.0
    }

    /// The sum of their request charges.
    #[must_use]
    pub fn charge(&self) -> RequestCharge {
        RequestCharge(self.0.iter().fold(0.0, |sum, these| sum + these.number as f64 * these.each.0))
    }
}

impl fmt::Display for Operations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (kind, singular, plural) in KINDS {
            let number: usize =
                self.0.iter().filter(|these| these.kind == kind).map(|these| these.number).sum();
            match number {
                0 => {}
                1 => parts.push(format!("1 {singular}")),
                _ => parts.push(format!("{number} {plural}")),
            }
        }
        formatter.write_str(if parts.is_empty() { "none" } else { "" })?;
        formatter.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_shown_by_kind_and_add_up() {
        let operations = Operations::default()
            .and(OperationKind::Replace, 12, RequestCharge(5.0))
            .and(OperationKind::PointRead, 1, RequestCharge(1.0))
            .and(OperationKind::Query, 2, RequestCharge(3.0))
            .and(OperationKind::Delete, 0, RequestCharge(9.0));
        assert_eq!(operations.to_string(), "1 point read, 2 queries, 12 replaces");
        assert_eq!(operations.charge(), RequestCharge(67.0));
        assert_eq!(Operations::default().to_string(), "none");
    }
}
