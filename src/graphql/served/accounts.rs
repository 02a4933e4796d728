//! Accounts of a served model in the schema: signing up, in and out, renewal, and changes of the password.
//! Where signing up is closed, staff create accounts.

use std::sync::Arc;

use async_graphql::Result;
use async_graphql::dynamic::{
    Field, FieldFuture, FieldValue, InputObject, InputValue, Object, ResolverContext, TypeRef,
};
use onehop_model::Action;
use serde_json::{Map, Value as Json};
use uuid::Uuid;

use super::mutations::{MutationTypes, for_write, input_of, input_value, item_payload};
use super::scope::{ServedScope, ServedServices};
use crate::accounts::account_id::AccountId;
use crate::accounts::brute_force_protection::{Attempt, AttemptKind, AttemptOutcome, LoginName};
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::network_prefixes::AttemptOrigin;
use crate::accounts::session::RefreshToken;
use crate::domain::accounts::sessions::{NewSession, Renewal};
use crate::domain::error::{CommandError, Refusal, RefusalCode};
use crate::graphql::errors::{self, Code};
use crate::served::commands::account::{PasswordsTyped, SignUp};
use crate::served::input::input_fields;
use crate::served::{
    Decision, ServedCommand, ServedItem, ServedModel, ServedMutation, TypeIndex, WrittenItem, mutation_name,
};
use onehop_graphql_server::client_address::Network;
use onehop_runtime::clock::format_timestamp;
use onehop_store::{Fault, FaultKind};

/// The input field with the password until now.
pub(super) const CURRENT_PASSWORD: &str = "currentPassword";

/// The account of a session that was started or renewed, with its tokens.
struct SessionValue {
    access_token: String,
    expires_at: String,
    refresh_token: String,
}

/// The mutations that start or renew a session.
#[derive(Clone, Copy)]
enum AccountMutation {
    SignUp,
    SignIn,
    Renew,
    ChangePassword,
}

/// The mutations of the account type, if the model has one, without signing out.
pub(super) fn account_mutations(model: &Arc<ServedModel>) -> Vec<MutationTypes> {
    let Some(ty) = model.account() else { return Vec::new() };
    let create = mutation_name(Action::Create, model.ty(ty).name);
    let first = match is_open(model, ty) {
        true => account_mutation(model, ty, (&create, AccountMutation::SignUp, "Signs up, and signs in.")),
        false => creation_by_staff(model, ty, &create),
    };
    let kinds = [
        ("signIn", AccountMutation::SignIn, "Signs in. A wrong login or password is `INVALID_CREDENTIALS`."),
        (
            "renewSession",
            AccountMutation::Renew,
            "Renews the access token of a session. The refresh token is replaced.",
        ),
        (
            "changePassword",
            AccountMutation::ChangePassword,
            "Changes the password of the caller, ends all sessions, and starts another one.",
        ),
    ];
    let others = kinds.into_iter();
    let others = others.map(|(name, kind, purpose)| account_mutation(model, ty, (name, kind, purpose)));
    std::iter::once(first).chain(others).collect()
}

/// Whether signing up is open to everybody.
fn is_open(model: &ServedModel, ty: TypeIndex) -> bool {
    let grants = &model.ty(ty).item.authorization.create;
    grants.public || grants.signed_in
}

/// The creation of accounts where signing up is closed. The payload has no session.
fn creation_by_staff(model: &Arc<ServedModel>, ty: TypeIndex, name: &str) -> MutationTypes {
    let prefix = crate::served::pascal(name);
    let (input, payload) = (format!("{prefix}Input"), format!("{prefix}Payload"));
    let grants = model.ty(ty).item.authorization.create.clone();
    let (fields, conditions) = (Vec::new(), Vec::new());
    let mutation = Arc::new(ServedMutation { ty, action: Action::Create, fields, conditions, grants });
    let field = Field::new(name, TypeRef::named(&payload), move |ctx| {
        let mutation = Arc::clone(&mutation);
        FieldFuture::new(async move { create_by_staff(&ctx, &mutation).await.map(Some) })
    });
    MutationTypes {
        field: field
            .argument(InputValue::new("input", TypeRef::named_nn(&input)).description("The input."))
            .description("Creates an account, for staff."),
        input: account_input(model, ty, &input, AccountMutation::SignUp),
        payload: item_payload(model, &payload, ty),
    }
}

async fn create_by_staff<'a>(ctx: &ResolverContext<'a>, mutation: &ServedMutation) -> Result<FieldValue<'a>> {
    let scope = for_write(ctx)?;
    let decision = scope.requester().decide_without_item(&mutation.grants);
    match decision.unwrap_or(Decision::Forbidden) {
        Decision::Allowed => {}
        decision => return Err(super::objects::refused(decision)),
    }
    let input = input_of(ctx)?;
    let command = ServedCommand { mutation, input: &input, requester: scope.requester() };
    let password = text(&input, "password");
    let sign_up = SignUp { command, password: &password, caller: HashingCaller::default() };
    let created = scope.services().commands.create_account(sign_up, scope.ledger()).await;
    Ok(FieldValue::owned_any(created.map_err(|failure| scope.command_error(failure))?))
}

fn account_mutation(
    model: &Arc<ServedModel>,
    ty: TypeIndex,
    (name, kind, purpose): (&str, AccountMutation, &str),
) -> MutationTypes {
    let prefix = crate::served::pascal(name);
    let (input, payload) = (format!("{prefix}Input"), format!("{prefix}Payload"));
    let grants = onehop_model::Grants { public: true, ..onehop_model::Grants::default() };
    let (fields, conditions) = (Vec::new(), Vec::new());
    let mutation = Arc::new(ServedMutation { ty, action: Action::Create, fields, conditions, grants });
    let field = Field::new(name, TypeRef::named(&payload), move |ctx| {
        let mutation = Arc::clone(&mutation);
        FieldFuture::new(async move {
            let input = input_of(&ctx)?;
            let (item, session) = match kind {
                AccountMutation::SignUp => sign_up(&ctx, &mutation, &input).await?,
                AccountMutation::SignIn => sign_in(&ctx, &input).await?,
                AccountMutation::Renew => renew(&ctx, &input).await?,
                AccountMutation::ChangePassword => change_password(&ctx, &input).await?,
            };
            Ok(Some(FieldValue::owned_any(SessionPayload { item, session })))
        })
    });
    MutationTypes {
        field: field
            .argument(InputValue::new("input", TypeRef::named_nn(&input)).description("The input."))
            .description(purpose),
        input: account_input(model, ty, &input, kind),
        payload: session_payload(model, ty, &payload),
    }
}

fn account_input(model: &ServedModel, ty: TypeIndex, name: &str, kind: AccountMutation) -> InputObject {
    let text = |name: &str, description: &str| {
        InputValue::new(name, TypeRef::named_nn(TypeRef::STRING)).description(description)
    };
    let login = model.ty(ty).item.login.as_ref().map_or("login", |login| login);
    let input = InputObject::new(name);
    match kind {
        AccountMutation::SignUp => {
            let fields = input_fields(model.ty(ty), Action::Create, &[]);
            let input = fields.iter().fold(input, |input, field| input.field(input_value(field)));
            input.field(text("password", "10 to 200 characters; no common password."))
        }
        AccountMutation::SignIn => {
            input.field(text(login, "The login.")).field(text("password", "The password."))
        }
        AccountMutation::Renew => {
            input.field(text("refreshToken", "The refresh token of signing in, or of the last renewal."))
        }
        AccountMutation::ChangePassword => input
            .field(text(CURRENT_PASSWORD, "The password until now."))
            .field(text("newPassword", "10 to 200 characters; another password, and no common one.")),
    }
}

/// The payload of a session: its account and its tokens.
struct SessionPayload {
    item: WrittenItem,
    session: SessionValue,
}

fn session_payload(model: &Arc<ServedModel>, ty: TypeIndex, name: &str) -> Object {
    let text = |name: &str, ty: &str, read: fn(&SessionValue) -> &str| {
        Field::new(name, TypeRef::named_nn(ty), move |ctx| {
            let payload = ctx.parent_value.try_downcast_ref::<SessionPayload>();
            let text = payload.map(|payload| Some(FieldValue::value(read(&payload.session))));
            super::objects::Resolved::Now(text).into_future()
        })
    };
    let account =
        Field::new(&*model.ty(ty).item.name.camel_case(), TypeRef::named_nn(model.ty(ty).name), |ctx| {
            let item = ctx.parent_value.try_downcast_ref::<SessionPayload>().map(|payload| {
                let WrittenItem { place, body } = payload.item.clone();
                Some(FieldValue::owned_any(ServedItem { is_own: true, ..ServedItem::whole(place, body) }))
            });
            super::objects::Resolved::Now(item).into_future()
        });
    let access = text("accessToken", TypeRef::STRING, |session| &session.access_token);
    let expires = text("expiresAt", "DateTime", |session| &session.expires_at);
    let refresh = text("refreshToken", TypeRef::STRING, |session| &session.refresh_token);
    Object::new(name)
        .field(account.description("The account."))
        .field(access.description("To be sent as `Authorization: Bearer`."))
        .field(expires.description("When the access token expires."))
        .field(refresh.description("Renews the access token until the session ends. To be kept secret."))
}

/// Signing out.
pub(super) fn sign_out(model: &Arc<ServedModel>) -> Option<(Field, Object)> {
    let ty = model.account()?;
    let field = Field::new("signOut", TypeRef::named("SignOutPayload"), |ctx| {
        FieldFuture::new(async move {
            let scope = for_write(&ctx)?;
            let account = signed_in(scope)?;
            let everywhere = ctx.args.try_get("everywhere")?.boolean()?;
            let sessions = &scope.services().sessions;
            let ended = match (everywhere, scope.token_session()) {
                (false, Some(session)) => sessions.end(account, session, scope.ledger()).await,
                _ => sessions.end_all(account, scope.ledger()).await,
            };
            ended.map_err(|fault| scope.fault(&fault))?;
            let place = scope.services().commands.account_place(account.id, scope.ledger()).await;
            let place = place.map_err(|fault| scope.fault(&fault))?;
            Ok(place.map(|place| FieldValue::value(place.encode(scope.services().commands.model()))))
        })
    });
    let everywhere = InputValue::new("everywhere", TypeRef::named_nn(TypeRef::BOOLEAN)).default_value(false);
    let everywhere = everywhere.description("Whether all other sessions of the account end as well.");
    let name = format!("{}Id", model.ty(ty).item.name.camel_case());
    let id = Field::new(name, TypeRef::named_nn(TypeRef::ID), |ctx| {
        FieldFuture::from_value(ctx.parent_value.as_value().cloned())
    });
    let payload =
        Object::new("SignOutPayload").field(id.description("The id of the account that signed out."));
    Some((
        field.argument(everywhere).description("Signs out: ends the session of the access token."),
        payload,
    ))
}

async fn sign_up(
    ctx: &ResolverContext<'_>,
    mutation: &ServedMutation,
    input: &Map<String, Json>,
) -> Result<(WrittenItem, SessionValue)> {
    let scope = for_write(ctx)?;
    let commands = &scope.services().commands;
    let attempt = begin(scope, AttemptKind::SignUp, &text(input, login_field(commands.model())))?;
    let command = ServedCommand { mutation, input, requester: scope.requester() };
    let password = text(input, "password");
    let sign_up = SignUp { command, password: &password, caller: attempt.hashing_caller() };
    let outcome = commands.sign_up(sign_up, &scope.services().sessions, scope.ledger()).await;
    let (item, session) = end(scope, attempt, outcome)?;
    Ok((item.clone(), issued(scope, &item, session)?))
}

async fn sign_in(
    ctx: &ResolverContext<'_>,
    input: &Map<String, Json>,
) -> Result<(WrittenItem, SessionValue)> {
    let scope = for_write(ctx)?;
    let commands = &scope.services().commands;
    let (login, password) = (text(input, login_field(commands.model())), text(input, "password"));
    let attempt = begin(scope, AttemptKind::SignIn, &login)?;
    let caller = attempt.hashing_caller();
    let sessions = &scope.services().sessions;
    let outcome = commands.sign_in((&login, &password), caller, sessions, scope.ledger()).await;
    let (item, session) = end(scope, attempt, outcome)?;
    Ok((item.clone(), issued(scope, &item, session)?))
}

async fn renew(ctx: &ResolverContext<'_>, input: &Map<String, Json>) -> Result<(WrittenItem, SessionValue)> {
    let scope = for_write(ctx)?;
    let token = RefreshToken::parse(&text(input, "refreshToken")).ok_or_else(no_session)?;
    // Read first, so that no fault comes after the rotation.
    let item = scope.services().commands.account_item(token.account().id, scope.ledger()).await;
    let item = item.map_err(|fault| scope.fault(&fault))?.ok_or_else(no_session)?;
    let renewal = scope.services().sessions.renew(&token, scope.ledger()).await;
    match renewal.map_err(|fault| scope.fault(&fault))? {
        Renewal::Renewed(session) => Ok((item.clone(), issued(scope, &item, session)?)),
        Renewal::Unknown | Renewal::Reused => Err(no_session()),
    }
}

async fn change_password(
    ctx: &ResolverContext<'_>,
    input: &Map<String, Json>,
) -> Result<(WrittenItem, SessionValue)> {
    let scope = for_write(ctx)?;
    let commands = &scope.services().commands;
    let item = commands.account_item(signed_in(scope)?.id, scope.ledger()).await;
    let item = item.map_err(|fault| scope.fault(&fault))?.ok_or_else(no_session)?;
    let attempt = begin(scope, AttemptKind::SignIn, &commands.login_of(&item))?;
    let (current, new) = (text(input, CURRENT_PASSWORD), text(input, "newPassword"));
    let typed = PasswordsTyped { current: &current, new: &new, caller: attempt.hashing_caller() };
    let sessions = &scope.services().sessions;
    let outcome = commands.change_account_password(&item, typed, sessions, scope.ledger()).await;
    let session = end(scope, attempt, outcome)?;
    Ok((item.clone(), issued(scope, &item, session)?))
}

/// Deletes an account: the caller's own with its password, or another one.
pub(super) async fn delete(scope: &ServedScope, command: ServedCommand<'_>) -> Result<WrittenItem> {
    let ServedServices { commands, sessions, staff, .. } = scope.services();
    let item = commands.account_to_delete(&command, scope.ledger()).await;
    let item = item.map_err(|failure| scope.command_error(failure))?;
    let account = Uuid::try_parse(&item.place.id).ok();
    if account.is_some_and(|account| staff.contains(&account)) {
        let message =
            "The account of a member of staff stays: an operator removes the member from the staff.";
        return Err(errors::error(Code::Forbidden, message));
    }
    if account == command.requester.account {
        let password = text(command.input, CURRENT_PASSWORD);
        if password.is_empty() {
            let refusal = Refusal::bad_input(CURRENT_PASSWORD, "is needed to delete one's own account");
            return Err(errors::refusal(&refusal));
        }
        let attempt = begin(scope, AttemptKind::SignIn, &commands.login_of(&item))?;
        let checked =
            commands.check_password(&item, &password, attempt.hashing_caller(), scope.ledger()).await;
        end(scope, attempt, checked)?;
    }
    let deleted = commands.delete_account(command, sessions, scope.ledger()).await;
    deleted.map_err(|failure| scope.command_error(failure))
}

fn login_field(model: &ServedModel) -> &str {
    let login = model.account().and_then(|ty| model.ty(ty).item.login.as_ref());
    login.map_or("login", |login| login)
}

fn text(input: &Map<String, Json>, name: &str) -> String {
    input.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// The account of the caller.
fn signed_in(scope: &ServedScope) -> Result<AccountId> {
    let account = scope.requester().account.map(AccountId::user);
    account.ok_or_else(|| errors::error(Code::Unauthenticated, "Sign in to do this."))
}

fn no_session() -> async_graphql::Error {
    errors::error(Code::Unauthenticated, "There is no such session: sign in again.")
}

/// The tokens of a session.
fn issued(scope: &ServedScope, item: &WrittenItem, session: NewSession) -> Result<SessionValue> {
    let services = scope.services();
    let now_ms = services.clock.now_ms();
    let token = services.tokens.issue(&item.place.id, session.id, now_ms).map_err(|fault| {
        scope.fault(&Fault::new(FaultKind::Internal, "no access token could be issued").with_source(fault))
    })?;
    Ok(SessionValue {
        access_token: token.into_string(),
        expires_at: format_timestamp(services.tokens.expires_at_ms(now_ms)),
        refresh_token: session.refresh_token.encode(),
    })
}

/// Brute-force protection: counts an attempt, by login and network.
fn begin<'a>(scope: &'a ServedScope, kind: AttemptKind, login: &str) -> Result<Attempt<'a>> {
    let services = scope.services();
    let origin = match scope.context().client.network {
        Network::V4(address) => AttemptOrigin::v4(address.to_bits()),
        Network::V6(prefix) => AttemptOrigin::v6(prefix),
        Network::Unknown => AttemptOrigin::default(),
    };
    let key = services.commands.login_key(login);
    let name = key.as_deref().map(|key| LoginName { key, is_private: true });
    let begun = services.attempts.begin(kind, name, origin, services.clock.now_ms());
    begun.map_err(|over| errors::too_many_attempts(&over))
}

/// Ends an attempt with the outcome of its command.
fn end<T>(scope: &ServedScope, attempt: Attempt<'_>, outcome: Result<T, CommandError>) -> Result<T> {
    let failures: &[RefusalCode] = match attempt.kind() {
        AttemptKind::SignIn => &[RefusalCode::InvalidCredentials, RefusalCode::Forbidden],
        AttemptKind::SignUp => &[RefusalCode::Conflict],
    };
    let ended = match &outcome {
        Ok(_) => AttemptOutcome::Succeeded,
        Err(CommandError::Rejected(refusal)) if failures.contains(&refusal.code) => AttemptOutcome::Failed,
        Err(_) => AttemptOutcome::NotJudged,
    };
    attempt.end(ended, scope.services().clock.now_ms());
    outcome.map_err(|failure| scope.command_error(failure))
}
