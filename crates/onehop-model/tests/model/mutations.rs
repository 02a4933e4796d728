//! Mutated files: reading any file ends with a model or with errors inside the file.

use std::collections::BTreeSet;

use onehop_model::Model;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const SAMPLES: [&str; 7] = [
    include_str!("models/blog-v1.graphql"),
    include_str!("models/blog-v3.graphql"),
    include_str!("models/webstore-v4.graphql"),
    include_str!("models/example-webstore-v1.graphql"),
    include_str!("models/example-followed.graphql"),
    include_str!("models/helpdesk.graphql"),
    include_str!("errors/world.graphql"),
];

/// Texts that edits insert.
const TOKENS: [&str; 30] = [
    "type ",
    "enum ",
    "extend schema ",
    "@",
    "@list",
    "@item(",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    "!",
    "\"",
    "\"\"\"",
    "\\",
    "\\u{110000}",
    "\\uD800",
    "#",
    "$x",
    "...",
    "-",
    "1e999",
    "null",
    "id",
    "by: ",
    "é",
    "\u{0}",
    "\r\n",
];

/// One edit of a text.
#[derive(Debug, Clone)]
enum Edit {
    /// Removes some bytes.
    Remove(Index, usize),
    /// Inserts a token.
    Insert(Index, &'static str),
    /// Replaces a byte.
    Replace(Index, u8),
    /// Copies a part to another place.
    Copy(Index, usize, Index),
    /// Swaps two words.
    Swap(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), 1..60_usize).prop_map(|(place, length)| Edit::Remove(place, length)),
        (any::<Index>(), select(&TOKENS[..])).prop_map(|(place, token)| Edit::Insert(place, token)),
        (any::<Index>(), any::<u8>()).prop_map(|(place, byte)| Edit::Replace(place, byte)),
        (any::<Index>(), 1..200_usize, any::<Index>())
            .prop_map(|(from, length, to)| Edit::Copy(from, length, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(left, right)| Edit::Swap(left, right)),
    ]
}

/// The ranges of the words of a text.
fn words(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (place, byte) in text.iter().chain(b" ").enumerate() {
        match (start, byte.is_ascii_alphanumeric()) {
            (None, true) => start = Some(place),
            (Some(from), false) => {
                words.push(from..place);
                start = None;
            }
            _ => {}
        }
    }
    words
}

fn apply(text: &mut Vec<u8>, edit: &Edit) {
    if text.is_empty() {
        return;
    }
    match edit {
        Edit::Remove(place, length) => {
            let start = place.index(text.len());
            text.drain(start..(start + length).min(text.len()));
        }
        Edit::Insert(place, token) => {
            let start = place.index(text.len());
            text.splice(start..start, token.bytes());
        }
        Edit::Replace(place, byte) => {
            let start = place.index(text.len());
            text[start] = *byte;
        }
        Edit::Copy(from, length, to) => {
            let start = from.index(text.len());
            let part = text[start..(start + length).min(text.len())].to_vec();
            let to = to.index(text.len());
            text.splice(to..to, part);
        }
        Edit::Swap(left, right) => {
            let words = words(text);
            if words.is_empty() {
                return;
            }
            let (left, right) = (left.index(words.len()), right.index(words.len()));
            let (first, second) = (words[left.min(right)].clone(), words[left.max(right)].clone());
            if first != second {
                let (one, two) = (text[first.clone()].to_vec(), text[second.clone()].to_vec());
                text.splice(second, one);
                text.splice(first, two);
            }
        }
    }
}

/// Reads a text: a model that is printed and read again, or errors that lie in the text.
fn read(text: &str) {
    match Model::read("mutated", text) {
        Ok(model) => {
            let printed = model.print();
            let again = Model::read("printed", &printed);
            assert_eq!(again.as_ref(), Ok(&model), "{printed}");
        }
        Err(errors) => {
            assert!(errors.iter().count() > 0);
            assert!(!errors.to_string().is_empty());
            let lines: Vec<&str> = text.split('\n').collect();
            for error in &errors {
                let line = lines.get(error.line - 1).unwrap_or_else(|| panic!("no line for {error}"));
                assert!(error.column <= line.chars().count() + 1, "{error}");
                assert!(error.length >= 1 && !error.message.is_empty());
            }
        }
    }
}

/// The printed lines without descriptions and the model's own directive, in no order.
fn lines(model: &Model) -> BTreeSet<String> {
    let printed = model.print();
    let is_effective = |line: &&str| !line.trim_start().starts_with('"') && !line.starts_with("  @model");
    printed.lines().filter(is_effective).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edited_sample_never_panics(sample in select(&SAMPLES[..]), edits in prop::collection::vec(edit(), 1..6)) {
        let mut text = sample.as_bytes().to_vec();
        edits.iter().for_each(|edit| apply(&mut text, edit));
        read(&String::from_utf8_lossy(&text));
    }

    #[test]
    fn random_tokens_never_panic(tokens in prop::collection::vec(select(&TOKENS[..]), 0..80)) {
        read(&tokens.concat());
    }

    #[test]
    fn an_edit_that_changes_a_model_has_an_effect(sample in select(&SAMPLES[..]), edit in edit()) {
        let mut text = sample.as_bytes().to_vec();
        apply(&mut text, &edit);
        let base = Model::read("sample", sample).expect("a sound sample");
        if let Ok(edited) = Model::read("edited", &String::from_utf8_lossy(&text)) {
            let has_effects = !base.diff(&edited).effects().is_empty();
            prop_assert!(has_effects || lines(&base) == lines(&edited), "{}", edited.print());
        }
    }
}

/// A reference may be named `id`. The default root fields find no item by it.
#[test]
fn a_reference_of_the_name_id_finds_no_item() {
    let world = include_str!("errors/world.graphql");
    let text = world.replace("  user: User! @reference\n}", "  id: User! @reference\n}");
    assert_ne!(text, world);
    let model = Model::read("world", &text).expect("a sound model");
    assert!(model.queries().iter().all(|query| &*query.item_type != "Like"), "{}", model.print());
    read(&text);
}
