//! Errors of partitions, queries across partitions, lists and counts.

use super::Case;

pub const CASES: &[Case] = &[
    ("related-type", "type Query { a: Post @find  b: [Post] @find }"),
    (
        "by-under-query",
        "type Query { a: [Post!] @find(by: \"author\")  b: [Post!] @find(through: \"Like\") }",
    ),
    (
        "list-arguments",
        "type Query { a(title: String!, color: Color!): [Post!] @list(into: \"feed\", by: \"title\")  b: [Post!] @list(into: \"feed\", by: \"title\") }",
    ),
    (
        "not-a-list-key",
        "type Query { a(author: ID!): [Post!] @list(into: \"feed\", by: \"author\")  b(price: Money!): [Post!] @list(into: \"feed\", by: \"price\") }",
    ),
    ("argument-type", "type Query { a(title: String): [Post!] @list(into: \"feed\", by: \"title\") }"),
    ("reserved-name", "type Query { a(first: String!): [Post!] @list(into: \"feed\", by: \"title\") }"),
    (
        "by-missing",
        "type A @item(container: \"users\") { id: ID!  a: [Post!]! @find  b: [Post!]! @partition }",
    ),
    (
        "not-a-reference-to",
        "type A @item(container: \"users\") { id: ID!  a: [Post!]! @find(by: \"title\")  b: [Comment!]! @partition(by: \"post\") }",
    ),
    (
        "no-reference-to",
        "type A @item(container: \"users\") { id: ID!  title: String!  a: [Post!]! @find(by: \"title\") }",
    ),
    (
        "other-type-in-parent",
        "type A @item(container: \"users\") { id: ID!  title: String  a: [B!]! @find(by: \"title\") }\ntype B @item(container: \"users\") { id: ID!  title: String! }",
    ),
    (
        "no-link",
        "type A @item(container: \"users\") { id: ID!  a: [Post!]! @find(through: \"Link\", by: \"a\") }\ntype Link @item(container: \"users\") { a: A! @reference  b: Post! @reference  c: Post! @reference }",
    ),
    (
        "list-into-followed",
        "type Query { a: [Post!] @list(into: \"outside\") @where(field: \"title\", is: \"x\") }\ntype A @item(container: \"users\") { id: ID!  a: [B!]! @list(into: \"outside\", by: \"a\") }\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
    ("keep-without-order", "type Query { a: [Post!] @list(into: \"feed\", keep: 3) }"),
    (
        "not-listable",
        "type Query { a: [Post!] @list(into: \"feed\", fields: [\"title\", \"comments\", \"lines.total\"]) }",
    ),
    ("list-over-hard", "type Query { a: [Like!] @list(into: \"feed\") }"),
    (
        "not-orderable",
        "type A @item(container: \"users\") {\n  id: ID!\n  a: Decimal\n  b: String @computed(by: LOWER, from: \"c\")\n  c: String\n}\ntype Query {\n  a: [Post!] @find @order(by: \"color\") @order(by: \"price\") @order(by: \"address\") @order(by: \"author\")\n  b: [A!] @find @order(by: \"a\") @order(by: \"b\")\n  c: [Post!] @find @where(field: \"color\", below: RED)\n}",
    ),
    (
        "not-related",
        "type A @item(container: \"users\") { id: ID!  a: Int! @count(of: \"b\")  b: String  c: Boolean! @caller(in: \"b\") }",
    ),
    (
        "count-of-bounded",
        "type A @item(container: \"users\") { id: ID!  a: Int! @count(of: \"b\", kept: BEHIND)  b: [B!]! @list(into: \"byUser\", by: \"a\", keep: 3) @order(by: \"t\") }\ntype B @item(container: \"users\") { id: ID!  t: Int!  a: A! @reference }",
    ),
    (
        "within-only-behind",
        "type A @item(container: \"users\") { id: ID!  a: Int! @count(of: \"b\", kept: QUERY, within: 3)  b: [B!]! @find(by: \"a\") }\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
    (
        "query-count-stored",
        "type A @item(container: \"users\") { id: ID!  a: Int! @count(of: \"b\", kept: QUERY) @stored(as: \"x\")  b: [B!]! @find(by: \"a\") }\ntype B @item(container: \"users\") { a: A! @reference }",
    ),
    (
        "batch-across",
        "type A @item(container: \"users\") { id: ID!  a: Int! @count(of: \"b\")  b: [B!]! @find(by: \"a\") }\ntype B @item(container: \"users\") { a: A! @reference }\ntype C @item(container: \"users\") { id: ID!  d: Int! @count(of: \"e\")  e: [D!]! @partition(by: \"c\") }\ntype D @item(container: \"byUser\", partition: \"c\") { c: C! @reference }",
    ),
];
