use proptest::collection;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NAMES: [&str; 8] = ["id", "title", "note", "count", "version", "deleted", "parts", "hidden"];

fn shape() -> StoredShape {
    StoredShape::of(NAMES.to_vec())
}

fn slot(name: &str) -> MemberSlot {
    MemberSlot::at(NAMES.iter().position(|known| *known == name).unwrap()).unwrap()
}

fn read(shape: &StoredShape, body: &str) -> Option<DetachedMembers> {
    Some(ShapeReader::new(shape).read(body.as_bytes())?.detached())
}

fn json_of(value: Option<StoredValue<'_>>) -> Value {
    match value {
        None => Value::Null,
        Some(StoredValue::Flag(is_set)) => Value::from(is_set),
        Some(
            StoredValue::Text(json)
            | StoredValue::Number(json)
            | StoredValue::List(json)
            | StoredValue::Object(json),
        ) => serde_json::from_str(json).unwrap(),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::hash_map("[a-z\"\\\\]{0,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read(title: String, note: Option<String>, count: i64, id: u128, other in any_value()) {
        let id = Uuid::from_u128(id);
        let body = json!({ "title": title, "id": id, "note": note, "count": count, "deleted": true, "other": other });
        let body = body.to_string();
        let shape = shape();
        let read = read(&shape, &body).unwrap();
        let members = read.of(body.as_bytes()).unwrap();
        prop_assert_eq!(members.uuid(slot("id")), Some(id));
        prop_assert_eq!(members.text_json(slot("title")), Some(&*json!(title).to_string()));
        let text = |name| members.text(slot(name)).map(Cow::into_owned);
        prop_assert_eq!(text("title"), Some(title));
        prop_assert_eq!(text("note"), note);
        prop_assert_eq!(members.integer(slot("count")), Some(count));
        prop_assert_eq!(members.value(slot("version")), None);
        prop_assert!(members.flag(slot("deleted")));
        prop_assert_eq!(members.body(), body.as_bytes());
    }

    #[test]
    fn one_reader_reads_bodies_of_any_members(
        bodies in collection::vec(collection::btree_map(prop::sample::select(NAMES.to_vec()), any_value(), 0..8), 1..6),
        others in collection::btree_map("[x-z]{1,3}", any_value(), 0..4),
    ) {
        let texts: Vec<String> = bodies.iter().map(|body| {
            let mut body: serde_json::Map<String, Value> =
                body.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            body.extend(others.clone());
            Value::Object(body).to_string()
        }).collect();
        let shape = shape();
        let mut reader = ShapeReader::new(&shape);
        for (body, text) in bodies.iter().zip(&texts) {
            let members = reader.read(text.as_bytes()).unwrap();
            for name in NAMES {
                let expected: Value = body.get(name).map_or(Value::Null, |value| {
                    serde_json::from_str(&value.to_string()).unwrap()
                });
                prop_assert_eq!(json_of(members.value(slot(name))), expected, "{} of {}", name, text);
            }
        }
    }

    #[test]
    fn the_elements_of_a_list_are_read_one_by_one(values in collection::vec(any_value(), 0..6)) {
        let text = json!(values).to_string();
        let read: Vec<Value> = elements(&text).unwrap().into_iter().map(json_of).collect();
        let expected: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(Value::from(read), expected);
    }

    #[test]
    fn no_text_in_another_form_is_read(title in "(\\\\?[\"\\\\/bfnrtu0-9a-f\u{1}é ]){0,12}") {
        let body = format!("{{\"id\":\"{}\",\"title\":\"{title}\",\"count\":1}}", Uuid::nil());
        if let Some(read) = read(&shape(), &body) {
            let decoded: Value = serde_json::from_str(&body).unwrap();
            let members = read.of(body.as_bytes()).unwrap();
            let found = members.text_json(slot("title")).map(str::to_owned);
            prop_assert_eq!(found, Some(decoded["title"].to_string()));
        }
    }
}

#[test]
fn a_body_in_another_form_is_not_read() {
    let good = format!("{{\"id\":\"{}\",\"title\":\"x\",\"count\":1}}", Uuid::nil());
    let is_read = |body: &str| read(&shape(), body).is_some();
    assert!(is_read(&good) && is_read("{}"));
    let deep = format!("\"other\":{}{}", "[".repeat(65), "]".repeat(65));
    for (from, to) in [
        ("\"count\":1", "\"count\":01"),
        ("\"count\":1", "\"count\":1."),
        ("\"count\":1", "\"count\":-"),
        ("\"count\":1", "\"count\":1e"),
        ("\"count\":1", "\"count\":+1"),
        ("\"count\":1", "\"count\":1,\"count\":1"),
        ("\"count\":1", "\"count\":1,\"list\":[1"),
        ("\"count\":1", "\"count\":1,\"list\":[1,]"),
        ("\"count\":1", "\"count\":1,\"list\":[,]"),
        ("\"count\":1", "\"count\":1,\"list\":{\"a\"}"),
        ("\"count\":1", "\"count\":1,\"list\":{\"a\":1,}"),
        ("\"count\":1", "\"count\":1,\"list\":{1:1}"),
        ("\"count\":1", "\"count\":1,\"other\":[\"\\/\"]"),
        ("\"count\":1", &deep),
        ("\"count\":1", "\"count\":nul"),
        ("\"x\"", "\"\\/\""),
        ("\"x\"", "\"\\u00e9\""),
        ("\"x\"", "\"\\u000A\""),
        (",", ", "),
        ("}", "} "),
        ("}", ",}"),
    ] {
        assert!(!is_read(&good.replacen(from, to, 1)), "{to}");
    }
    assert!(!is_read("") && !is_read("{") && !is_read("[]") && !is_read("{}x"));
    assert!(ShapeReader::new(&shape()).read(b"{\"title\":\"\xff\"}").is_none());
}

#[test]
fn a_value_of_another_type_is_no_value_of_a_type() {
    let shape = shape();
    let body = r#"{"id":"x","title":1,"count":1.5,"deleted":"true","note":null}"#;
    let read = read(&shape, body).unwrap();
    let members = read.of(body.as_bytes()).unwrap();
    assert_eq!(members.uuid(slot("id")), None);
    assert_eq!(members.text_json(slot("title")), None);
    assert_eq!(members.integer(slot("count")), None);
    assert!(!members.flag(slot("deleted")));
    assert_eq!(members.value(slot("note")), None);
    assert!(members.is_text(slot("id"), "x") && !members.is_text(slot("id"), "y"));
}

#[test]
fn a_shape_has_at_most_thirty_two_slots() {
    assert!(MemberSlot::at(MEMBERS_MAX - 1).is_some());
    assert_eq!(MemberSlot::at(MEMBERS_MAX), None);
}
