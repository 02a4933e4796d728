//! `onehop compare`, as a process.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::api::binary::run;

const SMALL: [&str; 3] = ["compare", "--users", "5"];
/// With the engine and the physical partitions of the article.
const ARTICLE: [&str; 3] = ["--as-the-article", "--calibration", "article-2019"];

pub(super) async fn report(more: &[&str]) -> Value {
    report_of(&SMALL, more).await
}

/// The report of twelve users, for figures in which five users differ too much.
pub(super) async fn report_of_twelve(more: &[&str]) -> Value {
    report_of(&["compare", "--users", "12"], more).await
}

async fn report_of(command: &[&str], more: &[&str]) -> Value {
    let output = run(&[command, &["--format", "json"], more].concat()).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

pub(super) fn row<'a>(report: &'a Value, request: &str, model: &str, batched: bool) -> &'a Value {
    let mut rows = report["rows"].as_array().unwrap().iter();
    let wanted = json!([request, model, batched]);
    let found = rows.find(|row| json!([row["request"], row["model"], row["batched"]]) == wanted);
    found.unwrap_or_else(|| panic!("{wanted}"))
}

/// A container of a design.
pub(super) fn partitions<'a>(report: &'a Value, design: &str, container: &str) -> &'a Value {
    let mut partitions = report["partitions"].as_array().unwrap().iter();
    let found = partitions.find(|found| found["design"] == design && found["container"] == container);
    found.unwrap_or_else(|| panic!("{design} {container}"))
}

fn operations_of(row: &Value) -> Vec<String> {
    let operations = row["operations"].as_array().unwrap().iter();
    operations
        .map(|operation| {
            let text = |name: &str| operation[name].to_string().replace('"', "");
            format!("{} {}", text("kind"), text("container"))
        })
        .collect()
}

#[tokio::test]
async fn a_comparison_plans_every_request_under_every_data_model() {
    let report = report_of_twelve(&["--rates", "Q3=10,C3=1", "--price-per-100-ru", "0.008"]).await;
    assert_eq!(report["rows"].as_array().unwrap().len(), 10 * 4);
    assert_eq!(
        json!([report["users"], report["rngSeed"], report["chargeSource"], report["account"]]),
        json!([12, 1, "estimated", null])
    );
    for row in report["rows"].as_array().unwrap() {
        assert!(row["requestCharge"].as_f64().unwrap() > 0.0, "{row}");
        let fields = row.as_object().unwrap();
        assert!(!fields.contains_key("referenceRequestCharge") && !fields.contains_key("deviation"), "{row}");
    }
    for request in ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"] {
        let row = row(&report, request, "V3", false);
        assert_eq!(operations_of(row).len(), 1, "{row}");
        assert_eq!(
            json!([row["operations"][0]["times"], row["operations"][0]["physicalPartitions"]]),
            json!([1, 1])
        );
    }
    let [users, posts, feed] =
        ["users", "posts", "feed"].map(|container| partitions(&report, "V3", container));
    assert_eq!((&users["logicalPartitions"], &users["partitionKey"]), (&json!(12.0), &json!("/userId")));
    assert!(posts["logicalPartitions"].as_f64().unwrap() > 60.0, "{posts}");
    assert_eq!(json!([feed["logicalPartitions"], feed["items"]["largest"]]), json!([1.0, 100.0]));
    let counted: f64 =
        posts["sizes"].as_array().unwrap().iter().map(|class| class["partitions"].as_f64().unwrap()).sum();
    assert_eq!(posts["logicalPartitions"], counted);
    let models = report["traffic"]["models"].as_array().unwrap();
    assert!(models.iter().all(|model| model["monthlyBill"].as_f64().unwrap() >= 4.0 * 0.008 * 730.0));
    assert!(report["traffic"]["breakEvenReadsPerWrite"].as_f64().unwrap() > 0.0);
}

/// The fields below a value: names with their parents, and `[]` for the elements of a list.
fn fields(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let separator = if prefix.is_empty() { "" } else { "." };
            object
                .iter()
                .for_each(|(name, value)| fields(value, &format!("{prefix}{separator}{name}"), found));
        }
        Value::Array(elements) if elements.first().is_none_or(|first| !first.is_object()) => {
            found.insert(format!("{prefix}[]"));
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| fields(element, &format!("{prefix}[]"), found));
        }
        _ => {
            found.insert(prefix.to_owned());
        }
    }
}

/// Fails for a field of a report that its document does not have.
pub fn assert_documented(report: &Value) {
    let document = include_str!("../../../docs/comparison-json.md");
    let section = |heading: &str| document.split("\n## ").find(|section| section.starts_with(heading));
    let of_top = section("Top level").expect("a section");
    for (name, value) in report.as_object().unwrap() {
        let (heading, rows): (_, &[Value]) = match value {
            Value::Array(rows) => (format!("`{name}[]`"), rows),
            Value::Object(_) => (format!("`{name}`"), std::slice::from_ref(value)),
            _ => {
                assert!(of_top.contains(&format!("`{name}`")), "docs/comparison-json.md has no {name}");
                continue;
            }
        };
        let section = section(&heading).unwrap_or_else(|| panic!("no section {heading}"));
        let mut found = BTreeSet::new();
        rows.iter().for_each(|row| fields(row, "", &mut found));
        for field in found {
            // An empty list does not show its fields.
            let is_there = section.contains(&format!("`{field}`"))
                || field.strip_suffix("[]").is_some_and(|list| section.contains(&format!("`{list}[].")));
            assert!(is_there, "docs/comparison-json.md, {heading}: no {field}");
        }
    }
}

#[tokio::test]
async fn the_articles_figures_stand_beside_its_own_engine_alone() {
    let as_the_article = report(&ARTICLE).await;
    assert_eq!(as_the_article["physicalPartitions"], 70);
    for row in as_the_article["rows"].as_array().unwrap() {
        assert_eq!(row["referenceRequestCharge"].is_null(), row["batched"] == true, "{row}");
        assert_eq!(row["deviation"].is_null(), row["batched"] == true, "{row}");
    }
    assert_eq!(row(&as_the_article, "Q6", "V1", false)["operations"][0]["physicalPartitions"], 70);
    for request in ["Q1", "Q4", "Q5", "Q6"] {
        let deviation = row(&as_the_article, request, "V3", false)["deviation"].as_f64().unwrap();
        assert!(deviation <= 0.05, "{request}: {deviation} more than the article");
    }
    for other in [&ARTICLE[..1], &ARTICLE[1..]] {
        let report = report(other).await;
        let mut rows = report["rows"].as_array().unwrap().iter();
        assert!(rows.all(|row| row.get("referenceRequestCharge").is_none()), "{other:?}");
    }
}

#[tokio::test]
async fn without_a_traffic_nothing_that_needs_one_is_reported() {
    let report = report(&[]).await;
    for section in ["traffic", "verdict", "outlook", "provisioning", "background"] {
        assert!(report.get(section).is_none(), "{section}");
    }
    assert!(partitions(&report, "V3", "posts").get("loads").is_none());
    let output = run(&[&SMALL[..], &["--format", "markdown"]].concat()).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    for heading in ["Verdict", "Feasibility", "Throughput to provision", "The busiest logical partition"] {
        assert!(!shown.contains(heading), "{heading}: {shown}");
    }
}

#[tokio::test]
async fn each_data_model_writes_in_its_own_way() {
    let report = report(&[]).await;
    for request in ["C2", "C3", "C4"] {
        let single = row(&report, request, "V1", false);
        assert_eq!(operations_of(single), ["CREATE posts"]);
        assert_eq!(single["projectionCharge"], 0.0);
    }
    for model in ["V1", "V2", "V3"] {
        // Each reserves the username.
        assert_eq!(operations_of(row(&report, "C1", model, false)), ["CREATE accounts", "CREATE users"]);
    }
    for request in ["C3", "C4"] {
        for model in ["V2", "V3"] {
            assert_eq!(
                operations_of(row(&report, request, model, false)),
                ["POINT_READ posts", "BATCH posts"]
            );
        }
        let [copied, counted] =
            ["V3", "V2"].map(|model| &row(&report, request, model, false)["projectionCharge"]);
        assert!(copied.as_f64().unwrap() > 0.0);
        assert_eq!(counted, 0.0, "V2 follows users alone");
    }
}

#[tokio::test]
async fn the_same_seed_gives_the_same_charges() {
    let (first, second) = (report(&["--rng-seed", "7"]).await, report(&["--rng-seed", "7"]).await);
    assert_eq!(first, second);
    assert_ne!(first["rows"], report(&[]).await["rows"]);
}

#[tokio::test]
async fn a_comparison_is_a_study_that_can_be_written_and_run() {
    let directory = tempfile::tempdir().unwrap();
    let written = directory.path().join("blog");
    let path = written.to_str().unwrap();
    let traffic = ["--rates", "Q6=10,C4=4", "--prices", "manual=0.008", "--data-scale", "3"];
    let output = run(&[&SMALL[..], &["--write", path], &traffic].concat()).await;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && printed.contains(&format!("onehop study run {path}")), "{printed}");
    let output = run(&["study", "run", path, "--format", "json"]).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let of_files: Value = serde_json::from_slice(&output.stdout).unwrap();
    let report = report(&traffic).await;
    // The comparison prefers the article's subjects; all other figures are equal.
    assert_eq!(report["partitions"][0]["sizes"], of_files["partitions"][0]["sizes"]);
    assert_eq!(report["passes"], of_files["passes"]);
    assert_eq!(row(&report, "Q6", "V2", false), row(&of_files, "Q6", "V2", false));
    assert_eq!(report["traffic"]["rates"], of_files["traffic"]["rates"]);
    let output = run(&[&SMALL[..], &["--write", path]].concat()).await;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("--write"), "{printed}");
}

#[tokio::test]
async fn a_comparison_is_shown_in_every_format() {
    for (format, heading) in [("table", "request"), ("markdown", "| request |"), ("html", "<!doctype html>")]
    {
        let output = run(&[&SMALL[..], &["--format", format, "--reads-per-write", "100"]].concat()).await;
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.starts_with(heading), "{shown}");
        for part in [
            "V1, data loader",
            "The provisioned bill",
            "Feasibility",
            "Your traffic",
            "Request charges are estimates.",
            "of 10,000 RU/s",
            "Logical partitions",
            "every property indexed that its design does not exclude",
        ] {
            assert!(shown.contains(part), "{format} without {part}: {shown}");
        }
        if format == "html" {
            assert!(
                shown.contains("Logical partitions by their bytes") && shown.contains("class=\"histogram\"")
            );
        }
        for foreign in ["<script ", "<link", "http://", "https://", "src=", "@import", "url("] {
            assert!(!shown.contains(foreign), "{format} with {foreign}");
        }
        // The script of the page is not a figure.
        let figures = shown.split("<script>").next().unwrap();
        assert!(!figures.contains("NaN") && !figures.contains("inf "), "{figures}");
    }
}

#[tokio::test]
async fn a_summary_honours_the_traffic_and_its_price() {
    let rates = ["--format", "summary", "--rates", "Q6=1,C4=1", "--prices", "manual=0.008,serverless=0.25"];
    let output = run(&[&SMALL[..], &rates].concat()).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    for part in [
        "Your traffic: C4 1.00/s Q6 1.00/s",
        "a month",
        "Calibration of the estimates: current",
        "takes the least of all",
        "| serverless |",
        "Background work",
        "Throughput to provision",
        "Verdict",
        "Assumptions and omissions",
    ] {
        assert!(shown.contains(part), "without {part}: {shown}");
    }
}

#[tokio::test]
async fn a_bad_setting_is_refused_by_the_name_of_its_flag() {
    for (flag, value) in [
        ("--users", "0"),
        ("--format", "pdf"),
        ("--rates", "Q9=1"),
        ("--reads-per-write", "-1"),
        ("--price-per-100-ru", "free"),
        ("--data-scale", "0.5"),
        ("--highest-throughput", "nothing=1"),
        ("--peak-to-mean", "3..1"),
        ("--calibration", "guess"),
        ("--prices", "free=1"),
        ("--regions", "0"),
        ("--peak-to-mean", "0.5"),
        ("--index-share", "-0.1"),
        ("--index-share", "20"),
    ] {
        let output = run(&["compare", &format!("{flag}={value}")]).await;
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag} {value}: {printed}");
        assert!(printed.contains(flag), "{flag} {value}: {printed}");
    }
}
