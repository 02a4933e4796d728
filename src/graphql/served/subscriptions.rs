//! Subscriptions of a served model. Each event is executed as a query of its item, by a schema whose root has
//! the fields of `Subscription`: async-graphql 7.2 loses errors below the root of a dynamic subscription.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::dynamic::{
    Field, FieldFuture, FieldValue, InputValue, Object, Schema, Subscription as SubscriptionType,
    SubscriptionField, SubscriptionFieldFuture, TypeRef,
};
use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, OperationDefinition, OperationType, Selection,
};
use async_graphql::{
    ErrorExtensions as _, Name, Pos, Request, Response, Result, ServerError, Value, Variables,
};
use futures::stream::{self, BoxStream, StreamExt as _};
use onehop_model::{Grants, LiveSource, QueryKind, Subscription};

use super::objects::{described, escaped, readable, readable_by, refused};
use super::scope::{ServedScope, ServedServices};
use crate::graphql::errors::{self, Code};
use crate::graphql::response_completion::{complete, conceal_schema, root_keys};
use crate::graphql::response_extensions::set_charges;
use crate::graphql::schema::SchemaOptions;
use crate::graphql::subscription_root;
use crate::served::live::{EventsError, ItemEvent, ItemEvents};
use crate::served::{Decision, ItemPlace, ServedItem, ServedModel, WrittenItem, interned};
use onehop_change_feed::WriteScope;
use onehop_graphql_server::document::select_operation;
use onehop_graphql_server::etag::ReadTrace;
use onehop_graphql_server::limit_exceeded::LimitExceeded;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_store::Ledger;

/// The longest wait for a read model at the beginning of a subscription.
const READ_MODEL_WAIT_MAX: Duration = Duration::from_secs(1);

/// The name of the root type.
pub(super) const ROOT: &str = "Subscription";

/// The item of an event, for the root field of its execution.
struct EventItem(ServedItem);

/// The argument of a subscription with the id of an item.
fn argument(subscription: &Subscription) -> Option<&str> {
    match &subscription.source {
        LiveSource::Item => Some("id"),
        LiveSource::Query(_) => None,
        LiveSource::Field { argument, .. } => Some(argument),
    }
}

fn argument_value(subscription: &Subscription) -> Option<InputValue> {
    let of = match &subscription.source {
        LiveSource::Field { item_type, .. } => item_type,
        _ => &subscription.item_type,
    };
    let argument = InputValue::new(argument(subscription)?, TypeRef::named_nn(TypeRef::ID));
    Some(argument.description(format!("The id of the {of}.")))
}

/// The root of all subscriptions, which documents are validated against; `None` for a model without any.
pub(super) fn subscription_root(model: &ServedModel) -> Option<SubscriptionType> {
    let root = SubscriptionType::new(ROOT).description("The root of all subscriptions.");
    let declared = model.model().subscriptions();
    let root = declared.iter().fold(root, |root, subscription| {
        let field =
            SubscriptionField::new(&*subscription.name, TypeRef::named_nn(&*subscription.item_type), |_| {
                SubscriptionFieldFuture::new(async { Ok(stream::empty::<Result<FieldValue<'_>>>()) })
            });
        let field = argument_value(subscription).into_iter().fold(field, SubscriptionField::argument);
        root.field(match &subscription.description {
            Some(description) => field.description(escaped(description)),
            None => field,
        })
    });
    (!declared.is_empty()).then_some(root)
}

/// The same fields as the root of the execution of one event.
pub(super) fn event_root(model: &ServedModel) -> Object {
    model.model().subscriptions().iter().fold(Object::new(ROOT), |root, subscription| {
        let ty = TypeRef::named_nn(&*subscription.item_type);
        let field = Field::new(&*subscription.name, ty, |ctx| {
            FieldFuture::new(async move {
                let EventItem(item) = ctx.data_unchecked::<EventItem>();
                Ok(Some(FieldValue::owned_any(item.clone())))
            })
        });
        let field = argument_value(subscription).into_iter().fold(field, Field::argument);
        root.field(described(field, None))
    })
}

/// The parts of a subscription's executions.
pub(super) struct EventExecution {
    pub(super) schema: Schema,
    pub(super) services: Arc<ServedServices>,
    pub(super) context: Arc<RequestContext>,
    pub(super) options: SchemaOptions,
    /// Whether responses list the operations on the store.
    pub(super) tells_operations: bool,
}

/// A subscription that runs.
struct Running {
    execution: EventExecution,
    operation: EventOperation,
    events: ItemEvents,
}

/// The operation of each event.
struct EventOperation {
    document: ExecutableDocument,
    variables: Variables,
    grants: Grants,
}

impl EventExecution {
    /// Starts a subscription: later events are in the stream.
    ///
    /// # Errors
    /// The response to a subscription that cannot be started.
    pub(super) async fn begin(self, mut request: Request) -> Result<BoxStream<'static, Response>, Response> {
        let scope = self.scope();
        let begun = self.listen(&scope, &mut request).await;
        self.context.quota.charge(scope.ledger().total().0);
        let (document, grants, events) = begun.map_err(|error| {
            let mut response = Response::from_errors(vec![error]);
            set_charges(&mut response.extensions, scope.ledger(), self.tells_operations);
            response
        })?;
        let operation = EventOperation { document, variables: request.variables, grants };
        let running = Running { execution: self, operation, events };
        Ok(stream::unfold(Some(running), |running| async { running?.next().await }).boxed())
    }

    /// A scope for one event, with a budget and a ledger of its own.
    fn scope(&self) -> Arc<ServedScope> {
        let budget = Arc::new(self.context.budget.memory().begin_or_refuse());
        let (_, context) = self.context.for_live_execution(budget, Arc::<ReadTrace>::default());
        let ledger = Ledger::new().under(self.context.span);
        Arc::new(ServedScope::new(Arc::clone(&self.services), Arc::new(context), ledger))
    }

    async fn listen(
        &self,
        scope: &ServedScope,
        request: &mut Request,
    ) -> Result<(ExecutableDocument, Grants, ItemEvents), ServerError> {
        let mut document = request.parsed_query()?.clone();
        subscription_root::write_out(&mut document)?;
        let chosen = self.context.operation_name();
        let operation = select_operation(&document, chosen);
        let operation = operation.map_err(|error| ServerError::new(error.to_string(), None))?.clone();
        let begun = self.listen_to(scope, &operation, &request.variables).await;
        let (grants, events) = begun.map_err(|error| {
            let mut error = error.into_server_error(Pos::default());
            errors::complete(&mut error);
            error
        })?;
        let operation = OperationDefinition { ty: OperationType::Query, ..operation };
        document.operations =
            DocumentOperations::Single(async_graphql::Positioned::new(operation, Pos::default()));
        Ok((document, grants, events))
    }

    async fn listen_to(
        &self,
        scope: &ServedScope,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<(Grants, ItemEvents)> {
        let model = Arc::clone(scope.reads().model());
        let unknown = || errors::error(Code::ValidationFailed, "There is no such subscription.");
        let field = operation.selection_set.node.items.first().map(|selection| &selection.node);
        let Some(Selection::Field(field)) = field else { return Err(unknown()) };
        let subscriptions = model.model().subscriptions();
        let name = field.node.name.node.as_str();
        let subscription = subscriptions.iter().find(|found| *found.name == *name).ok_or_else(unknown)?;
        let owner = match argument(subscription) {
            Some(argument) => {
                let value = field.node.get_argument(argument).map(|value| value.node.clone());
                let id = value.and_then(|value| text_of(value, operation, variables)).unwrap_or_default();
                Some(owner(scope, &model, subscription, &id).await?)
            }
            None => None,
        };
        let grants = grants_of(&model, subscription);
        if let Some(decision @ (Decision::SignInFirst | Decision::Forbidden)) =
            scope.requester().decide_without_item(&grants)
        {
            return Err(refused(decision));
        }
        self.await_read_model(scope, &model, subscription).await;
        let listened = scope.services().live.listen(subscription, owner, scope.ledger()).await;
        let events = listened.map_err(|fault| scope.fault(&fault))?;
        Ok((grants, events.ok_or_else(|| errors::error(Code::NotFound, "There is no such list."))?))
    }
}

impl EventExecution {
    /// Waits a moment for the entries of a read model that the list of a subscription is known from: items
    /// that were written before would otherwise leave it unnoticed.
    async fn await_read_model(&self, scope: &ServedScope, model: &ServedModel, subscription: &Subscription) {
        let Some(ty) = model.index_of(&subscription.item_type) else { return };
        if !crate::served::live::begins_with_entries(model, subscription) {
            return;
        }
        let (recency, now_ms) = (&scope.services().recency, scope.services().clock.now_ms());
        let containers = vec![model.ty(ty).container];
        let written = WriteScope { containers, since_ms: now_ms, ..WriteScope::default() };
        if let Some(position) = recency.position_after(&written).await {
            // A position that was just given is valid. Late entries arrive as events.
            let _ = recency.wait_for(&position, READ_MODEL_WAIT_MAX, scope.ledger()).await;
        }
    }
}

/// The callers of the items of a subscription.
fn grants_of(model: &ServedModel, subscription: &Subscription) -> Grants {
    let of_query = |name: &str| {
        let query = model.model().queries().iter().find(|query| *query.name == *name)?;
        matches!(query.kind, QueryKind::Related(_)).then(|| query.authorization.clone()).flatten()
    };
    let of_list = match &subscription.source {
        LiveSource::Query(name) => of_query(name),
        LiveSource::Item | LiveSource::Field { .. } => None,
    };
    let of_type = || model.model().item(&subscription.item_type).map(|item| item.authorization.read.clone());
    subscription.authorization.clone().or(of_list).or_else(of_type).unwrap_or_default()
}

/// The item that a subscription is about, or whose list it is.
async fn owner(
    scope: &ServedScope,
    model: &ServedModel,
    subscription: &Subscription,
    id: &str,
) -> Result<WrittenItem> {
    let argument = interned(argument(subscription).unwrap_or("id"));
    let (name, field) = match &subscription.source {
        LiveSource::Field { item_type, field, .. } => (item_type, Some(field)),
        _ => (&subscription.item_type, None),
    };
    let place = ItemPlace::decode(model, id).map_err(|invalid| errors::bad_input(argument, invalid))?;
    if model.index_of(name) != Some(place.ty) {
        return Err(errors::bad_input(argument, format_args!("is not the id of {name}")));
    }
    let found = scope.reads().item(&place, scope.ledger()).await.map_err(|fault| scope.fault(&fault))?;
    let Some(body) = found else {
        return Err(errors::error(Code::NotFound, format!("There is no such {name}.")));
    };
    let item = ServedItem::whole(place.clone(), Arc::clone(&body));
    match field {
        // The grants of the subscription are about this item itself.
        None => drop(readable_by(scope, &grants_of(model, subscription), item).await?),
        Some(field) => {
            let item = readable(scope, item).await?;
            let declared = model.ty(place.ty).item.field(field);
            if let Some(grants) = declared.and_then(|field| field.authorization.read.as_ref()) {
                readable_by(scope, grants, item).await?;
            }
        }
    }
    Ok(WrittenItem { place, body })
}

/// The text of an argument, with the values of variables in it.
fn text_of(
    value: async_graphql_value::Value,
    operation: &OperationDefinition,
    variables: &Variables,
) -> Option<String> {
    let by_default = |name: &Name| {
        let declared = operation.variable_definitions.iter().find(|found| found.node.name.node == *name)?;
        declared.node.default_value.as_ref().map(|value| value.node.clone())
    };
    let value = value
        .into_const_with(|name| variables.get(&name).cloned().or_else(|| by_default(&name)).ok_or(()))
        .ok()?;
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Running {
    /// The response to the next event that the caller may see.
    async fn next(mut self) -> Option<(Response, Option<Self>)> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(failure) => return Some((self.failed(failure), None)),
            };
            let permit = match &self.execution.context.event_admission {
                Some(admission) => match admission.admit().await {
                    Ok(permit) => Some(permit),
                    Err(refusal) => return Some((Response::from_errors(vec![refusal]), None)),
                },
                None => None,
            };
            let response = self.execution.execute(&self.operation, event).await;
            drop(permit);
            if let Some(response) = response {
                return Some((response, Some(self)));
            }
        }
    }

    fn failed(&self, failure: EventsError) -> Response {
        let error = match failure {
            EventsError::Overrun(overrun) => {
                let message = format!("The subscription did not keep up: {overrun}. Begin it again.");
                async_graphql::Error::new(message)
                    .extend_with(|_, extensions| extensions.set("code", LimitExceeded::CODE))
            }
            EventsError::Fault(fault) => self.execution.scope().fault(&fault),
        };
        Response::from_errors(vec![error.into_server_error(Pos::default())])
    }
}

impl EventExecution {
    /// Executes an event; `None` where its item is not for the caller.
    async fn execute(&self, operation: &EventOperation, event: ItemEvent) -> Option<Response> {
        let Self { schema, context, options, tells_operations, .. } = self;
        let scope = self.scope();
        let Ok(item) = readable_by(&scope, &operation.grants, event.item).await else {
            context.quota.charge(scope.ledger().total().0);
            return None;
        };
        let mut request = Request::new("").variables(operation.variables.clone());
        request.set_parsed_query(operation.document.clone());
        request.data.insert(Arc::clone(&scope));
        request.data.insert(EventItem(item));
        let mut response = schema.execute(request).await;
        conceal_schema(&mut response.errors, *options);
        complete(&mut response, &root_keys(context));
        set_charges(&mut response.extensions, scope.ledger(), *tells_operations);
        Some(response)
    }
}
