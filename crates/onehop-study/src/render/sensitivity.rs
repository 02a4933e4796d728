//! Sensitivity as blocks: one table for each assumption of the charge model.

use super::blocks::{Block, Table, TableColumn};
use crate::figure::figure;
use crate::sensitivity::{AssumedThroughput, Sensitivity};

const PARTITIONS: &str = "A query across logical partitions visits every physical partition. RU/s of this traffic by their number, worked out \
                          from the measured operations: the charge of each visit, and the items that each partition returns at what one was \
                          charged:";
const CLIENTS: &str = "A client asks each physical partition of an ordered page for more than its share. The clients of 2019, with which the \
                       article measured, asked for five times the share; this adapter asks each for the whole page and one more. RU/s of this traffic under each, as far as the container holds so many items:";

pub(super) fn blocks(sensitivity: &Sensitivity) -> Vec<Block> {
    let tables = [
        ("Physical partitions", PARTITIONS, "physical partitions", &sensitivity.physical_partitions),
        ("Client", CLIENTS, "client", &sensitivity.clients),
    ];
    let shown = tables.into_iter().filter(|(.., lines)| !lines.is_empty());
    shown.flat_map(|(heading, text, column, lines)| section(heading, text, column, lines)).collect()
}

fn section(heading: &str, text: &str, column: &str, lines: &[AssumedThroughput]) -> Vec<Block> {
    vec![
        Block::Heading(format!("Sensitivity: {}", heading.to_lowercase())),
        Block::Text(text.to_owned()),
        Block::Table(table(column, lines)),
        Block::Text(conclusion(column, lines)),
    ]
}

fn table(column: &str, lines: &[AssumedThroughput]) -> Table {
    let models = lines.iter().take(1).flat_map(|line| &line.models);
    let mut columns = vec![TableColumn::text(column)];
    columns.extend(models.map(|(model, _)| TableColumn::figure(model)));
    columns.push(TableColumn::text("least"));
    let line = |assumed: &AssumedThroughput| {
        let measured = if assumed.is_measured { " (measured with)" } else { "" };
        let mut cells = vec![format!("{}{measured}", assumed.assumption)];
        cells.extend(assumed.models.iter().map(|(_, throughput)| figure(*throughput)));
        cells.push(assumed.least.clone());
        cells
    };
    Table { columns, lines: lines.iter().map(line).collect() }
}

fn conclusion(column: &str, lines: &[AssumedThroughput]) -> String {
    let least = lines.first().map(|line| line.least.as_str()).unwrap_or_default();
    if lines.iter().all(|line| line.least == least) {
        return format!("{least} takes the least, whatever the {column}.");
    }
    let cases: Vec<String> =
        lines.iter().map(|line| format!("{} takes the least with {}", line.least, line.assumption)).collect();
    format!("It depends on the {column} which data model takes the least: {}.", cases.join(", "))
}
