//! Errors of models: for each kind of error a small model, with line, column and message as a snapshot.

mod directives;
mod fields;
mod keys;
mod names;
mod operations;
mod related;
mod report;
mod syntax;
mod types;

use std::collections::BTreeSet;

use onehop_model::Model;

/// A wrong definition, and the code of the error that it causes.
type Case = (&'static str, &'static str);

/// Sound definitions that follow each case, so that the case's lines start at 1.
const WORLD: &str = include_str!("world.graphql");

/// All cases by group.
const GROUPS: [(&str, &[Case]); 8] = [
    ("syntax", syntax::CASES),
    ("directives", directives::CASES),
    ("names", names::CASES),
    ("types", types::CASES),
    ("keys", keys::CASES),
    ("fields", fields::CASES),
    ("related", related::CASES),
    ("operations", operations::CASES),
];

/// The definitions of a case, and the shared definitions that it does not declare itself.
fn model_of(case: &str) -> String {
    format!("{case}\n{WORLD}")
}

#[test]
fn the_world_of_the_cases_is_sound() {
    Model::read("world", WORLD).unwrap_or_else(|errors| panic!("{errors}"));
}

/// The errors of a case; a case without errors, or with other errors, is refused.
fn errors_of(code: &str, case: &str) -> Result<String, String> {
    match Model::read("case.graphql", &model_of(case)) {
        Ok(_) => Err(format!("no error `{code}` in the case\n{case}")),
        Err(errors) if errors.iter().all(|error| error.code == code) => Ok(errors.to_string()),
        Err(errors) => Err(format!("not only `{code}` in the case\n{case}\n{errors}")),
    }
}

#[test]
fn each_error_has_line_column_and_message() {
    let mut wrong = Vec::new();
    for (group, cases) in GROUPS {
        let results = cases.iter().map(|(code, case)| errors_of(code, case));
        let (shown, failed): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        wrong.extend(failed.into_iter().filter_map(Result::err));
        insta::assert_snapshot!(group, shown.join("\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The codes of all kinds of errors, by the names of the variants in the source.
fn known_codes() -> BTreeSet<String> {
    let source = include_str!("../../../src/problem.rs");
    let (variants, _) = source.split_once("\n}\n").expect("the end of the enum");
    let is_variant = |line: &&str| {
        line.strip_prefix("    ")
            .is_some_and(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
    };
    let name = |line: &str| line.trim().split([' ', ',']).next().unwrap_or_default().to_owned();
    let code = |name: String| {
        let dashed = name.chars().map(|character| match character {
            character if character.is_ascii_uppercase() => format!("-{}", character.to_ascii_lowercase()),
            character => character.to_string(),
        });
        dashed.collect::<String>().trim_start_matches('-').to_owned()
    };
    variants.lines().filter(is_variant).map(name).map(code).collect()
}

#[test]
fn there_is_no_error_without_a_case() {
    let known = known_codes();
    assert!(known.len() > 100, "{known:?}");
    let tested: BTreeSet<String> =
        GROUPS.iter().flat_map(|(_, cases)| cases.iter().map(|(code, _)| (*code).to_owned())).collect();
    // Cases extend a model with a name; `report` has one without.
    let tested = &tested | &BTreeSet::from(["no-model".to_owned()]);
    let untested: Vec<_> = known.difference(&tested).collect();
    assert!(untested.is_empty(), "{untested:?}");
}
