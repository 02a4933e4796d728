//! Language of comments, schema descriptions, documents and pages: the subjects and objects of a sentence are
//! nouns, and not clauses such as "what is read", "those of a user" or "whoever asks". Lists of words decide,
//! without a grammar.

use std::collections::BTreeMap;
use std::path::Path;

use crate::texts::{Sentence, Word, sentences, sentences_of, wide_comments};

/// An area of the repository, whose share of sentences with such a clause has a limit of its own.
struct Area {
    name: &'static str,
    paths: &'static [&'static str],
    extensions: &'static [&'static str],
    /// The permitted share of sentences with a clause in the place of a noun, percent.
    share_max_percent: f64,
}

const AREAS: &[Area] = &[
    Area { name: "crates", paths: &["crates"], extensions: &["rs"], share_max_percent: 0.5 },
    Area { name: "program", paths: &["src", "build.rs"], extensions: &["rs"], share_max_percent: 0.5 },
    Area {
        name: "tests",
        paths: &["tests", "benches", "examples", "fuzz/fuzz_targets"],
        extensions: &["rs"],
        share_max_percent: 0.5,
    },
    Area {
        name: "schemas",
        paths: &["schema.graphql", "operations.graphql"],
        extensions: &["graphql"],
        share_max_percent: 0.5,
    },
    Area {
        name: "documents",
        paths: &["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs"],
        extensions: &["md"],
        share_max_percent: 0.5,
    },
    Area {
        name: "web",
        paths: &["web/src", "web/tests", "web/README.md"],
        extensions: &["ts", "tsx", "md"],
        share_max_percent: 1.0,
    },
];

const COMMENT_COLUMNS_MAX: usize = 110;
/// The number of sentences that a failure prints for an area.
const PRINTED_MAX: usize = 40;
/// The number of files that the test prints for an area: the files with the most such sentences.
const WORST_FILES_MAX: usize = 3;

/// Words that stand for an unnamed thing or person in every position.
const UNNAMED: [&str; 12] = [
    "what",
    "whatever",
    "whichever",
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "someone",
    "everybody",
    "everyone",
    "anybody",
    "whatsoever",
];

/// Words that cannot be the noun after "those" or "such": these stand alone before them.
const NO_NOUN: [&str; 58] = [
    "of", "that", "which", "who", "whose", "whom", "where", "when", "in", "on", "at", "to", "from", "for",
    "by", "with", "without", "within", "below", "above", "beyond", "before", "after", "beside", "under",
    "over", "between", "against", "among", "behind", "through", "is", "are", "was", "were", "has", "have",
    "had", "can", "may", "must", "would", "do", "does", "need", "and", "or", "not", "there", "it", "they",
    "we", "already", "alone", "only", "too", "then", "still",
];

/// Words after which "one" and "ones" stand for a noun that a clause describes.
const RELATIVE: [&str; 4] = ["that", "which", "who", "whose"];

/// The number of clauses and pronouns in the place of a noun; 0 for a question.
fn clauses(sentence: &Sentence) -> usize {
    let is_lone_word = sentence.words.iter().filter(|word| !word.text.is_empty()).count() == 1;
    if sentence.is_question || is_lone_word {
        return 0;
    }
    (0..sentence.words.len()).filter(|place| is_clause(&sentence.words, *place)).count()
}

/// Whether the word at this place begins such a clause, by the words beside it.
fn is_clause(words: &[Word], place: usize) -> bool {
    let word = &words[place];
    let before = place.checked_sub(1).map_or("", |before| words[before].text.as_str());
    let after = words.get(place + 1).filter(|_| !word.is_before_mark).map_or("", |after| after.text.as_str());
    let ends = word.is_before_mark || place + 1 == words.len();
    match word.text.as_str() {
        text if UNNAMED.contains(&text) => true,
        "those" | "such" => ends || NO_NOUN.contains(&after),
        "that" => ["of", "which"].contains(&after),
        "one" => RELATIVE.contains(&after),
        "ones" => after == "of" || RELATIVE.contains(&after),
        "all" => after == "that",
        "none" => after != "of" && !["or", "for", "default"].contains(&before),
        "which" | "who" | "how" => place == 0,
        _ => false,
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files with the most sentences that have such a clause, with the number of these.
fn worst_files(found: &[(usize, &Sentence)]) -> String {
    let mut files = BTreeMap::<&str, usize>::new();
    for (_, sentence) in found {
        *files.entry(&sentence.file).or_default() += 1;
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let worst = files.iter().take(WORST_FILES_MAX).map(|(file, count)| format!("{file}: {count}"));
    worst.collect::<Vec<_>>().join(", ")
}

fn sentences_in(area: &Area) -> Vec<Sentence> {
    area.paths.iter().flat_map(|path| sentences(root(), path, area.extensions)).collect()
}

#[test]
fn nouns_and_no_clauses_are_subjects_and_objects() {
    let mut report = String::new();
    for area in AREAS {
        let all = sentences_in(area);
        assert!(all.len() > 100, "{}: {} sentences", area.name, all.len());
        let mut found: Vec<_> = all
            .iter()
            .map(|sentence| (clauses(sentence), sentence))
            .filter(|(count, _)| *count > 0)
            .collect();
        let share = 100.0 * found.len() as f64 / all.len() as f64;
        println!("{}: {} of {} sentences, {share:.2} %", area.name, found.len(), all.len());
        println!("  {}", worst_files(&found));
        if share > area.share_max_percent {
            found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            report += &format!("{}: {share:.2} % of {} sentences\n", area.name, all.len());
            for (_, Sentence { file, line, text, .. }) in found.iter().take(PRINTED_MAX) {
                report += &format!("  {file}:{line}: {text}\n");
            }
        }
    }
    assert!(report.is_empty(), "name the noun in these sentences:\n{report}");
}

#[test]
fn comments_are_no_wider_than_110_columns() {
    let wide: Vec<String> = AREAS
        .iter()
        .flat_map(|area| area.paths)
        .flat_map(|path| wide_comments(root(), path, COMMENT_COLUMNS_MAX))
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn a_clause_in_the_place_of_a_noun_is_found() {
    for text in [
        "What is none, such as `unknown`, is `None`.",
        "Returns what was read.",
        "The sessions of a user, and those of a customer.",
        "Keeps those that were parsed lately.",
        "The limit of a page, and that of a list.",
        "Drops the one that is full first.",
        "Takes all that is stored.",
        "A version that has none.",
        "Nobody reads it, whatever the caller says.",
        "Whoever asks gets the answer.",
        "Items that are not there count as such.",
        "A mark is written. Which mark is decided by the key.",
        "Who wrote the comment.",
        "How many requests execute at once.",
        "A [link](what.md \"what\") to what follows.",
    ] {
        assert!(sentences_of(text).iter().any(|sentence| clauses(sentence) > 0), "{text}");
    }
}

#[test]
fn nouns_code_and_questions_are_no_clauses() {
    for text in [
        "An invalid address such as `unknown` gives `None`.",
        "Returns the items that were read, which may be few.",
        "Those sessions end; such a session is not renewed.",
        "The documents that were parsed lately, one of which is kept.",
        "None of its items is kept.",
        "What is a partition?",
        "The comment \"what is read\" and the name `those_that` are quoted.",
        "Prices [default: none]",
        "none",
        "Whether the user exists, and how it was created.",
        "The bucket that would be full first, e.g. one in ten.",
    ] {
        for sentence in sentences_of(text) {
            assert_eq!(clauses(&sentence), 0, "{}", sentence.text);
        }
    }
}
