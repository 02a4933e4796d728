//! Changed models: words and lines of sound models are exchanged, left out and repeated. Each result is
//! refused with its mistakes, or has a sound schema; no model ends the program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use onehop::graphql::served::served_sdl;
use onehop::served::ServedModel;
use onehop_model::Model;
use onehop_study::rng::{Stream, StreamRng};

const CHANGES: Stream = Stream(7);
/// Changed models in a run of all tests. `ONEHOP_CHANGED_MODELS` states another range.
const NUMBERS: std::ops::Range<u64> = 0..200;

/// The outcome of a model.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Unreadable,
    Refused,
    Served,
}

#[test]
fn no_changed_model_ends_the_program() {
    let models = models();
    let numbers = std::env::var("ONEHOP_CHANGED_MODELS").ok().map_or(NUMBERS, |text| {
        let (first, end) = text.split_once("..").expect("two numbers: 0..1000");
        first.parse().unwrap()..end.parse().unwrap()
    });
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for number in numbers {
        let text = changed(&models, number);
        match catch_unwind(AssertUnwindSafe(|| outcome(&text))) {
            Ok(outcome) => outcomes.push(outcome),
            Err(_) => failures.push(format!("number {number}\n{text}")),
        }
    }
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), outcomes.len(), failures[0]);
    let count = |wanted: &Outcome| outcomes.iter().filter(|outcome| *outcome == wanted).count();
    let [unreadable, refused, served] =
        [&Outcome::Unreadable, &Outcome::Refused, &Outcome::Served].map(count);
    println!("{unreadable} unreadable, {refused} refused, {served} served");
    assert!(unreadable > 0 && refused > 0 && served > 0);
}

fn outcome(text: &str) -> Outcome {
    let model = match Model::read("changed.graphql", text) {
        Ok(model) => model,
        Err(errors) => {
            assert!(!errors.to_string().is_empty());
            return Outcome::Unreadable;
        }
    };
    match ServedModel::new(model) {
        Ok(served) => {
            let sdl = served_sdl(&Arc::new(served)).unwrap_or_else(|error| panic!("{error}"));
            async_graphql::parser::parse_schema(&sdl).unwrap_or_else(|error| panic!("{error}"));
            Outcome::Served
        }
        Err(findings) => {
            assert!(!findings.is_empty());
            Outcome::Refused
        }
    }
}

/// The models of the tests.
fn models() -> Vec<String> {
    let directories = ["tests/http_api/served/models", "crates/onehop-model/tests/model/models"];
    let mut texts = Vec::new();
    for directory in directories {
        let path = format!("{}/{directory}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        texts.extend(files.into_iter().filter_map(|path| std::fs::read_to_string(path).ok()));
    }
    texts
}

/// A model with one or two changes.
fn changed(models: &[String], number: u64) -> String {
    let random = &mut StreamRng::new(number, CHANGES, 0);
    let mut text = models[random.below_u64(models.len() as u64) as usize].clone();
    for _ in 0..=random.below(2) {
        let words: Vec<std::ops::Range<usize>> = words(&text);
        let lines: Vec<&str> = text.lines().collect();
        let mut pick = |count: usize| random.below_u64(count.max(1) as u64) as usize;
        let (line, other) = (pick(lines.len()), pick(lines.len()));
        text = match pick(8) {
            0 => without(&lines, line),
            1 => with(&lines, line, lines[other]),
            // A directive or an argument of another line.
            2 => lines_with_end(&lines, line, lines[other]),
            _ => {
                // By a word of the same kind: of a type, a field or a number.
                let place = words[pick(words.len())].clone();
                let kind = |place: &std::ops::Range<usize>| {
                    let first = text.as_bytes()[place.start];
                    (first.is_ascii_uppercase(), first.is_ascii_digit())
                };
                let others: Vec<_> = words.iter().filter(|other| kind(other) == kind(&place)).collect();
                let word = &text[others[pick(others.len())].clone()];
                format!("{}{word}{}", &text[..place.start], &text[place.end..])
            }
        };
    }
    text
}

fn without(lines: &[&str], left_out: usize) -> String {
    let kept = lines.iter().enumerate().filter(|(place, _)| *place != left_out).map(|(_, line)| *line);
    kept.collect::<Vec<_>>().join("\n")
}

fn with(lines: &[&str], place: usize, added: &str) -> String {
    let mut lines = lines.to_vec();
    lines.insert(place, added);
    lines.join("\n")
}

/// The lines, with the directives of another one at the end of one.
fn lines_with_end(lines: &[&str], place: usize, other: &str) -> String {
    let directives = other.find('@').map_or("", |start| other[start..].trim_end_matches(['{', ' ']));
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let line = lines[place].clone();
    lines[place] = match line.strip_suffix('{') {
        Some(start) => format!("{start}{directives} {{"),
        None => format!("{line} {directives}"),
    };
    lines.join("\n")
}

/// The places of names, numbers and texts.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let (mut found, mut start) = (Vec::new(), None);
    for place in 0..=bytes.len() {
        match (start, bytes.get(place).copied().is_some_and(is_word)) {
            (None, true) => start = Some(place),
            (Some(first), false) => {
                found.push(first..place);
                start = None;
            }
            _ => {}
        }
    }
    found
}
