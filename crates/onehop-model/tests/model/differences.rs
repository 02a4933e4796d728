//! Differences of models: each change has its effects.

use onehop_model::{Diff, Model, Severity};

const BASE: &str = include_str!("differences.graphql");

fn read(text: &str) -> Model {
    Model::read("model", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The effects of replacing texts of the base model.
fn diff(replacements: &[(&str, &str)]) -> Diff {
    let mut newer = BASE.to_owned();
    for (old, new) in replacements {
        assert!(newer.contains(old), "the base model lacks {old}");
        newer = newer.replacen(old, new, 1);
    }
    read(BASE).diff(&read(&newer))
}

/// A change, by its title and its replacements in the base model.
type Change = (&'static str, &'static [(&'static str, &'static str)]);

const CHANGES: &[Change] = &[
    ("another domain", &[("name: \"base\"", "name: \"other\"")]),
    ("another key of a container with items", &[("key: \"/postId\"", "key: \"/pk\"")]),
    (
        "another key of a container with lists alone",
        &[
            ("name: \"feed\", key: \"/type\"", "name: \"feed\", key: [\"/type\", \"/color\"]"),
            ("@where(field: \"rank\", atLeast: 1)", "@where(field: \"color\", is: RED)"),
        ],
    ),
    (
        "a container is followed, has another place, index and lifetime",
        &[(
            "name: \"byUser\", key: \"/userId\"",
            "name: \"byUser\", key: \"/userId\", place: MIRROR, ttl: 9, exclude: \"/text\"",
        )],
    ),
    (
        "another type, id and version",
        &[(
            "container: \"posts\", partition: \"id\"",
            "container: \"posts\", partition: \"id\", type: \"article\", idFrom: \"author\", version: \"v\"",
        )],
    ),
    (
        "another mark of deleted items",
        &[("write: [CREATE, UPDATE]) {", "write: [CREATE, UPDATE]) @deletes(by: SOFT, path: \"gone\") {")],
    ),
    (
        "unseen deletions",
        &[("write: [CREATE, UPDATE]) {", "write: [CREATE, UPDATE]) @deletes(by: ALL_VERSIONS) {")],
    ),
    (
        "other mutations and callers",
        &[(
            "write: [CREATE, UPDATE]) {",
            "write: [CREATE, DELETE]) @auth(on: READ, allow: SIGNED_IN) @auth(on: DELETE, allow: [STAFF, OWNER]) {",
        )],
    ),
    ("a new optional field", &[("text: String!", "text: String! subtitle: String")]),
    ("a new non-null field without a default", &[("text: String!", "text: String! subtitle: String!")]),
    (
        "a new non-null field with a default",
        &[("text: String!", "text: String! subtitle: String! @default(value: \"\")")],
    ),
    ("a new non-null reference", &[("text: String!", "text: String! editor: User! @reference")]),
    ("a renamed field without former", &[("text: String!", "body: String!")]),
    ("a renamed field with former", &[("text: String!", "body: String! @stored(former: \"text\")")]),
    ("a renamed property without former", &[("text: String!", "text: String! @stored(as: \"body\")")]),
    (
        "a renamed property with former",
        &[("text: String!", "text: String! @stored(as: \"body\", former: \"text\")")],
    ),
    (
        "another property of a computed value and a count",
        &[
            ("length: 3)", "length: 3) @stored(as: \"s\")"),
            ("kept: BEHIND)", "kept: BEHIND) @stored(as: \"n\")"),
        ],
    ),
    ("a former property is dropped", &[(" @stored(former: \"remark\")", "")]),
    ("another type of a field", &[("rank: Int!", "rank: Float!")]),
    (
        "another format of a field",
        &[("createdAt: DateTime! @created", "createdAt: DateTime! @created @stored(format: EPOCH_MILLIS)")],
    ),
    ("less promised of a field", &[("text: String!", "text: String")]),
    ("a nullable field becomes non-null", &[("note: String", "note: String!")]),
    ("narrower checks", &[("@length(max: 9)", "@length(max: 8)")]),
    ("wider checks", &[("@length(max: 9)", "@length(max: 10)")]),
    ("another normal form", &[("normalize: LOWER", "normalize: EMAIL")]),
    (
        "a value becomes unique, another immutable",
        &[("note: String", "note: String @unique"), ("text: String!", "text: String! @immutable")],
    ),
    ("a field is hidden", &[("text: String!", "text: String! @hidden")]),
    ("a field for staff alone", &[("text: String!", "text: String! @auth(allow: STAFF)")]),
    (
        "a computed value becomes an input that has to be there",
        &[(
            "start: String @computed(by: EXCERPT, from: \"memo\", length: 3)",
            "start: String! @default(value: \"\")",
        )],
    ),
    (
        "the same without a default",
        &[("start: String @computed(by: EXCERPT, from: \"memo\", length: 3)", "start: String!")],
    ),
    (
        "an input is computed, and a computed value stored",
        &[
            ("text: String!", "text: String! @computed(by: LOWER, from: \"memo\")"),
            ("length: 3)", "length: 3, stored: true)"),
        ],
    ),
    ("a time of creation is set by clients", &[("createdAt: DateTime! @created", "createdAt: DateTime!")]),
    (
        "another default of a field by which a list is ordered",
        &[("rank: Int!", "rank: Int! @default(value: 3)")],
    ),
    ("a further copy", &[("@copy(fields: \"name\")", "@copy(fields: [\"name\", \"age\"])")]),
    ("frozen copies", &[("@copy(fields: \"name\")", "@copy(fields: \"name\", frozen: true)")]),
    ("no copies", &[(" @copy(fields: \"name\")", "")]),
    ("another reference", &[("reviewer: User @reference", "reviewer: Editor @reference")]),
    ("another count", &[("@count(of: \"posts\", kept: BEHIND)", "@count(of: \"posts\", kept: QUERY)")]),
    ("another list", &[("fields: \"color\", keep: 9", "fields: \"rank\", keep: 8")]),
    ("another condition and order", &[("atLeast: 1", "atLeast: 2"), ("desc: true)", "desc: false)")]),
    ("a list becomes a query", &[("@list(into: \"feed\", fields: \"color\", keep: 9)", "@find")]),
    ("smaller pages", &[("@page(max: 50)", "@page(max: 40, connection: false)")]),
    ("a removed value of an enum", &[("RED GREEN", "RED")]),
    ("a renamed value of an enum", &[("RED GREEN", "RED LIME @stored(as: \"GREEN\") BLUE")]),
    (
        "another text of a value of an enum",
        &[("RED GREEN", "RED @stored(as: \"r\") GREEN @stored(as: \"g\", former: \"GREEN\")")],
    ),
    (
        "removed operations",
        &[
            ("post(id: ID!): Post", ""),
            ("rank: Post @writes(action: UPDATE, fields: \"rank\")", "other: Post @writes(action: CREATE)"),
            ("on: [ADDED, REMOVED]", "on: ADDED"),
        ],
    ),
    (
        "a removed type",
        &[
            ("type Secret @item(container: \"users\") @hidden { key: String }", ""),
            (
                "type Editor @item(container: \"users\") @account(login: \"name\") { id: ID! name: String! @unique age: Int }",
                "",
            ),
        ],
    ),
];

#[test]
fn each_change_has_its_effects() {
    let shown = CHANGES.iter().map(|(title, replacements)| format!("# {title}\n{}", diff(replacements)));
    insta::assert_snapshot!("effects", shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_model_has_no_difference_to_itself() {
    let samples = [BASE, include_str!("models/blog-v3.graphql"), include_str!("models/webstore-v4.graphql")];
    for text in samples {
        let model = read(text);
        assert_eq!(model.diff(&model).effects(), []);
        assert_eq!(model.diff(&read(&model.print())).severity(), Severity::None);
    }
}

#[test]
fn the_designs_of_the_blog_differ_in_their_read_models() {
    let v2 = read(include_str!("models/blog-v2.graphql"));
    let v3 = read(include_str!("models/blog-v3.graphql"));
    insta::assert_snapshot!("blog-v2-to-v3", v2.diff(&v3).to_string());
}

#[test]
fn effects_are_json() {
    let json = serde_json::to_value(diff(&[("text: String!", "text: String")])).expect("effects are JSON");
    let effect = serde_json::json!({
        "severity": "breaking",
        "place": "Post.text",
        "sentence": "The type `String!` becomes `String`.",
    });
    assert_eq!(json, serde_json::json!([effect]));
}
