//! Plain text of Markdown: the words of a text without the marks that format them. It serves summaries, which
//! may be cut anywhere, so it reads marks one by one and never fails. Unknown syntax stays as it was typed.

/// The words of a Markdown text as one line. With `is_cut`, marks that are open at the end were closed behind
/// the cut.
#[must_use]
pub fn plain_text(markdown: &str, is_cut: bool) -> String {
    let has_table = markdown.lines().any(|line| is_rule(line.trim()) && line.contains('|'));
    let mut plain = String::with_capacity(markdown.len());
    let mut paragraph = String::new();
    let mut fence = None;
    for line in markdown.lines().map(str::trim) {
        let mark = fence_mark(line);
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(_), _) if mark == fence => fence = None,
            (Some(_), _) => {
                plain.push_str(&inline_text(&std::mem::take(&mut paragraph), is_cut));
                plain.push_str(line);
                plain.push(' ');
            }
            (None, None) if is_rule(line) || is_definition(line) => {}
            (None, None) => {
                let words = without_block_marks(line);
                if has_table {
                    paragraph.push_str(&words.replace('|', " "));
                } else {
                    paragraph.push_str(words);
                }
                paragraph.push(' ');
            }
        }
    }
    plain.push_str(&inline_text(&paragraph, is_cut));
    joined_words(&plain)
}

/// The words of a text with one space between them.
fn joined_words(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

/// The character of a code fence.
fn fence_mark(line: &str) -> Option<char> {
    ['`', '~'].into_iter().find(|mark| {
        let rest = line.trim_start_matches(*mark);
        line.len() - rest.len() >= 3 && !rest.contains(*mark)
    })
}

/// A line that is all marks: a thematic break, the underline of a heading, the second line of a table.
fn is_rule(line: &str) -> bool {
    line.len() >= 2
        && line.contains(['-', '=', '*', '_'])
        && (line.chars().all(|mark| matches!(mark, '-' | '|' | ':' | ' '))
            || ['=', '*', '_']
                .into_iter()
                .any(|mark| line.chars().all(|found| found == mark || found == ' ')))
}

/// The address of a reference: `[label]: address`.
fn is_definition(line: &str) -> bool {
    line.starts_with('[') && line.split_once("]: ").is_some_and(|(label, _)| !label[1..].contains(['[', ']']))
}

/// A line without the marks of quotes, headings, lists and tasks before its words.
fn without_block_marks(mut line: &str) -> &str {
    loop {
        let rest = line
            .strip_prefix('>')
            .or_else(|| heading_text(line))
            .or_else(|| list_item_text(line))
            .or_else(|| ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|task| line.strip_prefix(task)));
        match rest {
            Some(rest) => line = rest.trim_start(),
            None => return line,
        }
    }
}

fn heading_text(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with(' '))).then_some(rest)
}

fn list_item_text(line: &str) -> Option<&str> {
    let numbered = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let rest = if numbered.len() == line.len() {
        line.strip_prefix(['-', '*', '+'])
    } else {
        numbered.strip_prefix(['.', ')'])
    }?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

/// A piece of a paragraph: characters, and runs of marks whose meaning is not known yet.
enum Piece {
    Text(String),
    Run(Run),
}

/// Several of the same mark: `**`.
struct Run {
    marks: String,
    opens: bool,
    closes: bool,
    is_removed: bool,
}

/// The text of a paragraph without emphasis, code marks, links' addresses and escapes.
fn inline_text(paragraph: &str, is_cut: bool) -> String {
    if !paragraph.contains(is_special) {
        return paragraph.to_owned();
    }
    let characters: Vec<char> = paragraph.chars().collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if !is_special(characters[at]) {
            let end = at + characters[at..].iter().take_while(|&&found| !is_special(found)).count();
            pieces.push(Piece::Text(characters[at..end].iter().collect()));
            at = end;
            continue;
        }
        let (piece, next) = piece_at(&characters, at, is_cut);
        pieces.push(piece);
        at = next;
    }
    pair_runs(&mut pieces, is_cut);
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Run(run) if run.is_removed => String::new(),
            Piece::Run(run) => run.marks,
        })
        .collect()
}

/// Whether a piece that is not plain text may begin with this character.
fn is_special(character: char) -> bool {
    matches!(character, '\\' | '`' | '[' | '!' | '<' | '&' | '*' | '_' | '~')
}

/// The piece that begins here, and where the next one does.
fn piece_at(characters: &[char], at: usize, is_cut: bool) -> (Piece, usize) {
    let found = match characters[at] {
        '\\' => escaped(characters, at),
        '`' => code(characters, at, is_cut),
        '[' => link(characters, at, is_cut),
        '!' if characters.get(at + 1) == Some(&'[') => link(characters, at + 1, is_cut),
        '<' => autolink(characters, at),
        '&' => entity(characters, at),
        '*' | '_' | '~' => return run(characters, at),
        _ => None,
    };
    let (text, next) = found.unwrap_or_else(|| (characters[at].to_string(), at + 1));
    (Piece::Text(text), next)
}

fn escaped(characters: &[char], at: usize) -> Option<(String, usize)> {
    let next = characters.get(at + 1).filter(|next| next.is_ascii_punctuation())?;
    Some((next.to_string(), at + 2))
}

fn code(characters: &[char], at: usize, is_cut: bool) -> Option<(String, usize)> {
    let ticks = run_length(characters, at);
    let begin = at + ticks;
    let mut end = begin;
    while end < characters.len() {
        if characters[end] != '`' {
            end += 1;
            continue;
        }
        let closing = run_length(characters, end);
        if closing == ticks {
            return Some((characters[begin..end].iter().collect(), end + closing));
        }
        end += closing;
    }
    is_cut.then(|| (String::new(), begin))
}

/// The words of a link or a picture whose bracket opens here.
fn link(characters: &[char], at: usize, is_cut: bool) -> Option<(String, usize)> {
    let Some(end) = closing(characters, at, '[', ']') else {
        return is_cut.then(|| (String::new(), at + 1));
    };
    let words: String = characters[at + 1..end].iter().collect();
    let (open, close) = match characters.get(end + 1) {
        Some('(') => ('(', ')'),
        Some('[') => ('[', ']'),
        _ => return None,
    };
    let next = match closing(characters, end + 1, open, close) {
        Some(next) => next + 1,
        None if is_cut => characters.len(),
        None => return None,
    };
    Some((inline_text(&words, is_cut), next))
}

/// Where the bracket that opens here is closed.
fn closing(characters: &[char], at: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut index = at;
    while let Some(&found) = characters.get(index) {
        if found == '\\' {
            index += 1;
        } else if found == open {
            depth += 1;
        } else if found == close {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
        index += 1;
    }
    None
}

fn autolink(characters: &[char], at: usize) -> Option<(String, usize)> {
    let end = at + characters[at..].iter().position(|&found| found == '>')?;
    let address: String = characters[at + 1..end].iter().collect();
    let is_address = ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
    (is_address && !address.contains(' ')).then_some((address, end + 1))
}

/// The few entities that people type, as the page reads them.
fn entity(characters: &[char], at: usize) -> Option<(String, usize)> {
    [("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", "\u{a0}")]
        .into_iter()
        .find(|(name, _)| name.chars().eq(characters[at..].iter().copied().take(name.len())))
        .map(|(name, meaning)| (meaning.to_owned(), at + name.len()))
}

/// A run of emphasis marks, and by its neighbours whether it opens or closes (CommonMark 0.31, section 6.2).
fn run(characters: &[char], at: usize) -> (Piece, usize) {
    let length = run_length(characters, at);
    let before = at.checked_sub(1).map_or(' ', |before| characters[before]);
    let after = characters.get(at + length).copied().unwrap_or(' ');
    let is_mark = |found: char| !found.is_alphanumeric() && !found.is_whitespace();
    let left = !after.is_whitespace() && (!is_mark(after) || !before.is_alphanumeric());
    let right = !before.is_whitespace() && (!is_mark(before) || !after.is_alphanumeric());
    let is_word_mark = characters[at] != '_';
    let run = Run {
        marks: characters[at..at + length].iter().collect(),
        opens: left && (is_word_mark || !right || is_mark(before)),
        closes: right && (is_word_mark || !left || is_mark(after)),
        is_removed: false,
    };
    (Piece::Run(run), at + length)
}

fn run_length(characters: &[char], at: usize) -> usize {
    characters[at..].iter().take_while(|&&found| found == characters[at]).count()
}

/// Removes each run that another one closes, and the run that closes it.
fn pair_runs(pieces: &mut [Piece], is_cut: bool) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..pieces.len() {
        let Piece::Run(run) = &pieces[index] else { continue };
        let same = |&other: &usize| matches!(&pieces[other], Piece::Run(other) if other.marks == run.marks);
        match open.iter().rposition(same).filter(|_| run.closes) {
            Some(place) => {
                let opening = open[place];
                open.truncate(place);
                remove(pieces, opening);
                remove(pieces, index);
            }
            None if run.opens => open.push(index),
            None => {}
        }
    }
    if is_cut {
        for index in open {
            remove(pieces, index);
        }
    }
}

fn remove(pieces: &mut [Piece], index: usize) {
    if let Piece::Run(run) = &mut pieces[index] {
        run.is_removed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn marks_of_blocks_are_not_in_the_text() {
        for (markdown, expected) in [
            ("# Hello\n\nSome text.", "Hello Some text."),
            ("Before\n## A heading", "Before A heading"),
            ("> Said before.\n> > Twice.", "Said before. Twice."),
            ("- one\n- two\n  1. three\n- [x] done", "one two three done"),
            ("```rust\nfn main() { *p }\n```\nPara", "fn main() { *p } Para"),
            ("~~~\nlet a = `b`;\n~~~", "let a = `b`;"),
            ("Title\n=====\nText\n\n---\nMore\n***", "Title Text More"),
            ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b 1 2"),
            ("See [it][r].\n\n[r]: https://example.com", "See it."),
        ] {
            assert_eq!(plain_text(markdown, false), expected, "{markdown:?}");
        }
    }

    #[test]
    fn marks_within_a_line_are_not_in_the_text() {
        for (markdown, expected) in [
            ("*then* __more__ (_so_), ***both*** and ~~struck~~", "then more (so), both and struck"),
            ("Some **bold *and slanted* text**", "Some bold and slanted text"),
            ("a [link](https://example.com \"t\") and `co*de*`", "a link and co*de*"),
            ("![a *picture*](p.png) and [![x](y)](z)", "a picture and x"),
            ("[an](https://example.com/(a)) <https://example.org>", "an https://example.org"),
            ("1 \\* 2 \\[x\\] &lt;b&gt; &amp;amp;", "1 * 2 [x] <b> &amp;"),
        ] {
            assert_eq!(plain_text(markdown, false), expected, "{markdown:?}");
        }
    }

    #[test]
    fn what_is_no_mark_stays() {
        for text in [
            "2 * 3 * 4 = 24",
            "snake_case_names and f(a)[0]",
            "C# and #5, issue # 5",
            "5 - 3",
            "an * alone, and ** too",
            "a_b_ c",
            "an ` alone, ~ and [brackets]",
            "<b>HTML</b> is shown as typed & so on",
            "a | b",
            "\u{1f600} 日本語 *",
        ] {
            assert_eq!(plain_text(text, false), text);
        }
    }

    #[test]
    fn marks_that_a_cut_left_open_are_not_in_the_text() {
        for (markdown, expected) in [
            ("See [the whole](https://example.com/a-long-", "See the whole"),
            ("See [the whole", "See the whole"),
            ("It is **very important to", "It is very important to"),
            ("Call `main(", "Call main("),
            ("```\nfn main()", "fn main()"),
        ] {
            assert_eq!(plain_text(markdown, true), expected, "{markdown:?}");
        }
    }

    #[test]
    fn hostile_marks_take_no_time_and_end() {
        for mark in
            ["[", "]", "(", "`", "*", "_ ", "a_", "![", "\\", "<", "&", ">", "- ", "[a](", "```\n", "|-\n"]
        {
            let text = mark.repeat(160);
            for is_cut in [false, true] {
                assert!(plain_text(&text, is_cut).len() <= text.len(), "{mark}");
            }
        }
    }
}
