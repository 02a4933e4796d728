//! The report on partition keys for a browser: a chart of the most loaded logical partitions, and the same blocks as
//! in every format.

use std::fmt::Write as _;

use super::{BAR_HEIGHT, BAR_STEP, FIGURE_WIDTH, LABEL_WIDTH, WIDTH};
use crate::compare::blocks;
use crate::compare::partitions::{Load, PartitionReport};
use crate::compare::show;

/// Where the logarithmic scale begins and where it ends, RU/s: a logical partition serves no more.
const SCALE: (f64, f64) = (0.001, 10_000.0);
const LABEL_MORE: f64 = 20.0;

/// The whole section.
pub(super) fn section(report: &PartitionReport) -> String {
    format!(
        "<h2>Partition keys</h2>\n<p>The most loaded logical partition of each container, RU/s, on a logarithmic scale \
         that ends at what one can serve, 10,000 RU/s.</p>\n{}{}",
        chart(report),
        blocks::html(&show::partitions::blocks(report))
    )
}

fn chart(report: &PartitionReport) -> String {
    let bars: Vec<(String, &Load)> = report
        .containers
        .iter()
        .flat_map(|found| found.loads.iter().map(move |load| (found, load)))
        .filter(|(_, load)| load.largest > 0.0)
        .map(|(found, load)| {
            (format!("{}, {}", found.container, show::partitions::popularity_name(load.popularity)), load)
        })
        .collect();
    let height = BAR_STEP * bars.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\">\n", height + 20.0);
    for tick in [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0] {
        let x = x(tick);
        let class = if tick < SCALE.1 { "grid" } else { "mark" };
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{height:.0}\"/>\
             <text class=\"axis\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{tick}</text>",
            height + 15.0
        );
    }
    for (number, (label, load)) in bars.iter().enumerate() {
        let (top, start, end) = (number as f64 * BAR_STEP, x(SCALE.0), x(load.largest));
        let baseline = top + BAR_HEIGHT - 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{baseline:.1}\">{label}</text>\
             <rect class=\"V3\" x=\"{start:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>\
             <text x=\"{:.1}\" y=\"{baseline:.1}\">{}</text>",
            end - start,
            end + 6.0,
            blocks::figure(load.largest)
        );
    }
    svg + "</svg>\n"
}

fn x(throughput: f64) -> f64 {
    let (first, last) = (SCALE.0.log10(), SCALE.1.log10());
    let share = (throughput.clamp(SCALE.0, SCALE.1).log10() - first) / (last - first);
    let start = LABEL_WIDTH + LABEL_MORE;
    start + share * (WIDTH - start - FIGURE_WIDTH)
}
