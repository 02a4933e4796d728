//! `onehop compare` under a traffic: throughput, limits, bills and background work.

use serde_json::{Value, json};

use crate::api::compare::{assert_documented, report, report_of_twelve, row};

/// The plan of this name in a section of the report.
fn plan<'a>(section: &'a Value, model: &str) -> &'a Value {
    let mut plans = section.as_array().unwrap().iter();
    plans.find(|plan| plan["model"] == model).unwrap_or_else(|| panic!("{model}"))
}

/// The load of the container's logical partitions under the popularity with this number.
fn load<'a>(report: &'a Value, container: &str, popularity: usize) -> &'a Value {
    let mut containers = report["partitions"]["containers"].as_array().unwrap().iter();
    &containers.find(|found| found["container"] == container).unwrap()["loads"][popularity]
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

/// Of V3 with its projections, RU.
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
