//! Files of an import: JSON lines or CSV, perhaps compressed with gzip, named by their type.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};

use super::csv::CsvReader;
use super::rows::typed_row;
use crate::served::model::{ServedModel, TypeIndex};

/// The bytes of the longest row.
const ROW_BYTES_MAX: usize = 1024 * 1024;

/// A file with rows of one type.
#[derive(Debug, Clone)]
pub struct ImportFile {
    /// Its path.
    pub path: PathBuf,
    /// Its type.
    pub ty: TypeIndex,
    format: Format,
    is_compressed: bool,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    JsonLines,
    Csv,
}

/// A row of a file, or the reason of its rejection.
#[derive(Debug)]
pub struct FileRow {
    /// The line on which it begins.
    pub line: u64,
    /// Its values by their names.
    pub row: Result<Map<String, Value>, String>,
}

/// A directory that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or the directory cannot be read.
    #[error("{path} cannot be read: {source}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file has no type.
    #[error("{name}: no type of the model has this name; types are {types}")]
    NoType {
        /// The name of the file.
        name: String,
        /// The types of the model.
        types: String,
    },
    /// There is nothing to import.
    #[error("{path} has no files of a type: Type.jsonl or Type.csv, with .gz where it is compressed", path = .path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
}

/// The files of a directory, in the order of their names. Other extensions are left out.
///
/// # Errors
/// The directory cannot be read, a file has a name of no type, or there is no file.
pub fn files_of(model: &ServedModel, directory: &Path) -> Result<Vec<ImportFile>, ImportError> {
    let unreadable = |source| ImportError::Read { path: directory.to_owned(), source };
    let entries = std::fs::read_dir(directory).map_err(unreadable)?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(unreadable)?;
    paths.sort_unstable();
    let mut files = Vec::new();
    for path in paths {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let (plain, is_compressed) = match name.strip_suffix(".gz") {
            Some(plain) => (plain, true),
            None => (name, false),
        };
        let (stem, format) = match plain.rsplit_once('.') {
            Some((stem, "jsonl" | "ndjson")) => (stem, Format::JsonLines),
            Some((stem, "csv")) => (stem, Format::Csv),
            _ => continue,
        };
        // Parts of one type: Ticket.1.csv, Ticket.2.csv.
        let stem = stem.split('.').next().unwrap_or(stem);
        let found = model.types().find(|(_, ty)| ty.name.eq_ignore_ascii_case(stem));
        let Some((ty, _)) = found else {
            let types = model.types().map(|(_, ty)| ty.name).collect::<Vec<_>>().join(", ");
            return Err(ImportError::NoType { name: name.to_owned(), types });
        };
        files.push(ImportFile { ty, format, is_compressed, path });
    }
    match files.is_empty() {
        true => Err(ImportError::Empty { path: directory.to_owned() }),
        false => Ok(files),
    }
}

impl ImportFile {
    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Reads all rows. The consumer says whether to go on.
    ///
    /// # Errors
    /// The file cannot be read any further.
    pub fn read(&self, model: &ServedModel, take: impl FnMut(FileRow) -> bool) -> Result<(), ImportError> {
        let read = || -> io::Result<()> {
            let file = File::open(&self.path)?;
            let input: Box<dyn Read> = match self.is_compressed {
                true => Box::new(MultiGzDecoder::new(file)),
                false => Box::new(file),
            };
            let input = BufReader::new(input);
            match self.format {
                Format::JsonLines => json_lines(input, take),
                Format::Csv => self.records(model, input, take),
            }
        };
        read().map_err(|source| ImportError::Read { path: self.path.clone(), source })
    }

    fn records(
        &self,
        model: &ServedModel,
        input: impl BufRead,
        mut take: impl FnMut(FileRow) -> bool,
    ) -> io::Result<()> {
        let mut reader = CsvReader::new(input, ROW_BYTES_MAX);
        let Some(header) = reader.next()? else { return Ok(()) };
        while let Some(record) = reader.next()? {
            let row = match record.fields.len() == header.fields.len() {
                true => typed_row(model, self.ty, header.fields.iter().zip(&record.fields)),
                false => Err(format!(
                    "has {} fields, and the first line has {}",
                    record.fields.len(),
                    header.fields.len()
                )),
            };
            if !take(FileRow { line: record.line, row }) {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn json_lines(mut input: impl BufRead, mut take: impl FnMut(FileRow) -> bool) -> io::Result<()> {
    let mut line = 0;
    loop {
        let mut bytes = Vec::new();
        let read = (&mut input).take(ROW_BYTES_MAX as u64 + 1).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        line += 1;
        if bytes.len() > ROW_BYTES_MAX {
            return Err(io::Error::other(format!("line {line} has more than {ROW_BYTES_MAX} bytes")));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let row = match serde_json::from_slice(&bytes) {
            Ok(Value::Object(row)) => Ok(row),
            Ok(_) => Err("is no JSON object".to_owned()),
            Err(error) => Err(format!("is no JSON: {error}")),
        };
        if !take(FileRow { line, row }) {
            return Ok(());
        }
    }
}
