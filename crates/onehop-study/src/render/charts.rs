//! Bar charts on a logarithmic scale, as positions and texts: the template draws them as SVG.

use crate::measurement::{MeasurementRow, ModelVariant, StudyRequest};
use crate::partitions::{PartitionSummary, SizeClass};
use crate::report::StudyReport;
use onehop_store::{FoldedOperation, OperationKind};

const WIDTH: f64 = 900.0;
const LABEL_WIDTH: f64 = 150.0;
const FIGURE_WIDTH: f64 = 120.0;
const BAR_STEP: f64 = 26.0;
/// Height of a bar; the template draws it.
const BAR_HEIGHT: f64 = 18.0;
/// Where the scale of request charges begins, RU.
const CHARGE_MIN: f64 = 0.5;
/// Width of a box of a plan, with the arrow before it.
const BOX_STEP: f64 = 187.0;
/// Colours in the template; further plans begin again.
const SERIES: usize = 6;

/// A chart. Lengths are in units of its view box.
pub(super) struct Chart {
    pub title: String,
    pub width: f64,
    /// Of the bars, without the labels of the scale.
    pub height: f64,
    pub ticks: Vec<AxisTick>,
    pub bars: Vec<ChartBar>,
}

/// A vertical line of the scale.
pub(super) struct AxisTick {
    pub x: f64,
    pub label: String,
}

/// A bar with its texts.
pub(super) struct ChartBar {
    pub label: String,
    /// The figure beside it.
    pub figure: String,
    /// Number of its colour.
    pub series: usize,
    pub top: f64,
    pub start: f64,
    pub end: f64,
    /// The end of the part on top of it.
    pub more_end: Option<f64>,
    pub mark: Option<ReferenceMark>,
}

/// The charge of the reference.
pub(super) struct ReferenceMark {
    pub x: f64,
    pub title: String,
}

impl ChartBar {
    /// The line on which its texts stand.
    pub fn baseline(&self) -> f64 {
        self.top + BAR_HEIGHT - 4.0
    }

    /// The right end of the whole bar.
    pub fn right(&self) -> f64 {
        let end = self.more_end.unwrap_or(self.end);
        self.mark.as_ref().map_or(end, |mark| mark.x.max(end))
    }
}

/// A logarithmic scale.
struct Scale {
    start: f64,
    min: f64,
    max: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        let share = (value.clamp(self.min, self.max) / self.min).log10() / (self.max / self.min).log10();
        self.start + share * (WIDTH - self.start - FIGURE_WIDTH)
    }

    /// At the powers of ten.
    fn ticks(&self) -> Vec<AxisTick> {
        let powers = (-2..=5).map(|power| 10_f64.powi(power));
        let within = powers.filter(|value| (self.min..=self.max).contains(value));
        let tick = |value: f64| AxisTick { x: self.x(value), label: value.to_string() };
        within.map(tick).collect()
    }
}

/// One chart for each request with rows, all on the same scale.
pub(super) fn request_charges(report: &StudyReport) -> Vec<Chart> {
    let measurements = &report.measurements;
    let charges = measurements.rows.iter().flat_map(|row| {
        [row.request_charge + row.projection_charge, row.reference_request_charge.unwrap_or(0.0)]
    });
    let scale = Scale { start: LABEL_WIDTH, min: CHARGE_MIN, max: charges.fold(10.0, f64::max) };
    let chart = |request: &StudyRequest| {
        let rows: Vec<&MeasurementRow> =
            measurements.rows.iter().filter(|row| row.request == request.name).collect();
        let bars = rows.iter().enumerate();
        let bars = bars.map(|(number, row)| charge_bar(row, number, report, &scale)).collect();
        let title = format!("{} · {}", request.name, request.title);
        let height = BAR_STEP * rows.len() as f64;
        (!rows.is_empty()).then(|| Chart { title, width: WIDTH, height, ticks: scale.ticks(), bars })
    };
    measurements.requests.iter().filter_map(chart).collect()
}

fn charge_bar(row: &MeasurementRow, number: usize, report: &StudyReport, scale: &Scale) -> ChartBar {
    let has_more = row.projection_charge > 0.0;
    let more = if has_more { format!(" + {:.2}", row.projection_charge) } else { String::new() };
    let mark = |charge: f64| ReferenceMark {
        x: scale.x(charge),
        title: format!("the {}: {charge} RU", report.captions.reference),
    };
    ChartBar {
        label: row.plan.to_string(),
        figure: format!("{:.2}{more}", row.request_charge),
        series: series(&row.plan, &report.measurements.plans),
        top: number as f64 * BAR_STEP,
        start: scale.x(CHARGE_MIN),
        end: scale.x(row.request_charge),
        more_end: has_more.then(|| scale.x(row.request_charge + row.projection_charge)),
        mark: row.reference_request_charge.map(mark),
    }
}

/// The sizes of the logical partitions of a container, as a histogram.
pub(super) struct Histogram {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub columns: Vec<HistogramColumn>,
}

/// The logical partitions of similar size.
pub(super) struct HistogramColumn {
    pub left: f64,
    pub width: f64,
    /// Below it, in the middle: the most bytes of one.
    pub label: String,
    pub top: f64,
    pub height: f64,
    /// Above it: their number.
    pub figure: String,
    pub series: usize,
}

impl HistogramColumn {
    /// Where its texts are centred.
    pub fn middle(&self) -> f64 {
        self.left + self.width / 2.0
    }
}

/// One histogram for each container with more than one logical partition.
pub(super) fn partition_sizes(report: &StudyReport) -> Vec<Histogram> {
    let several = report.partitions.iter().filter(|found| found.logical_partitions > 1.0);
    several.map(|found| histogram(found, &report.measurements.plans)).collect()
}

fn histogram(found: &PartitionSummary, plans: &[ModelVariant]) -> Histogram {
    const HEIGHT: f64 = 90.0;
    const ABOVE: f64 = 18.0;
    const STEP: f64 = 72.0;
    const GAP: f64 = 6.0;
    let most = found.sizes.iter().map(|class| class.partitions).fold(1.0, f64::max);
    let series = series(&ModelVariant::of_model(&found.design), plans);
    let column = |(number, class): (usize, &SizeClass)| {
        let height = HEIGHT * class.partitions / most;
        HistogramColumn {
            left: number as f64 * STEP,
            width: STEP - GAP,
            label: format!("\u{2264} {}", bytes(class.bytes_max)),
            top: ABOVE + HEIGHT - height,
            height,
            figure: format!("{:.0}", class.partitions),
            series,
        }
    };
    Histogram {
        title: format!("{} \u{b7} {} by {}", found.design, found.container, found.partition_key),
        width: (found.sizes.len() as f64 * STEP).max(WIDTH / 2.0),
        height: ABOVE + HEIGHT,
        columns: found.sizes.iter().enumerate().map(column).collect(),
    }
}

/// A number of bytes with its unit: `20 kB`.
fn bytes(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// A plan as a picture: a box for each kind of operation, with the physical partitions that it asks.
pub(super) struct PlanPicture {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub lines: Vec<PlanLine>,
}

/// The plan of one data model.
pub(super) struct PlanLine {
    pub label: String,
    pub figure: String,
    pub series: usize,
    pub top: f64,
    pub boxes: Vec<PlanBox>,
}

/// One kind of operation.
pub(super) struct PlanBox {
    pub left: f64,
    /// Times and kind, such as `4 point reads`.
    pub operation: String,
    pub container: String,
    /// The left ends of the squares of physical partitions.
    pub partitions: Vec<f64>,
    /// The number of partitions where the squares do not show all.
    pub more: String,
}

/// The plans of each request.
pub(super) fn plan_pictures(report: &StudyReport) -> Vec<PlanPicture> {
    const LINE_STEP: f64 = 64.0;
    let measurements = &report.measurements;
    let picture = |request: &StudyRequest| {
        let rows: Vec<&MeasurementRow> =
            measurements.rows.iter().filter(|row| row.request == request.name).collect();
        let boxes = rows.iter().map(|row| row.operations.len()).max().unwrap_or(0);
        let line = |(number, row): (usize, &&MeasurementRow)| PlanLine {
            label: row.plan.to_string(),
            figure: format!("{:.2} RU", row.request_charge),
            series: series(&row.plan, &measurements.plans),
            top: number as f64 * LINE_STEP,
            boxes: row.operations.iter().enumerate().map(plan_box).collect(),
        };
        (boxes > 0).then(|| PlanPicture {
            title: format!("Plans of {}", request.name),
            width: (LABEL_WIDTH + boxes as f64 * BOX_STEP).max(WIDTH),
            height: rows.len() as f64 * LINE_STEP,
            lines: rows.iter().enumerate().map(line).collect(),
        })
    };
    measurements.requests.iter().filter_map(picture).collect()
}

fn plan_box((number, operation): (usize, &FoldedOperation)) -> PlanBox {
    /// Squares of physical partitions that a box has room for.
    const SQUARES: u32 = 10;
    const SQUARE_STEP: f64 = 13.0;
    let left = LABEL_WIDTH + number as f64 * BOX_STEP;
    let asked = operation.physical_partitions.max(1);
    PlanBox {
        left,
        operation: counted(operation.times, operation.kind),
        container: operation.container.to_string(),
        partitions: (0..asked.min(SQUARES))
            .map(|square| left + 8.0 + f64::from(square) * SQUARE_STEP)
            .collect(),
        more: if asked > SQUARES { format!("of {asked}") } else { String::new() },
    }
}

/// Times and kind of an operation, such as `4 point reads`.
fn counted(times: u32, kind: OperationKind) -> String {
    let kind = kind.name().replace('_', " ");
    match (times, kind.strip_suffix('y')) {
        (1, _) => format!("1 {kind}"),
        (_, Some(stem)) => format!("{times} {stem}ies"),
        (_, None) if kind.ends_with("ch") => format!("{times} {kind}es"),
        (_, None) => format!("{times} {kind}s"),
    }
}

fn series(plan: &ModelVariant, plans: &[ModelVariant]) -> usize {
    plans.iter().position(|known| known == plan).unwrap_or(0) % SERIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_in_words() {
        let counts = [(1, OperationKind::Query), (3, OperationKind::Query), (50, OperationKind::PointRead)];
        assert_eq!(
            counts.map(|(times, kind)| counted(times, kind)),
            ["1 query", "3 queries", "50 point reads"]
        );
        assert_eq!(counted(2, OperationKind::Batch), "2 batches");
    }

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!([100.0, 2_000.0, 5e6, 2e9].map(bytes), ["100 B", "2 kB", "5 MB", "2 GB"]);
    }

    #[test]
    fn a_scale_is_logarithmic_and_ends_at_its_limit() {
        let scale = Scale { start: 0.0, min: 1.0, max: 100.0 };
        let end = WIDTH - FIGURE_WIDTH;
        assert_eq!(
            [0.5, 1.0, 10.0, 100.0, 999.0].map(|value| scale.x(value)),
            [0.0, 0.0, end / 2.0, end, end]
        );
        let ticks = scale.ticks();
        assert_eq!(ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(), ["1", "10", "100"]);
    }
}
