//! Documents of a first study: settings and designs, with comments.

use std::fmt::Write as _;
use std::path::Path;

use super::infer::{FoundField, FoundId, FoundType, label_of};
use super::names::{capital, field_name, is_path, plural, small};
use super::references::{embedded_reference_name, id_property};
use super::shapes::{Shape, TimeForm};

/// The file `study.toml`.
pub(super) fn settings(directory: &Path, types: &[FoundType]) -> String {
    let mut text = String::from(
        "# A study: designs of one's own data, compared. Check each line; `onehop study run` reads it.\nname = \"My study\"\n\n\
         # How many times the data of the files there is in production.\nscale = 1\n\n# The files of each type: JSON lines, one JSON array, or CSV with headings.\n[data]\n",
    );
    for ty in types {
        let _ =
            writeln!(text, "{} = {}  # {} items", ty.name, quoted(&relative(directory, &ty.file)), ty.items);
    }
    let others: Vec<(&FoundType, String)> = types
        .iter()
        .filter_map(|ty| match &ty.id {
            FoundId::Property(property) if property == "id" => None,
            FoundId::Property(property) => Some((ty, quoted(property))),
            FoundId::Pair(pair) => {
                Some((ty, format!("[{}]", pair.each_ref().map(|part| quoted(part)).join(", "))))
            }
            FoundId::Number => Some((ty, "[]".to_owned())),
        })
        .collect();
    if !others.is_empty() {
        text.push_str(
            "\n# The property of the id, where it is not `id`, or several. Items without any are numbered: [].\n[ids]\n",
        );
    }
    for (ty, properties) in others {
        let _ = writeln!(text, "{} = {properties}", ty.name);
    }
    if types.iter().any(|ty| ty.condition.is_some()) {
        text.push_str("\n# Of a file with several types: the items of each.\n[where]\n");
    }
    for (ty, (property, value)) in types.iter().filter_map(|ty| Some((ty, ty.condition.as_ref()?))) {
        let is_bare = |letter: u8| letter.is_ascii_alphanumeric() || b"_-".contains(&letter);
        let key = if property.bytes().all(is_bare) { property.clone() } else { quoted(property) };
        let _ = writeln!(text, "{} = {{ {key} = {} }}", ty.name, quoted(value));
    }
    text.push_str(
        "\n[traffic]\n# The peak as a multiple of the mean, or its two ends. Instead: hourly = [24 numbers].\npeak_to_mean = [1, 3]\n\n\
         [account]\nregions = 1\n# session, eventual, consistent-prefix, bounded-staleness or strong\nconsistency = \"session\"\n\n\
         # In one currency: 100 RU/s for an hour; a million RU; a GB for a month. Replace them by the prices of your region.\n\
         [prices]\nmanual = 0.008\nserverless = 0.25\nstorage = 0.25\n",
    );
    text
}

/// A text in quotes, with escapes that TOML and GraphQL share with JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The path within the directory; else the absolute one.
fn relative(directory: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (directory, file) = (absolute(directory), absolute(file));
    file.strip_prefix(&directory).unwrap_or(&file).display().to_string()
}

/// The designs, each with its file.
pub(super) fn designs(types: &[FoundType]) -> Vec<(&'static str, String)> {
    let mut designs = vec![
        ("v1.graphql", design_text(types, Design::Normalised)),
        ("v2.graphql", design_text(types, Design::Copied)),
    ];
    if types.iter().any(|ty| owner(types, ty).is_some_and(|owner| !owner.is_hot())) {
        designs.push(("v3.graphql", design_text(types, Design::Together)));
    }
    designs
}

#[derive(Clone, Copy, PartialEq)]
enum Design {
    /// Each type by its id, and queries across partitions.
    Normalised,
    /// A type that others do not refer to lies with its main reference; names are copied, and the items of
    /// other references are lists.
    Copied,
    /// Such items lie in the container and the logical partition of the item that they belong to, without
    /// copies.
    Together,
}

impl Design {
    fn heading(self) -> String {
        let (name, description) = match self {
            Self::Normalised => ("V1", "Each item by its id; related items are found across partitions."),
            Self::Copied => {
                ("V2", "Items lie by the item that they belong to; names are copied, further lists kept.")
            }
            Self::Together => {
                ("V3", "Items share the logical partition of the item that they belong to; no copies.")
            }
        };
        format!(
            "# Generated from the data: check types, `!` and references. docs/model.md explains the directives.\nextend schema\n  \
             @model(name: \"study\", design: \"{name}\", description: \"{description}\")\n"
        )
    }
}

/// A container with the fields that fill its key.
struct FoundContainer {
    container: String,
    key: Vec<String>,
    /// The fields, where they are not the id alone.
    partition: Vec<String>,
}

fn design_text(types: &[FoundType], design: Design) -> String {
    let mut text = design.heading();
    let mut known = std::collections::BTreeSet::new();
    for ty in types {
        let place = place(types, ty, design);
        let key: Vec<String> = place.key.iter().map(|path| format!("\"/{path}\"")).collect();
        let key = if key.len() == 1 { key.concat() } else { format!("[{}]", key.join(", ")) };
        if known.insert(place.container.clone()) {
            let _ = writeln!(text, "  @container(name: \"{}\", key: {key})", place.container);
        }
    }
    for (ty, reference) in listed(types).into_iter().filter(|_| design == Design::Copied) {
        let name = list_name(ty, reference);
        let key = id_property(&reference.name);
        let _ = writeln!(text, "  @container(name: \"{name}\", key: \"/{key}\")");
    }
    for ty in types {
        write_type(&mut text, types, ty, design);
    }
    embedded_types(&mut text, types, design);
    queries(&mut text, types);
    text
}

/// The container and the key of a type.
fn place(types: &[FoundType], ty: &FoundType, design: Design) -> FoundContainer {
    let own =
        || FoundContainer { container: container(ty), key: vec!["id".to_owned()], partition: Vec::new() };
    let owner = owner(types, ty);
    match (design, owner) {
        (Design::Normalised, _) | (_, None) if !has_children(types, ty, design) => own(),
        (Design::Together, None) => {
            FoundContainer { key: vec![shared_key(types, ty)], partition: vec!["id".to_owned()], ..own() }
        }
        // One value would hold much of the data, so the id is the second part of a hierarchical key.
        (_, Some(owner)) if owner.is_hot() => FoundContainer {
            key: vec![id_property(&owner.name), "id".to_owned()],
            partition: vec![owner.name.clone(), "id".to_owned()],
            ..own()
        },
        (Design::Copied, Some(owner)) => FoundContainer {
            key: vec![id_property(&owner.name)],
            partition: vec![owner.name.clone()],
            ..own()
        },
        (Design::Together, Some(owner)) => {
            let parent =
                types.iter().find(|parent| Some(&parent.name) == owner.target.as_ref()).unwrap_or(ty);
            FoundContainer {
                container: container(parent),
                key: vec![shared_key(types, parent)],
                partition: vec![owner.name.clone()],
            }
        }
        _ => own(),
    }
}

/// Whether items of other types lie in the logical partitions of these.
fn has_children(types: &[FoundType], parent: &FoundType, design: Design) -> bool {
    design == Design::Together && children(types, parent).next().is_some()
}

/// The types whose items lie in the logical partitions of these, each with its reference to them.
fn children<'t>(
    types: &'t [FoundType],
    parent: &'t FoundType,
) -> impl Iterator<Item = (&'t FoundType, &'t FoundField)> {
    let owned = types.iter().filter_map(move |ty| Some((ty, owner(types, ty)?)));
    owned.filter(|(_, owner)| !owner.is_hot() && owner.target.as_ref() == Some(&parent.name))
}

/// The key of a container for a type and its children: `orderId`, unless one of them has another value there.
fn shared_key(types: &[FoundType], parent: &FoundType) -> String {
    let is_taken = |key: &str| {
        let has = |ty: &FoundType, but: Option<&FoundField>| {
            let others = ty.fields.iter().filter(|field| but.is_none_or(|but| but.name != field.name));
            others.clone().any(|field| field.name == key)
                || others.filter(|field| field.target.is_some()).any(|field| id_property(&field.name) == key)
        };
        has(parent, None) || children(types, parent).any(|(child, owner)| has(child, Some(owner)))
    };
    let name = small(&parent.name);
    let keys = [id_property(&name), format!("{name}Key"), format!("{name}Partition")];
    let [first, ..] = keys.clone();
    keys.into_iter().find(|key| !is_taken(key)).unwrap_or(first)
}

fn container(ty: &FoundType) -> String {
    small(&plural(&ty.name))
}

fn list_name(ty: &FoundType, reference: &FoundField) -> String {
    format!("{}By{}", container(ty), capital(&reference.name))
}

/// The reference by which a type lies with another: one that every item has, with several items under each
/// value and no hot value, and the most values among these. Types that others refer to lie by their ids.
fn owner<'t>(types: &[FoundType], ty: &'t FoundType) -> Option<&'t FoundField> {
    /// Items under each value from which on they belong together.
    const SEVERAL_ITEMS: f64 = 1.5;
    let is_referred = types.iter().any(|source| source.refers_to(&ty.name));
    let references =
        ty.references().filter(|(field, target)| field.is_required && !field.is_list() && *target != ty.name);
    let rank = |field: &FoundField| {
        let values = field.shape.different_values().max(1.0);
        (field.is_hot(), (ty.items as f64) < SEVERAL_ITEMS * values, -values)
    };
    let best = references
        .map(|(field, _)| field)
        .min_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal));
    if is_referred { None } else { best }
}

/// The references whose items are a list in the design with copies. The list of a hot value would have a hot
/// partition.
fn listed(types: &[FoundType]) -> Vec<(&FoundType, &FoundField)> {
    let of_type = |ty| {
        let references = FoundType::references(ty).map(|(field, _)| field);
        references.filter(move |field| is_listed(types, ty, field)).map(move |field| (ty, field))
    };
    types.iter().flat_map(of_type).collect()
}

fn is_listed(types: &[FoundType], ty: &FoundType, field: &FoundField) -> bool {
    let is_owner = owner(types, ty).is_some_and(|own| own.name == field.name);
    field.is_required && !field.is_list() && !is_owner && !field.is_hot()
}

fn write_type(text: &mut String, types: &[FoundType], ty: &FoundType, design: Design) {
    let place = place(types, ty, design);
    let names: Vec<String> = place.partition.iter().map(|field| format!("\"{field}\"")).collect();
    let partition = match names.as_slice() {
        [] => String::new(),
        [name] => format!(", partition: {name}"),
        names => format!(", partition: [{}]", names.join(", ")),
    };
    let (ty_value, condition) = match &ty.condition {
        Some((property, value)) if property == "type" && *value != small(&ty.name) => {
            (format!(", type: {}", quoted(value)), String::new())
        }
        Some((property, value)) if property != "type" && is_path(property) => {
            (String::new(), format!(" @where(path: {}, is: {})", quoted(property), quoted(value)))
        }
        _ => (String::new(), String::new()),
    };
    let _ = write!(
        text,
        "\ntype {} @item(container: \"{}\"{partition}{ty_value}, write: [CREATE, UPDATE, DELETE]){condition} {{\n  id: ID!\n",
        ty.name, place.container
    );
    for field in &ty.fields {
        match &field.target {
            Some(target) => reference(text, types, (ty, field), target, design),
            None => scalar(text, types, &ty.name, field),
        }
    }
    for source in types {
        for (field, _) in source.references().filter(|(_, target)| *target == ty.name) {
            related(text, types, source, field, design);
        }
    }
    text.push_str("}\n");
}

/// The copy of the label of a reference's target, unless a property is there already.
fn copy(types: &[FoundType], reference: &str, target: &str, known: &[&str], design: Design) -> String {
    let is_free = |label: &&FoundField| {
        let property = format!("{reference}{}", capital(&label.name));
        let is_copy = |known: &str| known == property || field_name(known) == property;
        // An object such as `customer: { id, name }` is a copy already.
        let is_part = known.contains(&"id") && known.contains(&label.property.as_str());
        !known.iter().any(|known| is_copy(known)) && !is_part
    };
    match label_of(types, target).filter(is_free) {
        Some(label) if design == Design::Copied => format!(" @copy(fields: \"{}\")", label.name),
        _ => String::new(),
    }
}

fn reference(
    text: &mut String,
    types: &[FoundType],
    (owner, field): (&FoundType, &FoundField),
    target: &str,
    design: Design,
) {
    let required = if field.is_required { "!" } else { "" };
    let known: Vec<&str> = owner.fields.iter().map(|known| known.property.as_str()).collect();
    // `customer` beside `customerId`: their copies would have had one name in the data.
    let stem = |property: &str| property.strip_suffix("Id").unwrap_or(property).to_owned();
    let is_twice = |other: &FoundField| {
        other.name != field.name && other.target.is_some() && stem(&other.property) == stem(&field.property)
    };
    let copy = match owner.fields.iter().any(is_twice) {
        true => String::new(),
        false => copy(types, &field.name, target, &known, design),
    };
    let is_plain =
        field.property == field.name || (!field.is_list() && field.property == id_property(&field.name));
    let former =
        if is_plain { String::new() } else { format!(" @stored(former: {})", quoted(&field.property)) };
    let ty = if field.is_list() { format!("[{target}!]") } else { target.to_owned() };
    let _ = writeln!(text, "  {}: {ty}{required} @reference{copy}{former}", field.name);
}

fn scalar(text: &mut String, types: &[FoundType], owner: &str, field: &FoundField) {
    let required = if field.is_required { "!" } else { "" };
    let format = match field.time {
        Some(TimeForm::EpochSeconds) => "format: EPOCH_SECONDS",
        Some(TimeForm::EpochMillis) => "format: EPOCH_MILLIS",
        _ => "",
    };
    let former = if field.property == field.name {
        String::new()
    } else {
        format!("former: {}", quoted(&field.property))
    };
    let arguments = [format, &former].into_iter().filter(|argument| !argument.is_empty());
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    let stored = if arguments.is_empty() { String::new() } else { format!(" @stored({arguments})") };
    let time = (!format.is_empty()).then(|| "DateTime".to_owned());
    match time.or_else(|| graphql_type(types, owner, &field.name, &field.shape)) {
        Some(ty) => {
            let _ = writeln!(text, "  {}: {ty}{required}{stored}", field.name);
        }
        None if field.shape.present == 0 => {
            let _ = writeln!(text, "  # {}: no item has a value, and it is left out.", field.name);
        }
        None => {
            let _ =
                writeln!(text, "  # Its values have no type of the model, and count with all their bytes.");
            let _ = writeln!(text, "  {}: String{required}{stored}", field.name);
        }
    }
}

/// The type of a shape; `None` for mixed values.
fn graphql_type(types: &[FoundType], owner: &str, field: &str, shape: &Shape) -> Option<String> {
    if shape.target.is_some() {
        return shape.target.clone();
    }
    if let Some(scalar) = shape.scalar() {
        return Some(scalar.to_owned());
    }
    if shape.arrays == 0
        && shape.objects().is_some_and(|shape| fields_of(types, owner, field, shape).next().is_some())
    {
        return Some(embedded_name(types, owner, field));
    }
    let elements =
        shape.elements.as_ref().filter(|elements| shape.arrays == shape.present && elements.present > 0)?;
    (elements.arrays == 0)
        .then(|| graphql_type(types, owner, field, elements).map(|ty| format!("[{ty}!]")))?
}

/// The name of an embedded type, which no item type has.
pub(super) fn embedded_name(types: &[FoundType], owner: &str, field: &str) -> String {
    let name = format!("{owner}{}", capital(field));
    if types.iter().any(|ty| ty.name == name) { format!("{name}Part") } else { name }
}

/// The properties of an embedded object that have a type.
pub(super) fn fields_of<'s>(
    types: &'s [FoundType],
    owner: &str,
    field: &str,
    shape: &'s Shape,
) -> impl Iterator<Item = (String, &'s String, &'s Shape, String)> {
    let name = embedded_name(types, owner, field);
    let mut seen = std::collections::BTreeSet::new();
    shape.properties.iter().filter(|(property, _)| is_path(property)).filter_map(move |(property, inner)| {
        let field = match &inner.target {
            Some(target) => embedded_reference_name(property, target, &shape.properties),
            None => field_name(property),
        };
        let ty = graphql_type(types, &name, &field, inner)?;
        seen.insert(field.clone()).then_some((field, property, inner, ty))
    })
}

fn embedded_types(text: &mut String, types: &[FoundType], design: Design) {
    for ty in types {
        for field in ty.fields.iter().filter(|field| field.target.is_none()) {
            embedded(text, types, (&ty.name, &field.name, &field.shape), design);
        }
    }
}

fn embedded(
    text: &mut String,
    types: &[FoundType],
    (owner, field, shape): (&str, &str, &Shape),
    design: Design,
) {
    let Some(shape) = shape.objects().filter(|shape| graphql_type(types, owner, field, shape).is_some())
    else {
        return;
    };
    let name = embedded_name(types, owner, field);
    let _ = writeln!(text, "\ntype {name} @embedded {{");
    for (inner_name, property, inner, ty) in fields_of(types, owner, field, shape) {
        let required = if inner.present == shape.objects { "!" } else { "" };
        let (reference, default) = match &inner.target {
            Some(target) => {
                let known: Vec<&str> = shape.properties.keys().map(String::as_str).collect();
                let copy = copy(types, &inner_name, target, &known, design);
                (format!(" @reference{copy}"), id_property(&inner_name))
            }
            None => (String::new(), inner_name.clone()),
        };
        let stored =
            if *property == default { String::new() } else { format!(" @stored(as: {})", quoted(property)) };
        let _ = writeln!(text, "  {inner_name}: {ty}{required}{reference}{stored}");
    }
    text.push_str("}\n");
    for (inner_name, _, inner, _) in fields_of(types, owner, field, shape) {
        if inner.target.is_none() {
            embedded(text, types, (&name, &inner_name, inner), design);
        }
    }
}

/// The items that refer to a type.
fn related(text: &mut String, types: &[FoundType], source: &FoundType, field: &FoundField, design: Design) {
    let order =
        source.order().map_or(String::new(), |order| format!(" @order(by: \"{}\", desc: true)", order.name));
    let is_key = place(types, source, design).partition == [field.name.clone()];
    let directive = match design {
        _ if is_key => format!("@partition(by: \"{}\")", field.name),
        Design::Copied if is_listed(types, source, field) => {
            format!("@list(into: \"{}\", by: \"{}\")", list_name(source, field), field.name)
        }
        _ => format!("@find(by: \"{}\")", field.name),
    };
    let _ = writeln!(text, "  {}: [{}!]! {directive}{order}", source.reverse_name(types, field), source.name);
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
            let value = quoted(value);
            let _ = writeln!(
                text,
                "  {}: [{}!] @find @where(field: \"{}\", is: {value}){order}",
                by_value(ty, field),
                ty.name,
                field.name
            );
        }
    }
    text.push_str("}\n");
}

pub(super) fn few(ty: &FoundType) -> impl Iterator<Item = (&FoundField, &str)> {
    ty.fields.iter().filter_map(|field| Some((field, field.frequent.as_deref()?)))
}

pub(super) fn by_value(ty: &FoundType, field: &FoundField) -> String {
    format!("{}With{}", container(ty), capital(&field.name))
}
