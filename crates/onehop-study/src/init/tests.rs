//! Tests of first studies: they are found, written and run at once.

use std::sync::Arc;

use super::*;
use crate::data::{DataSurvey, SurveySpec};
use crate::design_study::{DesignStudy, design_report};
use crate::directory::StudyDirectory;
use onehop_store::charges::Calibration;

fn write(directory: &Path, file: &str, lines: impl Iterator<Item = String>) -> PathBuf {
    let path = directory.join(file);
    std::fs::write(&path, lines.map(|line| line + "\n").collect::<String>()).unwrap();
    path
}

fn data(directory: &Path) -> Vec<PathBuf> {
    let customer = |number: usize| {
        format!(
            "{{\"id\": \"c{number}\", \"name\": \"Customer {number}\", \"address\": {{\"city\": \"Graz\", \"zip-code\": \"8010\"}}}}"
        )
    };
    let order = |number: usize| {
        format!(
            "{{\"id\": \"o{number}\", \"customer_id\": \"c{}\", \"status\": \"{}\", \"createdAt\": \"2026-11-{:02}T10:00:00Z\", \
             \"lines\": [{{\"sku\": \"s\", \"quantity\": {number}}}], \"tags\": [\"a\", \"b\"], \"mixed\": {}}}",
            number % 40,
            ["open", "shipped"][number % 2],
            1 + number % 28,
            if number.is_multiple_of(2) { "1" } else { "\"1\"" }
        )
    };
    let customers = write(directory, "customers.jsonl", (0..40).map(customer));
    vec![customers, write(directory, "orders.jsonl", (0..400).map(order))]
}

#[test]
fn a_first_study_runs_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let files = data(directory.path());
    let written = init_study(directory.path(), &files).unwrap();
    assert_eq!(written.len(), 4);
    let study = StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let order = study.designs[0].model.item("Order").unwrap();
    assert!(
        order.field("customer").is_some() && order.field("lines").is_some() && order.field("mixed").is_none()
    );
    assert_eq!(study.settings.data["Order"], ["orders.jsonl"]);
    let survey = DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let study = DesignStudy { directory: &study, survey: &survey, calibration: Calibration::current() };
    let report = design_report(&study);
    let charge = |request: &str, model: &str| {
        let row = report
            .measurements
            .rows
            .iter()
            .find(|row| row.request == request && row.plan.to_string() == model);
        row.unwrap_or_else(|| panic!("{request} {model}")).request_charge
    };
    assert_eq!(charge("OrderById", "V1"), 2.0, "the order and its customer");
    assert_eq!(charge("OrderById", "V2"), 1.0, "the name is copied");
    assert!(charge("OrdersOfCustomer", "V1") >= charge("OrdersOfCustomer", "V2"));
    assert!(Arc::strong_count(&study.calibration) > 0 && report.verdict.is_some());
}

#[test]
fn a_directory_with_a_study_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let files = data(directory.path());
    init_study(directory.path(), &files).unwrap();
    let errors = init_study(directory.path(), &files).unwrap_err().to_string();
    assert!(errors.contains("study.toml: the file exists already"), "{errors}");
}

#[test]
fn data_without_an_id_is_refused_by_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let lines = ["{\"a\": 1}", "{\"a\": 1}"].map(str::to_owned);
    let file = write(directory.path(), "things.jsonl", lines.into_iter());
    let errors = init_study(directory.path(), &[file]).unwrap_err().to_string();
    assert!(errors.contains("things.jsonl: no property identifies an item"), "{errors}");
}
