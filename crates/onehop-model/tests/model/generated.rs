//! Generated models: each is accepted, printing keeps its value, and printing again keeps the text.

use onehop_model::Model;
use proptest::prelude::*;
use proptest::sample::select;

/// A text with several lines and odd characters, as a description or default.
fn text() -> impl Strategy<Value = String> {
    let parts = vec!["a", " ", "\n", "\"", "\\", "\t", "é", "#", "\"\"\"", "\r", "\u{7}", "\n\n"];
    let odd = prop::collection::vec(select(parts), 1..12).prop_map(|parts| parts.concat());
    prop_oneof!["[a-z ]{1,20}", "[a-z]{1,9}\n[ a-z]{1,9}z", odd]
}

/// A GraphQL string.
fn quoted(text: &str) -> String {
    let escape = |character: char| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        character if character.is_control() => format!("\\u{:04X}", u32::from(character)),
        character => character.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// A description before a definition.
fn description() -> impl Strategy<Value = String> {
    let text = prop::option::weighted(0.3, text());
    text.prop_map(|text| text.map_or(String::new(), |text| format!("{} ", quoted(&text))))
}

/// Types and directives of stored fields.
const STORED: [&str; 23] = [
    "String",
    "Int! @range(min: 0, max: 9)",
    "Float @range(max: 1.5)",
    "Float @default(value: 1)",
    "Boolean! @default(value: true)",
    "DateTime! @created",
    "DateTime @updated",
    "Int! @version(of: \"title\")",
    "Decimal @stored(format: NUMBER)",
    "DateTime @stored(format: EPOCH_MILLIS)",
    "[String!]! @length(max: 3)",
    "[Int]",
    "String! @unique(normalize: LOWER)",
    "String @pattern(is: \"a+\\\\d\")",
    "Color! @default(value: RED, sparse: true)",
    "Money @money(currency: \"money\")",
    "[Part!]! @length(min: 1, max: 5)",
    "String @length(max: 7) @hidden",
    "String @auth(allow: STAFF)",
    "Int @auth(on: [READ, UPDATE], allow: [SIGNED_IN, STAFF]) @immutable",
    "Int @auth(claim: \"c\", has: [1, \"x\", null, {a: 1.0}]) @auth(claim: \"d\", has: RED)",
    "Decimal @range(min: \"-1.50\")",
    "String! @computed(by: EXCERPT, from: \"title\", length: 3) @stored(former: [\"f#old\", \"/f#old/2\"])",
];

/// A stored field: its description, type and directives. `#` stands for its number.
fn stored() -> impl Strategy<Value = String> {
    let renamed = ("[a-zé_.]{1,6}", any::<bool>()).prop_map(|(path, deep)| {
        let path = if deep { format!("/o#/{path}") } else { format!("p#{path}") };
        format!("String @stored(as: {}, former: [\"f#old\", \"/f#old/2\"])", quoted(&path))
    });
    let plain = select(&STORED[..]).prop_map(str::to_owned);
    (description(), prop_oneof![5 => plain, 1 => renamed])
        .prop_map(|(text, field)| format!("{text}f#: {field}\n"))
}

/// Related items after `fields`: pages, conditions and order.
fn list() -> impl Strategy<Value = String> {
    let fields =
        select(vec!["", ", fields: []", ", fields: [\"parent\", \"title\"]", ", fields: \"part.a\""]);
    let keep = select(vec![")", ", keep: 5)"]);
    let conditions = select(vec![
        "",
        " @where(field: \"color\", is: GREEN)",
        " @where(field: \"color\", in: [RED, GREEN], exists: true)",
        " @where(field: \"rank\", atLeast: 1, below: 5)",
        " @where(field: \"title\", exists: false) @where(field: \"part.a\", is: \"x\")",
    ]);
    let order =
        select(vec![" @order(by: \"rank\")", " @order(by: \"rank\", desc: true) @order(by: \"title\")"]);
    let page = select(vec!["", " @page(max: 5)", " @page(first: 5)", " @page(connection: false)"]);
    let parts = (fields, keep, conditions, order, page);
    parts.prop_map(|(fields, keep, conditions, order, page)| [fields, keep, conditions, order, page].concat())
}

/// A parent type `P#` in its own container with children `C#` in its logical partitions, a list of them and
/// operations.
fn parent() -> impl Strategy<Value = String> {
    let types = (
        description(),
        select(vec![
            "",
            ", write: CREATE",
            ", write: [UPDATE, CREATE, DELETE]",
            ", version: \"_lsn\"",
            ", type: \"x #\"",
        ]),
        select(vec![
            "",
            " @auth(on: READ, allow: STAFF)",
            " @auth(allow: OWNER, owner: \"id\") @auth(claim: \"c\", has: 1)",
        ]),
        prop::collection::vec(stored(), 0..7),
        prop::collection::vec(stored(), 0..4),
        list(),
        select(vec!["", ", kept: BEHIND, within: 3", ", kept: QUERY", ", kept: BATCH"]),
        select(vec![
            "",
            " @deletes(by: SOFT, path: \"/meta/gone\", is: \"yes\", ttl: 5)",
            " @deletes(by: TTL)",
            " @owned(by: \"parent\")",
        ]),
    );
    types.prop_map(|(text, item, auth, fields, child, list, count, deletes)| {
        let number = |fields: Vec<String>| -> String {
            fields.iter().enumerate().map(|(number, field)| field.replace("f#", &format!("f{number}")).replace("o#", &format!("o{number}")).replace("p#", &format!("p{number}"))).collect()
        };
        let count = if list.contains("keep") { format!("@count(of: \"children\"{count})") } else { "@count(of: \"listed\", kept: QUERY)".to_owned() };
        format!(
            "{text}type P# @item(container: \"p#\", partition: \"id\"{item}) @account(login: \"login\"){auth} {{ id: ID! login: String! @unique title: String!
             children: [C#!]! @partition(by: \"parent\") @order(by: \"rank\") listed: [C#!]! @list(into: \"l#\", by: \"parent\"{list}
             number: Int! {count} mine: Boolean! @caller(in: \"children\") {} }}
             type C# @item(container: \"p#\", partition: \"parent\", idFrom: [\"parent\", \"title\"]){deletes} {{ id: ID! parent: P#! @reference @copy(fields: [\"title\", \"login\"])
             by: P#! @reference @caller title: String! rank: Int! color: Color part: Part first: String @copy(from: \"by.title\") {} }}\n",
            number(fields), number(child)
        )
    })
}

/// Operations over `P#` and `C#`, each with a name of its own.
const OPERATIONS: [(&str, &str); 9] = [
    ("Query", "p#(id: ID!): P#"),
    ("Query", "login#(login: String!): P# @auth(allow: [STAFF, OWNER])"),
    ("Query", "me#: P# @caller"),
    ("Query", "all#: [C#!]! @find @where(field: \"rank\", below: 3) @order(by: \"rank\")"),
    (
        "Query",
        "top#: [C#!] @list(into: \"feed\", type: \"t#\", name: \"top #\", keep: 9) @order(by: \"rank\", desc: true)",
    ),
    ("Mutation", "make#: C# @writes(action: CREATE, rust: true)"),
    (
        "Mutation",
        "edit#: C# @writes(action: UPDATE, fields: [\"rank\", \"color\"]) @where(field: \"color\", is: RED)",
    ),
    ("Subscription", "one#(id: ID!): P#! @live(on: [REMOVED, CHANGED])"),
    ("Subscription", "new#(p#Id: ID!): C#! @live(of: \"P#.listed\", on: ADDED) @auth(allow: STAFF)"),
];

/// The text of a model: its parents, and some of the operations on each.
fn model(parents: &[(String, Vec<bool>)]) -> String {
    let mut schema =
        "extend schema @model(name: \"generated\") @container(name: \"feed\", key: \"/type\")".to_owned();
    let mut types = String::new();
    let mut roots = [("Query", String::new()), ("Mutation", String::new()), ("Subscription", String::new())];
    for (number, (parent, chosen)) in parents.iter().enumerate() {
        let numbered = |text: &str| text.replace('#', &number.to_string());
        schema.push_str(&numbered(" @container(name: \"p#\", key: \"/parentId\") @container(name: \"l#\", key: \"/k\", place: MIRROR, ttl: 9)"));
        types.push_str(&numbered(parent));
        for ((root, field), _) in OPERATIONS.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
            let root = roots.iter_mut().find(|(name, _)| name == root).expect("a root type");
            root.1.push_str(&numbered(&format!("{field}\n")));
        }
    }
    let roots = roots.iter().filter(|(_, fields)| !fields.is_empty());
    let roots: String = roots.map(|(name, fields)| format!("type {name} {{ {fields} }}\n")).collect();
    format!(
        "{schema}\n{types}{roots}type Part @embedded {{ a: String }}\nenum Color {{ RED GREEN @stored(as: \"g\", former: \"gr\") }}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_model_is_read_as_the_same_value(
        parents in prop::collection::vec((parent(), prop::collection::vec(any::<bool>(), OPERATIONS.len())), 1..4)
    ) {
        let text = model(&parents);
        let model = Model::read("generated", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let printed = model.print();
        let again = Model::read("printed", &printed).unwrap_or_else(|errors| panic!("{errors}\n{printed}"));
        prop_assert_eq!(&again, &model);
        prop_assert_eq!(again.print(), printed);
    }
}
