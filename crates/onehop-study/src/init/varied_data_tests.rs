//! First studies of varied data: names, ids and references of many kinds. Each study is read and runs.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::init_study;
use crate::data::{DataSurvey, SurveySpec};
use crate::design_study::{DesignStudy, design_report};
use crate::directory::StudyDirectory;
use crate::rng::{Stream, StreamRng};
use onehop_store::charges::Calibration;

const STREAM: Stream = Stream(1);
const FILES: [&str; 20] = [
    "users",
    "Orders",
    "order-details",
    "people",
    "news",
    "a",
    "2024",
    "größe",
    "queries",
    "page_info",
    "City",
    "countries",
    "order_lines",
    "post-edges",
    "Statuses",
    "money",
    "nodes",
    "x",
    "customer",
    "OrderLine",
];
const ID_NAMES: [&str; 9] = ["id", "_id", "Id", "ID", "uuid", "code", "{t}_id", "{T}ID", "{t}No"];
const REFERENCE_NAMES: [&str; 9] =
    ["{t}_id", "{t}Id", "{T}ID", "{t}", "parent_{t}", "main{T}Code", "{t}_ids", "{t}s", "{t}_code"];
const PROPERTIES: [&str; 34] = [
    "name",
    "Name",
    "title",
    "type",
    "version",
    "deleted",
    "ttl",
    "order_id",
    "orderId",
    "order",
    "customerId",
    "country_code",
    "countryName",
    "created_at",
    "createdAt",
    "updated",
    "y",
    "e",
    "größe",
    "名前",
    "имя",
    "first name",
    "first-name",
    "a\"b",
    "back\\slash",
    "line\nbreak",
    "",
    "3d",
    "$set",
    "__typename",
    "query",
    "email",
    "status",
    "_etag",
];

/// The parts of one type.
struct Source {
    file: &'static str,
    items: usize,
    id: Option<(String, usize)>,
    properties: Vec<(String, Kind)>,
}

enum Kind {
    Scalar(usize),
    Reference { of: usize, is_list: bool },
    Object(Vec<(String, usize)>),
    Objects(Vec<(String, usize)>),
}

fn named(pattern: &str, file: &str) -> String {
    let stem = file.trim_end_matches('s');
    let capital: String =
        stem.chars().take(1).flat_map(char::to_uppercase).chain(stem.chars().skip(1)).collect();
    pattern.replace("{t}", stem).replace("{T}", &capital)
}

fn id_value(form: usize, number: usize) -> Value {
    match form {
        0 => json!(number + 1),
        1 => json!(9_000_000_000_000_u64 + number as u64 * 7),
        2 => json!(format!("k-{number}")),
        _ => json!(format!("\"q\\{number}")),
    }
}

fn scalar(rng: &mut StreamRng, form: usize, number: usize) -> Value {
    match form {
        0 => json!(format!("text {number}")),
        1 => json!(["open", "closed", "a \"b\"\n"][number % 3]),
        2 => json!(rng.below(1_000)),
        3 => json!(f64::from(rng.below(1_000)) / 8.0),
        4 => json!(number.is_multiple_of(2)),
        5 => json!(format!("2026-{:02}-11T10:00:00Z", 1 + number % 12)),
        6 => json!(1_767_225_600 + number),
        7 => Value::Null,
        8 if number.is_multiple_of(2) => json!(number),
        9 if number.is_multiple_of(5) => json!("NA"),
        9 => json!(number),
        10 => json!([]),
        11 => json!({}),
        12 => json!([[1]]),
        _ => json!("k-1"),
    }
}

fn pairs(rng: &mut StreamRng) -> Vec<(String, usize)> {
    (0..=rng.below(3)).map(|_| ((*rng.pick(&PROPERTIES)).to_owned(), rng.below(14) as usize)).collect()
}

fn sources(rng: &mut StreamRng) -> Vec<Source> {
    let mut files: Vec<&str> = Vec::new();
    while files.len() < 1 + rng.below(4) as usize {
        let file = *rng.pick(&FILES);
        // Two files of one type are refused.
        if !files.iter().any(|known| super::names::type_name(known) == super::names::type_name(file)) {
            files.push(file);
        }
    }
    let source = |file: &&'static str| {
        let id =
            (rng.below(6) > 0).then(|| (named(rng.pick::<&str>(&ID_NAMES), file), rng.below(4) as usize));
        let mut properties: Vec<(String, Kind)> = Vec::new();
        for _ in 0..=rng.below(8) {
            let property = (*rng.pick(&PROPERTIES)).to_owned();
            properties.push(match rng.below(6) {
                0 => (property, Kind::Object(pairs(rng))),
                1 => (property, Kind::Objects(pairs(rng))),
                2 | 3 => {
                    let of = rng.below(files.len() as u32) as usize;
                    let is_list = rng.below(4) == 0;
                    (named(rng.pick::<&str>(&REFERENCE_NAMES), files[of]), Kind::Reference { of, is_list })
                }
                _ => (property, Kind::Scalar(rng.below(14) as usize)),
            });
        }
        Source { file, items: 3 + rng.below(40) as usize, id, properties }
    };
    files.iter().map(source).collect()
}

fn item(rng: &mut StreamRng, sources: &[Source], source: &Source, number: usize) -> Value {
    let mut item = Map::new();
    for (property, kind) in &source.properties {
        if rng.below(20) == 0 {
            continue;
        }
        let inner = |rng: &mut StreamRng, pairs: &[(String, usize)]| {
            let entries =
                pairs.iter().map(|(name, form)| (name.clone(), scalar(rng, *form, number))).collect();
            Value::Object(entries)
        };
        let value = match kind {
            Kind::Scalar(form) => scalar(rng, *form, number),
            Kind::Reference { of, is_list } => {
                let target = &sources[*of];
                let form = target.id.as_ref().map_or(0, |(_, form)| *form);
                let one = |rng: &mut StreamRng| id_value(form, rng.below(target.items as u32) as usize);
                if *is_list { json!([one(rng), one(rng)]) } else { one(rng) }
            }
            Kind::Object(pairs) => inner(rng, pairs),
            Kind::Objects(pairs) => json!([inner(rng, pairs), inner(rng, pairs)]),
        };
        item.insert(property.clone(), value);
    }
    if let Some((property, form)) = &source.id {
        item.insert(property.clone(), id_value(*form, number));
    }
    Value::Object(item)
}

/// The files of a seed: JSON lines, one array, or CSV of the scalars; or all types in one file.
fn files(directory: &Path, seed: u64) -> Vec<PathBuf> {
    let rng = &mut StreamRng::new(seed, STREAM, 0);
    let sources = sources(rng);
    if rng.below(4) == 0 {
        let mut items = Vec::new();
        let type_property = *rng.pick(&["type", "kind", "entity_type", "doc type"]);
        for source in &sources {
            for number in 0..source.items {
                let mut item = item(rng, &sources, source, number);
                item[type_property] = json!(source.file);
                items.push(item);
            }
        }
        let path = directory.join("container.json");
        std::fs::write(&path, Value::Array(items).to_string()).unwrap();
        return vec![path];
    }
    let write = |source: &Source| {
        let items: Vec<Value> = (0..source.items).map(|number| item(rng, &sources, source, number)).collect();
        let (ending, text) = match rng.below(3) {
            0 => ("json", Value::Array(items).to_string()),
            1 if source.id.is_some() => ("csv", csv(&items)),
            _ => ("jsonl", items.iter().map(|item| format!("{item}\n")).collect()),
        };
        let path = directory.join(format!("{}.{ending}", source.file));
        std::fs::write(&path, text).unwrap();
        path
    };
    sources.iter().map(write).collect()
}

fn csv(items: &[Value]) -> String {
    let names: std::collections::BTreeSet<&String> =
        items.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n";
    for item in items {
        let cell = |name: &&&String| match &item[name.as_str()] {
            Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
            Value::String(text) => quoted(text),
            value => value.to_string(),
        };
        let _ = writeln!(text, "{}", names.iter().map(|name| cell(&name)).collect::<Vec<_>>().join(","));
    }
    text
}

#[test]
fn a_first_study_of_any_data_is_read_and_runs() {
    for seed in 0..24 {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path(), seed);
        let study = directory.path().join("study");
        init_study(&study, &files).unwrap_or_else(|errors| panic!("seed {seed}: {errors}"));
        let study = StudyDirectory::read(&study).unwrap_or_else(|errors| panic!("seed {seed}: {errors}"));
        let spec = SurveySpec::of_designs(&study);
        let survey = DataSurvey::read(&study, &spec, &mut |_| ControlFlow::Continue(()));
        let survey = survey.unwrap_or_else(|errors| panic!("seed {seed}: {errors}"));
        let report = design_report(&DesignStudy::new(&study, &survey, Calibration::current()));
        assert!(!report.measurements.rows.is_empty(), "seed {seed}");
    }
}
