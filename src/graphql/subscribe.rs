//! Starts subscriptions: one stream of responses each, which begins with the writes after its beginning.

use std::sync::Arc;

use async_graphql::{Request, Response, ServerError};
use futures::future::{Either, select};
use futures::stream::{BoxStream, StreamExt, once};

use super::executor::Executor;
use super::response_completion::{complete, conceal_schema, root_keys};
use super::response_extensions::set_charges;
use super::scope::RequestScope;
use super::subscription::Begun;
use super::subscription_root;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_store::Ledger;

impl Executor {
    /// Starts a subscription, whose document is within the limits.
    ///
    /// # Errors
    /// The response to a subscription that cannot be started.
    pub(super) async fn begin_subscription(
        &self,
        mut request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response> {
        let tells_operations = self.tells_operations(&request.extensions);
        let scope = RequestScope::new(Arc::clone(&self.live_services), Arc::clone(context), Ledger::new());
        let scope = Arc::new(scope.telling_operations(tells_operations));
        let root = root_keys(context);
        write_out_root(&mut request).map_err(|error| refused(error, &scope, tells_operations))?;
        let (begun, begins) = Begun::new();
        request.data.insert(Arc::clone(&scope));
        request.data.insert(begun);
        let responses = self.schemas.live.execute_stream(request);
        let options = self.options;
        let completed = move |mut response: Response| {
            conceal_schema(&mut response.errors, options);
            complete(&mut response, &root);
            response
        };
        let mut responses = responses.map(completed).boxed();
        let begun = select(responses.next(), begins).await;
        context.quota.charge(scope.ledger().total().0);
        let Either::Left((Some(mut first), mut begins)) = begun else {
            return Ok(responses);
        };
        if begins.try_recv().is_ok() {
            return Ok(once(async { first }).chain(responses).boxed());
        }
        set_charges(&mut first.extensions, scope.ledger(), tells_operations);
        Err(first)
    }
}

/// Writes the only field of the subscription out of its fragments.
fn write_out_root(request: &mut Request) -> Result<(), ServerError> {
    let mut document = request.parsed_query()?.clone();
    subscription_root::write_out(&mut document)?;
    request.set_parsed_query(document);
    Ok(())
}

/// The response to a subscription that is not executed.
fn refused(error: ServerError, scope: &RequestScope, tells_operations: bool) -> Response {
    let mut response = Response::from_errors(vec![error]);
    set_charges(&mut response.extensions, scope.ledger(), tells_operations);
    response
}
