//! CSV (RFC 4180): records of fields, quoted ones with line breaks in them. Semicolons or tabs separate the
//! fields where the first record has no comma. Each record is bounded: an unclosed quote does not take the
//! memory of the whole file.

use std::io::{self, BufRead};

/// Reads records one after the other.
#[derive(Debug)]
pub struct CsvReader<R> {
    input: R,
    line: u64,
    bytes_max: usize,
    /// Known from the first record on.
    separator: Option<char>,
}

/// A record with the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub struct CsvRecord {
    /// The line, from 1.
    pub line: u64,
    /// The fields, without their quotes.
    pub fields: Vec<String>,
}

impl<R: BufRead> CsvReader<R> {
    /// A reader of records of at most this many bytes.
    pub fn new(input: R, bytes_max: usize) -> Self {
        Self { input, line: 0, bytes_max, separator: None }
    }

    /// The next record that is not empty; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read, is no UTF-8, ends within quotes, or has a record that is too long.
    pub fn next_record(&mut self) -> io::Result<Option<CsvRecord>> {
        loop {
            let line = self.line + 1;
            let Some(text) = self.next_text(line)? else { return Ok(None) };
            let record = text.trim_end_matches(['\n', '\r']);
            let record = if line == 1 { record.trim_start_matches('\u{feff}') } else { record };
            if !record.is_empty() {
                let separator = *self.separator.get_or_insert_with(|| separator_of(record));
                return Ok(Some(CsvRecord { line, fields: fields_of(record, separator) }));
            }
        }
    }

    /// The lines of a record, with their ends.
    fn next_text(&mut self, line: u64) -> io::Result<Option<String>> {
        let (mut text, mut quotes) = (String::new(), 0);
        loop {
            let known = text.len();
            let read = (&mut self.input).take_line(&mut text, self.bytes_max)?;
            if read == 0 {
                return match text.is_empty() {
                    true => Ok(None),
                    false => Err(io::Error::other(format!("line {line}: a quote is not closed"))),
                };
            }
            self.line += 1;
            quotes += text.as_bytes()[known..].iter().filter(|byte| **byte == b'"').count();
            // An odd number of quotes is an open one.
            if quotes % 2 == 0 {
                return Ok(Some(text));
            }
        }
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

/// The separator of the fields: a comma, unless the first record has other ones alone, outside quotes.
fn separator_of(first: &str) -> char {
    let count = |separator| fields_of(first, separator).len() - 1;
    let (semicolons, tabs) = (count(';'), count('\t'));
    match count(',') {
        0 if tabs > semicolons => '\t',
        0 if semicolons > 0 => ';',
        _ => ',',
    }
}

fn fields_of(record: &str, separator: char) -> Vec<String> {
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
            character if character == separator && !is_quoted => fields.push(std::mem::take(&mut field)),
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
        while let Some(record) = reader.next_record().unwrap() {
            records.push((record.line, record.fields));
        }
        let fields = |fields: [&str; 2]| fields.map(str::to_owned).to_vec();
        let expected =
            [(1, fields(["a", "b"])), (3, fields(["x, \"y\"", "two\nlines"])), (5, fields(["1", ""]))];
        assert_eq!(records, expected);
    }

    #[test]
    fn semicolons_and_tabs_separate_fields_where_the_first_record_has_no_comma() {
        let second = |text: &str| {
            let mut reader = CsvReader::new(text.as_bytes(), 100);
            reader.next_record().unwrap();
            reader.next_record().unwrap().unwrap().fields
        };
        assert_eq!(second("id;\"a, b\"\n1;12,5\n"), ["1", "12,5"]);
        assert_eq!(second("id\tname\n1\tA;B, C\n"), ["1", "A;B, C"]);
        assert_eq!(second("id,a;b\n1,2;3\n"), ["1", "2;3"]);
        assert_eq!(second("id\n1;2\n"), ["1;2"]);
    }

    #[test]
    fn an_open_quote_and_a_long_record_are_errors() {
        assert!(CsvReader::new(&b"a,\"b\nc"[..], 100).next_record().is_err());
        assert!(CsvReader::new(&b"a,bcdefgh"[..], 5).next_record().is_err());
    }
}
