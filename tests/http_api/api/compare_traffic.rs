//! `onehop compare` under a traffic: throughput, limits, bills and background work.

use serde_json::{Value, json};

use crate::api::compare::{assert_documented, partitions, report, report_of_twelve, row};

/// The plan of this name in a section of the report.
fn plan<'a>(section: &'a Value, model: &str) -> &'a Value {
    let mut plans = section.as_array().unwrap().iter();
    plans.find(|plan| plan["model"] == model).unwrap_or_else(|| panic!("{model}"))
}

/// The load of a container of V3 under the popularity with this number.
fn load<'a>(report: &'a Value, container: &str, popularity: usize) -> &'a Value {
    &partitions(report, "V3", container)["loads"][popularity]
}

/// A container with throughput of its own.
fn container<'a>(report: &'a Value, model: &str, container: &str) -> &'a Value {
    let mut containers = plan(&report["provisioning"], model)["containers"].as_array().unwrap().iter();
    containers.find(|found| found["container"] == container).unwrap_or_else(|| panic!("{container}"))
}

#[tokio::test]
async fn every_field_is_documented_and_each_plan_has_one_throughput() {
    let traffic = ["--rates", "Q6=10,Q3=5,C4=4", "--peak-to-mean", "1"];
    let prices = ["--prices", "manual=0.008,serverless=0.25"];
    let report = report_of_twelve(&[&traffic[..], &prices].concat()).await;
    for part in ["traffic", "verdict", "outlook", "provisioning", "background", "partitions", "passes"] {
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
    assert_eq!(containers(0), ["accounts", "posts", "users"]);
    assert_eq!(containers(2), ["accounts", "posts", "users", "leases", "dead-letters"]);
    assert_eq!(containers(3), ["accounts", "feed", "posts", "postsByTag", "users", "leases", "dead-letters"]);
}

#[tokio::test]
async fn background_work_and_storage_have_their_inputs() {
    let report = report(&["--rates", "C2=1,C4=4", "--index-share", "0.5"]).await;
    let work = report["background"].as_array().unwrap().last().unwrap();
    assert_eq!(work["model"], "V3");
    let line = |kind: &str| {
        let mut lines = work["lines"].as_array().unwrap().iter();
        lines.find(|line| line["kind"] == kind).unwrap()["throughput"].clone()
    };
    assert_eq!(line("metricsScrapes")[0], 0.0);
    assert!(line("checkpoints")[0].as_f64().unwrap() > 0.0, "{work}");
    let passes = report["passes"].as_array().unwrap();
    assert_eq!(passes.len(), 3, "{report}");
    assert!(passes.iter().all(|pass| pass["loadCharge"].as_f64().unwrap() > 1_000.0), "{report}");
    assert!(passes[2]["listsCharge"].as_f64().unwrap() > 100.0, "{report}");
    let half = self::report(&["--rates", "C2=1,C4=4", "--index-share", "0"]).await;
    let storage = |report: &Value| report["provisioning"][3]["storageGb"].as_f64().unwrap();
    assert!((storage(&report) / storage(&half) - 1.5).abs() < 1e-9);
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
    let partitions = |report: &Value, model: &str, name: &str| {
        let found = container(report, model, name);
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
    let of_container = |name: &str| {
        let found = container(&once_high, "V3", name);
        json!([found["provisioned"], found["decidedBy"]])
    };
    assert_eq!(of_container("posts"), json!([6_900.0, "highestEver"]));
    assert_eq!(of_container("feed"), json!([400.0, "minimum"]));
    let given = report(&[&rates[..], &["--as-the-article"]].concat()).await;
    assert_eq!(partitions(&given, "V2", "posts").0, 70);
    assert_eq!(container(&given, "V2", "posts")["decidedBy"], "physicalPartitions");
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
async fn the_charges_of_a_traffic_add_up_over_containers() {
    let report = report(&["--rates", "Q1=5,Q2=5,Q3=20,Q4=20,Q5=20,Q6=50,C1=1,C2=1,C3=4,C4=4"]).await;
    let in_table = report["traffic"]["models"].as_array().unwrap().last().unwrap();
    let in_table = in_table["reads"].as_f64().unwrap() + in_table["writes"].as_f64().unwrap();
    for popularity in [0, 1] {
        let throughput = |container| load(&report, container, popularity)["throughput"].as_f64().unwrap();
        let sum: f64 = ["users", "posts", "feed"].map(throughput).iter().sum();
        // Reservations of usernames are in `accounts`, which has no data; the table has medians.
        assert!((sum / in_table - 1.0).abs() < 0.1, "{sum} of {in_table}");
    }
}

#[tokio::test]
async fn the_feed_is_the_first_at_its_limit() {
    let report = report_of_twelve(&["--rates", "Q6=10,C4=10"]).await;
    let multiple = |container, popularity| {
        load(&report, container, popularity)["trafficMultipleMax"].as_f64().unwrap_or(f64::INFINITY)
    };
    for popularity in [0, 1] {
        assert!(multiple("feed", popularity) < multiple("users", popularity));
        assert!(multiple("feed", popularity) < multiple("posts", popularity));
    }
    let feed = load(&report, "feed", 0);
    assert_eq!(feed["throughput"], feed["largest"], "one logical partition");
    let first = &feed["requests"][0];
    let charge = row(&report, "Q6", "V3", false)["requestCharge"].as_f64().unwrap();
    let served = first["share"].as_f64().unwrap() * feed["largest"].as_f64().unwrap();
    assert_eq!(first["request"], "Q6");
    assert!((served / (10.0 * charge) - 1.0).abs() < 0.02, "{first}");
    let [even, zipf] =
        [0, 1].map(|popularity| load(&report, "posts", popularity)["largest"].as_f64().unwrap());
    assert!(zipf > 2.0 * even, "{even} {zipf}");
}
