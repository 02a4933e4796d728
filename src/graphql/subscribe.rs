//! Starts subscriptions: one stream of responses each, which begins with what is written after it has begun.

use std::sync::Arc;

use async_graphql::{Name, Request, Response, ServerError};
use futures::future::{Either, select};
use futures::stream::{BoxStream, StreamExt, once};

use super::event_scope::TellsOperations;
use super::executor::{Executor, budget_of, complete, conceal_schema, prepare, refused, tell_charges};
use super::scope::RequestScope;
use super::subscription::Begun;
use super::subscription_root;
use crate::blog::ids::UserId;
use onehop_graphql_server::graphql_service::Account;
use onehop_store::Ledger;

impl Executor {
    /// Starts a subscription of a known viewer, whose document is within the limits; `None` is an anonymous one.
    ///
    /// # Errors
    /// The response to one that cannot be started.
    pub async fn subscribe_as(
        &self,
        mut request: Request,
        viewer: Option<UserId>,
        account: &dyn Account,
    ) -> Result<BoxStream<'static, Response>, Response> {
        let tells_operations = self.tells_operations(&request);
        let scope = RequestScope::new(Arc::clone(&self.live_services), viewer, Ledger::new());
        let scope = Arc::new(scope.within(budget_of(&request)));
        let root =
            prepare_subscription(&mut request).map_err(|error| refused(error, &scope, tells_operations))?;
        let (begun, begins) = Begun::new();
        request.data.insert(Arc::clone(&scope));
        request.data.insert(TellsOperations(tells_operations));
        request.data.insert(begun);
        let responses = self.live_schema.execute_stream(request);
        let options = self.options;
        let completed = move |mut response| {
            conceal_schema(&mut response, options);
            complete(&mut response, &root);
            response
        };
        let mut responses = responses.map(completed).boxed();
        let begun = select(responses.next(), begins).await;
        account.charge(scope.ledger().total().0);
        let Either::Left((Some(mut first), mut begins)) = begun else {
            return Ok(responses);
        };
        if begins.try_recv().is_ok() {
            return Ok(once(async { first }).chain(responses).boxed());
        }
        tell_charges(&mut first, scope.ledger(), tells_operations);
        Err(first)
    }
}

/// As [`prepare`], with the only field of the subscription written out of its fragments.
fn prepare_subscription(request: &mut Request) -> Result<Vec<Name>, ServerError> {
    let root = prepare(request)?;
    let mut document = request.parsed_query()?.clone();
    subscription_root::write_out(&mut document)?;
    request.set_parsed_query(document);
    Ok(root)
}
