//! Tests of the survey: exact counts of samples, bounded memory, errors with lines.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::directory::{StudyDirectory, StudyErrors};

const DESIGN: &str = "extend schema @model(name: \"shop\") @container(name: \"orders\", key: \"/customerId\")
@container(name: \"customers\", key: \"/id\")
type Customer @item(container: \"customers\") { id: ID! name: String! orders: [Order!]! @partition(by: \"customer\") }
type Order @item(container: \"orders\", partition: \"customer\") { id: ID! customer: Customer! @reference total: Int! }";

fn study(directory: &std::path::Path, orders: &str) -> StudyDirectory {
    let files = [
        ("study.toml", "[data]\nOrder = \"orders.jsonl\"\n"),
        ("designs/v1.graphql", DESIGN),
        ("requests.graphql", ""),
        ("orders.jsonl", orders),
    ];
    std::fs::create_dir_all(directory.join("designs")).unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(directory.join(name), text).unwrap());
    StudyDirectory::read(directory).unwrap()
}

fn survey(orders: &str) -> Result<DataSurvey, StudyErrors> {
    let directory = tempfile::tempdir().unwrap();
    let study = study(directory.path(), orders);
    DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| ControlFlow::Continue(()))
}

#[test]
fn groups_are_counted_and_sampled_together() {
    let orders: String = (0..500)
        .map(|number| {
            format!(
                "{{\"id\": \"o{number}\", \"customerId\": \"c{}\", \"total\": 7, \"x\": 1}}\n",
                number % 50
            )
        })
        .collect();
    let found = survey(&orders).unwrap();
    let orders = found.of("Order").unwrap();
    assert_eq!((orders.items, orders.sample.len(), orders.unknown["x"]), (500, 500, 500));
    let groups = orders.grouped(&["customer"]).unwrap();
    assert_eq!((groups.values(), groups.items_mean()), (50, 10.0));
    let FoundGroup::Known(group) = groups.group("c7") else { panic!("c7 is there") };
    assert_eq!((group.items, group.sample.len()), (10, 10));
    assert!(group.sample[0].contains("\"customer\":\"c7\""), "{:?}", group.sample[0]);
    assert!(matches!(groups.group("c99"), FoundGroup::Empty));
}

#[test]
fn a_line_that_is_no_item_is_named_with_its_form() {
    let lines = "{\"id\": \"1\", \"customerId\": \"c\", \"total\": 1}\n{\"id\": \"2\", \"total\": 1}\n\n[1]\n{\"id\" 1}\n{\"id\": \n";
    let errors = survey(lines).unwrap_err().to_string();
    for expected in [
        "orders.jsonl:2: `customer` of Order is missing; expected at customer or customerId",
        "orders.jsonl:4: a JSON object is expected",
        "orders.jsonl:5: one JSON object a line is expected: expected `:`",
        "orders.jsonl:6: the value goes on in the next line: one JSON object a line is expected",
    ] {
        assert!(errors.contains(expected), "{expected}\n{errors}");
    }
}

#[test]
fn the_array_of_an_object_over_several_lines_has_the_items() {
    let order = |id: &str| format!("{{\"id\": \"{id}\", \"customerId\": \"c\", \"total\": 1}}");
    let (one, two) = (order("o1"), order("o2"));
    let found = survey(&format!(
        "{{\"_rid\": \"x\",\n \"n\": [1, 2], \"more\": {{\"a\": [{{}}]}}, \"last\": null,\n  \"Documents\": [\n{one},\n{two}\n], \"_count\": 2\n}}\n"
    ));
    assert_eq!(found.unwrap().of("Order").unwrap().items, 2);
    for (text, expected) in [
        (
            format!("{{\n\"a\": [{one}],\n\"b\": [{two}]\n}}"),
            "two arrays of objects, `a` and `b`; a file for each is expected",
        ),
        ("{\n\"id\": \"o\"\n}".to_owned(), "the object has no array of objects"),
        (
            format!("{{\n\"a\": [{one}"),
            "orders.jsonl:2: one array of JSON objects is expected, or one JSON object a line: EOF",
        ),
        (format!("{{\n\"a\": [{}]}}", "{\"id\": \"o\"}"), "`customer` of Order is missing"),
    ] {
        let errors = survey(&text).unwrap_err().to_string();
        assert!(errors.contains(expected), "{expected}\n{errors}");
    }
}

#[test]
fn the_only_object_of_a_file_may_enclose_the_items() {
    let order = |id: &str| format!("{{\"id\": \"{id}\", \"customerId\": \"c\", \"total\": 1}}");
    let (one, two) = (order("o1"), order("o2"));
    let items = |text: &str| survey(text).map(|found| found.of("Order").map_or(0, |orders| orders.items));
    assert_eq!(items(&format!("\u{feff}{{\"count\": 2, \"orders\": [{one}, {two}]}}\n\n")).unwrap(), 2);
    // Longer than an item may be.
    let many = vec![one.as_str(); LINE_BYTES_MAX / one.len() + 9];
    assert_eq!(items(&format!("{{\"orders\": [{}]}}", many.join(","))).unwrap(), many.len() as u64);
    let line = "{\"id\": \"o1\", \"customerId\": \"c\", \"total\": 1, \"lines\": [{\"sku\": 1}]}";
    assert_eq!(items(line).unwrap(), 1, "an object with an id is an item");
    assert_eq!(items(&format!("{line}\n{line}")).unwrap(), 2, "one of several objects is an item");
    let errors = items(&format!("[{one}]\n[{two}]")).unwrap_err().to_string();
    assert!(errors.contains("orders.jsonl:2: one array of JSON objects is expected"), "{errors}");
}

#[test]
fn items_of_other_types_in_a_file_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let lines =
        [("o1", "\"order\"", 1), ("c1", "\"customer\"", 1), ("o2", "\"order\"", 2), ("o3", "null", 1)];
    let line = |(id, ty, version)| {
        format!(
            "{{\"id\": \"{id}\", \"type\": {ty}, \"schema\": {version}, \"customerId\": \"c1\", \"total\": 1}}\n"
        )
    };
    let mut study = study(directory.path(), &lines.map(line).concat());
    let condition =
        [("type", "order"), ("schema", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    study.settings.conditions.insert("Order".to_owned(), condition.into());
    let found = DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| ControlFlow::Continue(()));
    let found = found.unwrap();
    let orders = found.of("Order").unwrap();
    assert_eq!((orders.items, orders.unknown.len()), (1, 0));
}

#[test]
fn progress_counts_bytes_and_can_stop_the_reading() {
    let line = format!(
        "{{\"id\": \"o\", \"customerId\": \"c\", \"total\": 7, \"x\": \"{}\"}}\n",
        "x".repeat(1 << 20)
    );
    let directory = tempfile::tempdir().unwrap();
    let study = study(directory.path(), &line.repeat(40));
    let spec = SurveySpec::of_designs(&study);
    let mut reports = Vec::new();
    let survey = DataSurvey::read(&study, &spec, &mut |progress| {
        assert_eq!((progress.file, progress.bytes_total), ("orders.jsonl", 40 * line.len() as u64));
        reports.push((progress.items, progress.bytes));
        ControlFlow::Continue(())
    });
    assert_eq!(survey.unwrap().of("Order").unwrap().items, 40);
    let bytes = |items: u64| (items, items * line.len() as u64);
    assert_eq!(reports, [bytes(16), bytes(32), bytes(40)]);
    let mut calls = 0;
    let stopped = DataSurvey::read(&study, &spec, &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!(
        (stopped.unwrap_err().to_string().as_str(), calls),
        ("orders.jsonl: the reading was stopped", 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sampled_groups_are_counted_exactly(keys in prop::collection::vec(0..6_000_u32, 1..9_000)) {
        let mut sketch = group_sketch::GroupSketch::new(false);
        let mut exact = std::collections::HashMap::new();
        for key in &keys {
            sketch.add(&key.to_string(), 10, || "".into());
            *exact.entry(key.to_string()).or_insert(0) += 1;
        }
        prop_assert!(sketch.groups().len() <= SAMPLED_GROUPS_MAX);
        for group in sketch.groups() {
            prop_assert_eq!(group.items, exact[&group.key]);
        }
        let values = exact.len() as f64;
        prop_assert!((sketch.values() as f64 / values - 1.0).abs() < 0.15, "{} of {values}", sketch.values());
        for key in exact.keys() {
            prop_assert!(!matches!(sketch.group(key), FoundGroup::Empty), "{key} exists");
        }
    }
}
