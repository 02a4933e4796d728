//! Parts of a report that are shown alike for a terminal, in Markdown and in HTML. They know no report.

use std::fmt::Write as _;

const DECIMALS_MAX: f64 = 9.0;

/// One part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Heading(&'static str),
    Text(String),
    List(Vec<String>),
    Grid(Grid),
}

/// Columns of texts and figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    pub headings: Vec<&'static str>,
    /// How many columns hold texts, at the left; the others hold figures and stand to the right.
    pub text_columns: usize,
    pub lines: Vec<Vec<String>>,
}

/// For a terminal.
pub(super) fn terminal(blocks: &[Block]) -> String {
    joined(blocks, |block| match block {
        Block::Heading(heading) => format!("{heading}\n"),
        Block::Text(text) => format!("{text}\n"),
        Block::List(lines) => list(lines),
        Block::Grid(grid) => grid.aligned(),
    })
}

/// For a document.
pub(super) fn markdown(blocks: &[Block]) -> String {
    joined(blocks, |block| match block {
        Block::Heading(heading) => format!("**{heading}**\n"),
        Block::Text(text) => format!("{text}\n"),
        Block::List(lines) => list(lines),
        Block::Grid(grid) => grid.markdown(),
    })
}

/// For a browser.
pub(super) fn html(blocks: &[Block]) -> String {
    joined(blocks, |block| match block {
        Block::Heading(heading) => format!("<h3>{}</h3>\n", escaped(heading)),
        Block::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::List(lines) => {
            let lines: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
            format!("<ul>\n{lines}</ul>\n")
        }
        Block::Grid(grid) => grid.html(),
    })
}

/// A text as HTML shows it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A figure with three significant digits, or as a whole number from 100 on.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding can add a digit before the point.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let decimals = (2.0 - rounded.abs().log10().floor()).clamp(0.0, DECIMALS_MAX) as usize;
    format!("{value:.decimals$}")
}

fn joined(blocks: &[Block], show: impl Fn(&Block) -> String) -> String {
    blocks.iter().map(show).collect::<Vec<_>>().join("\n")
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

impl Grid {
    fn aligned(&self) -> String {
        let headings: Vec<String> = self.headings.iter().map(|heading| (*heading).to_owned()).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&headings).chain(&self.lines).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..headings.len()).map(width).collect();
        let mut text = String::new();
        for line in &lines {
            let mut row = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let _ = if column < self.text_columns {
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
        let mut text = format!("| {} |\n|", self.headings.join(" | "));
        for column in 0..self.headings.len() {
            text.push_str(if column < self.text_columns { "---|" } else { "---:|" });
        }
        text.push('\n');
        for line in &self.lines {
            let _ = writeln!(text, "| {} |", line.join(" | "));
        }
        text
    }

    fn html(&self) -> String {
        let mut table = String::from("<div class=\"scroll\"><table><tr>");
        for heading in &self.headings {
            let _ = write!(table, "<th>{}</th>", escaped(heading));
        }
        table.push_str("</tr>\n");
        for line in &self.lines {
            table.push_str("<tr>");
            for cell in line {
                let _ = write!(table, "<td>{}</td>", escaped(cell));
            }
            table.push_str("</tr>\n");
        }
        table + "</table></div>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Block> {
        let line = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let grid = Grid {
            headings: vec!["name", "size", "share"],
            text_columns: 1,
            lines: vec![line(["posts", "7", "1 %"]), line(["a<b", "1200", "0.1 %"])],
        };
        vec![Block::Text("so much:".to_owned()), Block::Grid(grid), Block::List(vec!["one".to_owned()])]
    }

    #[test]
    fn figures_stand_to_the_right_on_a_terminal() {
        let expected = "so much:\n\nname   size  share\nposts     7    1 %\na<b    1200  0.1 %\n\n- one\n";
        assert_eq!(terminal(&blocks()), expected);
    }

    #[test]
    fn a_figure_has_three_significant_digits_and_whole_numbers_keep_theirs() {
        for (value, shown) in [
            (0.0, "0"),
            (26_839.4, "26839"),
            (100.0, "100"),
            (28.84, "28.8"),
            (99.99, "100"),
            (0.000_123_4, "0.000123"),
        ] {
            assert_eq!(figure(value), shown);
        }
    }

    #[test]
    fn the_same_is_a_table_in_markdown_and_html() {
        let expected = "so much:\n\n| name | size | share |\n|---|---:|---:|\n| posts | 7 | 1 % |\n| a<b | 1200 | 0.1 % |\n\n- one\n";
        assert_eq!(markdown(&blocks()), expected);
        let html = html(&blocks());
        assert!(html.contains("<tr><td>a&lt;b</td><td>1200</td><td>0.1 %</td></tr>"), "{html}");
        assert!(html.contains("<p>so much:</p>") && html.contains("<li>one</li>"), "{html}");
    }
}
