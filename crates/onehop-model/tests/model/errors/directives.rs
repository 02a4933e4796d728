//! Errors of directives against their definitions.

use super::Case;

pub const CASES: &[Case] = &[
    ("unknown-directive", "type A @embedded {\n  a: String! @lenght(max: 3)\n  b: Int @deprecated\n}"),
    (
        "wrong-location",
        "type A @embedded @length(max: 3) {\n  a: Int @item(container: \"users\")\n  b: Int @request(perSecond: 1)\n}",
    ),
    ("wrong-location", "enum A @hidden { B @length(max: 1) }"),
    ("repeated-directive", "type A @embedded { a: String @length(max: 1) @length(max: 2) }"),
    ("repeated-directive", "extend schema @model(name: \"again\")"),
    ("unknown-argument", "type A @embedded { a: String @length(maximum: 3, mx: 4) }"),
    ("repeated-argument", "type A @embedded { a: String @length(max: 3, max: 4) }"),
    ("missing-argument", "type A @item { id: ID! }\ntype B @embedded { a: Int @default }"),
    (
        "wrong-argument-type",
        "type A @embedded { a: String @length(max: \"3\") @pattern(is: 3) }\nextend schema @container(name: \"a\", key: [1, \"/b\"], ttl: 9999999999)",
    ),
    (
        "wrong-argument-type",
        "extend schema @container(name: \"a\", key: \"/a\", followed: 1, place: \"MIRROR\", exclude: null)",
    ),
    (
        "unknown-keyword",
        "extend schema @container(name: \"a\", key: \"/a\", place: MIROR)\ntype A @item(container: \"users\", write: [CREATE, UPDATES]) { id: ID! }",
    ),
    (
        "contradiction",
        "type A @item(container: \"users\") {\n  id: ID!\n  a: DateTime! @created @updated\n  b: [Post!]! @find @list(into: \"feed\")\n}",
    ),
    ("contradiction", "type A @item(container: \"users\") @embedded { id: ID! }"),
    (
        "not-admitted",
        "type A @item(container: \"users\") {\n  id: ID! @immutable\n  a: DateTime! @created @immutable\n  b: User! @reference @unique\n  c: String @page\n}",
    ),
    (
        "not-admitted",
        "type A @embedded @owned(by: \"a\") {\n  a: Int @count(of: \"b\")\n  id: ID! @unique\n}",
    ),
    (
        "not-admitted",
        "type Query { post(id: ID!): Post @hidden }\ntype Mutation { a: Post @writes(action: CREATE) @page }\ntype Subscription { b(id: ID!): Post! @live(on: CHANGED) @order(by: \"rank\") }",
    ),
    ("no-directive", "type Query @hidden { post(id: ID!): Post }"),
    (
        "out-of-range",
        "type A @item(container: \"users\") @deletes(by: SOFT, ttl: 0) {\n  id: ID!\n  a: [B!]! @find(by: \"a\") @page(first: 0)\n  b: [B!]! @find(by: \"a\") @page(max: 1001)\n  c: String @length(max: -1)\n}\nextend schema @container(name: \"a\", key: \"/a\", ttl: -1)\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
    ("no-bounds", "type A @embedded { a: String @length  b: Int @range }"),
    (
        "bounds-swapped",
        "type A @embedded { a: String @length(min: 4, max: 3)  b: Decimal @range(min: \"2.5\", max: \"1\") }",
    ),
    (
        "empty",
        "type A @item(container: \"users\", type: \" \") { id: ID!  a: String @pattern(is: \"\") }\ntype Subscription { a(id: ID!): Post! @live(on: []) }",
    ),
];
