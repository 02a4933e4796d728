//! Execute: the service runs an operation that was admitted; its response is completed and written within its
//! budget.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Response as Execution, Value};
use futures::StreamExt as _;

use super::admit::ExecutionPermit;
use super::context::RequestContext;
use crate::document_text::move_to_original;
use crate::endpoint::GraphqlEndpoint;
use crate::live::live_query::{SharedExecution, SharedExecutions};
use crate::live_directive;
use crate::observer::ExecutionTimer;
use crate::position::POSITION;
use crate::quota::{EventAdmission, QuotaAccount};
use crate::refusal::Refusal;
use crate::response::{Encoded, ExecutedResponse};
use crate::response_budget::ResponseBudget;

impl GraphqlEndpoint {
    /// Executes a query or a mutation.
    pub(crate) async fn execute(
        &self,
        mut context: RequestContext,
        _permit: ExecutionPermit,
    ) -> ExecutedResponse {
        let executing = self.observer().executing(context.client.span);
        context.span = executing.span;
        context.prior_charges.settle();
        if context.kind() == OperationType::Query {
            let executed = self.execute_plan(&context, &executing).await;
            self.documents().reweigh(&context.document);
            if let Some(executed) = executed {
                return executed;
            }
        }
        let request = context.take_request();
        let named = request.extensions.get(POSITION).cloned();
        let context = Arc::new(context);
        let mut charge = SizeCharge::new(&context);
        let mut execution = self.service().execute(request, &context).await;
        self.observer().executed(&context, &executing, &execution.errors, &execution.extensions);
        if context.kind() == OperationType::Mutation
            && let Some(Value::String(position)) = execution.extensions.get_mut(POSITION)
        {
            let caller = context.caller.as_deref();
            *position = self.read_your_writes().position_after(position, named.as_ref(), caller);
        }
        self.complete_introspection(&context, &mut execution);
        charge.written(self.write(&context, execution, &context.budget))
    }

    /// Adds the directives of the pipeline to introspected ones.
    pub(crate) fn complete_introspection(&self, context: &RequestContext, execution: &mut Execution) {
        if context.document.size.introspects && self.schema().serves_live() {
            let definitions = &context.document.definitions;
            live_directive::add_to_introspection(definitions, context.operation(), &mut execution.data);
        }
    }

    /// Executes a query by its plan; `None` without a fitting plan.
    async fn execute_plan(
        &self,
        context: &RequestContext,
        executing: &ExecutionTimer,
    ) -> Option<ExecutedResponse> {
        let used = context.budget.used();
        let mut charge = SizeCharge::new(context);
        let Some(written) = self.service().execute_plan(context).await else {
            context.budget.rewind(used);
            charge.is_due = false;
            return None;
        };
        self.observer().executed(context, executing, &[], &written.extensions);
        Some(charge.written(ExecutedResponse::of_written(written, &context.budget)))
    }

    /// Starts a subscription when it is admitted. Writes after this returns are in the stream.
    ///
    /// # Errors
    /// The response to a subscription that cannot be started.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        mut context: RequestContext,
        event_admission: Arc<dyn EventAdmission>,
    ) -> Result<(SharedExecutions, Arc<RequestContext>), Encoded> {
        // A shared subscription outlives the request that started it.
        context.bearer = None;
        context.body = None;
        context.headers.clear();
        if context.wants_live() {
            return self.live_query(context, event_admission).await;
        }
        let permit = self.concurrency_limit().admit(context.complexity).await;
        let _permit = permit.map_err(|overloaded| Refusal::from(overloaded).into_encoded())?;
        context.budget = Arc::new(self.responses().idle());
        context.event_admission = Some(event_admission);
        let request = context.take_request();
        let context = Arc::new(context);
        match self.service().subscribe(request, &context).await {
            Ok(executions) => Ok((executions.map(SharedExecution::sent).boxed(), context)),
            Err(refusal) => Err(Encoded::refusal(refusal)),
        }
    }

    /// Writes the result of an execution, with null propagation.
    pub(crate) fn write(
        &self,
        context: &RequestContext,
        mut execution: Execution,
        budget: &ResponseBudget,
    ) -> ExecutedResponse {
        if !execution.errors.is_empty() {
            let definitions = &context.document.definitions;
            self.schema().propagate_nulls(definitions, context.operation(), &mut execution);
            let original = &context.request.query;
            execution.errors.iter_mut().for_each(|error| move_to_original(error, original));
        }
        ExecutedResponse::of(execution, context.kind(), budget)
    }
}

/// Charges a quota for the size of a response when this is dropped, also of an abandoned response.
struct SizeCharge<'a> {
    quota: &'a dyn QuotaAccount,
    budget: &'a ResponseBudget,
    bytes_written: usize,
    /// Whether there is a response: without one the next attempt pays.
    is_due: bool,
}

impl<'a> SizeCharge<'a> {
    fn new(context: &'a RequestContext) -> Self {
        Self { quota: &*context.quota, budget: &context.budget, bytes_written: 0, is_due: true }
    }

    /// The response as it was written.
    fn written(&mut self, response: ExecutedResponse) -> ExecutedResponse {
        self.bytes_written = response.body.len();
        response
    }
}

impl Drop for SizeCharge<'_> {
    fn drop(&mut self) {
        if !self.is_due {
            return;
        }
        let bytes = self.bytes_written.max(self.budget.used());
        self.quota.charge(self.budget.memory().limits().size_charge(bytes));
    }
}
