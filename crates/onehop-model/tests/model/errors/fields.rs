//! Errors of stored fields, computed values, references and copies.

use super::Case;

pub const CASES: &[Case] = &[
    ("field-arguments", "type A @embedded { a(b: Int): Int }\ntype Query { c(first: Int): [Post!] @find }"),
    ("nested-list", "type A @embedded { a: [[Int]] }"),
    (
        "wrong-field-type",
        "type A @item(container: \"users\") {\n  id: ID!\n  a: String! @created\n  b: DateTime! @updated\n  c: Int @version\n  d: Int @length(max: 3)\n  e: String @range(min: 1)\n  f: [String!] @pattern(is: \"a\")\n  g: Int @money(currency: \"c\")\n  h: Int @count(of: \"i\", kept: QUERY)\n  i: [B!]! @find(by: \"a\")\n}\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
    ("item-without-relation", "type A @embedded { a: Post  b: [Post!] }"),
    (
        "wrong-literal",
        "type A @embedded {\n  a: Int @default(value: \"1\")\n  b: DateTime @default(value: \"2026-01-31\")\n  c: Decimal @default(value: 1.5)\n  d: Boolean @default(value: 1)\n  e: Color @default(value: \"RED\")\n  f: Address @default(value: {city: \"x\"})\n  g: Money @default(value: 1)\n  h: Int @range(max: 99999999999)\n  i: String @default(value: null)\n  j: Float @default(value: RED)\n}",
    ),
    (
        "wrong-literal",
        "type Query { a: [Post!] @find @where(field: \"author\", is: 1) @where(field: \"rank\", atLeast: \"1\") }",
    ),
    (
        "wrong-format",
        "type A @embedded { a: Int @stored(format: EPOCH_SECONDS)  b: DateTime @stored(format: NUMBER) }",
    ),
    ("unique-type", "type A @item(container: \"users\") { id: ID!  a: Int @unique  b: [String!] @unique }"),
    (
        "same-property",
        "type A @embedded {
  a: Int @stored(former: \"b\")
  b: Int
  c: Int @stored(former: \"d\")
  e: Int @stored(former: [\"d\", \"f\"])
  f: Int @stored(as: \"/f/g\")
  h: Int @stored(as: \"/i/h\", former: \"i\")
}",
    ),
    ("former-twice", "type A @embedded { a: Int @stored(former: [\"a\", \"b\", \"b\"]) }"),
    (
        "not-an-object",
        "type Query { a: [Post!] @list(into: \"feed\", fields: [\"title.x\"]) @where(field: \"comments.text\", is: \"x\") }",
    ),
    ("path-through-reference", "type Query { a: [Post!] @find @where(field: \"author.name\", is: \"x\") }"),
    (
        "not-stored",
        "type A @item(container: \"users\") {\n  id: ID!\n  a: [B!]! @find(by: \"a\")\n  b: String @computed(by: SAME, from: \"a\")\n  c: String @computed(by: LOWER, from: \"d\")\n  d: String\n}\ntype B @item(container: \"users\") { a: A! @reference }\ntype Query { as: [A!] @find @where(field: \"c\", is: \"x\") @where(field: \"a\", exists: true) }",
    ),
    (
        "where-of-list",
        "type A @item(container: \"users\") { id: ID!  a: [String!]!  b: [Line!]! }\ntype Query { as: [A!] @find @where(field: \"a\", exists: true) @where(field: \"b.total\", is: 1) }",
    ),
    (
        "not-watchable",
        "type A @item(container: \"users\") { id: ID!  a: Int! @version(of: [\"b\"])  b: DateTime! @created }",
    ),
    (
        "computed-arguments",
        "type A @embedded { a: Int @computed(by: PRODUCT, from: \"b\")  b: Int  c: Int @computed(by: SAME, from: [\"b\", \"b\"]) }",
    ),
    (
        "computed-types",
        "type A @embedded { a: Int @computed(by: LOWER, from: \"b\")  b: String  c: String @computed(by: PADDED, from: \"b\", length: 3)  d: Int @computed(by: SAME, from: \"b\") }",
    ),
    ("computed-length", "type A @embedded { a: String @computed(by: EXCERPT, from: \"b\")  b: String }"),
    (
        "computed-without-length",
        "type A @embedded { a: String @computed(by: LOWER, from: \"b\", length: 3)  b: String }",
    ),
    (
        "computed-through-list",
        "type A @embedded { b: Int  c: Int @computed(by: SAME, from: \"d.total\")  d: [Line!]! }",
    ),
    ("sum-without-list", "type A @embedded { a: Int @computed(by: SUM, from: \"b\")  b: Int }"),
    (
        "not-a-reference",
        "type A @item(container: \"users\") @owned(by: \"a\") { id: ID!  a: Int  b: Int @copy(from: \"a.x\") }",
    ),
    (
        "copy-lacks",
        "type A @item(container: \"users\") { id: ID!  a: User! @reference @copy(fields: [\"nam\", \"age\"])  b: String @copy(from: \"a.title\")  c: Int @copy(from: \"Post.rnk\", frozen: true) }",
    ),
    (
        "copy-of-undeclared-copy",
        "type A @item(container: \"users\") { id: ID!  a: Post! @reference @copy(fields: [\"title\"]) }\ntype B @item(container: \"users\", type: \"b\") { id: ID!  a: A! @reference @copy(fields: [\"aTitle\"]) }",
    ),
    (
        "copy-unstored",
        "type A @item(container: \"users\") { id: ID!  a: Post! @reference @copy(fields: [\"comments\", \"id\", \"author\"]) }",
    ),
    (
        "copy-from-on-reference",
        "type A @item(container: \"users\") { id: ID!  a: User! @reference @copy(from: \"b.name\") }",
    ),
    ("copy-nothing", "type A @item(container: \"users\") { id: ID!  a: User! @reference @copy }"),
    (
        "copy-fields-and-from",
        "type A @item(container: \"users\") { id: ID!  a: User! @reference  b: String @copy(from: \"a.name\", fields: \"c\") }",
    ),
    (
        "copy-form",
        "type A @item(container: \"users\") { id: ID!  a: Int @copy(from: \"age\")  b: Int @copy(from: \"a.b.c\") }",
    ),
    ("copy-not-frozen", "type A @item(container: \"users\") { id: ID!  a: Int @copy(from: \"User.age\") }"),
    (
        "copy-type",
        "type A @item(container: \"users\") { id: ID!  a: User! @reference  b: String @copy(from: \"a.age\") }",
    ),
    (
        "copy-circle",
        "type A @item(container: \"users\") { id: ID!  b: B! @reference  x: Int @copy(from: \"b.y\") }\ntype B @item(container: \"users\") { id: ID!  a: A! @reference  y: Int @copy(from: \"a.x\") }\ntype C @embedded { p: Int @computed(by: SAME, from: \"p\") }",
    ),
    ("caller-without", "type A @item(container: \"users\") { id: ID!  a: Boolean! @caller }"),
    (
        "caller-in-on-reference",
        "type A @item(container: \"users\") { id: ID!  a: User! @reference @caller(in: \"b\") }",
    ),
    (
        "caller-not-account",
        "type A @item(container: \"users\") { id: ID!  a: Post! @reference @caller }\ntype Query { b: Post @caller }",
    ),
    ("caller-list", "type A @item(container: \"users\") { id: ID!  a: [User!]! @reference @caller }"),
    (
        "no-caller-in",
        "type A @item(container: \"users\") { id: ID!  a: [B!]! @find(by: \"a\")  b: Boolean! @caller(in: \"a\") }\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
];
