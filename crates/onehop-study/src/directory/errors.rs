//! Errors of a study directory: file, line and expected form.

use std::fmt;

use serde::Serialize;

use super::STUDY_ERRORS_MAX;

/// One error of a study directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudyError {
    /// The file, relative to the directory.
    pub file: String,
    /// The line, from 1; `None` where the error is about the whole file.
    pub line: Option<usize>,
    /// The mistake and the expected form.
    pub message: String,
}

/// All errors of a study directory. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, thiserror::Error)]
pub struct StudyErrors {
    /// The errors, at most [`STUDY_ERRORS_MAX`].
    pub errors: Vec<StudyError>,
    /// Errors beyond the limit, which are only counted.
    pub omitted: usize,
}

impl StudyErrors {
    pub(crate) fn add(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        if self.errors.len() == STUDY_ERRORS_MAX {
            self.omitted += 1;
            return;
        }
        self.errors.push(StudyError { file: file.to_owned(), line, message: message.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Adds the errors of a model or a request document.
    pub(crate) fn add_all(&mut self, file: &str, errors: &onehop_model::Errors) {
        for error in errors {
            self.add(file, Some(error.line), format!("column {}: {}", error.column, error.message));
        }
        self.omitted += errors.omitted();
    }
}

impl fmt::Display for StudyErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, StudyError { file, line, message }) in self.errors.iter().enumerate() {
            let separator = if place > 0 { "\n" } else { "" };
            match line {
                Some(line) => write!(formatter, "{separator}{file}:{line}: {message}")?,
                None => write!(formatter, "{separator}{file}: {message}")?,
            }
        }
        if self.omitted > 0 {
            write!(formatter, "\n{} more errors (limit: {STUDY_ERRORS_MAX})", self.omitted)?;
        }
        Ok(())
    }
}
