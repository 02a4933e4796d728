//! Generated mutations of a served model: their inputs, their payloads, and the commands that they run.

use std::sync::Arc;

use async_graphql::Result;
use async_graphql::dynamic::{
    Field, FieldFuture, FieldValue, InputObject, InputValue, Object, ResolverContext, TypeRef,
};
use onehop_model::{Action, FieldKind, ListElements, TypeOf};
use serde_json::{Map, Value as Json};

use super::accounts::CURRENT_PASSWORD;
use super::objects::{escaped, wrapped};
use super::scope::{self, ServedScope};
use crate::served::commands::create::IDEMPOTENCY_KEY;
use crate::served::commands::update::IF_VERSION;
use crate::served::input::{InputField, follows_reference, input_fields, rule_of};
use crate::served::{
    ServedCommand, ServedItem, ServedModel, ServedMutation, TypeIndex, WrittenItem, mutation_name, pascal,
};

/// A mutation of the schema.
#[derive(Debug, Clone)]
pub(super) struct NamedMutation {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) mutation: ServedMutation,
}

/// The types and the field of a mutation.
pub(super) struct MutationTypes {
    pub(super) field: Field,
    pub(super) input: InputObject,
    pub(super) payload: Object,
}

/// All mutations except mutations of accounts: the generated ones, and the ones in the model.
pub(super) fn mutations(model: &ServedModel) -> Vec<NamedMutation> {
    let mut found = Vec::new();
    for (ty, served) in model.types().filter(|(_, served)| !served.item.hidden) {
        for action in [Action::Create, Action::Update, Action::Delete] {
            if !served.writes(action) {
                continue;
            }
            let grants = served.item.authorization.of(action).clone();
            found.push(NamedMutation {
                name: mutation_name(action, served.name),
                description: Some(purpose(action, served.name)),
                mutation: ServedMutation { ty, action, fields: Vec::new(), conditions: Vec::new(), grants },
            });
        }
    }
    for mutation in model.model().mutations() {
        let Some(ty) = model.index_of(&mutation.item_type) else { continue };
        let grants = || model.ty(ty).item.authorization.of(mutation.action).clone();
        found.push(NamedMutation {
            name: mutation.name.to_string(),
            description: mutation
                .description
                .clone()
                .or_else(|| Some(purpose(mutation.action, &mutation.item_type))),
            mutation: ServedMutation {
                ty,
                action: mutation.action,
                fields: mutation.fields.clone(),
                conditions: mutation.conditions.clone(),
                grants: mutation.authorization.clone().unwrap_or_else(grants),
            },
        });
    }
    found
}

fn purpose(action: Action, name: &str) -> String {
    match action {
        Action::Create => format!("Creates an item of {name}."),
        Action::Update => format!("Changes an item of {name}; omitted fields stay."),
        Action::Delete => format!("Deletes an item of {name}."),
        Action::Read => format!("Reads an item of {name}."),
    }
}

/// The types and the field of a mutation.
pub(super) fn mutation_types(model: &Arc<ServedModel>, named: NamedMutation) -> MutationTypes {
    let (input_name, payload_name) =
        (format!("{}Input", pascal(&named.name)), format!("{}Payload", pascal(&named.name)));
    let input = input_object(model, &input_name, &named.mutation);
    let payload = match named.mutation.action {
        Action::Delete => deletion_payload(model, &payload_name, named.mutation.ty),
        _ => item_payload(model, &payload_name, named.mutation.ty),
    };
    let (mutation, description) = (Arc::new(named.mutation), named.description);
    let field = Field::new(named.name, TypeRef::named(payload_name), move |ctx| {
        let mutation = Arc::clone(&mutation);
        FieldFuture::new(async move { run(&ctx, &mutation).await.map(Some) })
    });
    let field =
        field.argument(InputValue::new("input", TypeRef::named_nn(input_name)).description("The input."));
    MutationTypes { field: super::objects::described(field, description.as_deref()), input, payload }
}

/// Runs the command of a mutation.
async fn run<'a>(ctx: &ResolverContext<'a>, mutation: &ServedMutation) -> Result<FieldValue<'a>> {
    let scope = scope::of(ctx.ctx);
    scope.check_room()?;
    let input = input_of(ctx)?;
    let command = ServedCommand { mutation, input: &input, requester: scope.requester() };
    let (commands, ledger) = (&scope.services().commands, scope.ledger());
    let written = match mutation.action {
        Action::Create => commands.create(command, ledger).await,
        Action::Update => commands.update(command, ledger).await,
        Action::Delete if commands.model().account() == Some(mutation.ty) => {
            return Ok(FieldValue::owned_any(super::accounts::delete(scope, command).await?));
        }
        Action::Delete | Action::Read => commands.delete(command, ledger).await,
    };
    Ok(FieldValue::owned_any(written.map_err(|failure| scope.command_error(failure))?))
}

/// The argument `input`, as typed.
pub(super) fn input_of(ctx: &ResolverContext<'_>) -> Result<Map<String, Json>> {
    let input = ctx.args.try_get("input")?.as_value().clone().into_json()?;
    Ok(match input {
        Json::Object(input) => input,
        _ => Map::new(),
    })
}

fn input_object(model: &Arc<ServedModel>, name: &str, mutation: &ServedMutation) -> InputObject {
    let ty = model.ty(mutation.ty);
    let mut input = InputObject::new(name);
    if mutation.action != Action::Create {
        let id = InputValue::new(ty.id_input, TypeRef::named_nn(TypeRef::ID));
        input = input.field(id.description(format!("The id of the item of {}.", ty.name)));
    }
    if mutation.action == Action::Delete && model.account() == Some(mutation.ty) {
        let password = InputValue::new(CURRENT_PASSWORD, TypeRef::named(TypeRef::STRING));
        input = input.field(password.description("The password; staff need none for the account of others."));
    }
    if mutation.action != Action::Delete {
        for field in input_fields(ty, mutation.action, &mutation.fields) {
            input = input.field(input_value(&field));
        }
    }
    if mutation.action == Action::Update && ty.version_field().is_some() {
        let version = InputValue::new(IF_VERSION, TypeRef::named(TypeRef::INT));
        input = input
            .field(version.description("The version that was read: another present one is a `CONFLICT`."));
    }
    if mutation.action == Action::Create {
        let key = InputValue::new(IDEMPOTENCY_KEY, TypeRef::named(TypeRef::STRING));
        input = input.field(key.description(
            "A repeat with the same key returns the first outcome; the same key with other input is a `CONFLICT`.",
        ));
    }
    input
}

/// A field of an input.
pub(super) fn input_value(field: &InputField<'_>) -> InputValue {
    let declared = &field.field.ty;
    let name = match (&field.field.kind, &declared.of) {
        (FieldKind::Reference(_), _) => "ID".to_owned(),
        (_, TypeOf::Embedded(name)) => format!("{name}Input"),
        (_, TypeOf::Scalar(onehop_model::Scalar::Money)) => "MoneyInput".to_owned(),
        (_, of) => of.name().to_owned(),
    };
    let mut ty = declared.clone();
    ty.non_null = field.is_required;
    // No element is null, also where the answers may have such elements.
    ty.list = ty.list.map(|_| ListElements::NonNull);
    let value = InputValue::new(field.name, wrapped(&name, &ty));
    let description = field.field.description.as_deref().map(escaped);
    let texts: Vec<String> = description.into_iter().chain(rule_of(field.field)).collect();
    if texts.is_empty() { value } else { value.description(texts.join(" ")) }
}

/// The input type of an embedded type; `None` where it has no input.
pub(super) fn embedded_input(embedded: &onehop_model::EmbeddedType) -> Option<InputObject> {
    let mut input = InputObject::new(format!("{}Input", embedded.name));
    if let Some(description) = &embedded.description {
        input = input.description(escaped(description));
    }
    let is_input = |field: &&onehop_model::Field| match &field.kind {
        FieldKind::Stored(stored) => stored.source == onehop_model::ValueSource::Input,
        _ => true,
    };
    let mut is_empty = true;
    for field in embedded.fields.iter().filter(|field| !field.hidden).filter(is_input) {
        is_empty = false;
        let has_default = matches!(&field.kind, FieldKind::Stored(stored) if stored.default.is_some());
        let name = crate::served::input::input_name(field);
        let follows = follows_reference(&embedded.fields, &field.name);
        let is_required = field.ty.non_null && !has_default && !follows;
        input = input.field(input_value(&InputField { name, field, is_required }));
    }
    (!is_empty).then_some(input)
}

/// The field of a payload with the written item.
pub(super) fn item_field(model: &ServedModel, ty: TypeIndex) -> Field {
    let name = model.ty(ty).item.name.camel_case();
    Field::new(&*name, TypeRef::named_nn(model.ty(ty).name), |ctx| {
        let written = ctx.parent_value.try_downcast_ref::<WrittenItem>();
        let item = written.map(|written| ServedItem::whole(written.place.clone(), Arc::clone(&written.body)));
        super::objects::Resolved::Now(item.map(|item| Some(FieldValue::owned_any(item)))).into_future()
    })
    .description("The item as it was written.")
}

pub(super) fn item_payload(model: &Arc<ServedModel>, name: &str, ty: TypeIndex) -> Object {
    Object::new(name).field(item_field(model, ty))
}

fn deletion_payload(model: &Arc<ServedModel>, name: &str, ty: TypeIndex) -> Object {
    let (field, model) = (format!("deleted{}Id", model.ty(ty).name), Arc::clone(model));
    let field = Field::new(field, TypeRef::named_nn(TypeRef::ID), move |ctx| {
        let written = ctx.parent_value.try_downcast_ref::<WrittenItem>();
        let id = written.map(|written| Some(FieldValue::value(written.place.encode(&model))));
        super::objects::Resolved::Now(id).into_future()
    });
    Object::new(name).field(field.description("The id of the item that is gone."))
}

/// The caller's own scope, with room for a response.
pub(super) fn for_write<'a>(ctx: &ResolverContext<'a>) -> Result<&'a Arc<ServedScope>> {
    let scope = scope::of(ctx.ctx);
    scope.check_room()?;
    Ok(scope)
}
