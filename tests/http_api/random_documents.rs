//! Random documents over a schema in SDL: aliases, response keys that occur twice, fragments within fragments
//! and on `Node`, `@skip` and `@include` with variables, `__typename` everywhere, and pages from either end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{BaseType, FieldDefinition, Type, TypeKind, TypeSystemDefinition};
use onehop_study::rng::{Stream, StreamRng};
use serde_json::{Value, json};

/// Depth limit of selections of objects.
const DEPTH_MAX: usize = 5;
/// The fields of a path to an object, and the paths to each type.
const STEPS_MAX: usize = 4;
const PATHS_MAX: usize = 8;
/// The interface of objects with an id.
const NODE: &str = "Node";

/// The object types of a schema, with the values that its arguments may have.
pub struct Documents {
    types: BTreeMap<String, ObjectType>,
    /// The ids of objects, by their types.
    ids: BTreeMap<String, Vec<String>>,
}

struct ObjectType {
    is_node: bool,
    fields: Vec<ObjectField>,
}

struct ObjectField {
    name: String,
    /// The named type.
    of: String,
    arguments: Vec<String>,
}

/// A document with the variables that it uses.
pub struct RandomDocument {
    pub text: String,
    pub variables: Value,
}

impl Documents {
    /// The documents over a schema in which objects have these ids.
    pub fn of(sdl: &str, ids: BTreeMap<String, Vec<String>>) -> Self {
        let mut types = BTreeMap::new();
        for definition in parse_schema(sdl).expect("a schema").definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let TypeKind::Object(object) = definition.node.kind else { continue };
            let is_node = object.implements.iter().any(|name| name.node == NODE);
            let fields = object.fields.iter().map(|field| ObjectField::of(&field.node)).collect();
            types.insert(definition.node.name.node.to_string(), ObjectType { is_node, fields });
        }
        Self { types, ids }
    }

    /// The document of a number.
    pub fn random(&self, seed: u64) -> RandomDocument {
        let rng = StreamRng::new(seed, Stream(77), 0);
        let author = Author {
            documents: self,
            rng,
            variables: BTreeMap::new(),
            fragments: Vec::new(),
            texts: Vec::new(),
        };
        author.document()
    }

    /// All fields of the types that queries show, each with its type.
    pub fn fields(&self) -> Vec<(&str, &str)> {
        let mut shown = BTreeSet::from(["Query"]);
        let mut open = vec!["Query"];
        open.extend(self.types.iter().filter(|(_, object)| object.is_node).map(|(name, _)| name.as_str()));
        while let Some(name) = open.pop() {
            let Some(object) = self.types.get(name) else { continue };
            shown.insert(name);
            open.extend(object.fields.iter().map(|field| field.of.as_str()).filter(|of| !shown.contains(of)));
        }
        let of_type = |name: &&'_ str| self.types.get_key_value(*name);
        let types = shown.iter().filter_map(of_type);
        types
            .flat_map(|(name, object)| {
                object.fields.iter().map(move |field| (name.as_str(), field.name.as_str()))
            })
            .collect()
    }

    /// Queries that show one field of a type, in each of the places where an object of the type is.
    pub fn queries_of(&self, type_name: &str, field: &str) -> Vec<RandomDocument> {
        let selected = self.shortest(type_name, field);
        if type_name == "Query" {
            return self.with_ids(&selected);
        }
        let mut queries = Vec::new();
        let mut paths = BTreeMap::from([(type_name, vec![selected.clone()])]);
        let (own, others): (Vec<_>, Vec<_>) = self.nodes().partition(|(_, of)| *of == type_name);
        for (id, of) in own.into_iter().chain(others) {
            let below = paths.entry(of).or_insert_with(|| self.paths(of, type_name, &selected));
            queries.extend(below.iter().map(|selection| RandomDocument {
                text: format!("query($id: ID!) {{ node(id: $id) {{ ... on {of} {{ {selection} }} }} }}"),
                variables: json!({ "id": id }),
            }));
        }
        for root in self.paths("Query", type_name, &selected) {
            queries.extend(self.with_ids(&root));
        }
        queries
    }

    /// The shortest selections of an object that lead to another type.
    fn paths(&self, from: &str, to: &str, selection: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = VecDeque::from([(from.to_owned(), Vec::<String>::new())]);
        let mut seen = BTreeMap::<String, usize>::new();
        while let Some((name, path)) = open.pop_front() {
            let Some(object) = self.types.get(&name) else { continue };
            for field in &object.fields {
                let times = seen.entry(field.of.clone()).or_default();
                if *times == PATHS_MAX || path.len() == STEPS_MAX {
                    continue;
                }
                *times += 1;
                let mut longer = path.clone();
                longer.push(field.with_arguments(&field.name));
                if field.of == to {
                    let nested = longer
                        .iter()
                        .rev()
                        .fold(selection.to_owned(), |inner, field| format!("{field} {{ {inner} }}"));
                    found.push(nested);
                } else {
                    open.push_back((field.of.clone(), longer));
                }
            }
        }
        found
    }

    fn nodes(&self) -> impl Iterator<Item = (&str, &str)> {
        let nodes =
            self.ids.iter().filter(|(name, _)| self.types.get(*name).is_some_and(|object| object.is_node));
        nodes.flat_map(|(of, ids)| ids.iter().take(3).map(move |id| (id.as_str(), of.as_str())))
    }

    /// The shortest selection of a field.
    fn shortest(&self, type_name: &str, field: &str) -> String {
        let declared = self.types[type_name].fields.iter().find(|own| own.name == field).expect("a field");
        let selected = declared.with_arguments(field);
        match self.types.contains_key(&declared.of) || declared.of == NODE {
            true => format!("{selected} {{ __typename }}"),
            false => selected,
        }
    }

    /// A selection of `Query` with each id that its arguments may have.
    fn with_ids(&self, selection: &str) -> Vec<RandomDocument> {
        if selection.contains("$ids") {
            let text = format!("query($ids: [ID!]!) {{ {selection} }}");
            let ids: Vec<&String> = self.ids.values().flat_map(|ids| ids.iter().take(2)).collect();
            return vec![RandomDocument { text, variables: json!({ "ids": ids }) }];
        }
        if selection.contains("$id") {
            let text = format!("query($id: ID!) {{ {selection} }}");
            let ids = self.ids.values().flat_map(|ids| ids.iter().take(2));
            return ids
                .map(|id| RandomDocument { text: text.clone(), variables: json!({ "id": id }) })
                .collect();
        }
        vec![RandomDocument { text: format!("{{ {selection} }}"), variables: json!({}) }]
    }
}

impl ObjectField {
    fn of(field: &FieldDefinition) -> Self {
        let arguments = field.arguments.iter().map(|argument| argument.node.name.node.to_string());
        Self { name: field.name.node.to_string(), of: named(&field.ty.node), arguments: arguments.collect() }
    }

    /// The field with the arguments that it needs.
    fn with_arguments(&self, name: &str) -> String {
        let needs = |argument: &str| self.arguments.iter().any(|own| own == argument);
        if needs("ids") {
            return format!("{name}(ids: $ids)");
        }
        if needs("id") {
            return format!("{name}(id: $id)");
        }
        let text = self.arguments.iter().find(|name| !PAGE.contains(&name.as_str()));
        match text {
            Some(argument) if argument == "request" => format!("{name}(request: Q6)"),
            Some(argument) => format!("{name}({argument}: \"nothing\")"),
            // A page of one object: a longer one may have objects of other owners.
            None if needs("first") => format!("{name}(first: 1)"),
            None => name.to_owned(),
        }
    }
}

/// The arguments of a page, and of the data model.
const PAGE: [&str; 5] = ["first", "after", "last", "before", "model"];

fn named(ty: &Type) -> String {
    match &ty.base {
        BaseType::Named(name) => name.to_string(),
        BaseType::List(inner) => named(inner),
    }
}

/// Writes one document.
struct Author<'a> {
    documents: &'a Documents,
    rng: StreamRng,
    variables: BTreeMap<&'static str, (&'static str, Value)>,
    /// The fragments so far, by the type that they are on.
    fragments: Vec<(String, String)>,
    texts: Vec<String>,
}

impl Author<'_> {
    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.below(one_in) == 0
    }

    fn variable(&mut self, name: &'static str, ty: &'static str, value: Value) -> String {
        self.variables.entry(name).or_insert((ty, value));
        format!("${name}")
    }

    fn document(mut self) -> RandomDocument {
        let count = if self.chance(3) { 2 } else { 1 };
        let roots: Vec<String> = (0..count).map(|number| self.root(number)).collect();
        let roots = roots.join(" ");
        let definitions: Vec<_> =
            self.variables.iter().map(|(name, (ty, _))| format!("${name}: {ty}")).collect();
        let definitions =
            if definitions.is_empty() { String::new() } else { format!("({})", definitions.join(", ")) };
        let variables = self.variables.iter().map(|(name, (_, value))| ((*name).to_owned(), value.clone()));
        let variables = Value::Object(variables.collect());
        let text = format!("query Q{definitions} {{ {roots} }} {}", self.texts.join(" "));
        RandomDocument { text, variables }
    }

    /// A field at the root; the second one has a key of its own.
    fn root(&mut self, number: u32) -> String {
        let directive = if self.chance(8) { self.directive() } else { String::new() };
        let alias = if number > 0 || self.chance(3) { format!("root{number}: ") } else { String::new() };
        if self.chance(16) {
            return format!("{alias}__typename {directive}");
        }
        if self.chance(2) {
            return self.node(&alias, &directive, number);
        }
        let documents = self.documents;
        let field = self.rng.pick(&documents.types["Query"].fields);
        if field.of == NODE {
            return self.node(&alias, &directive, number);
        }
        let selection = match documents.types.contains_key(&field.of) {
            true => format!("{{ {} }}", self.selection(&field.of, DEPTH_MAX)),
            false => String::new(),
        };
        let arguments = self.arguments(field, number);
        let field = format!("{alias}{}{arguments} {directive} {selection}", field.name);
        if self.chance(8) { format!("... on Query {{ {field} __typename }}") } else { field }
    }

    fn node(&mut self, alias: &str, directive: &str, number: u32) -> String {
        let ids = &self.documents.ids;
        let types: Vec<&String> = ids.keys().collect();
        let (of, other) = ((*self.rng.pick(&types)).clone(), (*self.rng.pick(&types)).clone());
        let id = self.rng.pick(&ids[&of]).clone();
        let has_nodes = self.documents.types["Query"].fields.iter().any(|field| field.name == "nodes");
        if has_nodes && self.chance(4) {
            let more = self.rng.pick(&ids[&other]).clone();
            let name = if number == 0 { "ids" } else { "ids1" };
            let ids = self.variable(name, "[ID!]!", json!([id, more, id]));
            let selection = self.selection(&of, DEPTH_MAX);
            return format!(
                "{alias}nodes(ids: {ids}) {directive} {{ __typename id ... on {of} {{ {selection} }} }}"
            );
        }
        let variable = if number == 0 { "node" } else { "node1" };
        let id = self.variable(variable, "ID!", json!(id));
        if self.chance(8) {
            // Of an object of another type nothing is selected.
            let selection = self.selection(&other, 2);
            return format!("{alias}node(id: {id}) {directive} {{ ... on {other} {{ {selection} }} }}");
        }
        let selection = self.selection(&of, DEPTH_MAX);
        // The same key on two types is another field on each.
        format!(
            "{alias}node(id: {id}) {directive} {{ __typename id ... on Node {{ key: id }} \
             ... on {of} {{ {selection} }} ... on {other} {{ it: __typename }} }}"
        )
    }

    /// The arguments of a field. Equal keys have equal arguments.
    fn arguments(&mut self, field: &ObjectField, number: u32) -> String {
        let has = |argument: &str| field.arguments.iter().any(|own| own == argument);
        if has("id") {
            let ids = &self.documents.ids;
            let own = ids.get(&field.of).filter(|_| number < 9);
            let all: Vec<&String> =
                own.map_or_else(|| ids.values().flatten().collect(), |own| own.iter().collect());
            let id = (*self.rng.pick(&all)).clone();
            let id = if self.chance(2) {
                self.variable(if number == 0 { "id" } else { "id1" }, "ID!", json!(id))
            } else {
                format!("{id:?}")
            };
            return format!("(id: {id})");
        }
        if has("last") && self.chance(3) {
            return "(last: 3)".to_owned();
        }
        if has("first") {
            return match self.rng.below(4) {
                0 => String::new(),
                1 => "(first: 2)".to_owned(),
                2 => format!("(first: 3, after: {})", self.variable("after", "String", Value::Null)),
                _ => format!("(first: {})", self.variable("first", "Int!", json!(4))),
            };
        }
        field.with_arguments("")
    }

    fn directive(&mut self) -> String {
        let name = if self.chance(2) { "skip" } else { "include" };
        let condition = match self.rng.below(5) {
            0 => "true".to_owned(),
            1 => "false".to_owned(),
            2 => self.flag("one"),
            3 => self.flag("two"),
            _ => self.flag("three"),
        };
        format!("@{name}(if: {condition})")
    }

    fn flag(&mut self, name: &'static str) -> String {
        let is_set = self.chance(2);
        self.variable(name, "Boolean!", json!(is_set))
    }

    /// The selection of an object.
    fn selection(&mut self, on: &str, depth: usize) -> String {
        let mut parts = Vec::new();
        for _ in 0..=self.rng.below(3) {
            let part = self.part(on, depth);
            if self.chance(8) {
                parts.push(part.clone());
            }
            parts.push(part);
        }
        parts.join(" ")
    }

    fn part(&mut self, on: &str, depth: usize) -> String {
        let directive = if self.chance(8) { self.directive() } else { String::new() };
        let documents = self.documents;
        let object = &documents.types[on];
        match self.rng.below(14) {
            0 => format!("__typename {directive}"),
            1 => format!("kind: __typename {directive}"),
            2 if depth > 0 => {
                let on_type = if self.chance(3) { String::new() } else { format!("on {on}") };
                format!("... {on_type} {directive} {{ {} }}", self.selection(on, depth - 1))
            }
            3 if depth > 0 => self.spread(on, object.is_node, depth, &directive),
            _ => {
                let field = self.rng.pick(&object.fields);
                let is_object = documents.types.contains_key(&field.of);
                if is_object && depth == 0 || field.of == NODE {
                    return format!("__typename {directive}");
                }
                if !is_object {
                    let alias = if self.chance(4) { format!("{}1: ", field.name) } else { String::new() };
                    return format!("{alias}{} {directive}", field.name);
                }
                let arguments = self.arguments(field, 9);
                let key = match arguments.is_empty() {
                    true => String::new(),
                    // A key stands for one list of arguments.
                    false => {
                        let letters = arguments.chars().filter(char::is_ascii_alphanumeric);
                        format!("{}_{}: ", field.name, letters.collect::<String>())
                    }
                };
                let inner = self.selection(&field.of, depth - 1);
                format!("{key}{}{arguments} {directive} {{ {inner} }}", field.name)
            }
        }
    }

    fn spread(&mut self, on: &str, is_node: bool, depth: usize, directive: &str) -> String {
        let known: Vec<_> =
            self.fragments.iter().filter(|(of, _)| of == on).map(|(_, name)| name.clone()).collect();
        if !known.is_empty() && self.chance(2) {
            return format!("...{} {directive}", self.rng.pick(&known));
        }
        let body = self.selection(on, depth - 1);
        let name = format!("F{}", self.texts.len());
        let (condition, body) = match is_node && self.chance(4) {
            true => (NODE, format!("id __typename ... on {on} {{ {body} }}")),
            false => (on, body),
        };
        self.texts.push(format!("fragment {name} on {condition} {{ {body} }}"));
        self.fragments.push((on.to_owned(), name.clone()));
        format!("...{name} {directive}")
    }
}
