//! Rows of an exported file: CSV with a heading, or JSON in any of the forms that Log Analytics has.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::LOG_ROW_BYTES_MAX;
use super::columns::{COLUMNS, Column, FileError, LogRow, LogTable};
use super::json_rows::for_each_json_row;
use crate::directory::StudyErrors;
use onehop_runtime::csv::CsvReader;

const BUFFER_BYTES: usize = 256 * 1024;
/// Errors of one file, after which the rest is left out.
const FILE_ERRORS_MAX: usize = 5;

/// Calls `each` with the rows of a file until it has too many errors. The columns of a row are checked
/// before.
pub(super) fn for_each_row(
    file: &Path,
    errors: &mut StudyErrors,
    mut each: impl FnMut(&LogRow) -> Result<(), String>,
) {
    let name = file.display().to_string();
    let mut input = match File::open(file) {
        Ok(opened) => BufReader::with_capacity(BUFFER_BYTES, opened),
        Err(error) => return errors.add(&name, None, format!("the file cannot be read: {error}")),
    };
    let mut failed = 0;
    let mut take = |row: Result<LogRow, (usize, String)>| {
        let checked = match row {
            Ok(row) => each(&row).map_err(|message| (row.line, message)),
            Err(error) => Err(error),
        };
        if let Err((line, message)) = checked {
            failed += 1;
            errors.add(&name, Some(line), message);
        }
        failed < FILE_ERRORS_MAX
    };
    let read = match is_json(&mut input) {
        Ok(true) => for_each_json_row(input, &mut |row| take(checked(row))),
        Ok(false) => for_each_record(input, &mut take),
        Err(error) => Err((None, error.to_string())),
    };
    if let Err((line, message)) = read {
        errors.add(&name, line, message);
    } else if failed == FILE_ERRORS_MAX {
        errors.add(&name, None, format!("the rest of the file is not read after {FILE_ERRORS_MAX} errors"));
    }
}

fn is_json(input: &mut impl BufRead) -> std::io::Result<bool> {
    let start = input.fill_buf()?;
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(byte));
    Ok(first.is_some_and(|byte| b"[{".contains(byte)))
}

/// A row of JSON has its own columns.
fn checked(row: LogRow) -> Result<LogRow, (usize, String)> {
    let has = |column: Column| row.values[column as usize].is_some();
    match LogTable::of(has).check(has) {
        Ok(()) => Ok(row),
        Err(message) => Err((row.line, message)),
    }
}

fn for_each_record(
    input: impl BufRead,
    take: &mut dyn FnMut(Result<LogRow, (usize, String)>) -> bool,
) -> Result<(), FileError> {
    let mut reader = CsvReader::new(input, LOG_ROW_BYTES_MAX);
    let mut next = || reader.next_record().map_err(|error| (None, error.to_string()));
    let Some(heading) = next()? else { return Err((None, "the file is empty".to_owned())) };
    let mut places: [Option<usize>; COLUMNS] = [None; COLUMNS];
    for (place, name) in heading.fields.iter().enumerate() {
        if let Some(column) = Column::named(name) {
            places[column as usize] = Some(place);
        }
    }
    let has = |column: Column| places[column as usize].is_some();
    let first_line = line_number(heading.line);
    LogTable::of(has).check(has).map_err(|message| (Some(first_line), message))?;
    while let Some(mut record) = next()? {
        let line = line_number(record.line);
        let row = if record.fields.len() == heading.fields.len() {
            let values = places.map(|place| place.map(|place| std::mem::take(&mut record.fields[place])));
            Ok(LogRow { line, values })
        } else {
            let (found, expected) = (record.fields.len(), heading.fields.len());
            Err((line, format!("the row has {found} values, and the first line has {expected}")))
        };
        if !take(row) {
            return Ok(());
        }
    }
    Ok(())
}

fn line_number(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}
