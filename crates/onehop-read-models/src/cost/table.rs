//! Table of request charges in Markdown.

use std::fmt::Write as _;

use super::ChangeCost;

const HEADINGS: &str = "\
| rule | change | fan-out | operations | predicted RU | measured RU | difference |
|---|---|---:|---|---:|---:|---:|
";

/// One line for each change.
#[must_use]
pub fn markdown(costs: &[ChangeCost]) -> String {
    let mut text = String::from(HEADINGS);
    for cost in costs {
        let ChangeCost { rule, change, fan_out, operations, measured, .. } = cost;
        let (predicted, difference) = (cost.predicted().0, cost.difference_percent());
        let _ = writeln!(
            text,
            "| {rule} | {change} | {fan_out} | {operations} | {predicted:.2} | {:.2} | {difference:+.1} % |",
            measured.0
        );
    }
    text
}
