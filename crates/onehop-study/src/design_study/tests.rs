//! Tests of design studies: the report on all designs.

use super::{DesignStudy, MeasuredCharges, MeasuredOperation, dearer, design_report, explain, plan_text};
use crate::fixtures::Shop;
use crate::measurement::MeasurementRow;
use crate::plans::{PlannedOperation, PlannedScope, Trial, TrialAction, TrialAnswer};
use crate::render;
use crate::report::{AccountSummary, StudyReport};
use onehop_store::OperationKind;
use onehop_store::charges::Calibration;

fn with_study<T>(settings: &str, work: impl FnOnce(&DesignStudy<'_>) -> T) -> T {
    let shop = Shop::new(settings);
    let survey = shop.survey();
    work(&DesignStudy::new(&shop.study, &survey, Calibration::current()))
}

fn report(settings: &str) -> StudyReport {
    with_study(settings, design_report)
}

#[test]
fn each_request_has_a_row_under_each_design() {
    let report = report("[prices]\nmanual = 0.008");
    let plans: Vec<String> = report.measurements.plans.iter().map(ToString::to_string).collect();
    assert_eq!(plans, ["V1", "V1, data loader", "V2", "V3"]);
    assert_eq!(report.measurements.rows.len(), 6 * 4);
    assert!(report.provisioning.iter().all(|found| found.feasible));
    let table = render::table(&report);
    for text in ["OrderPage", "Verdict", "Growth", "Throughput to provision", "a month"] {
        assert!(table.contains(text), "{text}\n{table}");
    }
    assert!(render::page(&report).contains("<svg"));
}

#[test]
fn a_request_of_one_design_costs_the_others_nothing() {
    let mut shop = Shop::new("");
    let text = "query OrderPage($id: ID!) @request(perSecond: 100) { order(id: $id) { total } }\n\
                mutation Job @request(perSecond: 10, designs: [\"V3\"]) { createOrder(input: $input) { order { id } } }";
    let models: Vec<_> = shop.study.designs.iter().map(|design| &design.model).collect();
    shop.study.requests = onehop_model::RequestSet::read("requests.graphql", text, &models).unwrap();
    let survey = shop.survey();
    let study = DesignStudy::new(&shop.study, &survey, Calibration::current());
    let report = design_report(&study);
    let models: Vec<_> = report.measurements.rows.iter().filter(|row| row.request == "Job").collect();
    assert_eq!(models.iter().map(|row| row.plan.to_string()).collect::<Vec<_>>(), ["V3"]);
    let traffic = &report.traffic.as_ref().unwrap().models;
    assert_eq!(traffic.iter().filter(|model| model.writes > 0.0).count(), 1, "{traffic:?}");
    let text = plan_text(&explain(&study));
    assert_eq!(text.split("mutation Job").nth(1).unwrap().matches(" RU\n").count(), 1, "{text}");
    assert!(render::table(&report).contains("Job"));
}

#[test]
fn much_traffic_on_one_partition_is_infeasible() {
    let report = report("scale = 1\n[traffic]\npeak_to_mean = 1000");
    assert!(report.provisioning.iter().any(|found| !found.feasible));
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["outlook"]["ranges"].as_array().unwrap().len() > 1, "{json}");
}

#[test]
fn strong_consistency_doubles_point_reads() {
    let charge = |settings: &str| {
        let report = report(settings);
        report.measurements.rows.iter().find(|row| row.request == "OrderPage").unwrap().request_charge
    };
    assert_eq!(charge("[account]\nconsistency = \"strong\""), 2.0 * charge(""));
}

#[test]
fn an_explanation_names_each_operation_with_its_error() {
    let text = with_study("", |study| plan_text(&explain(study)));
    for expected in [
        "query OrderPage, 100 a second",
        "1.00 point read in orders: Order by id, 1.00 items, 1.00 RU",
        "1.00 query in orders, each physical partition: Order of Customer.orders",
        "behind: 1.00 change feed in orders",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn the_hours_of_a_day_make_a_bill_of_autoscale() {
    let hours =
        format!("[traffic]\nhourly = [{}]\n[prices]\nmanual = 0.008", vec!["1"; 23].join(", ") + ", 8");
    let report = report(&hours);
    let bills = &report.provisioning[0].planned.as_ref().unwrap().bills;
    let amount = |name: &str| bills.iter().find(|bill| bill.name == name).unwrap().amount;
    assert!(amount("autoscale by the hours of a day") < amount("autoscale, each hour with a peak"));
}

#[test]
fn passes_over_all_data_have_their_charges() {
    let report = report("scale = 2");
    let [v1, v2, v3] = report.passes.as_slice() else { panic!("{:?}", report.passes) };
    assert_eq!([v1.lists_charge, v2.lists_charge], [0.0; 2], "no lists");
    assert!(v3.lists_charge > 0.0 && v2.load_charge > v1.load_charge, "copies and entries");
    assert!(v3.index_charge > v2.index_charge && v2.index_charge < v2.load_charge, "{:?}", report.passes);
    let half = self::report("scale = 1").passes;
    assert!((half[2].lists_charge * 2.0 - v3.lists_charge).abs() < 0.01);
    assert!(render::page(&report).contains("write all indexes anew"));
}

#[test]
fn a_dearer_request_is_found_against_an_earlier_report() {
    let report = report("");
    let mut earlier = serde_json::to_value(&report).unwrap();
    assert!(dearer(&earlier.to_string(), &report, 0.0).unwrap().is_empty());
    earlier["rows"][0]["requestCharge"] = 1.0.into();
    let found = dearer(&earlier.to_string(), &report, 0.1).unwrap();
    assert_eq!(found[0].to_string(), "OrderPage under V1: 2.00 RU, 1.00 RU before, 100 % more");
    assert!(dearer("{}", &report, 0.1).unwrap_err().to_string().contains("no list `rows`"));
}

/// Each trial as `point_read orders item`, with the text of a query.
fn shown(trials: &[Trial]) -> Vec<String> {
    let text = |trial: &Trial| {
        let scope = serde_json::to_value(trial.scope).unwrap();
        let operation = format!("{} {} {}", trial.kind.name(), trial.container, scope.as_str().unwrap());
        match &trial.action {
            TrialAction::Query(query) | TrialAction::Count(query) => {
                format!("{operation} {:?} {} {}", query.key, query.items.len(), query.text)
            }
            TrialAction::Write { writes, .. } => format!("{operation} {}", writes.len()),
            TrialAction::Read(_) | TrialAction::ChangeFeed(_) => operation,
        }
    };
    trials.iter().map(text).collect()
}

#[test]
fn each_operation_of_a_plan_has_a_trial() {
    with_study("", |study| {
        let of = |design: usize, request: &str| {
            let trials = study.trials(&study.designs()[design]);
            shown(&trials.iter().find(|found| found.request == request).unwrap().trials)
        };
        assert_eq!(
            of(0, "CustomerOrders"),
            [
                "query orders allPartitions [] 10 SELECT TOP @p0 * FROM c WHERE c.type = @p1 AND \
                 (NOT IS_DEFINED(c.deleted) OR c.deleted != @p2) AND c.customerId = @p3 \
                 ORDER BY c.type DESC, c.createdAt DESC, c.id DESC",
                "point_read customers item",
            ]
        );
        assert_eq!(
            of(1, "CustomerCount")[1..],
            [
                "count orders logicalPartition [String(\"c19\")] 10 SELECT VALUE COUNT(1) FROM c WHERE c.type = @p0 \
                 AND (NOT IS_DEFINED(c.deleted) OR c.deleted != @p1)"
            ]
        );
        assert_eq!(
            of(2, "Place"),
            [
                "point_read customers item",
                "create orders item 1",
                "change_feed orders allPartitions",
                "create openOrders item 1",
            ]
        );
        for (design, data) in study.designs().iter().enumerate() {
            for (request, trials) in study.directory.requests.requests().iter().zip(study.trials(data)) {
                let plan = study.planner(data, false).plan(request, 0);
                let tried = |operation: &PlannedOperation| {
                    let is_count = operation.kind == OperationKind::Count;
                    // No client counts across partitions.
                    if is_count && operation.scope == PlannedScope::AllPartitions {
                        return true;
                    }
                    trials.trials.iter().any(|trial| {
                        (trial.container, trial.kind, &trial.about)
                            == (operation.container, operation.kind, &operation.about)
                    })
                };
                let untried: Vec<_> = plan
                    .operations
                    .iter()
                    .chain(&plan.behind)
                    .filter(|operation| !tried(operation))
                    .collect();
                assert!(untried.is_empty(), "{design} {}: {untried:?}", request.name);
            }
        }
    });
}

#[test]
fn a_measured_charge_takes_the_place_of_the_estimate() {
    let estimated = report("");
    with_study("", |study| {
        let mut operations = Vec::new();
        for data in study.designs() {
            for found in study.trials(&data) {
                for trial in &found.trials {
                    let answer =
                        TrialAnswer { items: trial.size(), physical_partitions: 1, ..TrialAnswer::default() };
                    let consistency = study.directory.settings.consistency;
                    let request_charge = 2.0 * trial.estimate(&study.calibration, consistency, &answer);
                    let answer = TrialAnswer { request_charge, ..answer };
                    let of = (&*data.design.name, &*found.request);
                    operations.push(MeasuredOperation::of(of, trial, study, &answer));
                }
            }
        }
        let account = AccountSummary {
            endpoint: "https://shop.documents.azure.com".to_owned(),
            databases: vec!["shop-v1".to_owned()],
        };
        let measured = MeasuredCharges { operations, ..MeasuredCharges::new(account) };
        let study = DesignStudy {
            measured: Some(&measured),
            ..DesignStudy::new(study.directory, study.survey, Calibration::current())
        };
        let report = design_report(&study);
        let rows = report.measurements.rows.iter().zip(&estimated.measurements.rows);
        let is_tried = |row: &&MeasurementRow| (&*row.request, &*row.plan.model) != ("CustomerCount", "V1");
        for (row, before) in rows.filter(|(row, _)| is_tried(row)) {
            let twice = [2.0 * before.request_charge, 2.0 * before.projection_charge];
            assert!((row.request_charge - twice[0]).abs() < 0.02, "{row:?} {before:?}");
            assert!((row.projection_charge - twice[1]).abs() < 0.02, "{row:?} {before:?}");
            assert!((row.estimated_request_charge.unwrap() - before.request_charge).abs() < 0.02, "{row:?}");
            assert!((row.estimate_error.unwrap() + 0.5).abs() < 0.01, "{row:?}");
        }
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["chargeSource"], "measured");
        assert!(render::table(&report).contains("Each operation of the plans ran on https://shop"));
    });
}
