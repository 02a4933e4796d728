//! Errors of the schema, containers and types.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "key-paths",
        "extend schema @container(name: \"a\", key: []) @container(name: \"b\", key: [\"/a\", \"/b\", \"/c\", \"/d\"])",
    ),
    (
        "composite-paths",
        "extend schema @container(name: \"a\", key: \"/a\", composite: [[\"/a\"], [\"/a\", \"/b\"]])",
    ),
    (
        "container-name",
        "extend schema @container(name: \"a/b\", key: \"/a\") @container(name: \"\", key: \"/a\")",
    ),
    (
        "property-path",
        "extend schema @container(name: \"a\", key: \"/a\", exclude: [\"/b//c\", \"b/c\"])\ntype A @embedded { a: Int @stored(as: \"\", former: \"/\") }",
    ),
    (
        "followed-in-process",
        "extend schema @container(name: \"a\", key: \"/a\", followed: true, place: PROCESS)",
    ),
    ("no-kind-of-type", "type A { id: ID! }"),
    (
        "not-an-item",
        "type A @item(container: \"users\") { id: ID!  a: Address @reference  b: [Color!]! @find }\ntype Query { c(id: ID!): Address }",
    ),
    ("id-type", "type A @item(container: \"users\") { id: Int! }"),
    (
        "type-and-where",
        "type A @item(container: \"users\", type: \"a\") @where(path: \"kind\", is: 1) { id: ID! }",
    ),
    (
        "where-of-type",
        "type A @item(container: \"users\") @where(field: \"id\", is: 1) @where(path: \"a\", is: 1, below: 2) { id: ID! }",
    ),
    (
        "where-of-field",
        "type Query { a: [Post!] @find @where(path: \"title\", is: \"x\") @where(field: \"title\", is: \"x\", prefix: \"y\") }",
    ),
    (
        "where-without",
        "type A @item(container: \"users\") @where(is: 1) @where(path: \"a\") { id: ID! }\ntype Query { a: [Post!] @find @where(is: 1) @where(field: \"title\") }",
    ),
    (
        "write-read",
        "type A @item(container: \"users\", write: READ) { id: ID! }\ntype Mutation { a: Post @writes(action: READ) }",
    ),
    (
        "write-followed",
        "type A @item(container: \"outside\", write: CREATE) { id: ID! }\ntype Mutation { b: A @writes(action: DELETE) }",
    ),
    ("write-hidden", "type A @item(container: \"users\", write: CREATE) @hidden { id: ID! }"),
    (
        "only-soft",
        "type A @item(container: \"users\") @deletes(by: HARD, path: \"gone\", ttl: 3) { id: ID! }\ntype B @item(container: \"users\") @deletes(by: ALL_VERSIONS, is: 1) { id: ID! }",
    ),
    ("login-not-unique", "type A @item(container: \"users\") @account(login: \"a\") { id: ID!  a: String! }"),
    (
        "id-from-nullable",
        "type A @item(container: \"users\", idFrom: [\"a\", \"b\"]) { id: ID!  a: User @reference  b: [User!]! @reference }",
    ),
    (
        "not-constant",
        "type A @item(container: \"posts\", partition: \"a\", idFrom: \"b\") { id: ID!  a: Int! @version  b: String! @computed(by: LOWER, from: \"c\")  c: String! }\ntype B @item(container: \"posts\", partition: \"c\") { c: [User!]! @reference }",
    ),
    (
        "enum-value-twice",
        "enum A { B @stored(as: \"x\")  C @stored(as: \"y\", former: \"x\") }\nenum D { E  F @stored(as: \"E\") }",
    ),
    ("enum-value-format", "enum A { B @stored(format: NUMBER) }"),
    (
        "hidden-served",
        "type A @item(container: \"users\") { id: ID!  a: Secret @reference }\ntype Query { b(id: ID!): Secret }",
    ),
    (
        "same-type",
        "type A @item(container: \"users\", type: \"user\") { id: ID! }\ntype B @item(container: \"outside\") @where(path: \"a\", is: 1) { id: ID! }\ntype C @item(container: \"outside\") @where(path: \"a\", is: 1) { id: ID! }",
    ),
    (
        "same-property",
        "type A @item(container: \"users\") {\n  id: ID!\n  a: Int\n  b: Int @stored(as: \"a\")\n  version: Int\n  c: User! @reference @copy(fields: \"age\")\n  cAge: Int\n  d: Detail\n  e: Int @stored(as: \"/d/e\")\n  k: Int @computed(by: SAME, from: \"a\") @stored(as: \"type\")\n}\ntype Detail @embedded { f: Int }\ntype B @item(container: \"posts\", partition: \"id\") { id: ID!  postId: ID }",
    ),
    ("item-in-process", "type A @item(container: \"local\") { id: ID! }"),
    ("embedded-circle", "type A @embedded { b: [B!]! }\ntype B @embedded { a: A }"),
    (
        "owned-elsewhere",
        "type A @item(container: \"users\") @owned(by: \"post\") { id: ID!  post: Post! @reference }",
    ),
    (
        "followed-field",
        "type A @item(container: \"outside\") {\n  id: ID!\n  a: User! @reference @copy(fields: \"age\")\n  b: Int @copy(from: \"a.age\")\n  d: Int! @count(of: \"e\", kept: BEHIND)\n  e: [B!]! @find(by: \"a\")\n  f: String @computed(by: LOWER, from: \"g\", stored: true)\n  g: String\n}\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
];
