//! Assumptions of a report, and what the estimates leave out: the list that a reader checks before using the figures.

use super::report::StudyReport;
use onehop_store::ChargeSource;

/// Left out of every estimated charge.
const LEFT_OUT_OF_CHARGES: [&str; 5] = [
    "Composite indexes: each adds to the charge of a write, by an amount that no source states. `onehop provision` makes them, and the \
     ordered queries need them.",
    "ORDER BY is charged nothing by itself, because the index holds the order. What the client reads beyond the page is charged.",
    "Nested properties and arrays: every property of the top level counts once as indexed.",
    "Refused writes are charged in full. Reads at a consistency above session, which cost twice, are not modelled.",
    "Items above 500 KB, which cost more than the line between 1 KB and 100 KB, and pages of a query that 4 MB or a deadline cut short.",
];

/// The assumptions of a report, and what it leaves out, a sentence or two each.
#[must_use]
pub fn assumptions(report: &StudyReport) -> Vec<String> {
    let has_estimates = report.charge_source == ChargeSource::Estimated || report.estimate_errors.is_some();
    let mut list = Vec::new();
    if has_estimates {
        let (name, title) = (report.calibration.name(), report.calibration.title());
        list.push(format!("Calibration of the estimates: {name} ({title})."));
        let unsettled = report.calibration.unsettled();
        list.extend(unsettled.map(|(constant, range)| format!("Unsettled, {}: {range}.", constant.name())));
    }
    if let Some(first) = report.provisioning.first() {
        list.push(format!(
            "Index share: indexes take {:.0} % of the size of the items (--index-share). Microsoft states about 10 to 20 % for an index \
             of every property (\"Optimize storage cost in Azure Cosmos DB\"), and nothing more exact; the metric Index Usage of an \
             account has the size. Sizes are those of the items' JSON, without the properties that the service adds (_rid, _self, _etag, \
             _attachments, _ts).",
            first.index_share * 100.0
        ));
        list.extend(physical_partitions(report.physical_partitions));
    }
    if has_estimates {
        list.extend(LEFT_OUT_OF_CHARGES.map(str::to_owned));
    }
    list
}

/// What a number of physical partitions implies. Sources: "Service quotas" and "Partitioning and horizontal scaling",
/// learn.microsoft.com/azure/cosmos-db.
fn physical_partitions(number: u32) -> Option<String> {
    let beyond = number.checked_sub(1).filter(|beyond| *beyond > 0)?;
    Some(format!(
        "Physical partitions: {number} is an input. A container reaches this number with more than {} GB, at 50 GB each, or with more than {} RU/s \
         at some time, at 10,000 RU/s each. Partitions do not merge by themselves. Where throughput was the reason, \
         --highest-throughput states it, and a hundredth of it is a floor.",
        u64::from(beyond) * 50,
        u64::from(beyond) * 10_000
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_physical_partitions_has_a_reason() {
        let text = physical_partitions(70).unwrap();
        assert!(text.contains("3450 GB") && text.contains("690000 RU/s"), "{text}");
        assert_eq!(physical_partitions(1), None);
    }
}
