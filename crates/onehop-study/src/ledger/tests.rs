//! The calibrations against the published charges.

use onehop_store::charges::{Calibration, Constant};

use super::*;

fn kind<'a>(check: &'a LedgerCheck, operation: &str) -> &'a KindErrors {
    check.summary.iter().find(|kind| kind.operation == operation).expect("the ledger has the kind")
}

#[test]
fn the_current_calibration_meets_published_charges() {
    let check = LedgerCheck::of(&read_cases(LEDGER).unwrap(), &Calibration::current());
    for (operation, median, p90) in [
        ("create", 0.01, 0.10),
        ("replace", 0.01, 0.10),
        ("delete", 0.025, 0.10),
        ("read", 0.001, 0.10),
        ("query, index-served, since 2020", 0.04, 0.20),
        ("count", 0.05, 0.10),
    ] {
        let found = kind(&check, operation);
        assert!(found.median <= median && found.p90 <= p90, "{found:?}");
    }
    assert!(check.cases.iter().all(|case| case.estimated.is_some()), "every case has an estimate");
}

#[test]
fn a_calibration_states_the_errors_of_the_ledger() {
    let current = Calibration::current();
    let check = LedgerCheck::of(&read_cases(LEDGER).unwrap(), &current);
    let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
    let mut accuracy = check.accuracy();
    for kind in &mut accuracy {
        (kind.median, kind.p90) = (rounded(kind.median), rounded(kind.p90));
    }
    assert_eq!(current.accuracy(), accuracy);
}

#[test]
fn charges_of_2019_are_those_of_another_engine() {
    let cases = read_cases(LEDGER).unwrap();
    let check = LedgerCheck::of(&cases, &Calibration::article_2019());
    assert!(kind(&check, "replace").median > 0.3);
}

/// Creates of one to twelve properties and replaces of one, charged by another account.
fn account(calibration: &Calibration) -> Vec<ChargeCase> {
    let mut lines = String::new();
    for properties in 1..=12 {
        let item: serde_json::Map<String, serde_json::Value> =
            (0..properties).map(|number| (format!("p{number}"), number.into())).collect();
        let item = serde_json::Value::Object(item);
        lines += &format!(
            "{}\n",
            serde_json::json!({"id": format!("c{properties}"), "operation": "create", "item": item})
        );
        lines += &format!(
            "{}\n",
            serde_json::json!({"id": format!("r{properties}"), "operation": "replace", "item": item, "changedPaths": properties})
        );
    }
    let mut cases = read_cases(&lines).unwrap();
    for case in &mut cases {
        case.charge = explain(case, calibration).unwrap().parts.total().0;
    }
    cases
}

#[test]
fn a_fit_finds_the_constants_that_the_cases_determine() {
    let of_account = Calibration::clone(&Calibration::current())
        .with_value(Constant::WriteUnit, 0.42)
        .with_value(Constant::ReplaceUnits, 25.0)
        .with_value(Constant::QueryFiltered, 9.0);
    let fit = calibrate(&account(&of_account), &Calibration::current());
    let mut names: Vec<&str> = fit.fitted.iter().map(|fitted| fitted.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["insertUnits", "replaceUnits", "writeUnit"]);
    let value = |constant| fit.calibration.value(constant);
    assert!((value(Constant::WriteUnit) - 0.42).abs() < 1e-3, "{}", value(Constant::WriteUnit));
    assert!((value(Constant::ReplaceUnits) - 25.0).abs() < 0.05, "{}", value(Constant::ReplaceUnits));
    assert_eq!(value(Constant::QueryFiltered), 2.8);
    let file = fit.file("mine", "current", "my account").to_string();
    let read = Calibration::parse(&file).unwrap();
    assert_eq!(read.value(Constant::WriteUnit), value(Constant::WriteUnit));
    assert_eq!(read.value(Constant::Count), 2.94);
}

#[test]
fn cases_without_news_determine_no_constant_twice() {
    let case = r#"{"id":"a","operation":"read","itemBytes":100,"charge":1}"#;
    let cases = read_cases(&[case; 5].join("\n")).unwrap();
    let fit = calibrate(&cases, &Calibration::current());
    let names: Vec<&str> = fit.fitted.iter().map(|fitted| fitted.name.as_str()).collect();
    assert_eq!(names, ["pointRead at 1100 bytes"]);
    assert!(calibrate(&[], &Calibration::current()).fitted.is_empty());
}

#[test]
fn an_unknown_operation_is_an_error_of_all_of_it() {
    let cases = read_cases(r#"{"id":"a","operation":"dance","charge":3}"#).unwrap();
    let check = LedgerCheck::of(&cases, &Calibration::current());
    assert_eq!((check.cases[0].estimated, check.cases[0].error), (None, 1.0));
}

#[test]
fn a_rounded_charge_is_met_within_half_a_unit() {
    let case = |charge: f64, rounded: bool| {
        let case = format!(
            r#"{{"id":"a","operation":"read","itemBytes":60000,"charge":{charge},"rounded":{rounded}}}"#
        );
        LedgerCheck::of(&read_cases(&case).unwrap(), &Calibration::current()).cases[0].error
    };
    assert_eq!(case(6.0, true), 0.0);
    assert!(case(6.0, false) > 0.01 && case(8.0, true) > 0.2);
}

#[test]
fn an_explained_charge_names_its_paths() {
    let case = r#"{"id":"a","operation":"create","item":{"id":"1","a":{"b":null},"tags":["x","y","x"]}}"#;
    let explained = explain(&read_cases(case).unwrap()[0], &Calibration::current()).unwrap();
    let paths: Vec<(&str, u32, bool)> =
        explained.paths.iter().map(|path| (path.path.as_str(), path.terms, path.is_literal)).collect();
    let expected =
        [("/a", 1, false), ("/a/b", 1, true), ("/id", 1, false), ("/tags", 1, false), ("/tags/[]", 2, false)];
    assert_eq!(paths, expected);
    // 13.5 units, five paths and half a one.
    assert!((explained.parts.total().0 - 19.0 * 8.0 / 21.0).abs() < 1e-9);
}
