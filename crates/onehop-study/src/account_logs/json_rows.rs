//! Rows of JSON in a stream: a list of objects (`az monitor log-analytics query`), an object a line (continuous
//! export), or tables with columns and rows (the query API).

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::LOG_ROW_BYTES_MAX;
use super::columns::{COLUMNS, Column, LogRow};
use super::rows::FileError;

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
        // The parser asks for single bytes, so that the line is that of the row.
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

impl RowReader<'_> {
    fn emit<E: serde::de::Error>(&mut self, values: [Option<String>; COLUMNS]) -> Result<(), E> {
        self.position.row_bytes.set(0);
        let row = LogRow { line: self.position.line(), values };
        if (self.take)(row) {
            return Ok(());
        }
        self.is_stopped = true;
        Err(E::custom(STOPPED))
    }
}

/// A row as an object, a list of rows, or an object with tables.
impl<'de> DeserializeSeed<'de> for &mut RowReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut RowReader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("rows as objects, or tables with columns and rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while rows.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut values: [Option<String>; COLUMNS] = Default::default();
        let mut has_tables = false;
        while let Some(key) = object.next_key::<String>()? {
            match Column::named(&key) {
                Some(column) => values[column as usize] = text_of(object.next_value()?),
                None if key == "tables" => {
                    has_tables = true;
                    object.next_value_seed(Tables(self))?;
                }
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        if has_tables { Ok(()) } else { self.emit(values) }
    }
}

struct Tables<'a, 'b>(&'a mut RowReader<'b>);

impl<'de> DeserializeSeed<'de> for Tables<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tables<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tables")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tables: A) -> Result<(), A::Error> {
        while tables.next_element_seed(Table { reader: self.0, places: Vec::new() })?.is_some() {}
        Ok(())
    }
}

/// A table, whose columns stand before its rows.
struct Table<'a, 'b> {
    reader: &'a mut RowReader<'b>,
    /// The column at each place of a row.
    places: Vec<Option<Column>>,
}

#[derive(serde::Deserialize)]
struct TableColumn {
    name: String,
}

impl<'de> DeserializeSeed<'de> for Table<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Table<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table with columns and rows")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "columns" => {
                    let columns: Vec<TableColumn> = object.next_value()?;
                    self.places = columns.iter().map(|column| Column::named(&column.name)).collect();
                }
                "rows" if self.places.is_empty() => {
                    return Err(A::Error::custom("the columns of a table stand before its rows"));
                }
                "rows" => object.next_value_seed(TableRows(&mut self))?,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct TableRows<'t, 'a, 'b>(&'t mut Table<'a, 'b>);

impl<'de> DeserializeSeed<'de> for TableRows<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TableRows<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of rows, each a list of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element::<Vec<Value>>()? {
            let mut values: [Option<String>; COLUMNS] = Default::default();
            for (value, column) in row.into_iter().zip(&self.0.places) {
                if let Some(column) = column {
                    values[*column as usize] = text_of(value);
                }
            }
            self.0.reader.emit(values)?;
        }
        Ok(())
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
