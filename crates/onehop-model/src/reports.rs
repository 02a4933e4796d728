//! Collection of problems while a model is read, each with its position.

use std::cell::RefCell;

use crate::limits::ERRORS_MAX;
use crate::nearest::nearest;
use crate::problem::Problem;
use crate::syntax::Span;

/// A problem at a position, with the nearest name where a name is unknown.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub span: Span,
    pub problem: Problem,
    pub suggestion: Option<String>,
}

/// All problems of one reading.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    reports: RefCell<Vec<Report>>,
}

impl Reports {
    /// Adds a problem.
    pub fn add(&self, span: Span, problem: Problem) {
        self.add_with(span, problem, None);
    }

    /// Adds a problem about an unknown name, with the nearest of the known names.
    pub fn add_near<'a>(
        &self,
        span: Span,
        problem: Problem,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        // Suggestions beyond the reported errors would only cost time.
        let is_reported = self.len() < ERRORS_MAX;
        let nearest = if is_reported { nearest(name, known) } else { None };
        self.add_with(span, problem, nearest.map(str::to_owned));
    }

    /// Adds a problem with a suggestion.
    pub fn add_with(&self, span: Span, problem: Problem, suggestion: Option<String>) {
        self.reports.borrow_mut().push(Report { span, problem, suggestion });
    }

    /// The number of problems.
    pub fn len(&self) -> usize {
        self.reports.borrow().len()
    }

    /// The problems in the order of the file.
    pub fn into_sorted(self) -> Vec<Report> {
        let mut reports = self.reports.into_inner();
        reports.sort_by_key(|report| (report.span.start, report.span.end));
        reports
    }
}
