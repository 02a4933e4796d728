//! `onehop study run --store cosmos`, as a process, on Microsoft's in-memory emulator behind HTTP.

use std::process::Output;

use serde_json::{Value, json};

use crate::api::binary::run;
use crate::api::compare::assert_documented;
use crate::api::compare_account::Account;

const STUDY: &str = "examples/studies/shop";
const DATABASES: [&str; 3] = ["onehop-v1", "onehop-v2", "onehop-v3"];

async fn measure(account: &Account, more: &[&str]) -> (Output, String) {
    let command = ["study", "run", STUDY, "--format", "json", "--store", "cosmos"];
    let output = account.run(&[&command[..], more].concat(), &[]).await;
    let printed = String::from_utf8(output.stderr.clone()).unwrap();
    (output, printed)
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

#[tokio::test]
async fn operations_of_the_plans_are_measured_on_an_account() {
    let account = Account::start().await;
    let (output, printed) = measure(&account, &["--yes"]).await;
    assert!(output.status.success(), "{printed}");
    for text in ["Budget: about ", "V1: 11 of 11 operations measured", "V3: 18 of 18 operations measured"] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    assert!(printed.contains("left in the account until they are deleted: onehop-v1, onehop-v2, onehop-v3"));
    assert_eq!(account.databases(&DATABASES).await, DATABASES);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_documented(&report);
    assert_eq!(report["chargeSource"], "measured");
    assert_eq!(report["account"]["databases"], json!(DATABASES));

    let estimated = run(&["study", "run", STUDY, "--format", "json"]).await;
    let estimated: Value = serde_json::from_slice(&estimated.stdout).unwrap();
    assert_eq!(estimated["chargeSource"], "estimated");
    assert_eq!(rows(&report).len(), rows(&estimated).len());
    let mut differing = 0;
    for (row, before) in rows(&report).iter().zip(rows(&estimated)) {
        assert_eq!(row["estimatedRequestCharge"], before["requestCharge"], "{row}");
        differing += usize::from(row["requestCharge"] != before["requestCharge"]);
        let charge = |name: &str| row[name].as_f64().unwrap();
        let error = charge("estimatedRequestCharge") / charge("requestCharge") - 1.0;
        assert!((charge("estimateError") - error).abs() < 0.01, "{row}");
    }
    // The emulator's charges of queries and of writes are its own.
    assert!(differing > 12, "{differing}");
}

#[tokio::test]
async fn a_measured_study_deletes_its_databases_where_that_is_wanted() {
    let account = Account::start().await;
    let (output, printed) = measure(&account, &["--yes", "--drop"]).await;
    assert!(output.status.success(), "{printed}");
    assert!(account.databases(&DATABASES).await.is_empty(), "{printed}");
}

#[tokio::test]
async fn a_file_of_charges_continues_a_run_and_serves_later_ones() {
    let account = Account::start().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("charges.jsonl");
    let arguments = ["--charges", file.to_str().unwrap()];
    let (output, printed) = measure(&account, &[&arguments[..], &["--yes"]].concat()).await;
    assert!(output.status.success(), "{printed}");
    let whole = std::fs::read_to_string(&file).unwrap();
    assert_eq!(whole.lines().count(), 1 + 11 + 13 + 18 + DATABASES.len());

    // A run that is killed in the middle of a line leaves the databases that its file names.
    let end = whole.lines().take(20).map(|line| line.len() + 1).sum::<usize>() + 7;
    std::fs::write(&file, &whole[..end]).unwrap();
    let again = [&arguments[..], &["--yes", "--drop"]].concat();
    let (output, printed) = measure(&account, &again).await;
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("the database \"onehop-v3\" exists already"), "no line of the file names it");
    assert_eq!(account.databases(&DATABASES).await, DATABASES, "no database of others is touched");
    account.client().await.database_client("onehop-v3".to_owned()).delete(None).await.unwrap();
    let (output, printed) = measure(&account, &again).await;
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("V1: all operations are in the file"), "{printed}");
    assert!(account.databases(&DATABASES).await.is_empty(), "all three are the measurement's own");
    let continued = std::fs::read_to_string(&file).unwrap();
    let operations = |text: &str| {
        let operation = |line: &str| {
            let mut operation: Value = serde_json::from_str(line).unwrap();
            for charge in ["measured", "estimated"] {
                operation.as_object_mut().unwrap().remove(charge);
            }
            operation.to_string()
        };
        let operations = text.lines().filter(|line| !line.contains("isThere"));
        operations.map(operation).collect::<Vec<_>>()
    };
    assert_eq!(operations(&continued), operations(&whole));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();

    let later = run(&[&["study", "run", STUDY, "--format", "json"][..], &arguments].concat()).await;
    let later: Value = serde_json::from_slice(&later.stdout).unwrap();
    assert_eq!(later, measured, "without an account");

    std::fs::write(&file, whole.replacen("onehop-v1", "others-v1", 1)).unwrap();
    let (output, printed) = measure(&account, &[&arguments[..], &["--yes"]].concat()).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(printed.contains("has charges of") && printed.contains("others-v1"), "{printed}");
    std::fs::write(&file, "no charges\n").unwrap();
    let refused = run(&[&["study", "run", STUDY][..], &arguments].concat()).await;
    let printed = String::from_utf8(refused.stderr).unwrap();
    assert!(printed.contains("has no measured charges: line 1: expected"), "{printed}");
}

#[tokio::test]
async fn a_study_without_consent_prints_its_budget() {
    let account = Account::start().await;
    let (output, printed) = measure(&account, &[]).await;
    assert!(output.status.success() && output.stdout.is_empty(), "{printed}");
    assert!(
        printed.contains("V2: 13 operations, 2 containers in the database onehop-v2, about "),
        "{printed}"
    );
    assert!(printed.ends_with("Nothing was measured: --yes goes on.\n"), "{printed}");
    assert!(account.databases(&DATABASES).await.is_empty());
}

#[tokio::test]
async fn a_measured_study_refuses_a_database_that_exists() {
    let account = Account::start().await;
    account.client().await.create_database("onehop-v2", None).await.unwrap();
    let (output, printed) = measure(&account, &["--yes", "--drop"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(printed.contains("the database \"onehop-v2\" exists already"), "{printed}");
    assert_eq!(account.databases(&DATABASES).await, ["onehop-v2"], "it is left alone, and no other is made");
}

#[tokio::test]
async fn an_estimated_study_refuses_settings_of_a_measured_one() {
    let output = run(&["study", "run", STUDY, "--drop"]).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("--yes and --drop need --store cosmos"), "{printed}");
}
