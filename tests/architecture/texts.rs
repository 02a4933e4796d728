//! Texts of the repository: comments, schema descriptions, documents and texts of pages, split into
//! sentences. Code spans and quotations are left out.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::files_below;

/// A word of a sentence in lower case. Code spans and quotations are words without letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Whether a comma, a colon, a bracket or another mark follows.
    pub is_before_mark: bool,
}

/// A sentence with its place.
pub struct Sentence {
    pub file: String,
    pub line: usize,
    /// The sentence as written, on one line.
    pub text: String,
    pub words: Vec<Word>,
    pub is_question: bool,
}

/// A line of text with its number in the file.
type Line<'a> = (usize, &'a str);
/// Lines that belong together, such as a paragraph or an entry of a list.
type Paragraph<'a> = Vec<Line<'a>>;

/// The sentences of all files of a path that have one of these extensions.
pub fn sentences(root: &Path, path: &str, extensions: &[&str]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for file in files(&root.join(path), extensions) {
        let text = fs::read_to_string(&file).expect("a text file");
        let paragraphs = match file.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => paragraphs_of(rust_comments(&text)),
            Some("graphql") => paragraphs_of(graphql_descriptions(&text)),
            Some("md") => paragraphs_of(markdown(&text)),
            _ if file.to_string_lossy().contains(".test.") => paragraphs_of(web_comments(&text)),
            _ => [paragraphs_of(web_comments(&text)), web_texts(&text)].concat(),
        };
        let name = file.strip_prefix(root).expect("a file of the repository").to_string_lossy();
        sentences.extend(paragraphs.iter().flat_map(|paragraph| split(&name, paragraph)));
    }
    sentences
}

/// The sentences of one paragraph.
pub fn sentences_of(text: &str) -> Vec<Sentence> {
    split("", &vec![(1, text)])
}

/// The comment lines of a path that are wider than the limit, as file and line.
pub fn wide_comments(root: &Path, path: &str, columns_max: usize) -> Vec<String> {
    let mut wide = Vec::new();
    for file in files(&root.join(path), &["rs", "ts", "tsx"]) {
        let text = fs::read_to_string(&file).expect("a text file");
        let comments = if file.extension().is_some_and(|extension| extension == "rs") {
            rust_comments(&text)
        } else {
            web_comments(&text)
        };
        let lines: Vec<&str> = text.lines().collect();
        let numbers = comments.into_iter().flatten().map(|(number, _)| number);
        for number in numbers.filter(|number| lines[number - 1].chars().count() > columns_max) {
            wide.push(format!("{}:{number}", file.strip_prefix(root).expect("a file").display()));
        }
    }
    wide
}

/// The file at the path, or the files below it, without generated code and installed packages.
fn files(path: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = if path.is_file() { vec![path.to_owned()] } else { files_below(path, extensions) };
    files.retain(|file| !file.to_string_lossy().contains(".generated."));
    files.sort();
    files
}

/// Line comments and documentation comments that stand alone on their lines, in blocks.
fn rust_comments(text: &str) -> Vec<Paragraph<'_>> {
    let mut blocks: Vec<Paragraph<'_>> = Vec::new();
    let mut earlier_marker = "";
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker)).unwrap_or("");
        if !marker.is_empty() {
            if marker != earlier_marker {
                blocks.push(Vec::new());
            }
            blocks.last_mut().expect("a block").push((number, &line[marker.len()..]));
        }
        earlier_marker = marker;
    }
    blocks
}

/// Descriptions and comments of a GraphQL document, each a block.
fn graphql_descriptions(text: &str) -> Vec<Paragraph<'_>> {
    let mut blocks: Vec<Paragraph<'_>> = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line == "\"\"\"" {
            is_inside = !is_inside;
            blocks.push(Vec::new());
        } else if is_inside {
            blocks.last_mut().expect("a block").push((number, line));
        } else if let Some(description) = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            blocks.push(vec![(number, description)]);
        } else if let Some(comment) = line.strip_prefix('#') {
            blocks.push(vec![(number, comment)]);
        }
    }
    blocks
}

/// A document without its generated parts: from "Generated from here" to "Generated to here", or to its end.
fn markdown(text: &str) -> Vec<Paragraph<'_>> {
    let mut lines = Vec::new();
    let mut is_generated = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_generated |= line.starts_with("<!-- Generated from");
        if !is_generated {
            lines.push((number, line));
        }
        is_generated &= !line.starts_with("<!-- Generated to");
    }
    vec![lines]
}

/// Line comments and block comments that begin on a line of their own, in blocks.
fn web_comments(text: &str) -> Vec<Paragraph<'_>> {
    let mut blocks: Vec<Paragraph<'_>> = Vec::new();
    let (mut is_inside, mut is_after_line_comment) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim().trim_start_matches('{');
        let opens = line.starts_with("/*");
        let is_line_comment = line.starts_with("//");
        if opens || is_inside || is_line_comment {
            if opens || (is_line_comment && !is_after_line_comment) {
                blocks.push(Vec::new());
            }
            let bare = line.trim_end_matches('}').trim_end_matches("*/").trim_start_matches(['/', '*']);
            blocks.last_mut().expect("a block").push((number, bare));
            is_inside = (is_inside || opens) && !line.contains("*/");
        }
        is_after_line_comment = is_line_comment;
    }
    blocks
}

/// The visible texts of a page: string literals of at least three words, and lines of plain text.
fn web_texts(text: &str) -> Vec<Paragraph<'_>> {
    let is_plain = |text: &str| {
        let is_text = |character: char| character.is_alphanumeric() || " .,:?!’'-–“”".contains(character);
        text.split_whitespace().count() >= 3 && text.chars().all(is_text)
    };
    let mut paragraphs: Vec<Paragraph<'_>> = Vec::new();
    let mut is_after_text = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if is_plain(line) {
            if !is_after_text {
                paragraphs.push(Vec::new());
            }
            paragraphs.last_mut().expect("a text").push((number, line));
        }
        is_after_text = is_plain(line);
        if !line.starts_with(['/', '*']) {
            let pieces = line.split(['"', '>', '<', '`']).filter(|piece| *piece != line && is_plain(piece));
            paragraphs.extend(pieces.map(|piece| vec![(number, piece)]));
        }
    }
    paragraphs
}

/// Paragraphs, headings, entries of lists and cells of tables, without code blocks.
fn paragraphs_of(blocks: Vec<Paragraph<'_>>) -> Vec<Paragraph<'_>> {
    let mut paragraphs = Vec::new();
    for block in blocks {
        let mut open: Paragraph<'_> = Vec::new();
        let (mut is_code, mut is_after_empty) = (false, true);
        for (number, line) in block {
            let text = line.trim();
            let is_fence = text.starts_with("```");
            is_code ^= is_fence;
            let is_indented_code = line.starts_with("    ") && is_after_empty;
            is_after_empty = text.is_empty() || is_indented_code;
            if begins_paragraph(text)
                || is_fence
                || open.last().is_some_and(|(_, last)| last.starts_with('#'))
            {
                paragraphs.push(std::mem::take(&mut open));
            }
            if is_code || is_fence || is_indented_code {
            } else if text.starts_with('|') {
                paragraphs.extend(text.split('|').map(|cell| vec![(number, cell)]));
            } else {
                open.push((number, text));
            }
        }
        paragraphs.push(open);
    }
    paragraphs.retain(|paragraph| paragraph.iter().any(|(_, text)| !text.trim().is_empty()));
    paragraphs
}

fn begins_paragraph(line: &str) -> bool {
    let is_entry = |marker: &str| line.starts_with(marker);
    let is_numbered = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    line.is_empty() || ["#", "- ", "* ", "|", ">", "<!--"].into_iter().any(is_entry) || is_numbered
}

/// The sentences of a paragraph. A sentence ends with a full stop, a question mark or an exclamation mark,
/// unless a word in lower case follows.
fn split(file: &str, paragraph: &Paragraph<'_>) -> Vec<Sentence> {
    let words: Vec<(usize, &str)> = paragraph
        .iter()
        .flat_map(|(number, text)| text.split_whitespace().map(move |word| (*number, word)))
        .collect();
    let has_pairs = |mark: char| paragraph.iter().flat_map(|(_, text)| text.matches(mark)).count() % 2 == 0;
    let masks: Vec<char> = ['`', '"'].into_iter().filter(|mark| has_pairs(*mark)).collect();
    let mut sentences = Vec::new();
    let (mut open, mut start, mut mask) = (Vec::new(), 0, None);
    for (place, (_, written)) in words.iter().enumerate() {
        open.push(word(written, &masks, &mut mask));
        let bare = written.trim_end_matches([')', '"', '*', '_', '”']);
        let is_followed_by_lower_case = words
            .get(place + 1)
            .and_then(|(_, next)| next.trim_start_matches(['(', '"', '*', '_', '“']).chars().next())
            .is_some_and(char::is_lowercase);
        let ends = mask.is_none() && bare.ends_with(['.', '?', '!']) && !is_followed_by_lower_case;
        if ends || place + 1 == words.len() {
            sentences.push(Sentence {
                file: file.to_owned(),
                line: words[start].0,
                text: words[start..=place].iter().map(|(_, word)| *word).collect::<Vec<_>>().join(" "),
                words: std::mem::take(&mut open),
                is_question: bare.ends_with('?'),
            });
            start = place + 1;
        }
    }
    sentences
}

/// A word without marks. `mask` is the mark of the code span or quotation that is open.
fn word(written: &str, masks: &[char], mask: &mut Option<char>) -> Word {
    let mut text = String::new();
    for character in written.chars() {
        match *mask {
            Some(open) if open == character => *mask = None,
            Some(_) => {}
            None if masks.contains(&character) => *mask = Some(character),
            None => text.extend(character.to_lowercase()),
        }
    }
    let is_letter = |character: char| character.is_alphanumeric() || character == '’' || character == '\'';
    let is_before_mark = mask.is_none()
        && text.ends_with(|character: char| !is_letter(character) && !"*_".contains(character));
    Word { text: text.trim_matches(|character| !is_letter(character)).to_owned(), is_before_mark }
}
