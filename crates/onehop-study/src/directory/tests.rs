//! Tests of the reader: a sound directory, and all errors at once.

use std::path::Path;

use super::*;
use crate::bounds::Bounds;
use onehop_store::charges::ReadConsistency;

const DESIGN: &str =
    "extend schema @model(name: \"shop\", design: \"V1\") @container(name: \"orders\", key: \"/id\")
type Order @item(container: \"orders\", write: CREATE) { id: ID! total: Int! }
";
const REQUESTS: &str = "query Order($id: ID!) @request(perSecond: 5) { order(id: $id) { total } }";

fn write(directory: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = directory.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

#[test]
fn a_directory_is_read_with_its_settings() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "name = \"Shop\"\nscale = 10\n[data]\nOrder = \"orders.jsonl\"\n[account]\nregions = 2\n\
                    consistency = \"strong\"\n[prices]\nmanual = 0.008\n[traffic]\nhourly = [1, 3, 1, 1, 1, 1, 1, 1, 1, \
                    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n[indexes]\nshare = [0.1, 0.3]\n";
    write(
        directory.path(),
        &[
            ("study.toml", settings),
            ("designs/v1.graphql", DESIGN),
            ("requests.graphql", REQUESTS),
            ("orders.jsonl", "{\"id\": \"1\", \"total\": 3}\n"),
        ],
    );
    let study = StudyDirectory::read(directory.path()).unwrap();
    let found = &study.settings;
    assert_eq!((found.scale, found.regions, found.consistency), (10.0, 2, ReadConsistency::Quorum));
    assert_eq!(found.index_share, Bounds { low: 0.1, high: 0.3 });
    assert!((found.peak_to_mean.high - 72.0 / 26.0).abs() < 1e-9 && found.peak_to_mean.is_certain());
    assert_eq!((study.designs[0].name.as_str(), study.requests.requests().len()), ("V1", 1));
}

#[test]
fn all_errors_of_all_files_come_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "scale = \"ten\"\nregion = 1\n[data]\nOrdre = \"none.jsonl\"\n[prices]\nmanual = -1\n\
                    [where]\nOrdre = { type = 1.5 }\nOrder = { type = \"order\" }\nCustomer = 1\n";
    write(
        directory.path(),
        &[
            ("study.toml", settings),
            ("designs/v1.graphql", DESIGN),
            ("designs/v2.graphql", "type Order @itm { id: ID! }"),
            ("requests.graphql", "query Order @request(perSecond: 1) { ordre { total } }"),
        ],
    );
    let errors = StudyDirectory::read(directory.path()).unwrap_err().to_string();
    for expected in [
        "study.toml:1: `scale` is a number from 0.001 to 1000000000; found \"ten\"",
        "study.toml:2: unknown key `region`; expected one of name, scale, fixed, data",
        "study.toml:6: `prices.manual` is a number from 0 to 1000000; found -1",
        "study.toml:8: `where.Ordre.type` is a text, a whole number, true or false; found 1.5",
        "study.toml:9: `where` names Order, which has no data files",
        "study.toml:10: `where.Customer` is a table; found 1",
        "designs/v2.graphql:1: column 12: unknown directive @itm on Order; did you mean `@item`?",
        "requests.graphql:1: column 38: unknown field `ordre` of Query in the design V1; did you mean `order`?",
        "study.toml: the data file none.jsonl of Ordre does not exist",
        "study.toml: `data.Ordre` is no item type of any design; their types: Order",
    ] {
        assert!(errors.contains(expected), "{expected}\n---\n{errors}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let errors = StudyDirectory::read(directory.path()).unwrap_err().to_string();
    for file in
        ["study.toml: the file cannot be read", "designs: 1 to 20 designs", "requests.graphql: the file"]
    {
        assert!(errors.contains(file), "{file}\n{errors}");
    }
}

#[test]
fn the_schema_of_the_settings_names_each_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut keys = Vec::new();
    for (key, value) in schema["properties"].as_object().unwrap() {
        keys.push(key.clone());
        let inner = value["properties"].as_object();
        keys.extend(inner.into_iter().flatten().map(|(inner, _)| format!("{key}.{inner}")));
    }
    keys.sort();
    let mut errors = StudyErrors::default();
    let unknown = "x = 1\n[traffic]\nx = 1\n[account]\nx = 1\n[prices]\nx = 1\n[indexes]\nx = 1\n[data]\n";
    settings::StudySettings::read(unknown, &mut errors);
    let mut known: Vec<String> = Vec::new();
    for error in &errors.errors {
        let path = error.message.strip_prefix("unknown key `").unwrap().split('`').next().unwrap();
        let table = path.strip_suffix('x').unwrap();
        let names = error.message.rsplit("expected one of ").next().unwrap();
        known.extend(names.split(", ").map(|name| format!("{table}{name}")));
    }
    known.sort();
    assert_eq!(keys, known);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_lines(text in "([a-z_]{1,8} ?= ?[0-9.\"\\[\\]a-z-]{0,9}|\\[[a-z.]{0,9}\\]|hourly = \\[1\\]|.{0,12})(\n[^\n]{0,20}){0,9}") {
        let mut errors = StudyErrors::default();
        let settings = settings::StudySettings::read(&text, &mut errors);
        proptest::prop_assert!(settings.scale > 0.0);
        let lines = text.lines().count() + 1;
        proptest::prop_assert!(errors.errors.iter().all(|error| error.line.is_none_or(|line| line <= lines)));
    }
}
