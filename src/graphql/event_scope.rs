//! A scope for each event of a subscription: its reads and their charges are its own. A subscription is one
//! execution to async-graphql, with one set of data.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::{Data, Response};
use async_trait::async_trait;

use super::response_extensions::set_charges;
use super::scope::RequestScope;

/// Gives events their scopes.
pub(super) struct EventScopes;

impl ExtensionFactory for EventScopes {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for EventScopes {
    async fn execute(
        &self,
        ctx: &ExtensionContext<'_>,
        operation_name: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        let subscription = ctx.data_unchecked::<Arc<RequestScope>>();
        // The permit is kept until the event is executed.
        let _permit = match &subscription.context().event_admission {
            Some(admission) => match admission.admit().await {
                Ok(permit) => Some(permit),
                Err(refusal) => return Response::from_errors(vec![refusal]),
            },
            None => None,
        };
        let scope = Arc::new(subscription.afresh());
        let mut data = Data::default();
        data.insert(Arc::clone(&scope));
        let mut response = next.run_with_data(ctx, operation_name, data).await;
        set_charges(&mut response.extensions, scope.ledger(), scope.tells_operations());
        response
    }
}
