//! Tests of the check of inputs.

use onehop_model::Model;
use serde_json::{Value, json};

use super::*;

const MODEL: &str = r#"
extend schema @model(name: "test") @container(name: "things", key: "/type")
type Thing @item(container: "things", write: CREATE) {
  id: ID!
  code: String! @pattern(is: "[a-z]+")
  note: String
  size: Float @range(min: 0.5)
  count: Int
  at: DateTime
  color: Color
  parts: [Part!] @length(min: 1, max: 2)
}
type Part @embedded { label: String! @length(max: 3) note: String @default(value: "none") }
enum Color { RED @stored(as: "r") BLUE }
"#;

/// The stored form of a value of a field, or the messages of its errors.
fn checked(field: &str, value: &Value) -> Result<Value, Vec<String>> {
    let model = ServedModel::new(Model::read("test", MODEL).unwrap()).unwrap();
    let ty = model.ty(model.index_of("Thing").unwrap());
    let mut check = InputCheck::new(&model);
    let stored = check.value(interned(field), ty.item.field(field).unwrap(), value, &[]);
    stored.ok_or_else(|| check.invalid.into_iter().map(|invalid| invalid.message).collect())
}

#[test]
fn values_are_stored_in_their_normal_form() {
    for (field, typed, stored) in [
        ("code", json!("abc"), json!("abc")),
        ("note", json!(null), json!(null)),
        ("size", json!(1), json!(1)),
        ("at", json!("2026-11-20T10:30:00+01:00"), json!("2026-11-20T09:30:00.000Z")),
        ("color", json!("RED"), json!("r")),
        ("parts", json!([{ "label": "a" }]), json!([{ "label": "a", "note": "none" }])),
    ] {
        assert_eq!(checked(field, &typed), Ok(stored), "{field}");
    }
}

#[test]
fn each_rule_names_its_field_and_limit() {
    let long = "x".repeat(10_001);
    for (field, typed, message) in [
        ("code", json!("ABC"), "code must match [a-z]+"),
        ("code", json!(null), "code cannot be null"),
        ("note", json!(long), "note must have 0 to 10000 characters; this one has 10001"),
        ("note", json!("a\u{7}"), "note cannot contain control characters such as U+0007"),
        ("size", json!(0.25), "size must be at least 0.5, is 0.25"),
        ("count", json!(3_000_000_000_u64), "count must be a value of Int"),
        ("at", json!("yesterday"), "at must be an instant such as 2026-11-20T09:30:00.125Z"),
        ("color", json!("r"), "color is no value of Color"),
        ("parts", json!([]), "parts must have 1 to 2 elements; this one has 0"),
        ("parts", json!([{}]), "label is needed"),
        ("parts", json!([{ "label": "long" }]), "label must have 0 to 3 characters; this one has 4"),
    ] {
        assert_eq!(checked(field, &typed), Err(vec![message.to_owned()]), "{field}");
    }
}

#[test]
fn references_and_lists_of_them_have_names_of_ids() {
    let text = MODEL.replace("color: Color", "other: Thing @reference tags: [Thing!]! @reference");
    let model = ServedModel::new(Model::read("test", &text).unwrap()).unwrap();
    let ty = model.ty(model.index_of("Thing").unwrap());
    let names: Vec<_> = input_fields(ty, Action::Create, &[]).iter().map(|field| field.name).collect();
    assert_eq!(names, ["code", "note", "size", "count", "at", "otherId", "tagIds", "parts"]);
}
