//! Tests of design studies: the report on all designs.

use super::{DesignStudy, dearer, design_report, explain, plan_text};
use crate::fixtures::Shop;
use crate::render;
use crate::report::StudyReport;
use onehop_store::charges::Calibration;

fn with_study<T>(settings: &str, work: impl FnOnce(&DesignStudy<'_>) -> T) -> T {
    let shop = Shop::new(settings);
    let survey = shop.survey();
    work(&DesignStudy { directory: &shop.study, survey: &survey, calibration: Calibration::current() })
}

fn report(settings: &str) -> StudyReport {
    with_study(settings, design_report)
}

#[test]
fn each_request_has_a_row_under_each_design() {
    let report = report("[prices]\nmanual = 0.008");
    let plans: Vec<String> = report.measurements.plans.iter().map(ToString::to_string).collect();
    assert_eq!(plans, ["V1", "V1, data loader", "V2", "V3"]);
    assert_eq!(report.measurements.rows.len(), 6 * 4);
    assert!(report.provisioning.iter().all(|found| found.feasible));
    let table = render::table(&report);
    for text in ["OrderPage", "Verdict", "Growth", "Throughput to provision", "a month"] {
        assert!(table.contains(text), "{text}\n{table}");
    }
    assert!(!table.contains("ms p50"), "nothing was measured");
    assert!(render::page(&report).contains("<svg"));
}

#[test]
fn a_request_of_one_design_costs_the_others_nothing() {
    let mut shop = Shop::new("");
    let text = "query OrderPage($id: ID!) @request(perSecond: 100) { order(id: $id) { total } }\n\
                mutation Job @request(perSecond: 10, designs: [\"V3\"]) { createOrder(input: $input) { order { id } } }";
    let models: Vec<_> = shop.study.designs.iter().map(|design| &design.model).collect();
    shop.study.requests = onehop_model::RequestSet::read("requests.graphql", text, &models).unwrap();
    let survey = shop.survey();
    let study = DesignStudy { directory: &shop.study, survey: &survey, calibration: Calibration::current() };
    let report = design_report(&study);
    let models: Vec<_> = report.measurements.rows.iter().filter(|row| row.request == "Job").collect();
    assert_eq!(models.iter().map(|row| row.plan.to_string()).collect::<Vec<_>>(), ["V3"]);
    let traffic = &report.traffic.as_ref().unwrap().models;
    assert_eq!(traffic.iter().filter(|model| model.writes > 0.0).count(), 1, "{traffic:?}");
    let text = plan_text(&explain(&study));
    assert_eq!(text.split("mutation Job").nth(1).unwrap().matches(" RU\n").count(), 1, "{text}");
    assert!(render::table(&report).contains("Job"));
}

#[test]
fn much_traffic_on_one_partition_is_infeasible() {
    let report = report("scale = 1\n[traffic]\npeak_to_mean = 1000");
    assert!(report.provisioning.iter().any(|found| !found.feasible));
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["outlook"]["ranges"].as_array().unwrap().len() > 1, "{json}");
}

#[test]
fn strong_consistency_doubles_point_reads() {
    let charge = |settings: &str| {
        let report = report(settings);
        report.measurements.rows.iter().find(|row| row.request == "OrderPage").unwrap().request_charge
    };
    assert_eq!(charge("[account]\nconsistency = \"strong\""), 2.0 * charge(""));
}

#[test]
fn an_explanation_names_each_operation_with_its_error() {
    let text = with_study("", |study| plan_text(&explain(study)));
    for expected in [
        "query OrderPage, 100 a second",
        "1.00 point read in orders: Order by id, 1.00 items, 1.00 RU",
        "1.00 query in orders, each physical partition: Order of Customer.orders",
        "behind: 1.00 change feed in orders",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn the_hours_of_a_day_make_a_bill_of_autoscale() {
    let hours =
        format!("[traffic]\nhourly = [{}]\n[prices]\nmanual = 0.008", vec!["1"; 23].join(", ") + ", 8");
    let report = report(&hours);
    let bills = &report.provisioning[0].planned.as_ref().unwrap().bills;
    let amount = |name: &str| bills.iter().find(|bill| bill.name == name).unwrap().amount;
    assert!(amount("autoscale by the hours of a day") < amount("autoscale, each hour with a peak"));
}

#[test]
fn a_dearer_request_is_found_against_an_earlier_report() {
    let report = report("");
    let mut earlier = serde_json::to_value(&report).unwrap();
    assert!(dearer(&earlier.to_string(), &report, 0.0).unwrap().is_empty());
    earlier["rows"][0]["requestCharge"] = 1.0.into();
    let found = dearer(&earlier.to_string(), &report, 0.1).unwrap();
    assert_eq!(found[0].to_string(), "OrderPage under V1: 2.00 RU, 1.00 RU before, 100 % more");
    assert!(dearer("{}", &report, 0.1).unwrap_err().to_string().contains("no list `rows`"));
}
