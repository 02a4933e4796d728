//! Errors of estimated request charges by kind of operation: the ninth decile that a calibration states over
//! the ledger of published charges.

use onehop_store::OperationKind;
use onehop_store::charges::Calibration;

/// The error of a kind of operation without a published charge. The ends of the unsettled ranges of
/// `feedItem` and `feedKilobyte` change a page with one change of 2 KB by -7 % and +17 %.
pub const UNPUBLISHED_ERROR: f64 = 0.2;

/// The relative error of an estimated charge, above or below: 0.05 is 5 %.
#[must_use]
pub fn relative_error(calibration: &Calibration, kind: OperationKind) -> f64 {
    let accuracy = ledger_name(kind).and_then(|name| calibration.accuracy_of(name));
    accuracy.map_or(UNPUBLISHED_ERROR, |accuracy| accuracy.p90)
}

/// The name of a kind of operation in the ledger of published charges, if it has a name there.
fn ledger_name(kind: OperationKind) -> Option<&'static str> {
    match kind {
        OperationKind::PointRead => Some("read"),
        OperationKind::Query => Some("query, index-served, since 2020"),
        OperationKind::Count => Some("count"),
        OperationKind::Create => Some("create"),
        OperationKind::Replace | OperationKind::Upsert => Some("replace"),
        OperationKind::Delete => Some("delete"),
        OperationKind::Batch => Some("batch"),
        OperationKind::ChangeFeed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_ninth_decile_of_the_ledger() {
        let calibration = Calibration::current();
        assert_eq!(relative_error(&calibration, OperationKind::Batch), 0.0607);
        assert_eq!(relative_error(&calibration, OperationKind::Create), 0.053);
        assert_eq!(relative_error(&calibration, OperationKind::ChangeFeed), UNPUBLISHED_ERROR);
    }

    #[test]
    fn every_kind_with_a_name_has_published_charges() {
        let calibration = Calibration::current();
        for kind in [
            OperationKind::PointRead,
            OperationKind::Query,
            OperationKind::Count,
            OperationKind::Replace,
            OperationKind::Upsert,
            OperationKind::Delete,
        ] {
            assert!(ledger_name(kind).and_then(|name| calibration.accuracy_of(name)).is_some(), "{kind:?}");
        }
    }
}
