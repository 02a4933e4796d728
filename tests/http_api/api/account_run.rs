//! `onehop charges measure`, as a process, on Microsoft's in-memory emulator behind HTTP.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::api::binary::run;
use crate::api::compare_account::Account;

const DATABASE: &str = "onehop-charges";

fn printed(output: &Output) -> String {
    String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap()
}

async fn measure(account: &Account, directory: &Path, more: &[&str]) -> Output {
    let command = ["charges", "measure", "--directory", directory.to_str().unwrap()];
    account.run(&[&command[..], more].concat(), &[]).await
}

#[tokio::test]
async fn an_account_run_writes_a_ledger_and_a_report() {
    let (account, directory) = (Account::start().await, tempfile::tempdir().unwrap());
    let output = measure(&account, directory.path(), &["--yes", "--drop"]).await;
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    assert!(account.databases(&[DATABASE]).await.is_empty(), "it was deleted in the end");
    assert!(text.find("Budget: about ").unwrap() < text.find("Charged: ").unwrap(), "{text}");

    let ledger = directory.path().join("ledger.jsonl");
    let cases = std::fs::read_to_string(&ledger).unwrap();
    let cases: Vec<Value> = cases.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let operations: BTreeSet<&str> = cases.iter().map(|case| case["operation"].as_str().unwrap()).collect();
    let expected = [
        "batch",
        "changeFeed",
        "count",
        "create",
        "delete",
        "query",
        "read",
        "readMany",
        "refused",
        "replace",
    ];
    assert_eq!(operations, BTreeSet::from(expected));
    let ids: BTreeSet<&str> = cases.iter().map(|case| case["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), cases.len(), "each case has an id of its own");
    let checked = run(&["charges", "check", ledger.to_str().unwrap(), "--format", "json"]).await;
    assert_eq!(checked.stdout.iter().filter(|byte| **byte == b'\n').count(), cases.len() + 1);

    let report = std::fs::read_to_string(directory.path().join("report.md")).unwrap();
    for part in ["## Errors of the estimates", "| rename of their author", "killed 8 times", "found 0 drifts"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[tokio::test]
async fn an_account_run_without_consent_prints_its_budget() {
    let (account, parent) = (Account::start().await, tempfile::tempdir().unwrap());
    let directory = parent.path().join("run");
    let output = measure(&account, &directory, &[]).await;
    let text = printed(&output);
    assert!(output.status.success() && text.contains("Budget: about "), "{text}");
    assert!(text.ends_with("Nothing was measured: --yes goes on.\n"), "{text}");
    assert!(!directory.exists());
    assert!(account.databases(&[DATABASE]).await.is_empty());
}

#[tokio::test]
async fn an_account_run_refuses_a_database_that_exists() {
    let (account, directory) = (Account::start().await, tempfile::tempdir().unwrap());
    account.client().await.create_database(DATABASE, None).await.unwrap();
    let output = measure(&account, directory.path(), &["--yes", "--drop"]).await;
    assert!(printed(&output).contains("exists already"), "{}", printed(&output));
    assert_eq!(account.databases(&[DATABASE]).await, [DATABASE], "it is left alone");
}
