//! References to architecture decision records: each names a record that exists, and each record is listed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Folders of built, installed and recorded files.
const SKIPPED: [&str; 6] = [".git", "target", "node_modules", "dist", "corpus", "data"];
const EXTENSIONS: [&str; 14] =
    ["rs", "md", "toml", "json", "graphql", "ts", "tsx", "js", "css", "py", "yml", "yaml", "bicep", "sh"];
const NAMES_WITHOUT_EXTENSION: [&str; 3] = ["Makefile", "Dockerfile", "run"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of the files of all records, by number.
fn records() -> BTreeMap<u32, String> {
    let entries = fs::read_dir(root().join("docs/adr")).expect("the records");
    let names = entries.map(|entry| entry.expect("a record").file_name().to_string_lossy().into_owned());
    let mut records = BTreeMap::new();
    for name in names.filter(|name| name != "README.md") {
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        let number: u32 = number.unwrap_or_else(|| panic!("{name} has no number"));
        assert!(records.insert(number, name).is_none(), "two records have the number {number}");
    }
    records
}

/// The texts of the repository at any depth.
fn texts(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_directory = entry.file_type().expect("a type").is_dir();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if is_directory && !SKIPPED.contains(&name.as_str()) {
            texts(&path, found);
        } else if !is_directory
            && (extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
                || NAMES_WITHOUT_EXTENSION.contains(&name.as_str()))
        {
            found.push(path);
        }
    }
}

/// The references of a text that name none of the records.
fn dangling(text: &str, records: &BTreeMap<u32, String>) -> Vec<String> {
    let number = Regex::new(r"\bADRs?\s+(?:(?://[/!]?|#|\*)\s*)?(\d+)").expect("a pattern");
    let file = Regex::new(r"(?:adr/|\]\()(\d{4}-[a-z0-9-]+\.md)").expect("a pattern");
    let numbers = number.captures_iter(text).map(|found| found[1].to_owned());
    let unknown_numbers =
        numbers.filter(|number| !number.parse().is_ok_and(|number: u32| records.contains_key(&number)));
    let files = file.captures_iter(text).map(|found| found[1].to_owned());
    let unknown_files = files.filter(|file| !records.values().any(|known| known == file));
    unknown_numbers.chain(unknown_files).collect()
}

#[test]
fn references_to_decision_records_name_existing_ones() {
    let records = records();
    let mut files = Vec::new();
    texts(root(), &mut files);
    assert!(files.len() > 1_000, "{} files", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = String::from_utf8_lossy(&fs::read(&file).expect("a file")).into_owned();
        // Most files refer to no record, and the patterns are slow without optimization.
        if !["ADR", "adr/", "](0"].iter().any(|part| text.contains(part)) {
            continue;
        }
        let place = file.strip_prefix(root()).expect("a file of the repository").display().to_string();
        found.extend(dangling(&text, &records).into_iter().map(|name| format!("{place}: {name}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_decision_record_is_listed_in_order() {
    let index = fs::read_to_string(root().join("docs/adr/README.md")).expect("the list of records");
    let rows: Vec<&str> = index.lines().filter(|line| line.starts_with("| [")).collect();
    let listed = records().into_iter().map(|(number, name)| format!("| [{number}]({name}) |"));
    let listed: Vec<String> = listed.collect();
    assert_eq!(rows.len(), listed.len());
    for (row, listed) in rows.iter().zip(&listed) {
        assert!(row.starts_with(listed.as_str()), "{row} is not {listed}");
    }
}

#[test]
fn a_dangling_reference_is_found() {
    let name = format!("000{}-reads.md", 7);
    let records = BTreeMap::from([(7, name.clone())]);
    for (text, count) in [
        (format!("as ADR {} has it, in docs/adr/{name}", 7), 0),
        (format!("as ADR {} has it", 8), 1),
        (format!("as ADR\n/// {} has it", 8), 1),
        (format!("[7](000{}-reads.md)", 8), 1),
    ] {
        assert_eq!(dangling(&text, &records).len(), count, "{text}");
    }
}
