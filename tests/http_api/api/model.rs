//! `onehop model`: checks, prints, draws and compares model files.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::tempdir;

use crate::api::binary::onehop;

const MODEL: &str = r#"extend schema @model(name: "notes") @container(name: "notes", key: "/noteId")

type Note @item(container: "notes", partition: "id", write: [CREATE, UPDATE]) {
  id: ID!
  title: String! @length(max: 200)
}
"#;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        onehop(&[&["model"], arguments].concat()).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit status"), text(stdout), text(stderr))
}

fn file(directory: &Path, name: &str, text: &str) -> String {
    let file = directory.join(name);
    fs::write(&file, text).expect("written");
    file.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_sound_model_is_checked_printed_and_drawn() {
    let directory = tempdir().expect("a directory");
    let model = file(directory.path(), "notes.graphql", MODEL);
    let (status, report, _) = run(&["check", &model]);
    assert_eq!(status, 0);
    assert!(
        report.contains("notes, version 1: 1 containers, 1 item types, 1 queries; no errors"),
        "{report}"
    );
    let (status, printed, _) = run(&["print", &model]);
    let again = file(directory.path(), "printed.graphql", &printed);
    assert_eq!((status, run(&["print", &again]).1), (0, printed), "the canonical form stays");
    let (status, diagram, _) = run(&["diagram", &model]);
    assert!(status == 0 && diagram.contains("notes") && diagram.contains("Note"), "{diagram}");
    assert!(run(&["directives"]).1.contains("directive @item("));
}

#[test]
fn every_error_of_a_model_is_reported_with_its_place() {
    let directory = tempdir().expect("a directory");
    let broken = MODEL.replace("@length", "@lenght").replace("partition: \"id\"", "partition: \"ids\"");
    let model = file(directory.path(), "notes.graphql", &broken);
    let (status, report, _) = run(&["check", &model]);
    assert_eq!(status, 1);
    for part in ["notes.graphql:3:", "notes.graphql:5:", "@lenght", "did you mean", "ids"] {
        assert!(report.contains(part), "{part:?} is missing in\n{report}");
    }
    let (status, json, _) = run(&["check", &model, "--format", "json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let lines: Vec<_> =
        report["errors"].as_array().expect("errors").iter().map(|error| &error["line"]).collect();
    assert_eq!((status, lines), (1, vec![&Value::from(3), &Value::from(5)]), "{json}");
    let (status, printed, error) = run(&["print", &model]);
    assert!(status == 2 && printed.is_empty() && error.contains("@lenght"), "{error}");
}

#[test]
fn effects_of_a_changed_model_are_stated() {
    let directory = tempdir().expect("a directory");
    let old = file(directory.path(), "old.graphql", MODEL);
    let added = MODEL.replace("  title", "  text: String!\n  title");
    let new = file(directory.path(), "new.graphql", &added);
    assert_eq!(run(&["diff", &old, &old]).0, 0);
    let (status, report, _) = run(&["diff", &old, &new]);
    assert!(status == 1 && report.contains("Note.text") && report.contains("@default"), "{report}");
}

#[test]
fn a_model_file_that_cannot_be_read_is_named() {
    let (status, _, error) = run(&["check", "missing.graphql"]);
    assert!(status == 2 && error.contains("missing.graphql"), "{error}");
}
