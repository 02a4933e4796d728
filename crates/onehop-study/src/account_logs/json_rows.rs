//! Rows of JSON in a stream: a list of objects (`az monitor log-analytics query`), or an object on each line
//! (data export rules).

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::LOG_ROW_BYTES_MAX;
use super::columns::{COLUMNS, Column, FileError, LogRow};

/// The message with which the reader stops itself.
const STOPPED: &str = "stopped";

/// Calls `take` with each row until it returns `false`.
pub(super) fn for_each_json_row(
    input: impl BufRead,
    take: &mut dyn FnMut(LogRow) -> bool,
) -> Result<(), FileError> {
    let position = Position::default();
    let mut deserializer = serde_json::Deserializer::from_reader(CountedInput { input, position: &position });
    let mut reader = RowReader { position: &position, take, is_stopped: false };
    // A file has one value, or one on each line.
    while deserializer.end().is_err() {
        let read = (&mut reader).deserialize(&mut deserializer);
        if reader.is_stopped {
            return Ok(());
        }
        if let Err(error) = read {
            return Err((Some(position.line()), format!("JSON of an export is expected: {error}")));
        }
    }
    Ok(())
}

/// The place of the reader in the file.
#[derive(Default)]
struct Position {
    line_feeds: Cell<usize>,
    row_bytes: Cell<usize>,
}

impl Position {
    fn line(&self) -> usize {
        self.line_feeds.get() + 1
    }
}

/// Counts lines and the bytes of a row, which are bounded. Without a byte order mark.
struct CountedInput<'p, R> {
    input: R,
    position: &'p Position,
}

impl<R: BufRead> Read for CountedInput<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The parser asks for single bytes, so that its line number belongs to the row.
        let Some(place) = buffer.first_mut() else { return Ok(0) };
        let Some(byte) = self.input.fill_buf()?.first().copied() else { return Ok(0) };
        self.input.consume(1);
        let bytes = self.position.row_bytes.get() + 1;
        self.position.row_bytes.set(bytes);
        if bytes > LOG_ROW_BYTES_MAX {
            return Err(io::Error::other(format!("a row has more than {LOG_ROW_BYTES_MAX} bytes")));
        }
        if byte == b'\n' {
            self.position.line_feeds.set(self.position.line_feeds.get() + 1);
        }
        // The bytes of a byte order mark are white space here.
        let is_mark = bytes <= 3 && self.position.line_feeds.get() == 0 && b"\xEF\xBB\xBF".contains(&byte);
        *place = if is_mark { b' ' } else { byte };
        Ok(1)
    }
}

struct RowReader<'a> {
    position: &'a Position,
    take: &'a mut dyn FnMut(LogRow) -> bool,
    is_stopped: bool,
}

/// A row as an object, or a list of rows.
impl<'de> DeserializeSeed<'de> for &mut RowReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut RowReader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("rows as objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while rows.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut values: [Option<String>; COLUMNS] = Default::default();
        while let Some(key) = object.next_key::<String>()? {
            match Column::named(&key) {
                Some(column) => values[column as usize] = text_of(object.next_value()?),
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.position.row_bytes.set(0);
        let row = LogRow { line: self.position.line(), values };
        if (self.take)(row) {
            return Ok(());
        }
        self.is_stopped = true;
        Err(A::Error::custom(STOPPED))
    }
}

/// A value as CSV has it. Null is an empty value.
fn text_of(value: Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    })
}
