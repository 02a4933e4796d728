//! CSV (RFC 4180): records of fields, quoted ones with line breaks in them.

use std::io::{self, BufRead};

/// Reads records one after the other.
pub(super) struct CsvReader<R> {
    input: R,
    line: u64,
    bytes_max: usize,
}

/// A record with the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CsvRecord {
    pub(super) line: u64,
    pub(super) fields: Vec<String>,
}

impl<R: BufRead> CsvReader<R> {
    /// A reader of records of at most this many bytes.
    pub(super) fn new(input: R, bytes_max: usize) -> Self {
        Self { input, line: 0, bytes_max }
    }

    /// The next record that is not empty; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read, is no UTF-8, ends within quotes, or has a record that is too long.
    pub(super) fn next(&mut self) -> io::Result<Option<CsvRecord>> {
        let mut text = String::new();
        let line = self.line + 1;
        loop {
            let read = (&mut self.input).take_line(&mut text, self.bytes_max)?;
            if read == 0 {
                return match text.is_empty() {
                    true => Ok(None),
                    false => Err(io::Error::other(format!("line {line}: a quote is not closed"))),
                };
            }
            self.line += 1;
            // An odd number of quotes is an open one.
            if text.bytes().filter(|byte| *byte == b'"').count() % 2 == 0 {
                break;
            }
        }
        let record = text.trim_end_matches(['\n', '\r']);
        let record = if line == 1 { record.trim_start_matches('\u{feff}') } else { record };
        if record.is_empty() {
            return self.next();
        }
        Ok(Some(CsvRecord { line, fields: fields_of(record) }))
    }
}

/// Bounded lines.
trait TakeLine {
    fn take_line(self, text: &mut String, bytes_max: usize) -> io::Result<usize>;
}

impl<R: BufRead> TakeLine for &mut R {
    fn take_line(self, text: &mut String, bytes_max: usize) -> io::Result<usize> {
        use io::Read as _;
        let room = (bytes_max + 1).saturating_sub(text.len());
        let read = self.take(room as u64).read_line(text)?;
        if text.len() > bytes_max {
            return Err(io::Error::other(format!("a record has more than {bytes_max} bytes")));
        }
        Ok(read)
    }
}

fn fields_of(record: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut is_quoted = false;
    let mut characters = record.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            character => field.push(character),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_quotes_commas_and_line_breaks() {
        let text = "\u{feff}a,b\r\n\r\n\"x, \"\"y\"\"\",\"two\nlines\"\n1,\n";
        let mut reader = CsvReader::new(text.as_bytes(), 100);
        let mut records = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            records.push((record.line, record.fields));
        }
        let fields = |fields: [&str; 2]| fields.map(str::to_owned).to_vec();
        let expected =
            [(1, fields(["a", "b"])), (3, fields(["x, \"y\"", "two\nlines"])), (5, fields(["1", ""]))];
        assert_eq!(records, expected);
    }

    #[test]
    fn an_open_quote_and_a_long_record_are_errors() {
        assert!(CsvReader::new(&b"a,\"b\nc"[..], 100).next().is_err());
        assert!(CsvReader::new(&b"a,bcdefgh"[..], 5).next().is_err());
    }
}
