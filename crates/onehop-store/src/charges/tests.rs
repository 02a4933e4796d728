//! The model of request charges by its own rules, on random items and policies.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-e]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn item() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-e]|id", json_value(), 0..6)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn policies() -> Vec<IndexingPolicy> {
    vec![
        IndexingPolicy::everything(),
        IndexingPolicy::of(&[], &["/*"]).unwrap(),
        IndexingPolicy::of(&["/a/?", "/b/*"], &["/*"]).unwrap(),
        IndexingPolicy::of(&["/*"], &["/a/*", "/b/[]/c/?"]).unwrap().with_composite(&["/c", "/d"]),
    ]
}

fn units(count: TermCount) -> f64 {
    f64::from(count.plain) + 0.5 * f64::from(count.literals)
}

proptest! {
    #[test]
    fn an_unchanged_item_changes_no_term(item in item()) {
        for policy in policies() {
            let terms = IndexTerms::of(&policy, &item.to_string());
            prop_assert_eq!(terms.changed(&terms, &policy), TermCount::default());
        }
    }

    #[test]
    fn what_comes_and_what_goes_are_all_terms(item in item()) {
        for policy in policies() {
            let (terms, none) = (IndexTerms::of(&policy, &item.to_string()), IndexTerms::of(&policy, "{}"));
            let all = terms.count(&policy);
            prop_assert_eq!(units(none.changed(&terms, &policy)), units(all));
            prop_assert_eq!(units(terms.changed(&none, &policy)), units(all));
        }
    }

    #[test]
    fn a_change_counts_the_same_both_ways(before in item(), after in item()) {
        for policy in policies() {
            let [before, after] = [&before, &after].map(|item| IndexTerms::of(&policy, &item.to_string()));
            let (there, back) = (before.changed(&after, &policy), after.changed(&before, &policy));
            prop_assert_eq!(there, back);
            prop_assert!(units(there) <= units(before.count(&policy)) + units(after.count(&policy)));
        }
    }

    #[test]
    fn terms_have_names_and_no_policy_indexes_more_than_all(item in item()) {
        let text = item.to_string();
        let all = units(IndexTerms::of(&policies()[0], &text).count(&policies()[0]));
        for policy in policies() {
            let counted = IndexTerms::of(&policy, &text).count(&policy);
            let named = named_terms(&policy, &text);
            let sum: u32 = named.iter().map(|term| term.terms).sum();
            prop_assert_eq!(sum, counted.plain + counted.literals);
            prop_assert!(named.iter().all(|term| term.path.starts_with('/')));
            prop_assert!(units(counted) <= all);
        }
    }
}

#[test]
fn a_changed_leaf_counts_with_everything_above_it() {
    let policy = IndexingPolicy::everything();
    let item = |count: u64| json!({"id": "1", "document": {"id": 1, "count": count}}).to_string();
    let [before, after] = [1, 2].map(|count| IndexTerms::of(&policy, &item(count)));
    assert_eq!(before.changed(&after, &policy), TermCount::of(2));
}

#[test]
fn a_policy_decides_by_its_most_specific_path() {
    let item = json!({"id": "1", "a": 1, "b": {"c": 2, "d": 3}, "e": [{"f": 1, "g": 2}, {"f": 2, "g": 2}]})
        .to_string();
    let names = |included: &[&str], excluded: &[&str]| {
        let policy = IndexingPolicy::of(included, excluded).unwrap();
        named_terms(&policy, &item).into_iter().map(|term| term.path).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[], &["/*"]), "/id");
    assert_eq!(names(&["/a/?"], &["/*"]), "/a /id");
    assert_eq!(names(&["/b/*"], &["/*", "/b/c/?"]), "/b /b/d /id");
    assert_eq!(names(&["/e/[]/f/?"], &["/*"]), "/e/[]/f /id");
    assert_eq!(names(&["/*"], &["/b/*", "/e/[]/*"]), "/a /e /id");
}

#[test]
fn composite_indexes_count_items_that_have_all_their_paths() {
    let policy = IndexingPolicy::everything().with_composite(&["/type", "/date"]);
    let terms = |item: Value| IndexTerms::of(&policy, &item.to_string());
    let (some, all) = (terms(json!({"type": "a"})), terms(json!({"type": "a", "date": "1"})));
    assert_eq!((some.count(&policy).composites, all.count(&policy).composites), (0, 1));
    let later = terms(json!({"type": "a", "date": "2"}));
    assert_eq!(all.changed(&later, &policy), TermCount { plain: 1, literals: 0, composites: 1 });
}

#[test]
fn charges_never_fall_with_work() {
    for calibration in CALIBRATION_NAMES.map(|name| Calibration::named(name).unwrap()) {
        let one = ReadConsistency::OneReplica;
        let total = |parts: ChargeParts| parts.total().0;
        let query = |items, bytes, physical_partitions| {
            let work = QueryWork { physical_partitions, conditions: 1, items, bytes, ..QueryWork::default() };
            total(calibration.query(&work, one))
        };
        for step in 0..500_usize {
            let (bytes, more) = (step * 900, (step + 1) * 900);
            let terms = TermCount::of(step as u32);
            assert!(total(calibration.point_read(bytes, one)) <= total(calibration.point_read(more, one)));
            assert!(total(calibration.create(bytes, terms)) <= total(calibration.create(more, terms)));
            assert!(
                total(calibration.create(bytes, terms))
                    < total(calibration.create(bytes, TermCount::of(step as u32 + 1)))
            );
            assert!(
                query(step, bytes, 3) < query(step + 1, more, 3)
                    && query(step, bytes, 3) < query(step, bytes, 4)
            );
            assert!(
                total(calibration.change_feed(step, bytes, one))
                    < total(calibration.change_feed(step + 1, more, one))
            );
        }
    }
}

#[test]
fn published_figures_of_reads_are_met() {
    let calibration = Calibration::current();
    let charge =
        |kilobytes: usize, consistency| calibration.point_read(kilobytes * 1_000, consistency).total().0;
    let rounded = |consistency| [1, 10, 50, 100, 400].map(|size| charge(size, consistency).round());
    assert_eq!(rounded(ReadConsistency::OneReplica), [1.0, 2.0, 5.0, 10.0, 41.0]);
    assert_eq!(rounded(ReadConsistency::Quorum)[..2], [2.0, 3.0]);
}

#[test]
fn a_calibration_file_with_an_error_names_its_field() {
    let error = |text: &str| Calibration::parse(text).unwrap_err().to_string();
    for (text, expected) in [
        (
            r#"{"name": "a", "extends": "b"}"#,
            "`extends` names the calibration \"b\", which is none of: current, article-2019",
        ),
        (r#"{"name": "a"}"#, "`constants` lacks \"writeUnit\", and the calibration extends none that has it"),
        (
            r#"{"name": "a", "extends": "current", "constants": {"writeUnits": {"value": 1, "source": "", "error": ""}}}"#,
            "`constants` has \"writeUnits\", which is no constant of the model",
        ),
        (
            r#"{"name": "a", "extends": "current", "constants": {"count": {"value": -1, "source": "", "error": ""}}}"#,
            "`constants.count.value` is -1: a number from 0 to 1000000 was expected",
        ),
        (
            r#"{"name": "a", "extends": "current", "curves": {"writeSize": {"points": [[1, 2]], "source": "", "error": ""}}}"#,
            "`curves.writeSize.points` must be at least two pairs of bytes and RU, both rising",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    assert!(error("{").starts_with("the calibration cannot be read: "));
}

#[test]
fn each_constant_has_a_source_and_an_error() {
    for calibration in CALIBRATION_NAMES.map(|name| Calibration::named(name).unwrap()) {
        for constant in Constant::ALL {
            let origin = calibration.origin(constant).expect("an origin");
            assert!(!origin.source.is_empty() && !origin.error.is_empty(), "{}", constant.name());
            assert_eq!(Constant::named(constant.name()), Some(constant));
            assert!(["RU", "units", "times"].contains(&constant.unit()));
        }
    }
}
