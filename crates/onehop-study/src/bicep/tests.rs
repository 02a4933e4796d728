//! Tests of the template: its structure without a Bicep compiler, and the definitions of the containers.

use serde_json::{Map, Value, json};

use super::*;
use crate::fixtures::{Shop, readings};
use onehop_store::charges::Calibration;

fn of_shop(settings: &str, design: Option<&str>) -> Result<String, BicepError> {
    let shop = Shop::new(settings);
    let survey = shop.survey();
    let study = DesignStudy::new(&shop.study, &survey, Calibration::current());
    bicep(&study, design)
}

/// The value of a variable: literals, arrays and objects of Bicep.
fn variable(template: &str, name: &str) -> Value {
    let (_, rest) = template.split_once(&format!("var {name} = ")).expect("the variable is there");
    let lines = rest.lines().filter(|line| !line.trim_start().starts_with("//"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    value(&mut text.as_str())
}

fn value(rest: &mut &str) -> Value {
    *rest = rest.trim_start();
    match rest.as_bytes()[0] {
        b'[' => {
            *rest = &rest[1..];
            let mut items = Vec::new();
            while !rest.trim_start().starts_with(']') {
                items.push(value(rest));
            }
            *rest = &rest.trim_start()[1..];
            items.into()
        }
        b'{' => {
            *rest = &rest[1..];
            let mut object = Map::new();
            while !rest.trim_start().starts_with('}') {
                let (key, after) = rest.split_once(':').expect("a key and a value");
                *rest = after;
                assert!(object.insert(key.trim().to_owned(), value(rest)).is_none(), "{key} stands twice");
            }
            *rest = &rest.trim_start()[1..];
            object.into()
        }
        b'\'' => {
            let (mut text, mut characters) = (String::new(), rest.char_indices().skip(1));
            loop {
                match characters.next().expect("the text ends") {
                    (_, '\\') => text.push(characters.next().unwrap().1),
                    (place, '\'') => {
                        *rest = &rest[place + 1..];
                        return text.into();
                    }
                    (_, character) => text.push(character),
                }
            }
        }
        _ => {
            let end = rest.find(char::is_whitespace).unwrap();
            let word = &rest[..end];
            *rest = &rest[end..];
            word.parse().unwrap_or_else(|_| panic!("no literal: {word}"))
        }
    }
}

/// Brackets are paired, each parameter is used, and nothing of the template's own language is left.
fn check_structure(template: &str) {
    let mut open = Vec::new();
    for bracket in template.chars() {
        match bracket {
            '{' | '[' | '(' => open.push(bracket),
            '}' => assert_eq!(open.pop(), Some('{')),
            ']' => assert_eq!(open.pop(), Some('[')),
            ')' => assert_eq!(open.pop(), Some('(')),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!template.contains("{{") && !template.contains("{%"), "{template}");
    let declared = |line: &str| {
        let rest = line.strip_prefix("param ").or(line.strip_prefix("var "))?;
        rest.split(' ').next().map(str::to_owned)
    };
    let names: Vec<String> = template.lines().filter_map(declared).collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        assert!(template.matches(name.as_str()).count() > 1, "{name} is not used");
    }
    assert!(template.contains("neither compiled with `bicep` nor deployed"));
}

#[test]
fn the_winner_has_its_containers_and_throughput() {
    let settings = "name = \"A\\nshop\"\n[prices]\nmanual = 0.008";
    let shop = Shop::new(settings);
    let survey = shop.survey();
    let study = DesignStudy::new(&shop.study, &survey, Calibration::current());
    let report = design_report(&study);
    let template = bicep(&study, Some("V3")).unwrap();
    check_structure(&template);
    assert!(template.starts_with("// Azure Cosmos DB for NoSQL after a study: A shop, the design V3.\n"));
    let found = variable(&template, "containers");
    let found = found.as_array().unwrap();
    let planned = report.provisioning.iter().find(|found| found.model == "V3").unwrap();
    let planned = planned.planned.as_ref().unwrap();
    assert_eq!(found.len(), planned.containers.len());
    for (container, planned) in found.iter().zip(&planned.containers) {
        assert_eq!(container["resource"]["id"], planned.container.as_str());
        assert_eq!(container["manual"], planned.provisioned as u64);
        assert_eq!(container["autoscaleMax"], planned.autoscale_max as u64);
    }
    let of = |name: &str| &found.iter().find(|found| found["resource"]["id"] == name).unwrap()["resource"];
    let ascending = |path: &str| json!({"path": path, "order": "ascending"});
    let expected = json!({
        "id": "orders",
        "partitionKey": {"paths": ["/customerId"], "kind": "Hash", "version": 2},
        "indexingPolicy": {
            "automatic": true,
            "indexingMode": "consistent",
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/\"_etag\"/?"}],
            "compositeIndexes": [[ascending("/type"), ascending("/createdAt"), ascending("/id")]],
        },
        // Deleted orders expire.
        "defaultTtl": -1,
    });
    assert_eq!(*of("orders"), expected);
    assert_eq!(of("leases")["partitionKey"]["paths"], json!(["/id"]));
    assert_eq!(of("leases")["defaultTtl"], -1);
    assert!(template.contains("  // Changes that the change feed processor could not project.\n"));
}

#[test]
fn the_winner_is_named_with_its_reason() {
    let prices = "[prices]\nmanual = 0.008\nserverless = 0.25";
    let template = of_shop(prices, None).unwrap();
    check_structure(&template);
    let second = template.lines().nth(1).unwrap();
    assert!(
        second.contains("smallest provisioned bill") || second.contains("There is no difference"),
        "{second}"
    );
    assert!(template.contains("  'serverless'\n]") && template.contains("EnableServerless"));
    assert!(of_shop(prices, Some("V1")).unwrap().contains("It was named"));
}

#[test]
fn keys_times_to_live_and_levels_follow_the_study() {
    let (directory, _kept) = readings("[account]\nregions = 2\nconsistency = \"bounded-staleness\"");
    let survey = crate::data::DataSurvey::read(
        &directory,
        &crate::data::SurveySpec::of_designs(&directory),
        &mut |_| std::ops::ControlFlow::Continue(()),
    );
    let survey = survey.unwrap();
    let study = DesignStudy::new(&directory, &survey, Calibration::current());
    let template = bicep(&study, Some("both")).unwrap();
    check_structure(&template);
    let found = variable(&template, "containers");
    let found = found.as_array().unwrap().iter().find(|found| found["resource"]["id"] == "readings").unwrap();
    let expected = json!({"paths": ["/deviceId", "/dayId"], "kind": "MultiHash", "version": 2});
    assert_eq!(found["resource"]["partitionKey"], expected);
    assert!(template.contains("@minLength(2)\nparam regions Region[]\n"));
    assert!(template.contains("defaultConsistencyLevel: 'BoundedStaleness'\n"));
    assert!(!template.contains("serverless"), "serverless accounts have one region");
}

const NOTES: &str = "extend schema @model(name: \"Notes & more\") @container(name: \"notes\", key: \"/userId\", ttl: 60, exclude: [\"/text\"])
type User @item(container: \"notes\", write: CREATE) { id: ID! email: String! @unique }";

#[test]
fn exclusions_and_times_to_live_are_those_of_the_model() {
    let text = NOTES.replace("key: \"/userId\"", "key: \"/id\"");
    let model = match Model::read("notes.graphql", &text) {
        Ok(model) => model,
        Err(errors) => panic!("{errors}"),
    };
    let declared = &model.containers()[0];
    assert_eq!(IndexedPaths::of(&model, &declared.name).excluded, ["/text/*"]);
    assert_eq!(default_ttl(&model, declared), Some(60));
    assert_eq!(slug(model.name()), "notes-more");
}

#[test]
fn an_infeasible_or_unknown_design_has_no_template() {
    let crowded = "scale = 1\n[traffic]\npeak_to_mean = 1000";
    let infeasible = of_shop(crowded, Some("V3")).unwrap_err().to_string();
    let expected = "the design V3 is infeasible at this traffic; `onehop study run` names the limits";
    assert_eq!(infeasible, expected);
    let unknown = of_shop("", Some("V9")).unwrap_err().to_string();
    assert_eq!(unknown, "there is no design \"V9\"; expected one of V1, V2, V3");
}

#[test]
fn texts_are_literals_and_names_are_plain() {
    assert_eq!(literal("it's ${x} \\ é"), "'it\\'s \\${x} \\\\ é'");
    for (name, expected) in
        [("Web Shop!", "web-shop"), ("7 days", "study7-days"), ("", "study"), ("--", "study")]
    {
        assert_eq!(slug(name), expected);
    }
    assert_eq!(slug(&"a-".repeat(40)).len(), 29);
}
