//! A report as one HTML file that needs nothing else: style and charts are in it, and it has no script.

mod partitions;

use std::fmt::Write as _;

use super::article::ArticleRequest;
use super::blocks::escaped;
use super::report::{Report, Row};
use super::show;

const STYLE: &str = "
:root { color-scheme: light dark; --text: #1c1c1c; --muted: #646464; --ground: #fdfdfc; --line: #dcdcd8;
  --v1: #b4472f; --loader: #d08a2e; --v2: #3b72a8; --v3: #2d8057; --mark: #1c1c1c; }
@media (prefers-color-scheme: dark) { :root { --text: #ececea; --muted: #a2a29e; --ground: #17181a; --line: #37383b;
  --v1: #e07a61; --loader: #e2ad5f; --v2: #77a9db; --v3: #62bd8f; --mark: #ffffff; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground); margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .25rem; } h3 { font-size: .95rem; margin: 1.5rem 0 .25rem; } p { color: var(--muted); } svg { width: 100%; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: var(--text); } svg .axis { fill: var(--muted); }
.grid { stroke: var(--line); } .mark { stroke: var(--mark); stroke-width: 3; } .more { opacity: .45; }
.V1 { fill: var(--v1); } .loader { fill: var(--loader); } .V2 { fill: var(--v2); } .V3 { fill: var(--v3); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; white-space: nowrap; }
pre { overflow-x: auto; }
";

const WIDTH: f64 = 900.0;
const LABEL_WIDTH: f64 = 130.0;
const FIGURE_WIDTH: f64 = 120.0;
const BAR_HEIGHT: f64 = 18.0;
const BAR_STEP: f64 = 26.0;
/// Where the logarithmic scale begins, RU.
const SCALE_MIN: f64 = 0.5;

/// The whole file.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut body = String::new();
    let scale = Scale::of(report);
    for request in ArticleRequest::ALL {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.request == request).collect();
        if !rows.is_empty() {
            let _ =
                write!(body, "<h2>{request:?} · {}</h2>\n{}", escaped(request.title()), chart(&rows, scale));
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>What each data model costs</title><style>{STYLE}</style></head><body>\n\
         <h1>What each data model costs</h1>\n<p>Request units of one request, on a logarithmic scale. The line across \
         a bar is the article's figure; what is pale are the projections that a command causes. {} {}</p>\n{body}\
         <h2>All figures</h2>\n<div class=\"scroll\">{}</div>\n\
         {}{}</body></html>\n",
        escaped(&show::source(report)),
        escaped(&show::measured(report)),
        figures(report),
        partitions::section(&report.partitions),
        traffic(report),
    )
}

/// A logarithmic scale that all charts share, so that they can be compared.
#[derive(Clone, Copy)]
struct Scale {
    decades: f64,
}

impl Scale {
    fn of(report: &Report) -> Self {
        let charges = report.rows.iter().flat_map(|row| {
            [row.request_charge + row.projection_charge, row.article_request_charge.unwrap_or(0.0)]
        });
        let largest = charges.fold(10.0, f64::max);
        Self { decades: (largest / SCALE_MIN).log10() }
    }

    fn x(self, charge: f64) -> f64 {
        let share = (charge.max(SCALE_MIN) / SCALE_MIN).log10() / self.decades;
        LABEL_WIDTH + share * (WIDTH - LABEL_WIDTH - FIGURE_WIDTH)
    }
}

fn chart(rows: &[&Row], scale: Scale) -> String {
    let height = BAR_STEP * rows.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\">\n", height + 20.0);
    for tick in [1.0, 10.0, 100.0, 1000.0, 10_000.0] {
        let x = scale.x(tick);
        if x <= WIDTH - FIGURE_WIDTH {
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{height:.0}\"/>\
                 <text class=\"axis\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{tick}</text>",
                height + 15.0
            );
        }
    }
    for (number, row) in rows.iter().enumerate() {
        svg.push_str(&bar(row, number as f64 * BAR_STEP, scale));
    }
    svg + "</svg>\n"
}

fn bar(row: &Row, top: f64, scale: Scale) -> String {
    let class = if row.batched { "loader" } else { row.plan() };
    let (start, end) = (scale.x(SCALE_MIN), scale.x(row.request_charge));
    let all = scale.x(row.request_charge + row.projection_charge);
    let baseline = top + BAR_HEIGHT - 4.0;
    let mut svg = format!(
        "<text x=\"0\" y=\"{baseline:.1}\">{}</text>\
         <rect class=\"{class}\" x=\"{start:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>",
        row.plan(),
        end - start
    );
    if row.projection_charge > 0.0 {
        let _ = write!(
            svg,
            "<rect class=\"{class} more\" x=\"{end:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>",
            all - end
        );
    }
    let mut right = all;
    if let Some(article) = row.article_request_charge {
        let x = scale.x(article);
        right = right.max(x);
        let _ = write!(
            svg,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\">\
             <title>the article: {article} RU</title></line>",
            top - 2.0,
            top + BAR_HEIGHT + 2.0
        );
    }
    let more =
        if row.projection_charge > 0.0 { format!(" + {:.2}", row.projection_charge) } else { String::new() };
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{baseline:.1}\">{:.2}{more}</text>",
        right + 6.0,
        row.request_charge
    );
    svg
}

fn figures(report: &Report) -> String {
    let mut table = String::from("<table><tr>");
    let columns = show::columns(report);
    for column in &columns {
        let _ = write!(table, "<th>{}</th>", column.heading);
    }
    table.push_str("</tr>\n");
    for row in &report.rows {
        table.push_str("<tr>");
        for column in &columns {
            let _ = write!(table, "<td>{}</td>", escaped(&(column.cell)(row)));
        }
        table.push_str("</tr>\n");
    }
    table + "</table>"
}

fn traffic(report: &Report) -> String {
    let Some(traffic) = &report.traffic else { return String::new() };
    format!("<h2>Your traffic</h2>\n<pre>{}</pre>\n", escaped(&show::traffic_text(traffic)))
}
