//! Reader of JSON lines: one object a line, in a stream, with bounded lines.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::Value;

use super::LINE_BYTES_MAX;
use crate::directory::StudyErrors;

const BUFFER_BYTES: usize = 256 * 1024;
/// Errors of one file, after which the rest is left out.
const FILE_ERRORS_MAX: usize = 5;

/// The reason why a line is not taken.
pub(crate) enum LineRefusal {
    /// The mistake in it.
    Mistake(String),
    /// The reader is stopped.
    Stop,
}

impl From<String> for LineRefusal {
    fn from(mistake: String) -> Self {
        Self::Mistake(mistake)
    }
}

/// Calls `each` with every object of a file, and its bytes.
pub(crate) fn for_each_line(
    directory: &Path,
    file: &str,
    errors: &mut StudyErrors,
    mut each: impl FnMut(&Value, u64) -> Result<(), LineRefusal>,
) {
    let opened = match File::open(directory.join(file)) {
        Ok(opened) => opened,
        Err(error) => return errors.add(file, None, format!("the file cannot be read: {error}")),
    };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, opened);
    let (mut line, mut number, mut failed) = (Vec::new(), 0, 0);
    while failed < FILE_ERRORS_MAX {
        line.clear();
        number += 1;
        let limit = LINE_BYTES_MAX as u64 + 1;
        match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return errors.add(file, Some(number), format!("the file cannot be read: {error}")),
        }
        if line.len() > LINE_BYTES_MAX {
            let message =
                format!("the line has more than {LINE_BYTES_MAX} bytes; one JSON object a line is expected");
            return errors.add(file, Some(number), message);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let checked = match serde_json::from_slice::<Value>(text) {
            Ok(value) if value.is_object() => each(&value, text.len() as u64),
            Ok(_) => Err("a JSON object is expected, such as {\"id\": \"1\"}".to_owned().into()),
            Err(error) => Err(format!("one JSON object a line is expected: {error}").into()),
        };
        match checked {
            Ok(()) => {}
            Err(LineRefusal::Stop) => return,
            Err(LineRefusal::Mistake(message)) => {
                failed += 1;
                errors.add(file, Some(number), message);
            }
        }
    }
    errors.add(file, None, format!("the rest of the file is not read after {FILE_ERRORS_MAX} errors"));
}
