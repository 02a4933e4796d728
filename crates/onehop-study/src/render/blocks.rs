//! Blocks of a report (headings, texts, lists, tables) for a terminal and in Markdown. The templates of the
//! HTML file show them, too.

use std::fmt::Write as _;

/// One part of a report.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Heading(String),
    Text(String),
    List(Vec<String>),
    Table(Table),
}

/// Columns of texts and figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub columns: Vec<TableColumn>,
    pub lines: Vec<Vec<String>>,
}

/// A heading, and how the cells below it are aligned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableColumn {
    pub heading: String,
    /// Texts stand to the left, figures to the right.
    pub is_text: bool,
}

/// For a terminal.
pub(super) fn terminal(blocks: &[Block]) -> String {
    joined(blocks, |block| match block {
        Block::Heading(text) | Block::Text(text) => format!("{text}\n"),
        Block::List(lines) => list(lines),
        Block::Table(table) => table.aligned(),
    })
}

/// For a document.
pub(super) fn markdown(blocks: &[Block]) -> String {
    joined(blocks, |block| match block {
        Block::Heading(heading) => format!("**{heading}**\n"),
        Block::Text(text) => format!("{text}\n"),
        Block::List(lines) => list(lines),
        Block::Table(table) => table.markdown(),
    })
}

fn joined(blocks: &[Block], show: impl Fn(&Block) -> String) -> String {
    blocks.iter().map(show).collect::<Vec<_>>().join("\n")
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

impl TableColumn {
    pub fn text(heading: &str) -> Self {
        Self { heading: heading.to_owned(), is_text: true }
    }

    pub fn figure(heading: &str) -> Self {
        Self { heading: heading.to_owned(), is_text: false }
    }
}

impl Table {
    fn headings(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.heading.clone()).collect()
    }

    pub fn aligned(&self) -> String {
        let headings = self.headings();
        let lines: Vec<&Vec<String>> = std::iter::once(&headings).chain(&self.lines).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for line in lines {
            let mut row = String::new();
            for ((cell, column), width) in line.iter().zip(&self.columns).zip(&widths) {
                let _ = if column.is_text {
                    write!(row, "{cell:<width$}  ")
                } else {
                    write!(row, "{cell:>width$}  ")
                };
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    fn markdown(&self) -> String {
        let mut text = format!("| {} |\n|", self.headings().join(" | "));
        for column in &self.columns {
            text.push_str(if column.is_text { "---|" } else { "---:|" });
        }
        text.push('\n');
        for line in &self.lines {
            let _ = writeln!(text, "| {} |", line.join(" | "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Block> {
        let line = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table {
            columns: vec![
                TableColumn::text("name"),
                TableColumn::figure("size"),
                TableColumn::figure("share"),
            ],
            lines: vec![line(["posts", "7", "1 %"]), line(["a<b", "1200", "0.1 %"])],
        };
        vec![Block::Text("so much:".to_owned()), Block::Table(table), Block::List(vec!["one".to_owned()])]
    }

    #[test]
    fn figures_stand_to_the_right_on_a_terminal() {
        let expected = "so much:\n\nname   size  share\nposts     7    1 %\na<b    1200  0.1 %\n\n- one\n";
        assert_eq!(terminal(&blocks()), expected);
    }

    #[test]
    fn the_same_is_a_table_in_markdown() {
        let expected = "so much:\n\n| name | size | share |\n|---|---:|---:|\n| posts | 7 | 1 % |\n| a<b | 1200 | 0.1 % |\n\n- one\n";
        assert_eq!(markdown(&blocks()), expected);
    }
}
