//! Reader of data files: JSON lines, one JSON array of objects, alone or in the only object of the file, or
//! CSV with headings, in a stream with bounded items. Files may be compressed with gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use onehop_runtime::csv::CsvReader;
use serde::Deserializer as _;
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::LINE_BYTES_MAX;
use super::enclosed_items::{Enclosed, encloses_items};
use super::extended_json::make_plain;
use crate::directory::StudyErrors;

const BUFFER_BYTES: usize = 256 * 1024;
/// Errors of one file, after which the rest is left out.
const FILE_ERRORS_MAX: usize = 5;

/// The reason why an item is not taken.
pub(crate) enum ItemRefusal {
    /// The mistake in it.
    Mistake(String),
    /// The reader is stopped.
    Stop,
}

impl From<String> for ItemRefusal {
    fn from(mistake: String) -> Self {
        Self::Mistake(mistake)
    }
}

/// Whether a file is CSV, by its name.
pub(crate) fn is_csv(file: &str) -> bool {
    has_extension(uncompressed_name(file), &["csv", "tsv"])
}

/// The name of a file without the `.gz` of a compressed one.
pub(crate) fn uncompressed_name(file: &str) -> &str {
    if is_gzip(file) { &file[..file.len() - ".gz".len()] } else { file }
}

fn is_gzip(file: &str) -> bool {
    has_extension(file, &["gz"])
}

fn has_extension(file: &str, extensions: &[&str]) -> bool {
    let is = |found: &std::ffi::OsStr| extensions.iter().any(|known| found.eq_ignore_ascii_case(known));
    Path::new(file).extension().is_some_and(is)
}

/// Calls `each` with every object of a file, and its bytes as JSON.
pub(crate) fn for_each_item(
    directory: &Path,
    file: &str,
    errors: &mut StudyErrors,
    each: impl FnMut(Value, u64) -> Result<(), ItemRefusal>,
) {
    let opened = match File::open(directory.join(file)) {
        Ok(opened) => opened,
        Err(error) => return errors.add(file, None, format!("the file cannot be read: {error}")),
    };
    let bytes: Box<dyn io::Read> =
        if is_gzip(file) { Box::new(MultiGzDecoder::new(opened)) } else { Box::new(opened) };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, bytes);
    let form = match reader.fill_buf() {
        Ok(start) => Form::of(start),
        Err(error) => return errors.add(file, None, format!("the file cannot be read: {error}")),
    };
    let mut items = Items { file, errors, failed: 0, each };
    match form {
        _ if is_csv(file) => items.csv(reader),
        Form::Array => items.json(reader, |reader, take| reader.deserialize_seq(Elements(take))),
        Form::Object => items.enclosed(reader),
        Form::Lines => items.lines(reader),
    }
}

/// The form of a JSON file.
enum Form {
    Lines,
    Array,
    /// One object over several lines, with the array of the items in it.
    Object,
}

impl Form {
    /// By the start of the file. A byte order mark and blanks may stand before the first item.
    fn of(start: &[u8]) -> Self {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        let line = start.iter().position(|byte| *byte == b'\n').map(|end| &start[..end]);
        let is_open = |line| serde_json::from_slice::<IgnoredAny>(line).is_err_and(|error| error.is_eof());
        match start.first() {
            Some(b'[') => Self::Array,
            Some(b'{') if line.is_some_and(is_open) => Self::Object,
            _ => Self::Lines,
        }
    }
}

/// A reader of one JSON value.
type JsonReader<'r, R> = &'r mut serde_json::Deserializer<serde_json::de::IoRead<R>>;

/// The items of a file while they are read.
struct Items<'a, F> {
    file: &'a str,
    errors: &'a mut StudyErrors,
    failed: usize,
    each: F,
}

impl<F: FnMut(Value, u64) -> Result<(), ItemRefusal>> Items<'_, F> {
    /// Hands an item on; `false` where the rest of the file is not wanted.
    fn take(&mut self, item: Result<Value, String>, bytes: u64, line: Option<usize>) -> bool {
        let checked = match item {
            Ok(mut value) if value.is_object() => {
                let bytes = if make_plain(&mut value) { json_bytes(&value) } else { bytes };
                (self.each)(value, bytes)
            }
            Ok(_) => Err("a JSON object is expected, such as {\"id\": \"1\"}".to_owned().into()),
            Err(message) => Err(message.into()),
        };
        match checked {
            Ok(()) => return true,
            Err(ItemRefusal::Stop) => return false,
            Err(ItemRefusal::Mistake(message)) => self.errors.add(self.file, line, message),
        }
        self.failed += 1;
        if self.failed == FILE_ERRORS_MAX {
            let message = format!("the rest of the file is not read after {FILE_ERRORS_MAX} errors");
            self.errors.add(self.file, None, message);
        }
        self.failed < FILE_ERRORS_MAX
    }

    fn lines(&mut self, mut reader: impl BufRead) {
        let (mut line, mut number, mut is_first) = (Vec::new(), 0, true);
        loop {
            line.clear();
            number += 1;
            let limit = LINE_BYTES_MAX as u64 + 1;
            match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    let message = format!("the file cannot be read: {error}");
                    return self.errors.add(self.file, Some(number), message);
                }
            }
            if is_first && line.len() > LINE_BYTES_MAX && text_of(&line).starts_with(b"{") {
                return self.enclosed(line.as_slice().chain(reader));
            }
            if line.len() > LINE_BYTES_MAX {
                let message = format!(
                    "the line has more than {LINE_BYTES_MAX} bytes; one JSON object a line is expected"
                );
                return self.errors.add(self.file, Some(number), message);
            }
            let text = text_of(&line);
            if text.is_empty() {
                continue;
            }
            if is_first && encloses_items(text) && ends(&mut reader) {
                return self.enclosed(text);
            }
            is_first = false;
            let item = serde_json::from_slice::<Value>(text).map_err(|error| match error.is_eof() {
                true => "the value goes on in the next line: one JSON object a line is expected, or one array of objects"
                    .to_owned(),
                false => format!("one JSON object a line is expected: {error}"),
            });
            if !self.take(item, text.len() as u64, Some(number)) {
                return;
            }
        }
    }

    /// The items in the only object of the file.
    fn enclosed(&mut self, reader: impl BufRead) {
        self.json(reader, |reader, take| reader.deserialize_map(Enclosed::new(take)));
    }

    /// The items of one value, one after the other. Nothing follows it.
    fn json<R: BufRead>(
        &mut self,
        mut reader: R,
        read: impl FnOnce(JsonReader<'_, R>, &mut dyn FnMut(Value) -> bool) -> serde_json::Result<()>,
    ) {
        if reader.fill_buf().is_ok_and(|start| start.starts_with(b"\xef\xbb\xbf")) {
            reader.consume(3);
        }
        let mut is_stopped = false;
        let mut element = |value: Value| {
            let bytes = json_bytes(&value);
            let item = if bytes > LINE_BYTES_MAX as u64 {
                Err(format!("an element of the array has more than {LINE_BYTES_MAX} bytes"))
            } else {
                Ok(value)
            };
            is_stopped = !self.take(item, bytes, None);
            !is_stopped
        };
        let mut json = serde_json::Deserializer::from_reader(reader);
        let read = read(&mut json, &mut element).and_then(|()| json.end());
        if let Err(error) = read
            && !is_stopped
        {
            let message =
                format!("one array of JSON objects is expected, or one JSON object a line: {error}");
            self.errors.add(self.file, Some(error.line()), message);
        }
    }

    /// Rows under headings. Numbers, `true` and `false` become such values, and empty cells are absent.
    fn csv(&mut self, reader: impl BufRead) {
        let mut records = CsvReader::new(reader, LINE_BYTES_MAX);
        let headings = match records.next_record() {
            Ok(record) => record.map(|record| record.fields).unwrap_or_default(),
            Err(error) => return self.errors.add(self.file, Some(1), error.to_string()),
        };
        loop {
            let record = match records.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return,
                Err(error) => return self.errors.add(self.file, None, error.to_string()),
            };
            let item = if record.fields.len() > headings.len() {
                let (cells, columns) = (record.fields.len(), headings.len());
                Err(format!("{columns} cells are expected, one for each heading; found {cells}"))
            } else {
                let cells = headings.iter().zip(&record.fields);
                let cell = |(name, text): (&String, &String)| Some((name.clone(), cell_value(text)?));
                Ok(Value::Object(cells.filter_map(cell).collect::<Map<_, _>>()))
            };
            let bytes = item.as_ref().map_or(0, json_bytes);
            // A line number beyond the address space does not occur.
            if !self.take(item, bytes, usize::try_from(record.line).ok()) {
                return;
            }
        }
    }
}

/// A line without a byte order mark and blanks around it.
fn text_of(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
}

/// Whether blanks alone follow. A file that cannot be read has its error at the next read.
fn ends(reader: &mut impl BufRead) -> bool {
    while let Ok(rest) = reader.fill_buf() {
        let blanks = rest.len();
        match rest.trim_ascii().is_empty() {
            true if blanks > 0 => reader.consume(blanks),
            is_end => return is_end,
        }
    }
    false
}

/// The value of a cell; `None` of an empty one. A text such as `007` is no number.
fn cell_value(text: &str) -> Option<Value> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit()) && !has_leading_zero;
    let number = || {
        let integer = text.parse::<i64>().ok().map(Number::from);
        integer.or_else(|| Number::from_f64(text.parse().ok()?))
    };
    Some(match text {
        "" => return None,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number().filter(|_| is_number) {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

/// The bytes of a value as JSON, without the text.
fn json_bytes(value: &Value) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither the value nor the count fails.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Takes the elements of an array until one is refused.
struct Elements<'a>(&'a mut dyn FnMut(Value) -> bool);

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(value) = elements.next_element::<Value>()? {
            if !(self.0)(value) {
                return Err(A::Error::custom("the rest of the array is not read"));
            }
        }
        Ok(())
    }
}
