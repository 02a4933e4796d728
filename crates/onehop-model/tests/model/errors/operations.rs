//! Errors of operations and of authorization.

use super::Case;

pub const CASES: &[Case] = &[
    ("auth-without-caller", "type A @item(container: \"users\") @auth(on: READ) { id: ID! }"),
    ("auth-of-field", "type A @embedded { a: Int @auth(on: [READ, CREATE, DELETE], allow: STAFF) }"),
    ("auth-of-operation", "type Query { a(id: ID!): Post @auth(on: READ, allow: STAFF) }"),
    ("claim-without-has", "type A @item(container: \"users\") @auth(claim: \"tenant\") { id: ID! }"),
    ("has-without-claim", "type A @item(container: \"users\") @auth(allow: STAFF, has: \"x\") { id: ID! }"),
    (
        "owner-without-allow",
        "type A @item(container: \"users\") @auth(allow: STAFF, owner: \"a\") { id: ID!  a: User! @reference }",
    ),
    ("no-owner", "type A @item(container: \"users\") @auth(allow: OWNER) { id: ID! }"),
    (
        "not-an-owner",
        "type A @item(container: \"users\") @auth(allow: OWNER, owner: [\"id\", \"a\", \"b.lines.total\"]) { id: ID!  a: String  b: Post! @reference }",
    ),
    (
        "live-of-arguments",
        "extend schema @container(name: \"titles\", key: \"/title\")\ntype Query { a(title: String!): [Post!] @list(into: \"titles\", by: \"title\") }\ntype Subscription { b: Post! @live(of: \"Query.a\", on: ADDED) }",
    ),
    ("caller-in-under-query", "type Query { a: User @caller(in: \"b\") }"),
    ("root-without-kind", "type Query { a: Post  b(id: ID!, title: String!): Post }"),
    (
        "root-type",
        "type Query { a(id: ID!): Post!  b(id: ID!): [Post!] }\ntype Mutation { c: Post! @writes(action: CREATE) }\ntype Subscription { d(id: ID!): Post @live(on: CHANGED) }",
    ),
    ("argument-not-unique", "type Query { a(title: String!): Post }"),
    ("argument-type", "type Query { a(id: String!): Post  b(name: String): User  c(id: ID! = \"x\"): Post }"),
    ("mutation-without-writes", "type Mutation { a: Post }"),
    ("mutation-arguments", "type Mutation { a(id: ID!): Post @writes(action: DELETE) }"),
    (
        "where-on-create",
        "type Mutation { a: Post @writes(action: CREATE) @where(field: \"title\", is: \"x\") }",
    ),
    ("delete-with-fields", "type Mutation { a: Post @writes(action: DELETE, fields: \"title\") }"),
    (
        "not-input",
        "type Mutation { a: Post @writes(action: UPDATE, fields: [\"createdAt\", \"comments\", \"author\", \"id\"]) }",
    ),
    ("subscription-without-live", "type Subscription { a(id: ID!): Post! }"),
    ("live-form", "type Subscription { a: Post! @live(of: \"feed\", on: ADDED) }"),
    (
        "live-not-list",
        "type Subscription { a(postId: ID!): Post! @live(of: \"Post.comments\", on: ADDED)  b(postId: ID!): Post! @live(of: \"Post.title\", on: ADDED) }",
    ),
    (
        "live-arguments",
        "type Subscription { a: Post! @live(on: CHANGED)  b(id: ID!): Comment! @live(of: \"Post.comments\", on: ADDED)  c(postId: ID): Comment! @live(of: \"Post.comments\", on: ADDED) }",
    ),
    ("item-added", "type Subscription { a(id: ID!): Post! @live(on: [ADDED, CHANGED]) }"),
];
