//! Tests of keys: grades with their reasons.

use crate::data::{DataSurvey, SurveySpec};
use crate::design_study::DesignStudy;
use crate::fixtures::{Shop, readings};
use crate::keys::{GradedKey, KeyGrade, KeyReport, add_candidates, key_table};
use onehop_store::charges::Calibration;

fn report(settings: &str) -> KeyReport {
    let shop = Shop::new(settings);
    let survey = shop.survey();
    KeyReport::of(&DesignStudy::new(&shop.study, &survey, Calibration::current()))
}

fn key<'r>(report: &'r KeyReport, fields: &[&str]) -> &'r GradedKey {
    let orders = report.types.iter().find(|found| found.item_type == "Order").unwrap();
    orders.keys.iter().find(|key| key.fields == fields).unwrap_or_else(|| panic!("{fields:?}"))
}

#[test]
fn a_key_with_few_values_is_bad() {
    let report = report("");
    let status = key(&report, &["status"]);
    assert_eq!(status.grade, KeyGrade::Bad);
    assert_eq!(status.reasons[0], "3 values, the largest (sent) would hold 80.0 % of the data");
}

#[test]
fn a_key_of_one_item_each_is_fair() {
    let report = report("");
    let id = key(&report, &["id"]);
    assert_eq!((id.grade, id.values), (KeyGrade::Fair, 400));
    assert!(id.reasons[0].starts_with("one item under each value"), "{:?}", id.reasons);
    assert!(
        id.reasons[1].starts_with("CustomerOrders, CustomerCount and OpenOrders would ask"),
        "{:?}",
        id.reasons
    );
}

#[test]
fn a_key_that_requests_give_is_the_best_of_many_values() {
    // 40 customers are few values; of a hundred times as many items there are as many customers more.
    let report = report("scale = 100");
    let customer = key(&report, &["customer"]);
    assert_eq!(customer.values, 40);
    assert!(customer.in_one_partition.unwrap() > 0.98);
    let table = key_table(&report);
    assert!(table.contains("OpenOrders: a list (@list) by"), "{table}");
}

#[test]
fn writes_of_a_time_go_to_its_newest_value() {
    let (directory, _files) = readings("fixed = [\"Device\", \"Day\"]");
    let mut spec = SurveySpec::of_designs(&directory);
    add_candidates(&directory, &mut spec);
    let survey = DataSurvey::read(&directory, &spec, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let study = DesignStudy::new(&directory, &survey, Calibration::current());
    let report = KeyReport::of(&study);
    let keys = &report.types.iter().find(|found| found.item_type == "Reading").unwrap().keys;
    let found = |fields: &[&str]| keys.iter().find(|key| key.fields == fields).unwrap();
    let day = found(&["day"]);
    assert_eq!(day.grade, KeyGrade::Bad);
    assert!(
        day.reasons.iter().any(|reason| reason.starts_with("all 1000 new items a second go to")),
        "{day:?}"
    );
    assert_eq!(found(&["day", "device"]).grade, KeyGrade::Bad, "the first part is a time");
    assert_eq!(found(&["device"]).grade, KeyGrade::Good);
    assert_eq!(keys[0].fields, ["device"], "the best comes first");
}

/// A study of events with these settings and requests.
fn events(
    event_count: usize,
    event: impl Fn(usize) -> String,
    requests: &str,
) -> (tempfile::TempDir, crate::directory::StudyDirectory) {
    let design = |key: &str, partition: &str, events: &str| {
        format!(
            "extend schema @model(name: \"events\") @container(name: \"tenants\", key: \"/id\") @container(name: \"users\", key: \"/id\")
@container(name: \"events\", key: {key})
type Tenant @item(container: \"tenants\") {{ id: ID! payments: [Event!]! @find(by: \"tenant\") @where(field: \"kind\", is: \"payment\") }}
type User @item(container: \"users\") {{ id: ID! tenant: Tenant! @reference events: [Event!]! {events} }}
type Event @item(container: \"events\", partition: {partition}, write: [CREATE, UPDATE]) {{ id: ID! tenant: Tenant! @reference user: User! @reference kind: String! }}"
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let lines: String = (0..event_count).map(|number| event(number) + "\n").collect();
    let tenants: String = (0..3).map(|number| format!("{{\"id\": \"t{number}\"}}\n")).collect();
    let users: String =
        (0..300).map(|number| format!("{{\"id\": \"u{number}\", \"tenant\": \"t0\"}}\n")).collect();
    let a = design("\"/userId\"", "\"user\"", "@partition(by: \"user\")");
    let b = design(
        "[\"/tenantId\", \"/userId\"]",
        "[\"tenant\", \"user\"]",
        "@partition(by: [\"tenant\", \"user\"])",
    );
    let files = [
        (
            "study.toml",
            "[data]\nTenant = \"tenants.jsonl\"\nUser = \"users.jsonl\"\nEvent = \"events.jsonl\"\n",
        ),
        ("designs/a.graphql", &a),
        ("designs/b.graphql", &b),
        ("requests.graphql", requests),
        ("tenants.jsonl", &tenants),
        ("users.jsonl", &users),
        ("events.jsonl", &lines),
    ];
    std::fs::create_dir_all(directory.path().join("designs")).unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(directory.path().join(name), text).unwrap());
    let study =
        crate::directory::StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    (directory, study)
}

fn report_of(directory: &crate::directory::StudyDirectory) -> KeyReport {
    let mut spec = SurveySpec::of_designs(directory);
    add_candidates(directory, &mut spec);
    let survey = DataSurvey::read(directory, &spec, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    KeyReport::of(&DesignStudy::new(directory, &survey, Calibration::current()))
}

fn event(number: usize) -> String {
    let kind = ["click", "payment"][number % 2];
    format!(
        "{{\"id\": \"e{number}\", \"tenant\": \"t0\", \"user\": \"u{}\", \"kind\": \"{kind}\"}}",
        number % 300
    )
}

fn of_type<'r>(report: &'r KeyReport, ty: &str) -> &'r crate::keys::TypeKeys {
    report.types.iter().find(|found| found.item_type == ty).unwrap()
}

fn of_fields<'r>(report: &'r KeyReport, ty: &str, fields: &[&str]) -> &'r GradedKey {
    of_type(report, ty).keys.iter().find(|key| key.fields == fields).unwrap()
}

#[test]
fn a_request_gives_its_fields_under_each_design() {
    let requests =
        "query UserEvents($id: ID!) @request(perSecond: 5) { user(id: $id) { events { nodes { kind } } } }
query Payments($id: ID!) @request(perSecond: 5) { tenant(id: $id) { payments { nodes { kind } } } }";
    let (_files, study) = events(900, event, requests);
    let report = report_of(&study);
    let pair = of_fields(&report, "Event", &["tenant", "user"]);
    assert_eq!(pair.in_one_partition, Some(1.0), "{pair:?}");
    assert_eq!(of_fields(&report, "Event", &["user"]).in_one_partition, Some(0.5));
}

#[test]
fn the_busiest_first_part_has_one_physical_partition() {
    let requests = "mutation Write @request(perSecond: 4000) { createEvent(input: $input) { event { id } } }
query UserEvents($id: ID!) @request(perSecond: 5) { user(id: $id) { events { nodes { kind } } } }";
    let (_files, study) = events(900, event, requests);
    let report = report_of(&study);
    let pair = of_fields(&report, "Event", &["tenant", "user"]);
    assert_eq!(pair.grade, KeyGrade::Fair);
    assert!(pair.reasons.iter().any(|reason| reason.contains("until its data is split")), "{pair:?}");
    assert_eq!(of_type(&report, "Event").keys[0].fields, ["user"]);
}

#[test]
fn few_items_by_their_id_are_no_hot_spot() {
    let (_files, study) = events(
        900,
        event,
        "query One($id: ID!) @request(perSecond: 300) { tenant(id: $id) { id payments { nodes { kind } } } }",
    );
    let report = report_of(&study);
    let id = of_fields(&report, "Tenant", &["id"]);
    assert_eq!(id.grade, KeyGrade::Good, "{id:?}");
    assert!(id.reasons[0].contains("each request is a point read"), "{id:?}");
    let notes = &of_type(&report, "Tenant").notes;
    assert!(notes.iter().any(|note| note.contains("place MIRROR")), "{notes:?}");
}

#[test]
fn readers_of_one_value_make_a_hot_partition() {
    let popular = "query UserEvents($id: ID!) @request(perSecond: 30000, skew: ZIPF) { user(id: $id) { events(first: 50) { nodes { kind } } } }";
    let (_files, study) = events(9_000, event, popular);
    let report = report_of(&study);
    let user = of_fields(&report, "Event", &["user"]);
    assert_eq!(user.grade, KeyGrade::Bad, "{user:?}");
    let notes = &of_type(&report, "Event").notes;
    assert!(notes.iter().any(|note| note.contains("An item with the page")), "{notes:?}");
    let (_files, even) = events(9_000, event, &popular.replace("ZIPF", "UNIFORM"));
    assert_ne!(of_fields(&report_of(&even), "Event", &["user"]).grade, KeyGrade::Bad);
}

#[test]
fn a_hot_item_is_split_into_parts() {
    let requests = "mutation Count($id: ID!) @request(perSecond: 20000, skew: ZIPF) { updateEvent(input: {id: $id, kind: $kind}) { event { id } } }";
    let (_files, study) = events(900, event, requests);
    let notes = &of_type(&report_of(&study), "Event").notes.clone();
    assert!(notes.iter().any(|note| note.contains("parts of it under keys of their own")), "{notes:?}");
}

#[test]
fn a_field_that_a_request_changes_is_no_part_of_a_key() {
    let payments =
        "query Payments($id: ID!) @request(perSecond: 5) { tenant(id: $id) { payments { nodes { kind } } } }";
    let change = "mutation Reclassify($id: ID!) @request(perSecond: 1) { updateEvent(input: {id: $id, kind: $kind}) { event { id } } }";
    let (_files, study) = events(900, event, &format!("{payments}\n{change}"));
    let report = report_of(&study);
    let reason = "Reclassify changes kind, and the value of a partition key cannot change: the item would be created anew and deleted";
    for fields in [&["kind"][..], &["kind", "id"], &["user", "kind"]] {
        let key = of_fields(&report, "Event", fields);
        assert_eq!((key.grade, key.reasons[0].as_str()), (KeyGrade::Bad, reason), "{fields:?}");
    }
    let (_files, unchanged) = events(900, event, payments);
    let pair = of_fields(&report_of(&unchanged), "Event", &["kind", "id"]).clone();
    assert!(pair.grade != KeyGrade::Bad && pair.reasons.iter().all(|found| found != reason), "{pair:?}");
}
