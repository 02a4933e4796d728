//! Errors of syntax, limits and definitions that a model does not have.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "syntax",
        "type A @embedded {\n  a String!\n  b: [Int!\n  c: Int\n}\n\ntype B @embedded {\n  d: Int @range(min: )\n}",
    ),
    ("syntax", "typ A { id: ID! }"),
    ("syntax", "type A @embedded {}"),
    (
        "syntax",
        "type A @embedded {\n  a: Int @range(min: 01)\n  b: Int % c: Int\n  d: String @default(value: \"x)\n}",
    ),
    (
        "syntax",
        "type A @embedded {\n  a: Int @default(value: $x)\n  b: Int @default(value: 99999999999999999999)\n}",
    ),
    (
        "syntax",
        "type A @embedded { a: Float @default(value: 1e999) }\ntype B @embedded { a: Int @default(value: {a}) }",
    ),
    ("syntax", "enum A {}\nenum B { X"),
    ("syntax", "type A { a: Int\n\ntype B @embedded {\n  b(x: Int: Int\n}\n\n\"\"\"\nunended"),
    ("syntax", "type A @item(container: \"users\", write: [CREATE { id: ID! }"),
    (
        "too-large",
        "type A @embedded { a: Int @default(value: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]) }",
    ),
    ("unsupported", "scalar Url\nunion A = User | Post\ninterface B { id: ID! }\ninput C { a: Int }"),
    (
        "unsupported",
        "directive @a on OBJECT\nschema { query: Query }\nextend type User { a: Int }\nquery { a }",
    ),
    ("unsupported", "type A implements Node @embedded { id: ID! }\nfragment F on User { id }"),
];
