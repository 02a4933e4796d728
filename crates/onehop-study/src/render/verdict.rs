//! The verdict on the data models as blocks: which are infeasible and why, which has the smallest bill, and
//! between which ends.

use super::blocks::{Block, Table, TableColumn};
use crate::bounds::Bounds;
use crate::design_study::{Outlook, WinnerRange};
use crate::feasibility::{GrowthOf, Headroom, LimitKind};
use crate::figure::figure;
use crate::provisioning::{PlanInterval, ProvisionedUnit, Provisioning, Verdict};

/// Of a study with a traffic.
pub(super) fn blocks(verdict: &Verdict, provisioning: &[Provisioning]) -> Vec<Block> {
    vec![
        Block::Heading("Verdict".to_owned()),
        Block::Text(conclusion(verdict)),
        Block::Text(method(verdict, provisioning)),
        Block::Table(intervals(verdict)),
        Block::Heading("Feasibility".to_owned()),
        Block::Text(FEASIBILITY.to_owned()),
        Block::List(provisioning.iter().map(feasibility).collect()),
    ]
}

/// The verdict at other traffics.
pub(super) fn outlook(outlook: &Outlook) -> Vec<Block> {
    let line = |range: &WinnerRange| {
        let at = if range.from == range.to {
            format!("At {} times the traffic", figure(range.from))
        } else {
            format!("From {} to {} times the traffic", figure(range.from), figure(range.to))
        };
        match (&range.winner, range.unbeaten.as_slice()) {
            (Some(winner), _) => format!("{at}: {winner}."),
            (None, []) => format!("{at}: no design is feasible."),
            (None, unbeaten) => format!("{at}: no difference between {}.", joined(unbeaten)),
        }
    };
    let mut blocks = vec![
        Block::Heading("Growth".to_owned()),
        Block::Text("The verdict at other multiples of this traffic, on the same data:".to_owned()),
        Block::List(outlook.ranges.iter().map(line).collect()),
    ];
    if outlook.is_small {
        blocks.push(Block::Text(SMALL.to_owned()));
    }
    blocks
}

const SMALL: &str = "Each feasible design needs less than 100 GB and 30,000 RU/s. Below these bounds Microsoft's \
                     partition key advisor calls the effect of the key minimal.";

const FEASIBILITY: &str = "Azure serves 10,000 RU/s of a logical partition and of a physical partition, 20 \
                           GB of a logical partition and 2 MB of an \
                           item. Each data model with the first limit that more traffic, and the first that \
                           more data under one key, meets:";

fn conclusion(verdict: &Verdict) -> String {
    if let Some(winner) = &verdict.winner {
        let others = |plan: &&PlanInterval| plan.feasible && !verdict.unbeaten.contains(&plan.model);
        return match verdict.plans.iter().filter(others).count() {
            0 => format!("{winner} is the only feasible data model at this traffic."),
            _ => format!("{winner} has the smallest provisioned bill, under all assumptions."),
        };
    }
    if verdict.unbeaten.is_empty() {
        return "No data model is feasible at this traffic.".to_owned();
    }
    format!(
        "No difference between {}: none has a smaller provisioned bill under all assumptions.",
        joined(&verdict.unbeaten)
    )
}

/// `V1, V2 and V3`
fn joined(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.join(""),
    }
}

fn method(verdict: &Verdict, provisioning: &[Provisioning]) -> String {
    let unit = match verdict.unit {
        ProvisionedUnit::Month => "of manual throughput and storage a month",
        ProvisionedUnit::RequestUnitsPerSecond => "as RU/s of manual throughput, as no price was given",
    };
    let [peak, index] = provisioning.first().map_or([String::new(), String::new()], |first| {
        [range(first.peak_to_mean), range(first.index_share)]
    });
    format!(
        "The provisioned bill {unit}, with all uncertain inputs varied together, {} combinations: readers \
         spread evenly and by Zipf's law, a peak \
         of {peak} times the mean, indexes of {index} of the data, as few and as many physical partitions \
         as the load explains, and in each the \
         charges at both ends of the errors that the calibration states. A data model wins where its \
         interval lies below the others' in \
         every combination.",
        verdict.cases
    )
}

/// `1 to 3`
pub(super) fn range(bounds: Bounds) -> String {
    if bounds.is_certain() {
        return figure(bounds.high);
    }
    format!("{} to {}", figure(bounds.low), figure(bounds.high))
}

fn intervals(verdict: &Verdict) -> Table {
    let unit = match verdict.unit {
        ProvisionedUnit::Month => "a month",
        ProvisionedUnit::RequestUnitsPerSecond => "RU/s",
    };
    let columns = vec![
        TableColumn::text("model"),
        TableColumn::figure(&format!("{unit}, from")),
        TableColumn::figure(&format!("{unit}, to")),
        TableColumn::text("verdict"),
    ];
    let line = |plan: &PlanInterval| {
        let [low, high] =
            plan.bill.map_or([String::new(), String::new()], |bill| [bill.low, bill.high].map(end));
        vec![plan.model.clone(), low, high, standing(verdict, plan).to_owned()]
    };
    Table { columns, lines: verdict.plans.iter().map(line).collect() }
}

fn end(value: f64) -> String {
    if value.is_finite() { format!("{value:.0}") } else { "infeasible".to_owned() }
}

fn standing(verdict: &Verdict, plan: &PlanInterval) -> &'static str {
    if !plan.feasible {
        "infeasible"
    } else if verdict.unbeaten.contains(&plan.model) {
        if verdict.winner.is_some() { "smallest bill" } else { "no difference" }
    } else {
        "dearer"
    }
}

fn feasibility(found: &Provisioning) -> String {
    let exceeded: Vec<String> = found.feasibility.exceeded().map(limit).collect();
    if !exceeded.is_empty() {
        return format!("{}: infeasible. {}", found.model, exceeded.join("; "));
    }
    let nearest = [GrowthOf::Traffic, GrowthOf::Data];
    let nearest = nearest.into_iter().filter_map(|growth| found.feasibility.nearest(growth));
    let limits: Vec<String> = nearest.map(limit).collect();
    format!("{}: feasible. {}", found.model, limits.join("; "))
}

fn limit(headroom: &Headroom) -> String {
    let Headroom { container, limit, growth_of, multiple } = headroom;
    let limit = match limit {
        LimitKind::LogicalThroughput => "a logical partition above 10,000 RU/s",
        LimitKind::PhysicalPartitions => {
            "the most loaded logical partition and the queries across partitions together take 10,000 RU/s \
             of one physical partition, \
             however many there are,"
        }
        LimitKind::LogicalStorage => "a logical partition above 20 GB",
        LimitKind::ItemSize => "an item above 2 MB",
    };
    let of = match growth_of {
        GrowthOf::Traffic => "this traffic",
        GrowthOf::Data => "the data under one key",
    };
    format!("{container}: {limit} from {} times {of} on", figure(*multiple))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(plans: &[(&str, Option<(f64, f64)>)], unbeaten: &[&str]) -> Verdict {
        let interval = |(model, bill): &(&str, Option<(f64, f64)>)| PlanInterval {
            model: (*model).to_owned(),
            feasible: bill.is_some(),
            bill: bill.map(|(low, high)| Bounds { low, high }),
        };
        let unbeaten: Vec<String> = unbeaten.iter().map(|name| (*name).to_owned()).collect();
        Verdict {
            unit: ProvisionedUnit::RequestUnitsPerSecond,
            winner: unbeaten.first().filter(|_| unbeaten.len() == 1).cloned(),
            unbeaten,
            plans: plans.iter().map(interval).collect(),
            cases: 16,
        }
    }

    #[test]
    fn a_winner_is_named_and_the_others_are_dearer() {
        let found = verdict(&[("V2", Some((400.0, 900.0))), ("V3", Some((1_200.0, 1_300.0)))], &["V2"]);
        assert!(conclusion(&found).starts_with("V2 has the smallest provisioned bill"));
        let lines = intervals(&found).lines;
        assert_eq!(lines[0], ["V2", "400", "900", "smallest bill"]);
        assert_eq!(lines[1][3], "dearer");
    }

    #[test]
    fn overlapping_plans_have_no_difference() {
        let plans = [("V1", None), ("V2", Some((400.0, 900.0))), ("V3", Some((800.0, f64::INFINITY)))];
        let found = verdict(&plans, &["V2", "V3"]);
        assert!(conclusion(&found).starts_with("No difference between V2 and V3"));
        let lines = intervals(&found).lines;
        assert_eq!(lines[0], ["V1", "", "", "infeasible"]);
        assert_eq!(lines[2], ["V3", "800", "infeasible", "no difference"]);
    }

    #[test]
    fn the_only_feasible_plan_is_no_comparison() {
        assert_eq!(
            conclusion(&verdict(&[("V1", None), ("V3", Some((1.0, 2.0)))], &["V3"])),
            "V3 is the only feasible data model at this traffic."
        );
        assert_eq!(conclusion(&verdict(&[("V1", None)], &[])), "No data model is feasible at this traffic.");
    }
}
