//! Tests of keys: grades with their reasons.

use crate::data::{DataSurvey, SurveySpec};
use crate::design_study::DesignStudy;
use crate::fixtures::{Shop, readings};
use crate::keys::{GradedKey, KeyGrade, KeyReport, add_candidates, key_table};
use onehop_store::charges::Calibration;

fn report(settings: &str) -> KeyReport {
    let shop = Shop::new(settings);
    let survey = shop.survey();
    KeyReport::of(&DesignStudy {
        directory: &shop.study,
        survey: &survey,
        calibration: Calibration::current(),
    })
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
    let study = DesignStudy { directory: &directory, survey: &survey, calibration: Calibration::current() };
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
