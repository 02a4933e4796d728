//! Errors of partition keys, updates that move items, and two writers of one id.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "key-unfilled",
        "type A @item(container: \"posts\") { id: ID! }\ntype B @item(container: \"feed\") @where(path: \"kind\", is: 1) { id: ID! }\ntype C @item(container: \"tenants\") { tenantId: ID! }",
    ),
    (
        "key-nullable",
        "type A @item(container: \"posts\", partition: \"a\") { a: Post @reference }\ntype B @item(container: \"byUser\") { user: User @reference }",
    ),
    ("partition-count", "type A @item(container: \"tenants\", partition: \"a\") { id: ID!  a: String! }"),
    (
        "list-key-count",
        "type Team @item(container: \"users\") { id: ID!  posts: [Note!]! @list(into: \"tenants\", by: \"team\") }\ntype Note @item(container: \"users\") { team: Team! @reference }",
    ),
    (
        "list-key-varies",
        "type Query {\n  a: [Post!] @list(into: \"byUser\")\n  b: [Post!] @list(into: \"posts\") @where(field: \"color\", is: RED)\n}",
    ),
    (
        "list-key-taken",
        "extend schema @container(name: \"views\", key: \"/type\")\ntype Query { posts(title: String!): [Post!] @list(into: \"views\", by: \"title\") }",
    ),
    (
        "key-taken",
        "extend schema @container(name: \"notes\", key: \"/id\")\ntype A @item(container: \"notes\", partition: \"post\") { post: Post! @reference }",
    ),
    (
        "partition-not-key",
        "type A @item(container: \"users\") { id: ID!  posts: [B!]! @partition(by: \"a\") }\ntype B @item(container: \"users\") { id: ID!  a: A! @reference }",
    ),
    ("partition-varies", "type Query { posts: [Post!] @partition }"),
    ("update-moves", "type Mutation { a: Comment @writes(action: UPDATE, fields: [\"text\", \"post\"]) }"),
    (
        "update-changes-id",
        "type A @item(container: \"users\", idFrom: \"a\") { a: User! @reference }\ntype Mutation { b: A @writes(action: UPDATE, fields: \"a\") }",
    ),
    (
        "update-immutable",
        "type A @item(container: \"users\") { a: Int @immutable }\ntype Mutation { b: A @writes(action: UPDATE, fields: \"a\") }",
    ),
    (
        "reference-needs-partition",
        "type A @item(container: \"users\") { id: ID!  like: Comment! @reference  b: [Comment!]! @reference(partition: [\"x\", \"y\"])  x: ID  y: ID }",
    ),
    (
        "reference-with-partition",
        "type A @item(container: \"users\") { id: ID!  a: Post! @reference(partition: \"b\")  b: ID }",
    ),
    (
        "two-writers",
        "type Query {\n  a: [Post!] @list(into: \"feed\", keep: 9) @order(by: \"rank\")\n  b: [Post!] @list(into: \"feed\", keep: 9) @order(by: \"createdAt\")\n  c: [Post!] @list(into: \"feed\", type: \"other\")\n}",
    ),
    (
        "two-writers",
        "type Meta @item(container: \"feed\") { id: ID! }\ntype Query { metas: [Meta!] @list(into: \"feed\") }",
    ),
    (
        "two-writers",
        "type A @item(container: \"posts\", partition: \"post\", idFrom: [\"post\", \"user\"]) { post: Post! @reference  user: User! @reference }\ntype B @item(container: \"posts\", partition: \"post\", idFrom: [\"post\", \"by\"]) { post: Post! @reference  by: User! @reference }",
    ),
    (
        "two-writers",
        "extend schema @container(name: \"byColor\", key: \"/color\")\ntype Query {\n  a: [Post!] @list(into: \"byColor\") @where(field: \"color\", is: RED)\n  b(color: Color!): [Post!] @list(into: \"byColor\", by: \"color\", type: \"other\")\n}",
    ),
];
