//! Random documents over the types of both domains: aliases, response keys that occur twice, fragments within
//! fragments and on `Node`, `@skip` and `@include` with variables, and `__typename` everywhere.

use std::collections::{BTreeMap, BTreeSet};

use onehop_study::rng::{Stream, StreamRng};
use serde_json::{Value, json};

use super::shop::{category_node, customer_node, order_node, product_node, tag_node};
use super::{comment_node, like_node};
use crate::support::blog::{post_node, user_node};

/// Depth limit of selections of objects.
const DEPTH_MAX: usize = 6;

/// A document with the variables that it uses.
pub struct RandomDocument {
    pub text: String,
    pub variables: Value,
}

struct ObjectType {
    name: &'static str,
    is_node: bool,
    fields: &'static [&'static str],
    objects: &'static [(&'static str, &'static str)],
    /// Objects and texts that take another read where the type is on a list.
    rare: &'static [(&'static str, &'static str)],
}

const TYPES: &[ObjectType] = &[
    ObjectType {
        name: "User",
        is_node: true,
        fields: &["id", "username", "viewerCanUpdate"],
        objects: &[],
        rare: &[("posts", "PostConnection")],
    },
    ObjectType {
        name: "Post",
        is_node: true,
        fields: &[
            "id",
            "title",
            "summary",
            "creationDate",
            "updateDate",
            "version",
            "commentCount",
            "likeCount",
            "viewerHasLiked",
            "viewerCanUpdate",
            "viewerCanDelete",
        ],
        objects: &[("author", "User")],
        rare: &[("comments", "CommentConnection"), ("likes", "LikeConnection"), ("content", "")],
    },
    ObjectType {
        name: "Comment",
        is_node: true,
        fields: &[
            "id",
            "content",
            "creationDate",
            "updateDate",
            "version",
            "viewerCanUpdate",
            "viewerCanDelete",
        ],
        objects: &[("author", "User")],
        rare: &[("post", "Post")],
    },
    ObjectType {
        name: "Like",
        is_node: true,
        fields: &["id", "creationDate"],
        objects: &[("user", "User")],
        rare: &[("post", "Post")],
    },
    connection("PostConnection", &[("nodes", "Post"), ("edges", "PostEdge"), ("pageInfo", "PageInfo")]),
    connection(
        "CommentConnection",
        &[("nodes", "Comment"), ("edges", "CommentEdge"), ("pageInfo", "PageInfo")],
    ),
    connection("LikeConnection", &[("nodes", "Like"), ("edges", "LikeEdge"), ("pageInfo", "PageInfo")]),
    edge("PostEdge", &[("node", "Post")]),
    edge("CommentEdge", &[("node", "Comment")]),
    edge("LikeEdge", &[("node", "Like")]),
    connection(
        "ProductConnection",
        &[("nodes", "Product"), ("edges", "ProductEdge"), ("pageInfo", "PageInfo")],
    ),
    connection(
        "SalesOrderConnection",
        &[("nodes", "SalesOrder"), ("edges", "SalesOrderEdge"), ("pageInfo", "PageInfo")],
    ),
    edge("ProductEdge", &[("node", "Product")]),
    edge("SalesOrderEdge", &[("node", "SalesOrder")]),
    ObjectType {
        name: "Product",
        is_node: true,
        fields: &["id", "sku", "name", "creationDate"],
        objects: &[("price", "Money"), ("category", "ProductCategory"), ("tags", "ProductTag")],
        rare: &[("description", "")],
    },
    ObjectType {
        name: "ProductCategory",
        is_node: true,
        fields: &["id", "name"],
        objects: &[],
        rare: &[("products", "ProductConnection")],
    },
    ObjectType {
        name: "ProductTag",
        is_node: true,
        fields: &["id", "name"],
        objects: &[],
        rare: &[("products", "ProductConnection")],
    },
    ObjectType {
        name: "Customer",
        is_node: true,
        fields: &[
            "id",
            "title",
            "firstName",
            "lastName",
            "emailAddress",
            "phoneNumber",
            "creationDate",
            "salesOrderCount",
            "viewerCanUpdate",
        ],
        objects: &[("addresses", "CustomerAddress")],
        rare: &[("salesOrders", "SalesOrderConnection")],
    },
    part("CustomerAddress", &["addressLine1", "addressLine2", "city", "state", "country", "zipCode"], &[]),
    ObjectType {
        name: "SalesOrder",
        is_node: true,
        fields: &["id", "orderDate", "shipDate", "viewerCanDelete"],
        objects: &[("lines", "SalesOrderLine"), ("total", "Money")],
        rare: &[("customer", "Customer")],
    },
    part("SalesOrderLine", &["sku", "name", "quantity"], &[("price", "Money"), ("total", "Money")]),
    part("Money", &["amount", "currencyCode"], &[]),
    ObjectType {
        name: "PageInfo",
        is_node: false,
        fields: &["hasNextPage", "hasPreviousPage", "startCursor", "endCursor"],
        objects: &[],
        rare: &[],
    },
];

const fn connection(name: &'static str, objects: &'static [(&'static str, &'static str)]) -> ObjectType {
    ObjectType { name, is_node: false, fields: &[], objects, rare: &[] }
}

const fn edge(name: &'static str, objects: &'static [(&'static str, &'static str)]) -> ObjectType {
    ObjectType { name, is_node: false, fields: &["cursor"], objects, rare: &[] }
}

const fn part(
    name: &'static str,
    fields: &'static [&'static str],
    objects: &'static [(&'static str, &'static str)],
) -> ObjectType {
    ObjectType { name, is_node: false, fields, objects, rare: &[] }
}

/// Nodes beside users and posts, with the variables of their ids.
const NODES: &[(&str, &str)] = &[
    ("comment", "Comment"),
    ("like", "Like"),
    ("product", "Product"),
    ("category", "ProductCategory"),
    ("tag", "ProductTag"),
    ("customer", "Customer"),
    ("order", "SalesOrder"),
];

/// Writes one document.
struct Author {
    rng: StreamRng,
    variables: BTreeMap<&'static str, (&'static str, Value)>,
    used: BTreeSet<&'static str>,
    /// The fragments so far, by the type that they are on.
    fragments: Vec<(&'static str, String)>,
    texts: Vec<String>,
}

impl RandomDocument {
    /// The document of a number.
    pub fn of(seed: u64) -> Self {
        let mut rng = StreamRng::new(seed, Stream(77), 0);
        let flag = |rng: &mut StreamRng| json!(rng.below(2) == 0);
        let variables = BTreeMap::from([
            ("user", ("ID!", json!(user_node(rng.below(3) as usize)))),
            ("post", ("ID!", json!(post_node(u128::from(rng.below(10)))))),
            ("comment", ("ID!", json!(comment_node(u128::from(rng.below(10)))))),
            ("like", ("ID!", json!(like_node(u128::from(rng.below(10)))))),
            ("product", ("ID!", json!(product_node(u128::from(rng.below(7)))))),
            ("category", ("ID!", json!(category_node(u128::from(rng.below(2)))))),
            ("tag", ("ID!", json!(tag_node(u128::from(rng.below(3)))))),
            ("customer", ("ID!", json!(customer_node(u128::from(rng.below(3)))))),
            ("order", ("ID!", json!(order_node(u128::from(rng.below(2)), u128::from(rng.below(5)))))),
            ("first", ("Int!", json!(1 + rng.below(4)))),
            ("after", ("String", Value::Null)),
            ("one", ("Boolean!", flag(&mut rng))),
            ("two", ("Boolean!", flag(&mut rng))),
            ("three", ("Boolean!", flag(&mut rng))),
        ]);
        let author =
            Author { rng, variables, used: BTreeSet::new(), fragments: Vec::new(), texts: Vec::new() };
        author.document()
    }
}

impl Author {
    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.below(one_in) == 0
    }

    fn variable(&mut self, name: &'static str) -> String {
        self.used.insert(name);
        format!("${name}")
    }

    fn document(mut self) -> RandomDocument {
        let count = 1 + self.rng.below(2);
        let mut roots = Vec::new();
        for number in 0..count {
            roots.push(self.root(number));
        }
        let roots = roots.join(" ");
        let definitions: Vec<_> =
            self.used.iter().map(|name| format!("${name}: {}", self.variables[name].0)).collect();
        let definitions =
            if definitions.is_empty() { String::new() } else { format!("({})", definitions.join(", ")) };
        let variables = self.used.iter().map(|name| ((*name).to_owned(), self.variables[name].1.clone()));
        let variables = Value::Object(variables.collect());
        RandomDocument {
            text: format!("query Q{definitions} {{ {roots} }} {}", self.texts.join(" ")),
            variables,
        }
    }

    fn root(&mut self, number: u32) -> String {
        let directive = if self.chance(6) { self.directive() } else { String::new() };
        let alias = if self.chance(3) { format!("root{number}: ") } else { String::new() };
        let (name, on) = match self.rng.below(16) {
            0 => return format!("{alias}__typename {directive}"),
            1 | 2 => (format!("user(id: {})", self.variable("user")), "User"),
            3 | 4 => (format!("post(id: {})", self.id_of_post()), "Post"),
            5 | 6 => (format!("feed({})", self.page()), "PostConnection"),
            7 => ("viewer".to_owned(), "User"),
            8 => ("productCategories".to_owned(), "ProductCategory"),
            9 => ("productTags".to_owned(), "ProductTag"),
            10 => (format!("product(id: {})", self.variable("product")), "Product"),
            11 => ("viewerCustomer".to_owned(), "Customer"),
            12 => (format!("customer(id: {})", self.variable("customer")), "Customer"),
            13 => return self.node(&alias, &directive),
            _ => return self.other_node(&alias, &directive),
        };
        // Two reads under one key take another argument to be apart.
        let alias = if number > 0 { format!("root{number}: ") } else { alias };
        let selection = self.selection(on, DEPTH_MAX, true);
        let field = format!("{alias}{name} {directive} {{ {selection} }}");
        if self.chance(6) { format!("... on Query {{ {field} __typename }}") } else { field }
    }

    fn id_of_post(&mut self) -> String {
        if self.chance(2) { self.variable("post") } else { format!("{:?}", post_node(2)) }
    }

    fn node(&mut self, alias: &str, directive: &str) -> String {
        let id = match self.rng.below(3) {
            0 => self.variable("user"),
            _ => self.id_of_post(),
        };
        let (user, post) = (self.selection("User", 3, true), self.selection("Post", DEPTH_MAX, true));
        let alias = if alias.is_empty() { "root9: " } else { alias };
        // The same key on two types is another field on each.
        format!(
            "{alias}node(id: {id}) {directive} {{ __typename id ... on Node {{ key: id }} \
             ... on User {{ text: username }} ... on Post {{ text: title }} \
             ... on User {{ {user} }} ... on Post {{ {post} }} }}"
        )
    }

    fn other_node(&mut self, alias: &str, directive: &str) -> String {
        let ((variable, on), other) = (*self.rng.pick(NODES), self.rng.pick(NODES).1);
        let id = self.variable(variable);
        let selection = self.selection(on, DEPTH_MAX, true);
        let alias = if alias.is_empty() { "root8: " } else { alias };
        format!(
            "{alias}node(id: {id}) {directive} {{ __typename id ... on {on} {{ {selection} }} ... on {other} {{ it: __typename }} }}"
        )
    }

    fn page(&mut self) -> String {
        let first = if self.chance(2) { self.variable("first") } else { (1 + self.rng.below(5)).to_string() };
        let after =
            if self.chance(4) { format!(", after: {}", self.variable("after")) } else { String::new() };
        format!("first: {first}{after}")
    }

    fn directive(&mut self) -> String {
        let name = if self.chance(2) { "skip" } else { "include" };
        let condition = match self.rng.below(5) {
            0 => "true".to_owned(),
            1 => "false".to_owned(),
            2 => self.variable("one"),
            3 => self.variable("two"),
            _ => self.variable("three"),
        };
        format!("@{name}(if: {condition})")
    }

    /// The selection of an object.
    fn selection(&mut self, on: &'static str, depth: usize, is_root: bool) -> String {
        let object = TYPES.iter().find(|object| object.name == on).expect("a type");
        let mut parts = Vec::new();
        for _ in 0..=self.rng.below(5) {
            let part = self.part(object, depth, is_root);
            if self.chance(8) {
                parts.push(part.clone());
            }
            parts.push(part);
        }
        parts.join(" ")
    }

    fn part(&mut self, object: &'static ObjectType, depth: usize, is_root: bool) -> String {
        let directive = if self.chance(5) { self.directive() } else { String::new() };
        match self.rng.below(12) {
            0 => format!("__typename {directive}"),
            1 => format!("kind: __typename {directive}"),
            2 if depth > 0 => {
                let on = self.condition(object);
                format!("... {on} {directive} {{ {} }}", self.selection(object.name, depth - 1, is_root))
            }
            3 if depth > 0 => self.spread(object, depth, &directive, is_root),
            4 | 5 if depth > 0 && !object.rare.is_empty() && (is_root || self.chance(12)) => {
                let (field, on) = *self.rng.pick(object.rare);
                self.nested(field, on, depth, &directive)
            }
            6..=8 if depth > 0 && !object.objects.is_empty() => {
                let (field, on) = *self.rng.pick(object.objects);
                self.nested(field, on, depth, &directive)
            }
            _ if object.fields.is_empty() && depth > 0 => {
                let (field, on) = *self.rng.pick(object.objects);
                self.nested(field, on, depth, &directive)
            }
            _ if object.fields.is_empty() => format!("__typename {directive}"),
            _ => {
                let field = *self.rng.pick(object.fields);
                let alias = if self.chance(4) { format!("{field}1: ") } else { String::new() };
                format!("{alias}{field} {directive}")
            }
        }
    }

    fn condition(&mut self, object: &ObjectType) -> String {
        if self.chance(3) { String::new() } else { format!("on {}", object.name) }
    }

    fn nested(&mut self, field: &str, on: &'static str, depth: usize, directive: &str) -> String {
        if on.is_empty() {
            return format!("{field} {directive}");
        }
        // Arguments follow from the key, so that a key that occurs twice has the same.
        let arguments = match (on.ends_with("Connection"), self.rng.below(3)) {
            (false, _) => String::new(),
            (true, 0) => return self.page_of(field, "(first: 2)", on, depth, directive),
            (true, 1) => {
                let first = self.variable("first");
                return self.page_of(
                    &format!("{field}1: {field}"),
                    &format!("(first: {first})"),
                    on,
                    depth,
                    directive,
                );
            }
            (true, _) => return self.page_of(&format!("{field}2: {field}"), "", on, depth, directive),
        };
        self.page_of(field, &arguments, on, depth, directive)
    }

    fn page_of(
        &mut self,
        field: &str,
        arguments: &str,
        on: &'static str,
        depth: usize,
        directive: &str,
    ) -> String {
        format!("{field}{arguments} {directive} {{ {} }}", self.selection(on, depth - 1, false))
    }

    fn spread(
        &mut self,
        object: &'static ObjectType,
        depth: usize,
        directive: &str,
        is_root: bool,
    ) -> String {
        let known: Vec<_> = self
            .fragments
            .iter()
            .filter(|(on, _)| *on == object.name)
            .map(|(_, name)| name.clone())
            .collect();
        if !known.is_empty() && self.chance(2) {
            return format!("...{} {directive}", self.rng.pick(&known));
        }
        let body = self.selection(object.name, depth - 1, is_root);
        let name = format!("F{}", self.texts.len());
        let on_node = object.is_node && self.chance(4);
        let (on, body) = if on_node {
            ("Node", format!("id __typename ... on {} {{ {body} }}", object.name))
        } else {
            (object.name, body)
        };
        self.texts.push(format!("fragment {name} on {on} {{ {body} }}"));
        self.fragments.push((object.name, name.clone()));
        format!("...{name} {directive}")
    }
}
