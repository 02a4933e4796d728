//! The public schema and the schema of the operations API: the committed files equal the program's export,
//! and they keep every name that clients rely on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{FieldDefinition, InputValueDefinition, TypeKind, TypeSystemDefinition};

const CONTRACT: &str = include_str!("../fixtures/contract.graphql");
const WEBSTORE_CONTRACT: &str = include_str!("../fixtures/contract-webstore.graphql");
const OPERATIONS_CONTRACT: &str = include_str!("../fixtures/contract-operations.graphql");

#[test]
fn the_committed_schemas_are_what_the_program_exports() {
    assert_committed("schema.graphql", &onehop::graphql::sdl(), "onehop schema");
    assert_committed("operations.graphql", &onehop::operations::sdl(), "onehop schema operations");
}

fn assert_committed(file: &str, exported: &str, command: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differing =
        committed.lines().zip(exported.lines()).position(|(committed, exported)| committed != exported);
    assert!(
        committed == exported,
        "{file} differs from the program's schema from line {} on; write it again with \
         `{command} > {file}` and look at the difference",
        differing.unwrap_or_else(|| committed.lines().count().min(exported.lines().count())) + 1,
    );
}

#[test]
fn the_schemas_keep_every_name_that_clients_rely_on() {
    assert_holds(&onehop::graphql::sdl(), CONTRACT);
    assert_holds(&onehop::graphql::sdl(), WEBSTORE_CONTRACT);
    assert_holds(&onehop::operations::sdl(), OPERATIONS_CONTRACT);
}

fn assert_holds(sdl: &str, contract: &str) {
    let schema = declarations(sdl);
    let missing: Vec<String> = declarations(contract)
        .into_iter()
        .filter(|(name, declared)| schema.get(name) != Some(declared))
        .map(|(name, declared)| match schema.get(&name) {
            Some(actual) => format!("{name} is {actual}, should be {declared}"),
            None => format!("{name} is missing, should be {declared}"),
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn only_mutations_return_secrets() {
    let schema = declarations(&onehop::graphql::sdl());
    let fields = schema.iter().filter(|(name, _)| !name.contains('('));
    let fields: Vec<_> = fields.filter_map(|(name, of)| Some((name.split_once('.')?, of))).collect();
    let is_secret = |field: &str| {
        ["token", "password", "secret"].iter().any(|word| field.to_ascii_lowercase().contains(word))
    };
    let bearers: BTreeSet<&str> = fields
        .iter()
        .filter(|((parent, field), _)| is_secret(field) && !parent.ends_with("Input"))
        .map(|((parent, _), _)| *parent)
        .collect();
    assert!(!bearers.is_empty());
    for ((parent, field), of) in fields {
        let answers_secret = bearers.contains(of.trim_matches(['[', ']', '!']));
        assert!(!answers_secret || parent == "Mutation", "{parent}.{field} answers {of}");
    }
}

#[test]
fn every_type_field_argument_and_value_is_described() {
    for sdl in [onehop::graphql::sdl(), onehop::operations::sdl()] {
        let undescribed = undescribed(&sdl);
        assert!(undescribed.is_empty(), "{undescribed:#?}");
    }
}

/// The declarations of a schema, flat: `User.posts(first:)` to `Int! = 20`.
fn declarations(sdl: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for definition in parse_schema(sdl).expect("a schema").definitions {
        let TypeSystemDefinition::Type(definition) = definition else { continue };
        let name = definition.node.name.node.to_string();
        let kind = match &definition.node.kind {
            TypeKind::Scalar => "scalar".to_owned(),
            TypeKind::Object(object) => {
                declare_fields(&mut found, &name, object.fields.iter().map(|field| &field.node));
                let interfaces: BTreeSet<&str> =
                    object.implements.iter().map(|name| name.node.as_str()).collect();
                format!("type implementing {interfaces:?}")
            }
            TypeKind::Interface(interface) => {
                declare_fields(&mut found, &name, interface.fields.iter().map(|field| &field.node));
                "interface".to_owned()
            }
            TypeKind::Union(_) => "union".to_owned(),
            TypeKind::Enum(values) => {
                for value in &values.values {
                    found.insert(format!("{name}.{}", value.node.value.node), "value".to_owned());
                }
                "enum".to_owned()
            }
            TypeKind::InputObject(input) => {
                for field in &input.fields {
                    found.insert(format!("{name}.{}", field.node.name.node), input_type(&field.node));
                }
                "input".to_owned()
            }
        };
        found.insert(name, kind);
    }
    found
}

fn declare_fields<'a>(
    found: &mut BTreeMap<String, String>,
    parent: &str,
    fields: impl Iterator<Item = &'a FieldDefinition>,
) {
    for field in fields {
        let name = format!("{parent}.{}", field.name.node);
        for argument in &field.arguments {
            found.insert(format!("{name}({}:)", argument.node.name.node), input_type(&argument.node));
        }
        found.insert(name, field.ty.node.to_string());
    }
}

fn input_type(input: &InputValueDefinition) -> String {
    match &input.default_value {
        Some(default) => format!("{} = {}", input.ty.node, default.node),
        None => input.ty.node.to_string(),
    }
}

fn undescribed(sdl: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |name: String, is_described: bool| {
        if !is_described {
            found.push(name);
        }
    };
    for definition in parse_schema(sdl).expect("a schema").definitions {
        let TypeSystemDefinition::Type(definition) = definition else { continue };
        let parent = definition.node.name.node.to_string();
        note(parent.clone(), definition.node.description.is_some());
        let (fields, inputs) = match definition.node.kind {
            TypeKind::Object(object) => (object.fields, Vec::new()),
            TypeKind::Interface(interface) => (interface.fields, Vec::new()),
            TypeKind::InputObject(input) => (Vec::new(), input.fields),
            TypeKind::Enum(values) => {
                for value in values.values {
                    note(format!("{parent}.{}", value.node.value.node), value.node.description.is_some());
                }
                continue;
            }
            TypeKind::Scalar | TypeKind::Union(_) => continue,
        };
        for input in inputs {
            note(format!("{parent}.{}", input.node.name.node), input.node.description.is_some());
        }
        for field in fields {
            let name = format!("{parent}.{}", field.node.name.node);
            for argument in &field.node.arguments {
                note(format!("{name}({}:)", argument.node.name.node), argument.node.description.is_some());
            }
            note(name, field.node.description.is_some());
        }
    }
    found
}
