//! The schema of a served model, by `async_graphql::dynamic`: types, root fields, mutations and descriptions.

use std::sync::Arc;

use async_graphql::dynamic::{
    Enum, EnumItem, Interface, InterfaceField, Object, Scalar, Schema, SchemaBuilder, SchemaError, TypeRef,
};
use async_graphql::{SDLExportOptions, ValidationMode};
use onehop_graphql_server::live_directive::LIVE_DIRECTIVE_SDL;
use onehop_model::{RelatedField, RelatedSource, TypeOf};

use super::accounts::{account_mutations, sign_out};
use super::embedded_objects::embedded_object;
use super::field_scope::FieldScopes;
use super::lists::{connection_types, page_info};
use super::money::{money_input, money_object};
use super::mutations::{embedded_input, mutation_types, mutations};
use super::objects::{NODE, escaped, item_object};
use super::queries::{NODES, NODES_MAX, has_nodes, query_root};
use super::subscriptions::{ROOT, event_root, subscription_root};
use crate::graphql::schema::SchemaOptions;
use crate::graphql::validation::{SkipsValidation, ValidatesOnly};
use crate::served::ServedModel;

/// The schemas of a model, which differ in their validation.
pub(super) struct ServedSchemas {
    /// Validates and executes.
    pub(super) full: Schema,
    /// For queries that are known to be valid: repeats the checks that keep execution from harm.
    pub(super) validated: Schema,
    /// For mutations that are known to be valid.
    pub(super) unchecked: Schema,
    /// Validates alone.
    pub(super) validating: Schema,
    /// Executes the events of subscriptions.
    pub(super) events: Schema,
}

impl ServedSchemas {
    /// # Errors
    /// The model gives no valid schema.
    pub(super) fn new(model: &Arc<ServedModel>, options: SchemaOptions) -> Result<Self, SchemaError> {
        let builder = || builder(model, options);
        Ok(Self {
            full: builder().extension(FieldScopes).finish()?,
            validated: builder().extension(FieldScopes).validation_mode(ValidationMode::Fast).finish()?,
            unchecked: builder().extension(FieldScopes).extension(SkipsValidation).finish()?,
            validating: builder().extension(ValidatesOnly).finish()?,
            events: events_builder(model, options).extension(FieldScopes).finish()?,
        })
    }
}

/// The schema of a model in schema definition language.
///
/// # Errors
/// The model gives no valid schema.
pub fn served_sdl(model: &Arc<ServedModel>) -> Result<String, SchemaError> {
    Ok(sdl_of(&builder(model, SchemaOptions::default()).finish()?))
}

/// A schema in schema definition language. Descriptions are block strings, in which a backslash is no escape.
pub(super) fn sdl_of(schema: &Schema) -> String {
    let sdl = schema.sdl_with_options(SDLExportOptions::new().use_space_ident());
    sdl + "\n" + LIVE_DIRECTIVE_SDL
}

fn builder(model: &Arc<ServedModel>, options: SchemaOptions) -> SchemaBuilder {
    let writes = mutation_root(model);
    let mutation = writes.as_ref().map(|(root, _)| root.type_name().to_owned());
    let subscription = subscription_root(model);
    let mut builder = Schema::build("Query", mutation.as_deref(), subscription.as_ref().map(|_| ROOT));
    if !options.introspection {
        builder = builder.disable_introspection();
    }
    if !options.suggestions {
        builder = builder.disable_suggestions();
    }
    if let Some((root, types)) = writes {
        builder = types.into_iter().fold(builder.register(root), |builder, types| types(builder));
    }
    if let Some(root) = subscription {
        builder = builder.register(root);
    }
    with_types(builder.register(query_root(model)), model)
}

/// The schema of the events of subscriptions, whose root of reads has the fields of `Subscription`. Documents
/// are validated before.
fn events_builder(model: &Arc<ServedModel>, options: SchemaOptions) -> SchemaBuilder {
    let mut builder = match model.model().subscriptions().is_empty() {
        true => Schema::build("Query", None, None).register(query_root(model)),
        false => Schema::build(ROOT, None, None).register(event_root(model)),
    };
    if !options.introspection {
        builder = builder.disable_introspection();
    }
    with_types(builder.validation_mode(ValidationMode::Fast), model)
}

/// Adds the types of a model.
fn with_types(builder: SchemaBuilder, model: &Arc<ServedModel>) -> SchemaBuilder {
    let mut builder = builder.register(node_interface());
    builder = builder
        .register(Scalar::new("DateTime").description("An instant in UTC, RFC 3339 with milliseconds."));
    if has_fields(model, onehop_model::Scalar::Decimal) || has_fields(model, onehop_model::Scalar::Money) {
        let decimal = "An exact decimal number as a string, such as \"12.50\".";
        builder = builder.register(Scalar::new("Decimal").description(decimal));
    }
    if has_fields(model, onehop_model::Scalar::Money) {
        builder = builder.register(money_object()).register(money_input());
    }
    let listed = listed_types(model);
    if !listed.is_empty() {
        builder = builder.register(page_info());
    }
    for name in listed {
        let [connection, edge] = connection_types(&name);
        builder = builder.register(connection).register(edge);
    }
    for (ty, _) in model.types().filter(|(_, served)| !served.item.hidden) {
        builder = builder.register(item_object(model, ty));
    }
    for embedded in model.model().embedded().iter().filter(|embedded| !embedded.hidden) {
        builder = builder.register(embedded_object(model, embedded));
        builder = embedded_input(embedded).into_iter().fold(builder, SchemaBuilder::register);
    }
    model.model().enums().iter().fold(builder, |builder, declared| builder.register(enum_type(declared)))
}

/// Adds types to a schema.
type Registration = Box<dyn FnOnce(SchemaBuilder) -> SchemaBuilder>;

/// The root of all writes with its types; `None` for a model without writes.
fn mutation_root(model: &Arc<ServedModel>) -> Option<(Object, Vec<Registration>)> {
    let generated = mutations(model).into_iter().map(|named| mutation_types(model, named));
    let mut types: Vec<Registration> = Vec::new();
    let mut root = Object::new("Mutation").description("The root of all writes.");
    let mut is_empty = true;
    for written in account_mutations(model).into_iter().chain(generated) {
        is_empty = false;
        root = root.field(written.field);
        types.push(Box::new(|builder| builder.register(written.input).register(written.payload)));
    }
    if let Some((field, payload)) = sign_out(model) {
        root = root.field(field);
        types.push(Box::new(|builder| builder.register(payload)));
    }
    (!is_empty).then_some((root, types))
}

fn node_interface() -> Interface {
    let id = InterfaceField::new("id", TypeRef::named_nn(TypeRef::ID));
    Interface::new(NODE)
        .description("An object with an id.")
        .field(id.description("Identifies the object among all nodes."))
}

/// Whether a field of the model is of a scalar type.
fn has_fields(model: &ServedModel, scalar: onehop_model::Scalar) -> bool {
    let items = model.model().items().iter().map(|item| item.fields.as_slice());
    let embedded = model.model().embedded().iter().map(|embedded| embedded.fields.as_slice());
    let is_of = |field: &onehop_model::Field| field.ty.of == TypeOf::Scalar(scalar);
    items.chain(embedded).flatten().any(is_of)
}

/// The item types of connections.
fn listed_types(model: &ServedModel) -> Vec<String> {
    let mut names: Vec<String> = crate::served::lists(model.model())
        .filter(|(_, related)| related.page.connection)
        .map(|(_, related)| related.item_type.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn enum_type(declared: &onehop_model::EnumType) -> Enum {
    let mut values = Enum::new(&*declared.name);
    if let Some(description) = &declared.description {
        values = values.description(escaped(description));
    }
    for value in &declared.values {
        let item = EnumItem::new(&*value.name);
        values = values.item(match &value.description {
            Some(description) => item.description(escaped(description)),
            None => item,
        });
    }
    values
}

/// The fields whose texts or lists count several times in the complexity of a request.
pub(super) fn weights(model: &ServedModel) -> crate::graphql::complexity::FieldWeights {
    let mut weights = crate::graphql::complexity::FieldWeights::default();
    let items = model.model().items().iter().map(|item| (&item.name, item.fields.as_slice()));
    let embedded =
        model.model().embedded().iter().map(|embedded| (&embedded.name, embedded.fields.as_slice()));
    for (name, field) in
        items.chain(embedded).flat_map(|(name, fields)| fields.iter().map(move |field| (name, field)))
    {
        let names = (name.to_string(), field.name.to_string());
        let max = field.checks.length_max;
        if let Some(related) = crate::served::related(field) {
            if !related.page.connection {
                weights.lists.push((names, shown_max(related)));
            }
        } else if field.ty.list.is_some() {
            let elements = max.unwrap_or(LIST_ITEMS).min(LIST_ITEMS_COUNTED);
            weights.lists.push((names, elements.max(1) as usize));
        } else if matches!(field.ty.of, TypeOf::Scalar(onehop_model::Scalar::String)) {
            let chars = max.unwrap_or(crate::served::input::TEXT_CHARS_MAX);
            if chars > TEXT_CHARS_COUNTED_ONCE {
                weights.texts.push((names, chars.div_ceil(TEXT_CHARS_COUNTED) as usize));
            }
        }
    }
    if has_nodes(model) {
        weights.lists.push((("Query".to_owned(), NODES.to_owned()), NODES_MAX));
    }
    for query in model.model().queries() {
        if let onehop_model::QueryKind::Related(related) = &query.kind
            && !related.page.connection
        {
            weights.lists.push((("Query".to_owned(), query.name.to_string()), shown_max(related)));
        }
    }
    weights
}

/// The most items that a plain list shows.
fn shown_max(related: &RelatedField) -> usize {
    let kept = match &related.source {
        RelatedSource::List(list) => list.keep,
        _ => None,
    };
    kept.unwrap_or(u32::MAX).min(related.page.max) as usize
}

/// The elements for which an embedded list counts where the model states no limit.
const LIST_ITEMS: u32 = 20;
/// The most elements for which an embedded list counts.
const LIST_ITEMS_COUNTED: u32 = 20;
/// Texts up to this length count as one field.
const TEXT_CHARS_COUNTED_ONCE: u32 = 1_000;
/// The characters of a longer text that count as one field.
const TEXT_CHARS_COUNTED: u32 = 5_000;
