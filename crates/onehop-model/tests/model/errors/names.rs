//! Unknown names, with the nearest known one, and names that stand twice.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "unknown-type",
        "type A @embedded { a: Strng  b: [Adress!]  c: Nothing }\ntype Query { posts: [Pots!] @find  mutation: Mutation }\ntype Mutation { a: Comment @writes(action: CREATE) }",
    ),
    (
        "unknown-container",
        "type A @item(container: \"user\") { id: ID! }\ntype Query { a: [Post!] @list(into: \"feeds\") }",
    ),
    (
        "unknown-field",
        "type Query {\n  a: [Post!] @find @order(by: \"creatdAt\") @where(field: \"address.town\", is: \"x\")\n  b: [Post!] @list(into: \"feed\", fields: [\"titel\", \"text\"])\n}",
    ),
    (
        "unknown-field",
        "type A @item(container: \"users\", partition: \"ids\", idFrom: \"autor\") @owned(by: \"x\") @account(login: \"nam\") @auth(allow: OWNER, owner: \"author.nome\") {\n  id: ID!\n  author: User! @reference\n  a: Int! @count(of: \"post\")\n  b: Boolean! @caller(in: \"posts\")\n  c: String @computed(by: LOWER, from: \"aa\")\n  d: DateTime @updated(of: [\"aaa\"])\n}",
    ),
    (
        "unknown-enum-value",
        "type A @embedded { a: Color @default(value: GREN) }\ntype Query { a: [Post!] @find @where(field: \"color\", in: [RED, BLUE]) }",
    ),
    (
        "duplicate",
        "type A @embedded { a: Int  a: String }\nenum A { B  B2  B }\nextend schema @container(name: \"users\", key: \"/id\")",
    ),
    (
        "duplicate",
        "type Query { a(id: ID!): Post  a(id: ID!): Post }\ntype Mutation { updatePost: Post @writes(action: UPDATE, fields: [\"title\", \"title\"]) }",
    ),
    (
        "duplicate",
        "type Query { a: [Post!] @list(into: \"feed\", name: \"x\", fields: [\"title\", \"title\"]) @order(by: \"rank\") @order(by: \"rank\")\n  b: [Comment!] @list(into: \"feed\", name: \"x\") }",
    ),
    (
        "duplicate",
        "type A @item(container: \"users\", write: [CREATE, CREATE]) { id: ID!  a: User! @reference @copy(fields: [\"age\", \"age\"]) }\ntype Subscription { a(id: ID!): Post! @live(on: [CHANGED, CHANGED]) }",
    ),
    (
        "reserved-name",
        "type Money @embedded { a: Int }\nenum Node { A }\ntype Query { node(id: ID!): Post }\ntype A @embedded { __a: Int }",
    ),
];
