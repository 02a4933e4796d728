//! Assumptions of a report, and the omissions of the estimates: the list that a reader checks before using
//! the figures.

use super::bounds::Bounds;
use super::report::{KnownPartitions, StudyReport};
use onehop_store::ChargeSource;

/// The charge model, and its omissions from every estimated charge.
const MODEL_OF_CHARGES: [&str; 6] = [
    "Index terms: every path of an item's JSON tree that the indexing policy includes is one, nested \
     objects and arrays included; the \
     elements of an array share one path.",
    "Composite indexes: an item's entry in one counts as an index term, and so does its change. No \
     published charge confirms the amount. Each \
     container with an order has one, beside all other indexes.",
    "ORDER BY is charged nothing by itself where an index holds the order. Items that the client reads beyond the page are charged.",
    "Refused writes are charged as refusals. Reads of background work are of the latest committed version \
     and charged twice, as reads at strong or \
     bounded staleness consistency are; the requests read at session consistency.",
    "Point reads above 400 KB and writes above 100 KB are charged by the last section of a piecewise line, which no published charge confirms.",
    "Left out: pages of a query that 4 MB or a deadline cut short, and the work of the service on expired items.",
];

/// The assumptions of a report, and its omissions, a sentence or two each.
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
        list.push(index_share(first.index_share));
        list.push(known_partitions(report.known_partitions, report.physical_partitions));
    }
    if has_estimates {
        list.extend(MODEL_OF_CHARGES.map(str::to_owned));
    }
    list
}

fn index_share(share: Bounds) -> String {
    let percent = share.ends().into_iter().map(|end| format!("{:.0}", end * 100.0)).collect::<Vec<_>>();
    format!(
        "Index share: indexes take {} % of the size of the items. Microsoft states about 10 \
         to 20 % for an index of every \
         property (\"Optimize storage cost in Azure Cosmos DB\"), and nothing more exact; the metric Index \
         Usage of an account has the \
         size. Sizes are those of the items' JSON, without the properties that the service adds (_rid, \
         _self, _etag, _attachments, _ts).",
        percent.join(" to ")
    )
}

/// Where the physical partitions come from. Sources: "Service quotas" and "Partitioning and horizontal
/// scaling", learn.microsoft.com/azure/cosmos-db.
fn known_partitions(known: KnownPartitions, number: u32) -> String {
    let floor = u64::from(number.saturating_sub(1)) * 100;
    match known {
        KnownPartitions::Derived => "Physical partitions follow for each container from its storage, 50 GB \
                                     each, and from its throughput, 10,000 RU/s \
                                     each, together with the queries across them that their number makes \
                                     dearer. As few as possible, or as many as \
                                     a new container gets (6,000 RU/s each) and as splits leave (25 GB \
                                     each): both are compared."
            .to_owned(),
        KnownPartitions::OfAccount => "Physical partitions are at least as many as the account has. Partitions do not merge by themselves.".to_owned(),
        KnownPartitions::AsTheArticle => format!(
            "Physical partitions: {number} for each container with as many logical partitions, as the \
             article's charges imply. A \
             container has so many only with more than {} GB or after more than {} RU/s; where storage does \
             not explain them, {floor} \
             RU/s, a hundredth of that throughput, are its floor.",
            u64::from(number.saturating_sub(1)) * 50,
            u64::from(number.saturating_sub(1)) * 10_000
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_physical_partitions_has_a_reason() {
        let text = known_partitions(KnownPartitions::AsTheArticle, 70);
        assert!(
            text.contains("3450 GB") && text.contains("690000 RU/s") && text.contains("6900 RU/s"),
            "{text}"
        );
        assert!(known_partitions(KnownPartitions::Derived, 1).contains("50 GB"));
    }

    #[test]
    fn an_index_share_has_one_end_or_two() {
        assert!(index_share(Bounds { low: 0.1, high: 0.2 }).contains("10 to 20 % of the size"));
        assert!(index_share(Bounds::certain(0.2)).contains("take 20 % of the size"));
    }
}
