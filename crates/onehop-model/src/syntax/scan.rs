//! Scan before parsing: nesting of brackets, and the places where definitions start. It bounds the recursion
//! of the parser.

/// Keywords that start a definition.
pub(super) const KEYWORDS: [&str; 8] =
    ["extend", "type", "enum", "schema", "scalar", "interface", "union", "input"];

/// Facts about a text that need no parser.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The offset of the first bracket that is nested too deeply.
    pub too_deep: Option<usize>,
    /// The offsets of definitions that start in the first column, with their descriptions.
    pub starts: Vec<usize>,
}

/// Scans a text; brackets in strings and comments do not count.
pub(super) fn scan(text: &str, nesting_max: usize) -> Scan {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    let (mut place, mut depth) = (0_usize, 0_usize);
    let mut description: Option<usize> = None;
    while let Some(&byte) = bytes.get(place) {
        let is_first_column = place == 0 || matches!(bytes[place - 1], b'\n' | b'\r');
        match byte {
            b'#' => place = line_end(bytes, place),
            b'"' => {
                let end = string_end(bytes, place);
                description = is_first_column.then_some(place);
                place = end;
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > nesting_max && scan.too_deep.is_none() {
                    scan.too_deep = Some(place);
                }
                place += 1;
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                place += 1;
            }
            _ if byte.is_ascii_alphabetic() || byte == b'_' => {
                let end = name_end(bytes, place);
                if is_first_column && KEYWORDS.contains(&&text[place..end]) {
                    scan.starts.push(description.unwrap_or(place));
                }
                description = None;
                place = end;
            }
            _ if byte.is_ascii_whitespace() => place += 1,
            _ => {
                description = None;
                place += 1;
            }
        }
    }
    scan
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    from + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())
}

fn name_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    from + rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len())
}

/// The end of a string or block string; the end of the line or text where its closing quotes are missing.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let is_block = bytes[from..].starts_with(b"\"\"\"");
    let quotes: &[u8] = if is_block { b"\"\"\"" } else { b"\"" };
    let mut place = from + quotes.len();
    while place < bytes.len() {
        if bytes[place..].starts_with(quotes) {
            return place + quotes.len();
        }
        match bytes[place] {
            b'\n' | b'\r' if !is_block => return place,
            b'\\' if is_block && bytes[place..].starts_with(b"\\\"\"\"") => place += 4,
            b'\\' if !is_block => place += 2,
            _ => place += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[test]
    fn definitions_start_in_the_first_column() {
        let text = "\"\"\"\ntype Not {\n\"\"\"\ntype A { type: Int }\n  type B\n\"x\" enum C { D }\n# type E\nenum F";
        let starts: Vec<&str> = scan(text, 9).starts.iter().map(|start| &text[*start..*start + 3]).collect();
        assert_eq!(starts, ["\"\"\"", "enu"]);
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_nest() {
        assert_eq!(scan("\"[[[\" # {{{\n[[", 2).too_deep, None);
        assert_eq!(scan("\"[[[\" # {{{\n[[[", 2).too_deep, Some(14));
    }
}
