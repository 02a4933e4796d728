//! The documents: links, promises and decision records are checked against the files that they name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use onehop::cli::read_models;
use onehop_store::charges::Calibration;
use onehop_study::ledger::{KindErrors, LEDGER, LedgerCheck, read_cases};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Promises of `docs/promises.md`.
const PROMISES: usize = 12;
const README_LINES_MAX: usize = 150;
/// Folders with Rust tests.
const TEST_FOLDERS: [&str; 3] = ["tests", "src", "crates"];
const STATUSES: [&str; 3] = ["accepted", "accepted, changed by ADR ", "superseded by ADR "];

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files with this extension in a folder and below it, without built or installed files.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    const SKIPPED: [&str; 5] = ["target", "node_modules", "dist", "corpus", ".git"];
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            if !SKIPPED.iter().any(|skipped| path.ends_with(skipped)) {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|has| has == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_diagrams_of_the_read_models_are_those_of_the_declarations() {
    let document = read("docs/read-models.md");
    let diagrams = read_models::diagrams();
    assert!(
        document.ends_with(&diagrams),
        "write the output of `onehop read-models` to its end:\n{diagrams}"
    );
}

/// The document with the request charges of the read models; its tables begin with the first domain.
const COSTS_FILE: &str = "docs/read-model-costs.md";
const COSTS_BEGIN: &str = "## Blog\n";
/// The permitted difference of a prediction from the measurement, percent.
const COSTS_DIFFERENCE_MAX: f64 = 10.0;

#[tokio::test]
async fn predicted_charges_of_read_models_are_near_the_measured() {
    let directory = tempfile::tempdir().unwrap();
    let domains = read_models::documented_data().measure(directory.path()).await.unwrap();
    let tables = read_models::cost_tables(&domains, &Calibration::current());
    let document = read(COSTS_FILE);
    let introduction = &document[..document.find(COSTS_BEGIN).expect("the tables begin with a domain")];
    if std::env::var_os("ONEHOP_UPDATE_DOCS").is_some() {
        fs::write(Path::new(ROOT).join(COSTS_FILE), format!("{introduction}{tables}")).unwrap();
    } else {
        assert_eq!(document, format!("{introduction}{tables}"), "ONEHOP_UPDATE_DOCS=1 writes it anew");
    }
    for cost in domains.iter().flat_map(|domain| &domain.costs) {
        assert!(cost.difference_percent().abs() <= COSTS_DIFFERENCE_MAX, "{cost:?}");
    }
}

const CHARGES_FILE: &str = "docs/request-charges.md";

#[test]
fn the_errors_of_the_calibration_are_those_of_the_ledger() {
    let cases = read_cases(LEDGER).unwrap();
    let check = LedgerCheck::of(&cases, &Calibration::current());
    let mut table = String::from("| operation | cases | median | ninth decile |\n|---|---:|---:|---:|\n");
    for KindErrors { operation, cases, median, p90 } in &check.summary {
        let (median, p90) = (median * 100.0, p90 * 100.0);
        let _ = writeln!(table, "| {operation} | {cases} | {median:.2} % | {p90:.2} % |");
    }
    let document = read(CHARGES_FILE);
    let (before, rest) = document.split_once("errors_of_the_calibration -->\n").expect("the begin");
    let (_, after) = rest.split_once("<!-- Generated to here. -->").expect("the end");
    let wanted =
        format!("{before}errors_of_the_calibration -->\n\n{table}\n<!-- Generated to here. -->{after}");
    if std::env::var_os("ONEHOP_UPDATE_DOCS").is_some() {
        fs::write(Path::new(ROOT).join(CHARGES_FILE), &wanted).unwrap();
    } else {
        assert_eq!(document, wanted, "ONEHOP_UPDATE_DOCS=1 writes it anew");
    }
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let documents = files(Path::new(ROOT), "md");
    assert!(documents.len() > 30, "{documents:?}");
    let mut broken = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { document.clone() } else { document.parent().unwrap().join(path) };
            let is_there = target.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&target)
                        .is_ok_and(|text| anchors(&text).any(|known| known == anchor)));
            if !is_there {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The targets of links to files, outside of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    let lines = text.lines().filter(move |line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && !line.starts_with("    ")
    });
    let targets =
        lines.flat_map(|line| line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#').trim()))
}

/// The anchor that Markdown renderers give a heading.
pub fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
    kept.map(|one| if one == ' ' { '-' } else { one }).collect()
}

#[test]
fn every_promise_names_tests_that_exist() {
    let sources: Vec<(PathBuf, String)> = TEST_FOLDERS
        .iter()
        .flat_map(|folder| files(&Path::new(ROOT).join(folder), "rs"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    let text = read("docs/promises.md");
    let promises: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert_eq!(promises.len(), PROMISES);
    for (place, promise) in promises.iter().enumerate() {
        assert!(promise.starts_with(&format!("{}. ", place + 1)), "{promise}");
        let tests: Vec<(&str, &str)> = promise.lines().filter_map(named_test).collect();
        assert!(!tests.is_empty(), "a promise without a test: {promise}");
        for (test, file) in tests {
            let definition = format!("fn {test}(");
            let is_there = sources.iter().any(|(path, text)| {
                path.file_name().is_some_and(|name| name == file) && text.contains(&definition)
            });
            assert!(is_there, "promise {}: no test {test} in a file {file}", place + 1);
        }
    }
}

fn name_of(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// Test and file of a line such as "- `some_test` in `counts.rs`".
fn named_test(line: &str) -> Option<(&str, &str)> {
    let (test, file) = line.strip_prefix("- `")?.split_once("` in `")?;
    Some((test, file.strip_suffix('`')?))
}

#[test]
fn every_defence_names_tests_that_exist() {
    let modules: BTreeSet<String> = TEST_FOLDERS
        .iter()
        .flat_map(|folder| files(&Path::new(ROOT).join(folder), "rs"))
        .flat_map(|path| {
            [path.file_stem().map(name_of), path.parent().and_then(Path::file_name).map(name_of)]
        })
        .flatten()
        .collect();
    let text = read("SECURITY.md");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| threat")).collect();
    assert!(rows.len() > 70);
    let mut missing = Vec::new();
    for row in rows {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let named =
            cell.split('`').skip(1).step_by(2).filter(|name| name.contains("::") && !name.contains(' '));
        missing.extend(named.filter(|name| {
            let module = name.split("::").filter(|segment| *segment != "tests").last();
            !module.is_some_and(|module| modules.contains(module))
        }));
    }
    assert!(missing.is_empty(), "SECURITY.md names tests that are not there: {missing:?}");
}

#[test]
fn every_decision_record_has_status_and_date() {
    let index = read("docs/adr/README.md");
    let records = files(&Path::new(ROOT).join("docs/adr"), "md");
    let records: Vec<_> = records.iter().filter(|path| !path.ends_with("README.md")).collect();
    assert!(records.len() >= 30, "{records:?}");
    for path in &records {
        let name = path.file_name().unwrap().to_str().unwrap();
        let number: u32 = name[..4].parse().unwrap_or_else(|_| panic!("{name} has no number"));
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let title = lines.next().and_then(|line| line.strip_prefix(&format!("# {number}. ")));
        let title = title.unwrap_or_else(|| panic!("{name}: the title does not begin with its number"));
        let line = lines.next().and_then(|line| line.strip_prefix("Status: ")?.strip_suffix('.'));
        let (status, date) = line.and_then(|line| line.split_once(". Date: ")).unwrap_or_default();
        assert!(STATUSES.iter().any(|known| status.starts_with(known)), "{name}: status {status:?}");
        let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        assert!(is_date, "{name}: date {date:?}");
        let row = format!("| [{number}]({name}) | {title} | {status} | {date} |");
        assert!(index.contains(&row), "docs/adr/README.md lacks {row}");
    }
    let rows = index.lines().filter(|line| line.starts_with("| [")).count();
    assert_eq!(rows, records.len(), "docs/adr/README.md lists a record that is not there");
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines");
}

/// The walks of ARCHITECTURE.md: their headings, and the sentence that counts their files.
const WALKS: [(&str, &str); 2] = [
    ("## One mutation: a like", "The files that hand the request on, in order: 31."),
    ("## One query: the feed", "The files that hand the request of an anonymous client on: 25."),
];

#[test]
fn the_walks_count_files_that_exist() {
    let text = read("ARCHITECTURE.md");
    for (heading, count) in WALKS {
        let (_, walk) = text.split_once(heading).expect("the walk");
        let walk = walk.split("\n## ").next().expect("the section");
        assert!(walk.contains(count), "{heading}");
        let first_cells =
            walk.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
        let files: Vec<&str> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let said: usize = count.trim_end_matches('.').rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(files.len(), said, "{heading}");
        for file in files {
            let path = match file.split_once('/') {
                Some(("server", rest)) => format!("crates/onehop-graphql-server/src/{rest}"),
                Some(("store", rest)) => format!("crates/onehop-store/src/{rest}"),
                _ => file.to_owned(),
            };
            assert!(Path::new(ROOT).join(&path).is_file(), "{heading}: {path}");
        }
    }
}
