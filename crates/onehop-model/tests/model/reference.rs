//! The reference of the language: its example is accepted, and it names every directive, argument, value and
//! limit.

use onehop_model::{DIRECTIVES, Model, limits};

const REFERENCE: &str = include_str!("../../../../docs/model.md");

/// The first block of code in a language.
fn block(language: &str) -> &'static str {
    let (_, rest) = REFERENCE.split_once(&format!("```{language}\n")).expect("a block of code");
    rest.split_once("```").expect("the end of the block").0
}

#[test]
fn the_example_is_the_sample() {
    let example = block("graphql");
    assert_eq!(example, include_str!("models/helpdesk.graphql"));
    Model::read("helpdesk.graphql", example).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn the_printed_error_is_the_real_one() {
    let text = block("graphql").replace(
        "by: \"agent\", fields: [\"title\", \"messageCount\"]) @order(by: \"createdAt\", desc: true)",
        "by: \"agnet\", fields: [\"title\"])",
    );
    let errors = Model::read("helpdesk.graphql", &text).expect_err("an unknown field");
    assert_eq!(errors.to_string(), block("text"));
}

#[test]
fn each_directive_argument_and_value_is_named() {
    let names = |line: &str, start: &str| line.strip_prefix(start).map(str::to_owned);
    let mut missing = Vec::new();
    let mut named = 0;
    let mut expect = |text: String| {
        named += 1;
        if !REFERENCE.contains(&text) {
            missing.push(text);
        }
    };
    for line in DIRECTIVES.lines() {
        if let Some(rest) = names(line, "directive @") {
            let (name, arguments) = rest.split_once([' ', '(']).expect("a directive");
            expect(format!("@{name}"));
            // The arguments of requests are named in a sentence.
            let arguments = arguments.split(" on ").next().unwrap_or_default();
            for argument in arguments.split([',', '(']).filter(|argument| argument.contains(':')) {
                let argument = argument.split(':').next().unwrap_or_default().trim();
                let quote = if name == "request" { "" } else { "`" };
                expect(format!("{quote}{argument}{quote}"));
            }
        }
        if let Some(rest) = names(line, "enum ").filter(|rest| !rest.starts_with("Skew")) {
            let (_, values) = rest.split_once('{').expect("an enum on one line");
            values.trim_end_matches('}').split_whitespace().for_each(|value| expect(format!("`{value}`")));
        }
    }
    assert!(missing.is_empty() && named > 100, "{named}: {missing:?}");
}

#[test]
fn each_limit_is_named() {
    let number = |value: i64| {
        let digits = value.to_string();
        let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
        groups.join(",")
    };
    let (_, section) = REFERENCE.split_once("\n## Limits\n").expect("the section");
    let limits = [
        limits::NESTING_MAX as i64,
        limits::TYPES_MAX as i64,
        limits::MEMBERS_MAX as i64,
        limits::ERRORS_MAX as i64,
        limits::KEY_PATHS_MAX as i64,
        limits::COMPOSITE_PATHS_MAX as i64,
        limits::PAGE_MAX,
        limits::KEEP_MAX,
        limits::LENGTH_MAX,
        limits::TTL_MAX,
    ];
    for limit in limits {
        assert!(section.contains(&number(limit)), "{}", number(limit));
    }
    assert!(section.contains(&format!("{} MiB", limits::FILE_BYTES_MAX >> 20)));
}
