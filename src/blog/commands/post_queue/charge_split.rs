//! Charge split: divides the charge of a batch among its commands, so that their ledgers sum up to it.

use onehop_store::{OperationRecord, RequestCharge};

/// One ledger's worth of operations for each of `count` commands. Every command is shown every operation it
/// took part in, with an equal part of the charge; items that cannot be divided go to the first ones.
pub(super) fn share(operations: &[OperationRecord], count: usize) -> Vec<Vec<OperationRecord>> {
    let Ok(parts) = u32::try_from(count) else { return Vec::new() };
    (0..parts)
        .map(|part| operations.iter().map(|operation| part_of(operation, part, parts)).collect())
        .collect()
}

fn part_of(operation: &OperationRecord, part: u32, parts: u32) -> OperationRecord {
    let items = operation.items / parts + u32::from(part < operation.items % parts);
    let charge = RequestCharge(operation.charge.0 / f64::from(parts));
    OperationRecord { items, charge, ..*operation }
}

#[cfg(test)]
mod tests {
    use onehop_store::{ChargeBasis, ChargeSource, ContainerName, OperationKind};

    use super::*;

    #[test]
    fn shares_sum_up_to_what_was_done() {
        let batch = OperationRecord {
            container: ContainerName("posts"),
            kind: OperationKind::Batch,
            items: 4,
            physical_partitions: 1,
            charge: RequestCharge(31.5),
            source: ChargeSource::Estimated,
            basis: ChargeBasis::default(),
        };
        let shares = share(&[batch, OperationRecord { items: 1, ..batch }], 3);
        let all: Vec<_> = shares.iter().flatten().collect();
        assert!((all.iter().map(|record| record.charge.0).sum::<f64>() - 63.0).abs() < 1e-9);
        assert_eq!(all.iter().map(|record| record.items).sum::<u32>(), 5);
        assert!(shares.iter().all(|share| share.len() == 2));
    }
}
