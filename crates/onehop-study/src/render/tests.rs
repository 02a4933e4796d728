//! A small report in every format.

use super::*;
use crate::fixtures::{self, request};
use crate::measurement::{EstimateErrors, MeasurementRow, Measurements, ModelVariant};
use crate::rates::RequestRate;
use crate::report::{AccountSummary, Captions, KnownPartitions};
use crate::traffic::Traffic;
use onehop_store::ChargeSource;
use onehop_store::charges::Calibration;

fn row(charge: f64) -> MeasurementRow {
    let row = fixtures::row("Q6", &ModelVariant::of_model("V3"), charge, 0.0);
    let deviation = Some((1_000.0 * (charge / 16.97 - 1.0)).round() / 1_000.0);
    MeasurementRow { reference_request_charge: Some(16.97), deviation, ..row }
}

fn report(estimate: Option<f64>) -> StudyReport {
    let mut rows = vec![row(20.0)];
    if let Some(estimate) = estimate {
        rows[0].estimated_request_charge = Some(estimate);
        rows[0].estimate_error = Some(estimate / rows[0].request_charge - 1.0);
    }
    let estimate_errors = EstimateErrors::of(&rows);
    let requests = vec![request("C1", true), request("Q6", false)];
    let plans = ["V1", "V3"].map(ModelVariant::of_model).into();
    let measurements = Measurements { requests, plans, rows };
    StudyReport {
        outlook: None,
        measurements,
        parameters: [("users".to_owned(), 3.into())].into_iter().collect(),
        samples: 1,
        physical_partitions: 5,
        known_partitions: KnownPartitions::Derived,
        charge_source: ChargeSource::Measured,
        passes: Vec::new(),
        account: Some(AccountSummary {
            endpoint: "https://shop.documents.azure.com".to_owned(),
            databases: vec!["shop-v3".to_owned()],
        }),
        estimate_errors,
        partitions: Vec::new(),
        traffic: None,
        verdict: None,
        provisioning: Vec::new(),
        background: Vec::new(),
        calibration: Calibration::current(),
        captions: Captions {
            title: "What <it> costs".to_owned(),
            reference: "article".to_owned(),
            data_set: "3 users, seed 1".to_owned(),
            subjects: "on the largest orders.".to_owned(),
        },
    }
}

/// In every format for people, spaces folded.
fn shown(report: &StudyReport) -> [String; 3] {
    [table(report), markdown(report), page(report)]
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn what_was_measured_is_named() {
    for text in shown(&report(None)) {
        for part in [
            "ran on https://shop.documents.azure.com (databases shop-v3), and has the charge of its answer.",
            "3 users, seed 1, 5 physical partitions, every property indexed that its design does not exclude; medians of up to 1 samples on the largest orders.",
        ] {
            assert!(text.contains(part), "no {part}: {text}");
        }
        assert!(!text.contains("estimate"), "{text}");
    }
}

#[test]
fn estimates_stand_beside_the_charges_with_their_errors() {
    let [table, markdown, html] = shown(&report(Some(15.0)));
    assert!(table.contains("Q6 V3 20.00 20.00 15.00 -25.0 % 16.97"), "{table}");
    assert!(markdown.contains("| Q6 | V3 | 20.00 | 20.00 | 15.00 | -25.0 % |"), "{markdown}");
    assert!(html.contains("<td>20.00</td><td>15.00</td><td>-25.0 %</td>"), "{html}");
    for text in [table, markdown, html] {
        assert!(text.contains("off by 25.0 % at most, 25.0 % in the mean"), "{text}");
    }
}

#[test]
fn a_summary_has_one_line_for_each_request() {
    let summary = summary(&report(None));
    let lines: Vec<&str> = summary.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(
        lines,
        [
            "| request | V1 | V3 | projections of V3 |",
            "| C1 Title of C1 |  |  |  |",
            "| Q6 Title of Q6 |  | 20.00 (+17.9 %) |  |",
        ]
    );
    assert!(
        summary.contains("how far from the article's.") && summary.contains("3 users, seed 1"),
        "{summary}"
    );
}

#[test]
fn without_a_reference_its_columns_are_left_out() {
    let report = report(None);
    let captions = Captions { reference: String::new(), ..report.captions.clone() };
    for text in shown(&StudyReport { captions, ..report }) {
        assert!(!text.contains("deviation") && !text.contains("article"), "{text}");
    }
}

#[test]
fn the_html_file_escapes_texts_and_needs_no_other_file() {
    let html = page(&report(None));
    assert!(html.starts_with("<!doctype html>"), "{html}");
    assert!(html.contains("<title>What &#60;it&#62; costs</title>"), "{html}");
    for foreign in ["<script ", "src=", "@import", "url("] {
        assert!(!html.contains(foreign), "{foreign} in {html}");
    }
}

#[test]
fn the_html_file_prints_every_column() {
    let html = page(&report(None));
    let (_, print) = html.split_once("@media print {").expect("rules for paper");
    for rule in ["overflow: visible", "white-space: normal", "overflow-wrap: anywhere", "table-header-group"]
    {
        assert!(print.contains(rule), "{rule}");
    }
    assert!(html.contains("@page { size: A4 landscape"), "{html}");
    // A head is repeated on each page only where it is one.
    assert_eq!(html.matches("<table>").count(), html.matches("<thead>").count());
}

#[test]
fn assumptions_end_each_format() {
    let estimated = StudyReport { charge_source: ChargeSource::Estimated, ..report(None) };
    for text in shown(&estimated) {
        for part in ["Assumptions and omissions", "Calibration of the estimates: current", "ORDER BY"] {
            assert!(text.contains(part), "no {part}: {text}");
        }
    }
}

#[test]
fn a_traffic_is_shown_with_its_break_even() {
    let report = report(None);
    let rates = vec![RequestRate { request: "Q6".to_owned(), per_second: 10.0 }];
    let traffic = Some(Traffic::of(&report.measurements, rates, &[], &report.calibration));
    for text in shown(&StudyReport { traffic, ..report }) {
        assert!(text.contains("Your traffic: Q6 10.00/s"), "{text}");
        assert!(text.contains("V3: 200.0 RU/s (200.0 reads, 0.0 writes)"), "{text}");
        assert!(text.contains("V3 never takes less than V1"), "{text}");
    }
}

#[test]
fn a_report_serializes_with_its_rows_and_parameters() {
    let json = serde_json::to_value(report(None)).unwrap();
    assert_eq!((&json["rows"][0]["model"], &json["users"]), (&"V3".into(), &3.into()));
    assert_eq!(json["rows"][0]["referenceRequestCharge"], 16.97);
    assert!(json.get("captions").is_none() && json.get("traffic").is_none());
}
