//! `onehop compare`, as a process.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::api::binary::{run, run_on};

const SMALL: [&str; 5] = ["compare", "--users", "5", "--samples", "3"];
/// With the engine and the physical partitions of the article.
const ARTICLE: [&str; 3] = ["--as-the-article", "--calibration", "article-2019"];

async fn report(more: &[&str]) -> Value {
    report_of(&SMALL, more).await
}

/// The report of twelve users, for figures in which five users differ too much.
async fn report_of_twelve(more: &[&str]) -> Value {
    report_of(&["compare", "--users", "12", "--samples", "3"], more).await
}

async fn report_of(command: &[&str], more: &[&str]) -> Value {
    let output = run(&[command, &["--format", "json"], more].concat()).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn row<'a>(report: &'a Value, request: &str, model: &str, batched: bool) -> &'a Value {
    let mut rows = report["rows"].as_array().unwrap().iter();
    let wanted = json!([request, model, batched]);
    let found = rows.find(|row| json!([row["request"], row["model"], row["batched"]]) == wanted);
    found.unwrap_or_else(|| panic!("{wanted}"))
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
async fn a_comparison_runs_every_request_under_every_data_model() {
    let report = report_of_twelve(&["--rates", "Q3=10,C3=1", "--price-per-100-ru", "0.008"]).await;
    assert_eq!(report["rows"].as_array().unwrap().len(), 10 * 3 + 6);
    assert_eq!(
        json!([report["users"], report["samples"], report["physicalPartitions"], report["chargeSource"]]),
        json!([12, 3, 1, "estimated"])
    );
    assert_eq!(
        json!([report["indexing"], report["account"], report["estimateErrors"]]),
        json!(["all", null, null])
    );
    for row in report["rows"].as_array().unwrap() {
        assert!(row["requestCharge"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["latencyMs"]["p99"].as_f64() >= row["latencyMs"]["median"].as_f64(), "{row}");
        let fields = row.as_object().unwrap();
        assert!(!fields.contains_key("articleRequestCharge") && !fields.contains_key("deviation"), "{row}");
    }
    for request in ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"] {
        let row = row(&report, request, "V3", false);
        assert_eq!(operations_of(row).len(), 1, "{row}");
        assert_eq!(
            json!([row["operations"][0]["times"], row["operations"][0]["physicalPartitions"]]),
            json!([1, 1])
        );
    }
    let partitions = report["partitions"]["containers"].as_array().unwrap();
    let [users, posts, feed, accounts] = partitions.as_slice() else { panic!("{partitions:?}") };
    assert_eq!(json!([users["logicalPartitions"], accounts["logicalPartitions"]]), json!([25, 25]));
    assert!(posts["logicalPartitions"].as_u64().unwrap() > 60, "{posts}");
    assert_eq!(
        json!([feed["logicalPartitions"], feed["items"]["largest"], feed["verdict"]["noHotSpot"]]),
        json!([1, 100, false])
    );
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
async fn every_field_is_documented_and_each_plan_has_one_throughput() {
    let traffic = ["--rates", "Q6=10,Q3=5,C4=4", "--peak-to-mean", "1"];
    let prices = ["--prices", "manual=0.008,serverless=0.25"];
    let report = report_of_twelve(&[&traffic[..], &prices].concat()).await;
    for part in ["concurrent", "traffic", "verdict", "provisioning", "background", "partitions"] {
        assert!(report.get(part).is_some(), "no {part}");
    }
    assert_documented(&report);
    let provisioning = report["provisioning"].as_array().unwrap();
    let models = report["traffic"]["models"].as_array().unwrap();
    assert_eq!((provisioning.len(), models.len()), (4, 4));
    for (found, model) in provisioning.iter().zip(models) {
        assert_eq!((&found["model"], &found["recommended"]), (&model["model"], &model["provisioned"]));
        assert_eq!(found["bills"][0]["amount"], model["monthlyBill"]);
        let number = |value: &Value| value.as_f64().unwrap();
        let mean = number(&model["reads"]) + number(&model["writes"]);
        assert!(number(&found["recommended"]) >= mean, "{found}");
        let containers = found["containers"].as_array().unwrap().iter();
        let peaks: f64 = containers.map(|container| number(&container["peak"])).sum();
        assert!((0.9..1.5).contains(&(peaks / mean)), "{peaks} of {mean}");
    }
    let containers = |number: usize| {
        let names = provisioning[number]["containers"].as_array().unwrap().iter();
        names.map(|container| container["container"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(containers(0), ["users", "posts"]);
    assert_eq!(containers(2), ["users", "posts", "leases", "dead-letters"]);
    assert_eq!(containers(3), ["users", "posts", "feed", "accounts", "leases", "dead-letters"]);
}

#[tokio::test]
async fn background_work_and_storage_have_their_inputs() {
    let report = report(&["--rates", "C2=1,C4=4", "--index-share", "0.5"]).await;
    // A short copy of a post in `users` is a change that no projection wants.
    let discarded = |request| row(&report, request, "V3", false)["discarded"]["changes"].as_f64().unwrap();
    assert_eq!((discarded("C1"), discarded("C2")), (0.0, 1.0));
    let work = report["background"].as_array().unwrap().last().unwrap();
    assert_eq!(work["model"], "V3");
    let line = |kind: &str| {
        let mut lines = work["lines"].as_array().unwrap().iter();
        lines.find(|line| line["kind"] == kind).unwrap()["throughput"].clone()
    };
    // One such change a second is charged. The page that has it says that nothing follows.
    let charge = line("discarded")[0].as_f64().unwrap();
    assert!(charge > 0.0 && charge < 0.8, "{work}");
    assert_eq!(line("metricsScrapes")[0], 0.0);
    let passes = work["passes"].as_array().unwrap();
    assert_eq!(passes.len(), 2, "{work}");
    assert!(passes.iter().all(|pass| pass["requestCharge"].as_f64().unwrap() > 100.0), "{work}");
    let containers = report["partitions"]["containers"].as_array().unwrap().iter();
    let bytes: f64 = containers.map(|container| container["totalBytes"].as_f64().unwrap()).sum();
    let found = &report["provisioning"][3];
    let storage = found["storageGb"].as_f64().unwrap() * 1024.0 * 1024.0 * 1024.0;
    assert!((storage / bytes - 1.5).abs() < 1e-9, "{found}");
}

/// The entry of a post that is in the feed, read and written. In a small data set most posts are.
const FEED_ENTRY: f64 = 14.0;

/// Of V3 with its projections, RU.
#[tokio::test]
async fn no_request_costs_more_than_it_has_to() {
    let output = run(&["compare", "--users", "12", "--samples", "5", "--format", "json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for (request, charge_max) in
        [("C1", 15.0), ("C2", 43.0), ("C3", 46.0 + FEED_ENTRY), ("C4", 46.0 + FEED_ENTRY)]
    {
        let row = row(&report, request, "V3", false);
        let charge = row["requestCharge"].as_f64().unwrap() + row["projectionCharge"].as_f64().unwrap();
        assert!(charge <= charge_max, "{request}: {charge} RU");
    }
    assert!(row(&report, "C1", "V3", false)["requestCharge"].as_f64().unwrap() <= 13.0);
    for concurrent in report["concurrent"].as_array().unwrap() {
        let charge =
            concurrent["requestCharge"].as_f64().unwrap() + concurrent["projectionCharge"].as_f64().unwrap();
        assert!(concurrent["atOnce"] == 10 && charge <= 20.0, "{concurrent}");
    }
}

#[tokio::test]
async fn the_articles_figures_stand_beside_its_own_engine_alone() {
    let as_the_article = report(&ARTICLE).await;
    assert_eq!(as_the_article["physicalPartitions"], 70);
    for row in as_the_article["rows"].as_array().unwrap() {
        assert_eq!(row["articleRequestCharge"].is_null(), row["batched"] == true, "{row}");
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
        assert!(rows.all(|row| row.get("articleRequestCharge").is_none()), "{other:?}");
    }
}

/// The plan of this name in a section of the report.
fn plan<'a>(section: &'a Value, model: &str) -> &'a Value {
    let mut plans = section.as_array().unwrap().iter();
    plans.find(|plan| plan["model"] == model).unwrap_or_else(|| panic!("{model}"))
}

#[tokio::test]
async fn an_infeasible_data_model_has_a_multiple_and_no_bill() {
    let report = report(&["--rates", "Q6=2000", "--peak-to-mean", "1", "--price-per-100-ru", "0.008"]).await;
    for model in ["V1", "V2", "V3"] {
        let found = plan(&report["provisioning"], model);
        let first = &found["limits"][0];
        assert_eq!((&found["feasible"], &first["growthOf"]), (&json!(false), &json!("traffic")), "{found}");
        let multiple = first["multiple"].as_f64().unwrap();
        assert!(multiple > 0.0 && multiple < 1.0, "{found}");
        assert!(found.get("bills").is_none() && found.get("recommended").is_none(), "{found}");
        let in_traffic = plan(&report["traffic"]["models"], model);
        assert_eq!(in_traffic["feasible"], false);
        assert!(in_traffic.get("monthlyBill").is_none(), "{in_traffic}");
        assert!(plan(&report["verdict"]["plans"], model)["bill"].is_null());
    }
    let limit = |model, container: &str| {
        let mut limits = plan(&report["provisioning"], model)["limits"].as_array().unwrap().iter();
        limits.find(|limit| limit["container"] == container).unwrap()["limit"].clone()
    };
    assert_eq!(
        (limit("V3", "feed"), limit("V2", "posts")),
        (json!("logicalThroughput"), json!("physicalPartitions"))
    );
    assert_eq!(report["verdict"]["winner"], Value::Null);
    assert_eq!(report["verdict"]["unbeaten"], json!([]));
}

#[tokio::test]
async fn physical_partitions_follow_from_storage_and_throughput() {
    let partitions = |report: &Value, model, container: &str| {
        let containers = plan(&report["provisioning"], model)["containers"].as_array().unwrap().clone();
        let mut containers = containers.into_iter();
        let found = containers.find(|found| found["container"] == container).unwrap();
        (found["physicalPartitions"].as_u64().unwrap(), found["storageGb"].as_f64().unwrap())
    };
    let rates = ["--rates", "Q6=1,C4=1"];
    let small = report(&rates).await;
    assert_eq!(partitions(&small, "V2", "posts").0, 1);
    let large = report(&[&rates[..], &["--data-scale", "72000"]].concat()).await;
    let (number, storage_gb) = partitions(&large, "V2", "posts");
    assert!(number > 1 && number == (storage_gb / 50.0).ceil() as u64, "{number} for {storage_gb} GB");
    assert_eq!(partitions(&large, "V3", "feed").0, 1, "the feed does not grow");
    let reads = |report: &Value, model| plan(&report["traffic"]["models"], model)["reads"].as_f64().unwrap();
    assert!(reads(&large, "V2") > 2.0 * reads(&small, "V2"), "each partition is asked");
    assert_eq!(reads(&large, "V3"), reads(&small, "V3"));
    let once_high = report(&[&rates[..], &["--highest-throughput", "posts=690000"]].concat()).await;
    let of_container = |container: usize| {
        let found = &plan(&once_high["provisioning"], "V3")["containers"][container];
        json!([found["container"], found["provisioned"], found["decidedBy"]])
    };
    assert_eq!(of_container(1), json!(["posts", 6_900.0, "highestEver"]));
    assert_eq!(of_container(2), json!(["feed", 400.0, "minimum"]));
    let given = report(&[&rates[..], &["--as-the-article"]].concat()).await;
    assert_eq!(partitions(&given, "V2", "posts").0, 70);
    let posts = &plan(&given["provisioning"], "V2")["containers"][1];
    assert_eq!(posts["decidedBy"], "physicalPartitions", "{posts}");
}

#[tokio::test]
async fn the_verdict_names_the_smallest_bill_or_no_difference() {
    let winner = |report: &Value| report["verdict"]["winner"].clone();
    let likes = ["--rates", "Q6=1,C4=200", "--peak-to-mean", "1"];
    let few_reads = report(&[&likes[..], &["--price-per-100-ru", "0.008"]].concat()).await;
    assert_eq!((winner(&few_reads), few_reads["verdict"]["unit"].clone()), (json!("V1"), json!("month")));
    let many_reads = report(&["--rates", "Q6=50,Q3=50,C4=1"]).await;
    assert_eq!((winner(&many_reads), many_reads["verdict"]["cases"].clone()), (json!("V3"), json!(16)));
    // V2 and V3 have the least that there is, and V1 has no leases.
    let little = report(&["--rates", "Q1=1"]).await;
    assert_eq!((winner(&little), little["verdict"]["unbeaten"].as_array().unwrap().len()), (json!("V1"), 2));
    for plan in little["verdict"]["plans"].as_array().unwrap() {
        assert!(plan["bill"]["low"].as_f64().unwrap() <= plan["bill"]["high"].as_f64().unwrap(), "{plan}");
    }
}

#[tokio::test]
async fn without_a_traffic_nothing_that_needs_one_is_reported() {
    let report = report(&[]).await;
    for section in ["traffic", "verdict", "provisioning", "background", "partitions"] {
        assert!(report.get(section).is_none(), "{section}");
    }
    let output = run(&[&SMALL[..], &["--format", "markdown"]].concat()).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    for heading in ["Verdict", "Feasibility", "Throughput to provision", "Queries across logical partitions"]
    {
        assert!(!shown.contains(heading), "{heading}: {shown}");
    }
}

/// The load of the container's logical partitions under the popularity with this number.
fn load<'a>(report: &'a Value, container: &str, popularity: usize) -> &'a Value {
    let mut containers = report["partitions"]["containers"].as_array().unwrap().iter();
    &containers.find(|found| found["container"] == container).unwrap()["loads"][popularity]
}

#[tokio::test]
async fn the_charges_of_a_traffic_add_up_over_logical_partitions() {
    let report = report(&["--rates", "Q1=5,Q2=5,Q3=20,Q4=20,Q5=20,Q6=50,C1=1,C2=1,C3=4,C4=4"]).await;
    let in_table = report["traffic"]["models"].as_array().unwrap().last().unwrap();
    let in_table = in_table["reads"].as_f64().unwrap() + in_table["writes"].as_f64().unwrap();
    for popularity in [0, 1] {
        let throughput = |container| load(&report, container, popularity)["throughput"].as_f64().unwrap();
        let sum: f64 = ["users", "posts", "feed", "accounts"].map(throughput).iter().sum();
        // The table has medians, and comments and likes on posts of no particular age.
        assert!((sum / in_table - 1.0).abs() < 0.1, "{sum} of {in_table}");
    }
    let containers = report["partitions"]["containers"].as_array().unwrap();
    let places = |container: &str| {
        let found = containers.iter().find(|found| found["container"] == container).unwrap();
        let bears = found["bears"].as_array().unwrap().iter();
        bears
            .map(|bearable| {
                let [request, place] = ["request", "place"].map(|name| bearable[name].as_str().unwrap());
                format!("{request} {place}")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(places("users"), ["Q1 user", "C2 user", "Q3 user", "C3 author", "C4 author"]);
    assert_eq!(places("posts"), ["Q2 post", "C3 post", "Q4 post", "C4 post", "Q5 post"]);
    assert_eq!(places("feed"), ["C2 only", "C3 only", "C4 only", "Q6 only"]);
    assert!(places("accounts").is_empty());
    for command in ["C3", "C4"] {
        // All but the reading of the user happens in the post's, and so does the reading of the change.
        let commanded = row(&report, command, "V3", false)["requestCharge"].as_f64().unwrap();
        let posts = containers.iter().find(|found| found["container"] == "posts").unwrap();
        let mut bears = posts["bears"].as_array().unwrap().iter();
        let bearable = bears.find(|bearable| bearable["request"] == command).unwrap();
        assert!(bearable["requestCharge"].as_f64().unwrap() > commanded, "{bearable}");
    }
}

#[tokio::test]
async fn the_feed_is_the_first_at_its_limit() {
    let report = report_of_twelve(&["--rates", "Q6=10,C4=10"]).await;
    for popularity in [0, 1] {
        assert_eq!(report["partitions"]["popularities"][popularity]["firstAtLimit"], "feed");
    }
    let of_likes = |popularity: usize| {
        let feed = load(&report, "feed", popularity);
        let mut requests = feed["requestsOfLargest"].as_array().unwrap().iter();
        requests.find(|served| served["request"] == "C4").unwrap()["throughput"].as_f64().unwrap()
    };
    let feed = report["partitions"]["containers"].as_array().unwrap();
    let feed = feed.iter().find(|found| found["container"] == "feed").unwrap();
    let mut bears = feed["bears"].as_array().unwrap().iter();
    let like = bears.find(|bearable| bearable["request"] == "C4").unwrap()["requestCharge"].as_f64().unwrap();
    let in_feed = report["partitions"]["popularities"][0]["postsInFeed"].as_f64().unwrap();
    assert!(
        (of_likes(0) / (10.0 * like * in_feed) - 1.0).abs() < 0.05,
        "likes of older posts cost the feed nothing"
    );
    // Popular posts are new ones, and new posts are in the feed.
    assert!(of_likes(1) > 1.5 * of_likes(0), "{} {}", of_likes(0), of_likes(1));
    let readers = load(&report, "feed", 0)["requestsOfLargest"][0].clone();
    let charge = row(&report, "Q6", "V3", false)["requestCharge"].as_f64().unwrap();
    assert_eq!(readers["request"], "Q6");
    assert!((readers["throughput"].as_f64().unwrap() / (10.0 * charge) - 1.0).abs() < 0.02, "{readers}");
    let skews = [0, 1].map(|popularity| load(&report, "posts", popularity)["skew"].as_f64().unwrap());
    assert!((skews[0] - 1.0).abs() < 0.05 && skews[1] > 10.0, "{skews:?}");
    let across: Vec<usize> = report["partitions"]["fanOuts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fan_out| fan_out["requests"].as_array().unwrap().len())
        .collect();
    assert_eq!(across, [2, 2, 0], "Q3 and Q6 under V1 and V2");
}

#[tokio::test]
async fn each_data_model_writes_in_its_own_way() {
    let report = report(&[]).await;
    for request in ["C1", "C2", "C3", "C4"] {
        let single = row(&report, request, "V1", false);
        assert_eq!(operations_of(single), [if request == "C1" { "CREATE users" } else { "CREATE posts" }]);
        assert_eq!(single["projectionCharge"], 0.0);
    }
    for request in ["C3", "C4"] {
        assert_eq!(operations_of(row(&report, request, "V2", false)), ["POINT_READ posts", "BATCH posts"]);
        let commanded = row(&report, request, "V3", false);
        assert_eq!(operations_of(commanded).last().unwrap(), "BATCH posts");
        let [copied, counted] =
            ["V3", "V2"].map(|model| &row(&report, request, model, false)["projectionCharge"]);
        assert!(copied.as_f64().unwrap() > 0.0);
        assert_eq!(counted, 0.0, "V2's only projection follows users: looking in vain is not counted");
    }
}

#[tokio::test]
async fn the_same_seed_gives_the_same_charges_of_the_reads() {
    let (first, second) = (report(&["--rng-seed", "7"]).await, report(&["--rng-seed", "7"]).await);
    for request in ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"] {
        for model in ["V1", "V2", "V3"] {
            let charge = |report| row(report, request, model, false)["requestCharge"].clone();
            assert_eq!(charge(&first), charge(&second), "{request} {model}");
        }
    }
}

#[tokio::test]
async fn indexing_changes_the_charges_of_commands_alone() {
    let (all, needed) = (report(&[]).await, report(&["--indexing", "needed"]).await);
    assert_eq!(needed["indexing"], "needed");
    let charge =
        |report, request, model| row(report, request, model, false)["requestCharge"].as_f64().unwrap();
    for model in ["V1", "V2", "V3"] {
        for request in ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"] {
            assert_eq!(charge(&all, request, model), charge(&needed, request, model), "{request} {model}");
        }
        // Title and content in V1; the name and the two counts as well from V2 on, and the version.
        let paths = if model == "V1" { 2.0 } else { 6.0 };
        let difference = charge(&all, "C2", model) - charge(&needed, "C2", model);
        assert!((difference - paths * 8.0 / 21.0).abs() < 0.02, "{model}: {difference}");
    }
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
            "The first logical partition to reach 10,000 RU/s is in feed",
            "a single logical partition, a hot spot by design",
            "every property indexed",
        ] {
            assert!(shown.contains(part), "{format} without {part}: {shown}");
        }
        for foreign in ["<script ", "<link", "http://", "https://", "src=", "@import", "url("] {
            assert!(!shown.contains(foreign), "{format} with {foreign}");
        }
        // The script of the page is not a figure.
        let figures = shown.split("<script>").next().unwrap();
        assert!(!figures.contains("NaN") && !figures.contains("inf"), "{figures}");
    }
}

#[tokio::test]
async fn a_comparison_keeps_its_databases_and_overwrites_none() {
    let directory = tempfile::tempdir().unwrap();
    let (status, printed) = run_on(directory.path(), &SMALL).await;
    assert_eq!(status, 0, "{printed}");
    for model in ["v1", "v2", "v3"] {
        assert!(directory.path().join("compare").join(model).is_dir(), "{model}");
    }
    let data = directory.path().join("compare/v3");
    assert_eq!(run_on(&data, &["verify"]).await.0, 0, "the commands and projections leave no drift");
    let (status, printed) = run_on(directory.path(), &SMALL).await;
    assert_eq!(status, 2, "{printed}");
    assert!(printed.contains("--data"), "{printed}");
}

#[tokio::test]
async fn a_summary_honours_the_traffic_and_its_price() {
    let rates = ["--format", "summary", "--rates", "Q6=1,C4=1", "--prices", "manual=0.008,serverless=0.25"];
    let output = run(&[&SMALL[..], &rates].concat()).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    for part in [
        "Your traffic: Q6 1.00/s",
        "a month",
        "Calibration of the estimates: current",
        "takes the least of all",
        "| serverless |",
        "Background work",
        "Throughput to provision",
        "Verdict",
        "Assumptions, and what is left out",
    ] {
        assert!(shown.contains(part), "without {part}: {shown}");
    }
}

#[tokio::test]
async fn a_bad_setting_is_refused_by_the_name_of_its_flag() {
    for (flag, value) in [
        ("--users", "0"),
        ("--samples", "0"),
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
