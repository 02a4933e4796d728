//! Errors of a model: each with file, line, column, message and suggestion, and the line of the source with a
//! caret.

use std::fmt;

use serde::Serialize;

use crate::limits::ERRORS_MAX;
use crate::reports::Report;
use crate::syntax::Span;

/// One error of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{line}:{column}: {message}")]
#[non_exhaustive]
pub struct Error {
    /// The kind of the error, in words that do not change between releases, such as `unknown-field`.
    pub code: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The number of characters that the error covers on its line, at least 1.
    pub length: usize,
    /// The mistake, the expected form and the limit.
    pub message: String,
    /// The nearest known name.
    pub suggestion: Option<String>,
    /// The line of the file.
    pub source_line: String,
}

/// All errors of a file, in the order of the file. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Errors {
    file: String,
    errors: Vec<Error>,
    /// Errors beyond the limit, which are only counted.
    omitted: usize,
}

impl Errors {
    /// The errors of a file; `None` where there is no report.
    pub(crate) fn new(file: &str, text: &str, reports: Vec<Report>) -> Option<Self> {
        Self::located(file, text, reports.into_iter().map(LocatedProblem::from).collect())
    }

    /// The errors of located problems, in the order of the file; `None` without a problem.
    pub(crate) fn located(file: &str, text: &str, mut problems: Vec<LocatedProblem>) -> Option<Self> {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        let omitted = problems.len().saturating_sub(ERRORS_MAX);
        let errors: Vec<_> = problems.into_iter().take(ERRORS_MAX).map(|found| error(text, found)).collect();
        (!errors.is_empty()).then(|| Self { file: file.to_owned(), errors, omitted })
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The errors, at most [`crate::limits::ERRORS_MAX`].
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }

    /// The number of errors that are left out because there are too many.
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.errors.iter().enumerate() {
            if place > 0 {
                formatter.write_str("\n")?;
            }
            self.write_error(formatter, error)?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(formatter, "\n{}: {omitted} more errors (limit: {ERRORS_MAX})", self.file),
        }
    }
}

/// Most characters of a line of the source that are shown on both sides of an error.
const SHOWN_CHARACTERS: usize = 80;

impl Errors {
    /// Writes `file:line:column: message`, then the line of the source with carets below the error. A long
    /// line is cut.
    fn write_error(&self, formatter: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
        let Error { line, column, message, length, source_line, .. } = error;
        writeln!(formatter, "{}:{line}:{column}: {message}", self.file)?;
        let skipped = (column - 1).saturating_sub(SHOWN_CHARACTERS);
        let is_control = |character: char| if character.is_control() { ' ' } else { character };
        let shown: String =
            source_line.chars().skip(skipped).take(2 * SHOWN_CHARACTERS).map(is_control).collect();
        let margin = line.to_string();
        writeln!(formatter, "  {margin} | {}", shown.trim_end())?;
        let carets = "^".repeat((*length).min(SHOWN_CHARACTERS));
        let (gutter, indent) = (margin.len(), column - 1 - skipped);
        writeln!(formatter, "  {:gutter$} | {:indent$}{carets}", "", "")
    }
}

/// A problem at a place of the file.
#[derive(Debug, Clone)]
pub(crate) struct LocatedProblem {
    pub span: Span,
    pub code: String,
    pub message: String,
    pub suggestion: Option<String>,
}

impl From<Report> for LocatedProblem {
    fn from(report: Report) -> Self {
        let Report { span, problem, suggestion } = report;
        Self { span, code: problem.code(), message: problem.to_string(), suggestion }
    }
}

/// The error of a problem: offsets become line and column.
fn error(text: &str, problem: LocatedProblem) -> Error {
    let LocatedProblem { span, code, message, suggestion } = problem;
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.floor_char_boundary(span.end.clamp(start, text.len()));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let message = match &suggestion {
        Some(suggestion) => format!("{message}; did you mean `{suggestion}`?"),
        None => message,
    };
    Error {
        code,
        line: text[..start].matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        length: text[start..end.min(line_end).max(start)].chars().count().max(1),
        message,
        suggestion,
        source_line: text[line_start..line_end].trim_end_matches('\r').to_owned(),
    }
}
