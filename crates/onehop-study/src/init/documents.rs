//! Documents of a first study: settings, two designs and requests, with comments.

use std::fmt::Write as _;
use std::path::Path;

use super::infer::{FoundField, FoundType};
use super::names::{capital, field_name, plural, small};
use super::shapes::Shape;

/// Requests a second of the generated requests, which people replace.
const READS_A_SECOND: u32 = 10;
const WRITES_A_SECOND: u32 = 1;

/// The file `study.toml`.
pub(super) fn settings(directory: &Path, types: &[FoundType]) -> String {
    let mut text = String::from(
        "# A study: designs of one's own data, compared. Check each line; `onehop study run` reads it.\nname = \"My study\"\n\n\
         # How many times the data of the files there is in production.\nscale = 1\n\n# The files of each type, one JSON object a line.\n[data]\n",
    );
    for ty in types {
        let _ = writeln!(
            text,
            "{} = {}  # {} items",
            ty.name,
            toml_text(&relative(directory, &ty.file)),
            ty.items
        );
    }
    text.push_str(
        "\n[traffic]\n# The peak as a multiple of the mean, or its two ends. Instead: hourly = [24 numbers].\npeak_to_mean = [1, 3]\n\n\
         [account]\nregions = 1\n# session, eventual, consistent-prefix, bounded-staleness or strong\nconsistency = \"session\"\n\n\
         # In one currency: 100 RU/s for an hour; a million RU; a GB for a month. Replace them by the prices of your region.\n\
         [prices]\nmanual = 0.008\nserverless = 0.25\nstorage = 0.25\n",
    );
    text
}

fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The path within the directory; else the absolute one.
fn relative(directory: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (directory, file) = (absolute(directory), absolute(file));
    file.strip_prefix(&directory).unwrap_or(&file).display().to_string()
}

/// The normalised design: each type by its id, and queries across partitions.
pub(super) fn normalised(types: &[FoundType]) -> String {
    let mut text = heading("V1", "Each item by its id; related items are found across partitions.");
    for ty in types {
        let _ = writeln!(text, "  @container(name: \"{}\", key: \"/id\")", container(ty));
    }
    for ty in types {
        write_type(&mut text, types, ty, &Design::Normalised);
    }
    embedded_types(&mut text, types);
    queries(&mut text, types);
    text
}

/// The design with copies: a type that others do not refer to lies with its first reference; names are
/// copied.
pub(super) fn copied(types: &[FoundType]) -> String {
    let mut text = heading("V2", "Items lie with the item that they belong to, and names are copied.");
    for ty in types {
        let key = owner(types, ty).map_or("id".to_owned(), |field| format!("{}Id", field.name));
        let _ = writeln!(text, "  @container(name: \"{}\", key: \"/{key}\")", container(ty));
    }
    for (ty, reference) in listed(types) {
        let _ = writeln!(
            text,
            "  @container(name: \"{}\", key: \"/{}Id\")",
            list_name(ty, reference),
            reference.name
        );
    }
    for ty in types {
        write_type(&mut text, types, ty, &Design::Copied);
    }
    embedded_types(&mut text, types);
    queries(&mut text, types);
    text
}

#[derive(PartialEq)]
enum Design {
    Normalised,
    Copied,
}

fn heading(design: &str, description: &str) -> String {
    format!(
        "# Generated from the data: check types, `!` and references. docs/model.md explains the directives.\nextend schema\n  \
         @model(name: \"study\", design: \"{design}\", description: \"{description}\")\n"
    )
}

fn container(ty: &FoundType) -> String {
    small(&plural(&ty.name))
}

fn list_name(ty: &FoundType, reference: &FoundField) -> String {
    format!("{}By{}", container(ty), capital(&reference.name))
}

/// The reference by which a type lies with another: the first one that every item has, where no type refers
/// to the type itself.
fn owner<'t>(types: &[FoundType], ty: &'t FoundType) -> Option<&'t FoundField> {
    let is_referred = types.iter().flat_map(FoundType::references).any(|(_, target)| target == ty.name);
    let mut references = ty.references().filter(|(field, target)| field.is_required && *target != ty.name);
    if is_referred { None } else { references.next().map(|(field, _)| field) }
}

/// The references whose items are a list in the second design.
fn listed(types: &[FoundType]) -> Vec<(&FoundType, &FoundField)> {
    let of_type = |ty| {
        let own: Option<&FoundField> = owner(types, ty);
        let references = FoundType::references(ty).map(|(field, _)| field);
        references
            .filter(move |field| field.is_required && own.is_none_or(|own| own.name != field.name))
            .map(move |field| (ty, field))
    };
    types.iter().flat_map(of_type).collect()
}

fn write_type(text: &mut String, types: &[FoundType], ty: &FoundType, design: &Design) {
    let owner = owner(types, ty).filter(|_| *design == Design::Copied);
    let partition = owner.map_or(String::new(), |field| format!(", partition: \"{}\"", field.name));
    let _ = write!(
        text,
        "\ntype {} @item(container: \"{}\"{partition}, write: [CREATE, UPDATE, DELETE]) {{\n  id: ID!",
        ty.name,
        container(ty)
    );
    if ty.id != "id" {
        let _ = write!(text, " @stored(as: \"id\", former: \"{}\")", ty.id);
    }
    text.push('\n');
    for field in &ty.fields {
        match &field.target {
            Some(target) => reference(text, types, field, target, design),
            None => scalar(text, &ty.name, field),
        }
    }
    for source in types {
        for (field, _) in source.references().filter(|(_, target)| *target == ty.name) {
            related(text, types, source, field, design);
        }
    }
    text.push_str("}\n");
}

fn reference(text: &mut String, types: &[FoundType], field: &FoundField, target: &str, design: &Design) {
    let required = if field.is_required { "!" } else { "" };
    let label = types.iter().find(|ty| ty.name == target).and_then(FoundType::label);
    let copy = match (label, design) {
        (Some(label), Design::Copied) => format!(" @copy(fields: \"{}\")", label.name),
        _ => String::new(),
    };
    let former = if field.property == format!("{}Id", field.name) || field.property == field.name {
        String::new()
    } else {
        format!(" @stored(former: \"{}\")", field.property)
    };
    let _ = writeln!(text, "  {}: {target}{required} @reference{copy}{former}", field.name);
}

fn scalar(text: &mut String, owner: &str, field: &FoundField) {
    let required = if field.is_required { "!" } else { "" };
    let former = if field.property == field.name {
        String::new()
    } else {
        format!(" @stored(former: \"{}\")", field.property)
    };
    match graphql_type(owner, &field.name, &field.shape) {
        Some(ty) => {
            let _ = writeln!(text, "  {}: {ty}{required}{former}", field.name);
        }
        None => {
            let _ = writeln!(text, "  # {}: its values have no common type, and it is left out.", field.name);
        }
    }
}

/// The type of a shape; `None` for mixed values.
fn graphql_type(owner: &str, field: &str, shape: &Shape) -> Option<String> {
    if let Some(scalar) = shape.scalar() {
        return Some(scalar.to_owned());
    }
    if shape.objects == shape.present && fields_of(owner, field, shape).next().is_some() {
        return Some(format!("{owner}{}", capital(field)));
    }
    let elements =
        shape.elements.as_ref().filter(|elements| shape.arrays == shape.present && elements.present > 0)?;
    (elements.arrays == 0).then(|| graphql_type(owner, field, elements).map(|ty| format!("[{ty}!]")))?
}

/// The properties of an embedded object that have a type.
fn fields_of<'s>(
    owner: &str,
    field: &str,
    shape: &'s Shape,
) -> impl Iterator<Item = (String, &'s String, &'s Shape, String)> {
    let name = format!("{owner}{}", capital(field));
    let mut seen = std::collections::BTreeSet::new();
    shape.properties.iter().filter_map(move |(property, inner)| {
        let field = field_name(property);
        let ty = graphql_type(&name, &field, inner)?;
        seen.insert(field.clone()).then_some((field, property, inner, ty))
    })
}

fn embedded_types(text: &mut String, types: &[FoundType]) {
    for ty in types {
        for field in ty.fields.iter().filter(|field| field.target.is_none()) {
            embedded(text, &ty.name, &field.name, &field.shape);
        }
    }
}

fn embedded(text: &mut String, owner: &str, field: &str, shape: &Shape) {
    let shape = shape.elements.as_deref().filter(|_| shape.arrays > 0).unwrap_or(shape);
    if shape.objects == 0 || shape.objects != shape.present || graphql_type(owner, field, shape).is_none() {
        return;
    }
    let name = format!("{owner}{}", capital(field));
    let _ = writeln!(text, "\ntype {name} @embedded {{");
    for (inner_name, property, inner, ty) in fields_of(owner, field, shape) {
        let required = if inner.present == shape.objects { "!" } else { "" };
        let stored =
            if *property == inner_name { String::new() } else { format!(" @stored(as: \"{property}\")") };
        let _ = writeln!(text, "  {inner_name}: {ty}{required}{stored}");
    }
    text.push_str("}\n");
    for (inner_name, _, inner, _) in fields_of(owner, field, shape) {
        embedded(text, &name, &inner_name, inner);
    }
}

/// The items that refer to a type.
fn related(text: &mut String, types: &[FoundType], source: &FoundType, field: &FoundField, design: &Design) {
    let order =
        source.order().map_or(String::new(), |order| format!(" @order(by: \"{}\", desc: true)", order.name));
    let is_owner = owner(types, source).is_some_and(|owner| owner.name == field.name);
    let is_listed = field.is_required;
    let directive = match design {
        Design::Copied if is_owner => format!("@partition(by: \"{}\")", field.name),
        Design::Copied if is_listed => {
            format!("@list(into: \"{}\", by: \"{}\")", list_name(source, field), field.name)
        }
        _ => format!("@find(by: \"{}\")", field.name),
    };
    let _ = writeln!(text, "  {}: [{}!]! {directive}{order}", source.reverse_name(field), source.name);
}

/// Root fields by id, and a list for a frequent value of each field with few values.
fn queries(text: &mut String, types: &[FoundType]) {
    text.push_str("\ntype Query {\n");
    for ty in types {
        let _ = writeln!(text, "  {}(id: ID!): {}", small(&ty.name), ty.name);
        for (field, value) in few(ty) {
            let order = ty
                .order()
                .map_or(String::new(), |order| format!(" @order(by: \"{}\", desc: true)", order.name));
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(
                text,
                "  {}: [{}!] @find @where(field: \"{}\", is: \"{value}\"){order}",
                by_value(ty, field),
                ty.name,
                field.name
            );
        }
    }
    text.push_str("}\n");
}

fn few(ty: &FoundType) -> impl Iterator<Item = (&FoundField, &str)> {
    ty.fields.iter().filter_map(|field| Some((field, field.frequent.as_deref()?)))
}

fn by_value(ty: &FoundType, field: &FoundField) -> String {
    format!("{}With{}", container(ty), capital(&field.name))
}

/// Requests by id, along each reference, for a frequent value, and writes.
pub(super) fn requests(types: &[FoundType]) -> String {
    let mut text = String::from(
        "# Requests with their rates a second: replace the rates by your own, and add `peak` and `skew: ZIPF`.\n",
    );
    let label = |target: &str| types.iter().find(|ty| ty.name == target).and_then(FoundType::label);
    for ty in types {
        let (name, root) = (&ty.name, small(&ty.name));
        let mut fields = scalars(ty);
        for (field, target) in ty.references() {
            if let Some(label) = label(target) {
                let _ = write!(fields, " {} {{ {} }}", field.name, label.name);
            }
        }
        let _ = write!(
            text,
            "\nquery {name}ById($id: ID!) @request(perSecond: {READS_A_SECOND}) {{\n  {root}(id: $id) {{ {fields} }}\n}}\n"
        );
        for source in types {
            for (field, _) in source.references().filter(|(_, target)| target == name) {
                let reverse = source.reverse_name(field);
                let _ = write!(
                    text,
                    "\nquery {}Of{name}($id: ID!) @request(perSecond: {READS_A_SECOND}) {{\n  {root}(id: $id) {{ {reverse}(first: 20) {{ nodes {{ {} }} }} }}\n}}\n",
                    capital(&reverse),
                    scalars(source)
                );
            }
        }
        for (field, _) in few(ty) {
            let list = by_value(ty, field);
            let _ = write!(
                text,
                "\nquery {}($unused: ID) @request(perSecond: {WRITES_A_SECOND}) {{\n  {list}(first: 20) {{ nodes {{ {} }} }}\n}}\n",
                capital(&list),
                scalars(ty)
            );
        }
        let _ = write!(
            text,
            "\nmutation Create{name} @request(perSecond: {WRITES_A_SECOND}) {{\n  create{name}(input: $input) {{ {root} {{ id }} }}\n}}\n"
        );
        if let Some(changed) = ty.label() {
            let _ = write!(
                text,
                "\nmutation Update{name}($id: ID!) @request(perSecond: {WRITES_A_SECOND}) {{\n  update{name}(input: {{id: $id, {0}: ${0}}}) {{ {root} {{ id }} }}\n}}\n",
                changed.name
            );
        }
    }
    text.replace("($unused: ID)", "")
}

/// The scalar fields of a type, and its id.
fn scalars(ty: &FoundType) -> String {
    let fields = ty.fields.iter().filter(|field| field.target.is_none() && field.shape.scalar().is_some());
    let names: Vec<&str> = std::iter::once("id").chain(fields.map(|field| field.name.as_str())).collect();
    names.join(" ")
}
