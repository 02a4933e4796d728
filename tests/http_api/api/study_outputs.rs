//! `onehop study`: outputs for other programs.

use std::path::Path;

use serde_json::Value;

use crate::api::binary::run;

fn shop() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/studies/shop").to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_winner_is_printed_as_a_template() {
    let output = run(&["study", "bicep", &shop()]).await;
    let template = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && template.contains("the design V2."), "{template}");
    assert!(template.contains("param databaseName string = 'shop'"), "{template}");
    let refused = run(&["study", "bicep", &shop(), "--design", "V9"]).await;
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let reason = String::from_utf8(refused.stderr).unwrap();
    assert!(reason.contains("no design \"V9\"; expected one of V1, V2, V3"), "{reason}");
}

#[tokio::test]
async fn plans_are_printed_as_json() {
    let output = run(&["study", "explain", &shop(), "--format", "json"]).await;
    let plans: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&plans[0]["request"], &plans[0]["isWrite"]), (&"OrderPage".into(), &false.into()));
    assert!(plans[0]["plans"][0]["operations"][0]["requestCharge"].as_f64().unwrap() >= 1.0);
}

#[tokio::test]
async fn logs_become_a_report_and_cases() {
    let directory = tempfile::tempdir().unwrap();
    let (logs, cases) = (directory.path().join("log.csv"), directory.path().join("cases.jsonl"));
    let heading = "TimeGenerated,DatabaseName,CollectionName,OperationName,StatusCode,RequestCharge,RequestLength,ResponseLength";
    let row = |minute: u32| format!("2026-11-20T00:{minute:02}:00Z,shop,orders,Read,200,1,0,700\n");
    let rows: String = (0..3).map(row).collect();
    std::fs::write(&logs, format!("{heading}\n{rows}")).unwrap();
    let (logs, cases) = (logs.to_str().unwrap(), cases.to_str().unwrap());
    let arguments =
        ["study", "account", "--logs", logs, "--cases", cases, "--study", &shop(), "--format", "json"];
    let output = run(&arguments).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = &report["containers"][0]["operations"][0];
    assert_eq!((&read["requests"], &read["perSecond"]), (&3.into(), &0.025.into()));
    let written = std::fs::read_to_string(cases).unwrap();
    assert_eq!(written.lines().count(), 3);
    let fitted = run(&["charges", "calibrate", cases]).await;
    assert!(fitted.status.success() && !fitted.stdout.is_empty());
    std::fs::write(logs, heading.replace("StatusCode,", "")).unwrap();
    let refused = run(&["study", "account", "--logs", logs]).await;
    let reason = String::from_utf8(refused.stderr).unwrap();
    assert!(reason.contains("log.csv:1: CDBDataPlaneRequests needs the column StatusCode"), "{reason}");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
}
