//! Passes over all data as a table: a line for each design.

use super::blocks::{Block, Table, TableColumn};
use crate::report::{DataPasses, StudyReport};

/// Nothing without a design.
pub(super) fn blocks(report: &StudyReport) -> Vec<Block> {
    if report.passes.is_empty() {
        return Vec::new();
    }
    let columns = [
        TableColumn::text("model"),
        TableColumn::figure("load all items"),
        TableColumn::figure("build all lists"),
        TableColumn::figure("write all indexes anew"),
    ];
    let line = |passes: &DataPasses| {
        let figure = |charge: f64| format!("{charge:.0}");
        let DataPasses { design, load_charge, lists_charge, index_charge } = passes;
        vec![design.clone(), figure(*load_charge), figure(*lists_charge), figure(*index_charge)]
    };
    let text = "Each once, RU. A changed index costs a part of the last column: no charge of it is published, and it is taken as \
        the index part of creates. The service spends it beside the requests, from the throughput that they leave.";
    vec![
        Block::Heading("Passes over all data".to_owned()),
        Block::Text(text.to_owned()),
        Block::Table(Table { columns: columns.into(), lines: report.passes.iter().map(line).collect() }),
    ]
}
