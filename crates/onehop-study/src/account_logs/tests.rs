//! Tests of account logs: the forms of exports, errors with lines, figures and cases.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::designs::DesignData;
use crate::fixtures::Shop;
use crate::ledger::{LedgerCheck, calibrate, read_cases};
use onehop_store::charges::{Calibration, Constant};

const HEADING: &str = "TenantId,TimeGenerated,DatabaseName,CollectionName,OperationName,StatusCode,RequestCharge,RequestLength,ResponseLength,RequestResourceType";

fn read(files: &[&str]) -> Result<AccountLog, StudyErrors> {
    let directory = tempfile::tempdir().unwrap();
    let file = |(number, text): (usize, &&str)| {
        let path = directory.path().join(format!("log-{number}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let paths: Vec<PathBuf> = files.iter().enumerate().map(file).collect();
    let prefix = format!("{}/", directory.path().display());
    AccountLog::read(&paths).map_err(|mut errors| {
        for error in &mut errors.errors {
            error.file = error.file.replace(&prefix, "");
        }
        errors
    })
}

/// A request as a row of CSV, and as an object.
fn request(time: &str, operation: &str, status: u16, charge: f64, bytes: [u32; 2]) -> (String, Value) {
    let [sent, received] = bytes;
    let line = format!("t,{time},shop,orders,{operation},{status},{charge},{sent},{received},Document\n");
    let object = json!({
        "TableName": "PrimaryResult", "TimeGenerated": time, "DatabaseName": "shop", "CollectionName": "orders",
        "OperationName": operation, "StatusCode": status.to_string(), "RequestCharge": charge,
        "RequestLength": sent, "ResponseLength": received.to_string(), "RequestResourceType": "Document",
    });
    (line, object)
}

/// Two days, with a request each hour and more of them at noon.
fn two_days() -> Vec<(String, Value)> {
    let hours = (0..48).flat_map(|hour: u32| {
        let times = if hour % 24 == 12 { 4 } else { 1 };
        (0..times).map(move |minute| {
            format!("2026-11-{:02}T{:02}:{minute:02}:00.1234567Z", 20 + hour / 24, hour % 24)
        })
    });
    hours.map(|time| request(&time, "Read", 200, 1.0, [0, 700])).collect()
}

#[test]
fn every_form_of_an_export_has_the_same_figures() {
    let rows = two_days();
    let csv: String =
        std::iter::once(format!("{HEADING}\n")).chain(rows.iter().map(|row| row.0.clone())).collect();
    let list = serde_json::to_string_pretty(&rows.iter().map(|row| &row.1).collect::<Vec<_>>()).unwrap();
    let lines: String = rows.iter().map(|row| format!("{}\n", row.1)).collect();
    let expected = AccountReport::of(&read(&[&csv]).unwrap());
    let portal = format!("\u{feff}{}", csv.replace("TimeGenerated", "TimeGenerated [UTC]"));
    for (form, text) in
        [("list", list.clone()), ("lines", lines), ("portal", portal), ("mark", format!("\u{feff}{list}"))]
    {
        let log = read(&[&text]).unwrap_or_else(|errors| panic!("{form}: {errors}"));
        assert_eq!(AccountReport::of(&log), expected, "{form}");
    }
    let read = &expected.containers[0].operations[0];
    assert_eq!((expected.rows, read.requests, read.operation.as_str()), (54, 54, "Read"));
    assert_eq!(
        (expected.from.as_str(), expected.to.as_str()),
        ("2026-11-20T00:00:00Z", "2026-11-21T23:00:00Z")
    );
    assert!((read.per_second - 54.0 / (47.0 * 3_600.0)).abs() < 1e-6, "{read:?}");
    let hours = expected.hourly.unwrap();
    assert_eq!((hours[12], hours[11], hours.iter().sum::<f64>()), (4.0, 1.0, 27.0));
    // 46 whole hours, of which two have four.
    assert!((expected.peak_to_mean.unwrap() - 4.0 / (52.0 / 46.0)).abs() < 1e-9);
    assert_eq!((read.charge_median, read.response_bytes_median), (1.0, 700.0));
    let text = account_text(&expected);
    assert!(text.contains("hourly = [1.00, 1.00,") && text.contains("shop/orders"), "{text}");
}

#[test]
fn a_missing_column_is_named_with_file_and_line() {
    let (line, mut object) = request("2026-11-20T00:00:00Z", "Read", 200, 1.0, [0, 1]);
    let heading = HEADING.replace("StatusCode", "Status").replace("RequestLength", "Length");
    let errors = read(&[&format!("{heading}\n{line}")]).unwrap_err().to_string();
    assert_eq!(
        errors,
        "log-0:1: CDBDataPlaneRequests needs the columns StatusCode, RequestLength, which are missing"
    );
    object.as_object_mut().unwrap().remove("RequestCharge");
    let errors = read(&[&format!("[\n{object}\n]")]).unwrap_err().to_string();
    assert_eq!(errors, "log-0:2: CDBDataPlaneRequests needs the column RequestCharge, which is missing");
    let errors = read(&["TimeGenerated,PartitionKey\n"]).unwrap_err().to_string();
    assert!(errors.contains("CDBPartitionKeyRUConsumption needs the columns DatabaseName"), "{errors}");
}

#[test]
fn a_value_of_another_form_is_named_with_its_line() {
    let row = |time: &str, charge: &str| format!("t,{time},shop,orders,Read,200,{charge},0,1,Document\n");
    let text = format!(
        "{HEADING}\n{}{}{}t,too,short\n",
        row("2026-11-20T00:00:00Z", "1"),
        row("yesterday", "1"),
        row("2026-11-20T00:00:00Z", "-1"),
    );
    let errors = read(&[&text, "{\"a\": ", ""]).unwrap_err().to_string();
    for expected in [
        "log-0:3: `TimeGenerated` is \"yesterday\"; a time in UTC such as 2026-11-23T09:20:00Z is expected",
        "log-0:4: `RequestCharge` is \"-1\"; a number from 0 to 10^12 is expected",
        "log-0:5: the row has 3 values, and the first line has 10",
        "log-1:1: JSON of an export is expected: EOF",
        "log-2: the file is empty",
    ] {
        assert!(errors.contains(expected), "{expected}\n{errors}");
    }
    let many = format!("{HEADING}\n{}", row("never", "1").repeat(9));
    let errors = read(&[&many]).unwrap_err();
    assert_eq!(errors.errors.len(), 6, "{errors}");
    let long = format!("[{{\"PartitionKey\": \"{}\"}}]", "x".repeat(LOG_ROW_BYTES_MAX));
    assert!(read(&[&long]).unwrap_err().to_string().contains("a row has more than 1048576 bytes"));
    let other = "TenantId\nx\n";
    assert!(read(&[other]).is_err());
}

#[test]
fn the_times_of_the_portal_are_read() {
    let heading = HEADING.replace("TimeGenerated", "TimeGenerated [UTC]");
    let row = |time: &str| format!("t,\"{time}\",shop,orders,Read,200,1,0,1,Document\n");
    let text =
        format!("{heading}\n{}{}", row("11/3/2026, 12:05:07.250 AM"), row("11/3/2026, 1:00:00.000 PM"));
    let report = AccountReport::of(&read(&[&text]).unwrap());
    assert_eq!((report.from.as_str(), report.to.as_str()), ("2026-11-03T00:05:07Z", "2026-11-03T13:00:00Z"));
    for wrong in ["13/13/2026, 1:00:00.000 PM", "11/3/2026, 13:00:00 PM", "11/3/2026, 1:00:00"] {
        assert!(read(&[&format!("{heading}\n{}", row(wrong))]).is_err(), "{wrong}");
    }
}

#[test]
fn other_resources_and_failures_are_told_apart() {
    let rows = [
        request("2026-11-20T00:00:00Z", "Query", 200, 8.0, [300, 9_000]).0,
        request("2026-11-20T00:00:01Z", "Query", 429, 0.0, [300, 0]).0,
        request("2026-11-20T00:00:02Z", "Query", 404, 1.0, [300, 0]).0,
        request("2026-11-20T00:00:03Z", "Execute", 200, 9.0, [1, 1]).0.replace("Document", "StoredProcedure"),
        request("2026-11-20T00:00:10Z", "Read", 200, 1.0, [1, 1]).0.replace("orders", ""),
    ];
    let report = AccountReport::of(&read(&[&format!("{HEADING}\n{}", rows.concat())]).unwrap());
    let query = &report.containers[0].operations[0];
    assert_eq!((report.rows, report.skipped, report.hourly), (3, 2, None));
    assert_eq!((query.requests, query.throttled, query.failed, query.request_units), (3, 1, 1, 9.0));
    assert_eq!(query.per_second, 1.5);
}

/// The request units of keys, in two physical partitions.
fn consumption(charges: impl Iterator<Item = f64>) -> String {
    let row = |(number, charge): (usize, f64)| {
        let range = number % 2;
        format!("2026-11-20T00:00:00Z,shop,orders,Read,{charge},\"[\"\"c{number}\"\"]\",{range}\n")
    };
    let rows: String = charges.enumerate().map(row).collect();
    let heading = "TimeGenerated,DatabaseName,CollectionName,OperationName,RequestCharge,PartitionKey,PartitionKeyRangeId";
    format!("{heading}\n{rows}")
}

#[test]
fn skew_follows_from_the_keys_with_most_request_units() {
    let partitions = |text: &str| {
        let report = AccountReport::of(&read(&[text]).unwrap());
        (account_text(&report), report.containers[0].partitions.clone().unwrap())
    };
    let (text, zipf) = partitions(&consumption((1..=500).map(|rank| 1_000.0 / f64::from(rank))));
    assert_eq!((zipf.logical_partitions, zipf.physical_partitions, zipf.skew), (500, 2, Some("ZIPF")));
    assert_eq!(zipf.heaviest[0].key, "[\"c0\"]");
    assert!((zipf.heaviest[0].share - 0.147).abs() < 0.01, "{:?}", zipf.heaviest[0]);
    assert!(text.contains("[partitions]\n\"orders\" = 2"), "{text}");
    let (_, even) = partitions(&consumption((0..200).map(|_| 3.0)));
    assert_eq!((even.skew, even.physical_largest_share), (Some("UNIFORM"), 0.5));
    let (_, one) = partitions(&consumption(std::iter::once(1.0)));
    assert_eq!((one.skew, one.logical_partitions), (None, 1));
    let (_, many) = partitions(&consumption((0..20_000).map(|_| 1.0)));
    assert!((many.logical_partitions as f64 / 20_000.0 - 1.0).abs() < 0.1, "{}", many.logical_partitions);
}

#[test]
fn cases_of_a_log_calibrate_the_charge_model() {
    let of_account = Calibration::clone(&Calibration::current()).with_value(Constant::WriteUnit, 0.42);
    let shop = Shop::new("");
    let survey = shop.survey();
    let data = DesignData::new(&shop.study.designs[1], &survey);
    let items = StoredItems::of(&data, "Session");
    let order = shop.study.designs[1].model.item("Order").unwrap();
    let writer = crate::designs::ItemWriter { data: &data };
    let mut rows = String::new();
    for (number, (_, visible)) in survey.of("Order").unwrap().sample.iter().enumerate() {
        let item = writer.item(order, visible);
        let bytes = item.to_string().len();
        let charge = of_account.create(bytes, data.terms("orders", &item)).total().0;
        let time = format!("2026-11-20T00:{:02}:00Z", number % 60);
        rows += &request(&time, "Create", 201, charge, [bytes as u32, 300]).0;
        rows += &request(&time, "Read", 200, 1.0, [0, bytes as u32 + 200]).0;
        // Too far from any item of the study, and refused.
        rows += &request(&time, "Create", 201, 99.0, [90_000, 0]).0;
        rows += &request(&time, "Create", 409, 1.24, [bytes as u32, 0]).0;
    }
    let log = read(&[&format!("{HEADING}\n{rows}")]).unwrap();
    let cases = log.cases(&items);
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let cases = read_cases(&lines).unwrap();
    let of = |operation: &str| cases.iter().filter(|case| case.operation == operation).count();
    assert_eq!(of("read"), LOG_CASES_MAX);
    assert!(of("create") > 50, "{}", of("create"));
    assert!(cases.iter().all(|case| case.charge < 90.0 && case.year() == Some(2026)));
    let before = LedgerCheck::of(&cases, &Calibration::current());
    let create = before.summary.iter().find(|kind| kind.operation == "create").unwrap();
    assert!((create.median - 0.093).abs() < 0.02, "{create:?}");
    let creates: Vec<_> = cases.into_iter().filter(|case| case.operation == "create").collect();
    let fit = calibrate(&creates, &Calibration::current());
    let after = LedgerCheck::of(&creates, &fit.calibration);
    assert!(after.summary[0].median < 0.01, "{:?}", after.summary);
    // Without a study there are reads alone.
    assert!(log.cases(&StoredItems::default()).iter().all(|case| case["operation"] == "read"));
}

proptest! {
    #[test]
    fn a_quantile_is_within_two_percent(mut values in prop::collection::vec(0.01..1e6_f64, 1..400), share in 0.01..1.0_f64) {
        let mut histogram = sketches::RatioHistogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        values.sort_by(f64::total_cmp);
        let rank = ((share * values.len() as f64).ceil() as usize).max(1);
        let (found, exact) = (histogram.quantile(share), values[rank - 1]);
        prop_assert!((found / exact - 1.0).abs() < 0.02, "{found} and {exact}");
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\[|\\{|TimeGenerated,PartitionKey\n)?[\\[\\]{}:,\"a-z0-9\n ]{0,60}") {
        let _ = read(&[&text]);
    }
}
