//! Tests of plans: the operations that follow from each design.

use std::sync::Arc;

use crate::data::{DataSurvey, SurveySpec};
use crate::design_study::DesignStudy;
use crate::directory::StudyDirectory;
use crate::fixtures::{Shop, readings};
use crate::plans::{PlannedOperation, RequestPlan};
use onehop_store::charges::Calibration;

/// Each operation as `1 point read orders`, with the items of queries.
fn shown(operations: &[PlannedOperation]) -> Vec<String> {
    let text = |operation: &PlannedOperation| {
        let scope = serde_json::to_value(operation.scope).unwrap();
        let (kind, container, items) = (operation.kind.name(), operation.container, operation.items);
        format!("{} {kind} {container} {} {items:.0}", operation.times.round(), scope.as_str().unwrap())
    };
    operations.iter().map(text).collect()
}

fn plan(shop: &Shop, survey: &DataSurvey, design: usize, request: &str, batched: bool) -> RequestPlan {
    let study = DesignStudy::new(&shop.study, survey, Calibration::current());
    let designs = study.designs();
    let request = shop.study.requests.requests().iter().find(|known| &*known.name == request).unwrap();
    study.planner(&designs[design], batched).plan(request, 0)
}

#[test]
fn a_query_follows_the_design() {
    let shop = Shop::new("");
    let survey = shop.survey();
    let operations = |design, request| shown(&plan(&shop, &survey, design, request, false).operations);
    assert_eq!(operations(0, "OrderPage"), ["1 point_read orders item 1", "1 point_read customers item 1"]);
    assert_eq!(operations(1, "OrderPage"), ["1 point_read orders item 1"]);
    assert_eq!(
        operations(0, "CustomerOrders"),
        ["1 query orders allPartitions 5", "5 point_read customers item 5"]
    );
    assert_eq!(operations(1, "CustomerOrders"), ["1 query orders logicalPartition 5"]);
    assert_eq!(
        operations(0, "CustomerCount"),
        ["1 point_read customers item 1", "1 count orders allPartitions 1"]
    );
    assert_eq!(
        operations(1, "CustomerCount"),
        ["1 point_read customers item 1", "1 count orders logicalPartition 1"]
    );
    assert_eq!(operations(1, "OpenOrders"), ["1 query orders allPartitions 20"]);
    assert_eq!(operations(2, "OpenOrders"), ["1 query openOrders logicalPartition 20"]);
}

#[test]
fn a_data_loader_reads_each_target_once() {
    let shop = Shop::new("");
    let survey = shop.survey();
    let batched = plan(&shop, &survey, 0, "CustomerOrders", true);
    assert_eq!(shown(&batched.operations)[1], "1 point_read customers item 1");
}

#[test]
fn a_mutation_has_its_batch_and_its_read_models() {
    let shop = Shop::new("");
    let survey = shop.survey();
    let placed = plan(&shop, &survey, 2, "Place", false);
    assert_eq!(shown(&placed.operations), ["1 point_read customers item 1", "1 create orders item 1"]);
    assert_eq!(shown(&placed.behind)[0], "1 change_feed orders allPartitions 1");
    let entries =
        placed.behind.iter().find(|operation| operation.container.as_str() == "openOrders").unwrap();
    assert!((entries.times - 0.1).abs() < 0.05, "a tenth of the orders are open: {}", entries.times);
    let renamed = plan(&shop, &survey, 2, "Rename", false);
    assert_eq!(shown(&renamed.operations), ["1 point_read customers item 1", "1 replace customers item 1"]);
    let replaced =
        renamed.behind.iter().find(|operation| operation.about.starts_with("replace Order")).unwrap();
    assert_eq!(replaced.times, 10.0, "each of the customer's orders has the name");
    assert!(plan(&shop, &survey, 0, "Rename", false).behind.is_empty(), "nothing is copied");
}

#[test]
fn charges_are_those_of_the_charge_model() {
    let shop = Shop::new("");
    let survey = shop.survey();
    let calibration = Arc::clone(&Calibration::current());
    let charge =
        |design, request: &str| plan(&shop, &survey, design, request, false).charge(&calibration, &|_| 1);
    assert_eq!((charge(0, "OrderPage"), charge(1, "OrderPage")), (2.0, 1.0));
    // A query asks each physical partition; 13.5 units and a term for each of 8 paths, of a unit of 8/21 RU.
    let four = plan(&shop, &survey, 0, "CustomerOrders", false).charge(&calibration, &|_| 4);
    assert!(four > charge(0, "CustomerOrders") + 8.0, "{four}");
    assert!((charge(0, "Place") - (13.5 + 8.0 + 1.0) * 8.0 / 21.0).abs() < 0.4, "{}", charge(0, "Place"));
}

#[test]
fn a_hierarchical_key_is_asked_by_its_first_part() {
    let (directory, _files) = readings("scale = 10\nfixed = [\"Device\", \"Day\"]");
    let survey = DataSurvey::read(&directory, &SurveySpec::of_designs(&directory), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let study = DesignStudy::new(&directory, &survey, Calibration::current());
    let designs = study.designs();
    let request = &directory.requests.requests()[1];
    let operations =
        |design: usize| shown(&study.planner(&designs[design], false).plan(request, 0).operations);
    // Twenty readings of each device, ten times as many at this scale: a page has a hundred.
    assert_eq!(operations(0), ["1 query readings logicalPartition 100"]);
    assert_eq!(operations(1), ["1 query readings allPartitions 100"]);
    assert_eq!(operations(2), ["1 query readings partitionPrefix 100"]);
}

#[test]
fn new_items_of_a_day_share_one_partition() {
    let (directory, _files) = readings("fixed = [\"Device\", \"Day\"]");
    let survey = DataSurvey::read(&directory, &SurveySpec::of_designs(&directory), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let study = DesignStudy::new(&directory, &survey, Calibration::current());
    let designs = study.designs();
    let busiest = |design: usize| {
        study.planner(&designs[design], false).plan(&directory.requests.requests()[0], 0).operations[0]
            .busiest
            .even
    };
    assert_eq!(busiest(1), 1.0);
    assert!((busiest(0) - 1.0 / 200.0).abs() < 1e-9, "{}", busiest(0));
    assert!(busiest(2) < busiest(0));
}

#[test]
fn items_of_a_fixed_type_share_the_same_load_at_any_scale() {
    let share = |settings: &str| {
        let (directory, _files) = readings(settings);
        let survey = DataSurvey::read(&directory, &SurveySpec::of_designs(&directory), &mut |_| {
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        let study = DesignStudy::new(&directory, &survey, Calibration::current());
        let designs = study.designs();
        let device = designs[0].design.model.item("Device").expect("a type");
        study.planner(&designs[0], false).item_share(device).even
    };
    let one = share("scale = 1");
    assert!(one > 0.0 && (share("scale = 10") - one / 10.0).abs() < 1e-12);
    assert!((share("scale = 10\nfixed = [\"Device\", \"Day\"]") - one).abs() < 1e-12);
}

#[test]
fn a_data_loader_never_makes_a_request_dearer() {
    let shop = Shop::new("scale = 50");
    let survey = shop.survey();
    let calibration = Calibration::current();
    for design in 0..3 {
        for request in shop.study.requests.requests() {
            let charge =
                |batched| plan(&shop, &survey, design, &request.name, batched).charge(&calibration, &|_| 3);
            assert!(charge(true) <= charge(false), "{} of design {design}", request.name);
        }
    }
}

#[test]
fn reservations_have_a_container_of_their_own() {
    let design = |container: &str| {
        format!(
            "extend schema @model(name: \"s\", design: \"{container}\") @container(name: \"{container}\", key: \"/id\")
type Member @item(container: \"{container}\", write: CREATE) {{ id: ID! email: String! @unique }}"
        )
    };
    let designs = [design("accounts"), design("members")];
    let texts = [("v1.graphql", designs[0].as_str()), ("v2.graphql", designs[1].as_str())];
    let requests = "mutation Join @request(perSecond: 1) { createMember(input: $input) { member { id } } }";
    let directory =
        StudyDirectory::of_texts("[data]\nMember = \"members.jsonl\"\n", requests, &texts).unwrap();
    let items = [("Member", serde_json::json!({ "id": "m1", "email": "m1@example.com" }))];
    let survey = DataSurvey::of_items(&directory, &SurveySpec::of_designs(&directory), items).unwrap();
    let study = DesignStudy::new(&directory, &survey, Calibration::current());
    let designs = study.designs();
    let request = &directory.requests.requests()[0];
    let operations =
        |design: usize| shown(&study.planner(&designs[design], false).plan(request, 0).operations);
    assert_eq!(operations(0), ["1 create reservations item 1", "1 create accounts item 1"]);
    assert_eq!(operations(1), ["1 create accounts item 1", "1 create members item 1"]);
}
