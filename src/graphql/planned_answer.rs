//! Answers by plans: runs the plan of a query, charges its caller, and adds the extensions of the response.

use std::collections::BTreeMap;

use super::charged::{Charged, ledger_of};
use super::executor::{ledger_for, reads_recent, sum};
use super::plans::{FittingPlan, PlanCaller, PlanRequest, PlannedDomain, PlannedSchema};
use super::response_extensions::set_charges;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::written_response::WrittenResponse;

/// The sources of an answer.
pub(super) struct AnswerSources<'a> {
    pub(super) schema: &'a PlannedSchema,
    pub(super) domains: &'a [PlannedDomain],
    pub(super) caller: PlanCaller,
    /// Whether the response lists the operations on the store.
    pub(super) tells_operations: bool,
}

/// The answer of a plan; `None` where the general executor has to answer. The reads are charged in any case.
pub(super) async fn answer(
    plan: FittingPlan<'_>,
    sources: AnswerSources<'_>,
    context: &RequestContext,
) -> Option<WrittenResponse> {
    let AnswerSources { schema, domains, caller, tells_operations } = sources;
    let ledger = ledger_for(context);
    let charged = Charged::new(&*context.quota, &ledger);
    let request = PlanRequest {
        schema,
        domains,
        is_recent: reads_recent(context),
        caller,
        ledger: &ledger,
        variables: context.variables(),
        budget: &context.budget,
    };
    let data = plan.run(request).await;
    charged.finish();
    let data = data?;
    let mut extensions = BTreeMap::new();
    match context.prior_charges() {
        Some(before) => {
            let spent = sum([ledger_of(&*before), &ledger]);
            set_charges(&mut extensions, &spent, tells_operations);
        }
        None => set_charges(&mut extensions, &ledger, tells_operations),
    }
    if let Some(waited) = context.waited {
        waited.state_in(&mut extensions);
    }
    if let (Some(trace), Some(marks)) = (&context.read_trace, ledger.touched()) {
        trace.set(marks.into_iter().map(|mark| mark.0).collect());
    }
    Some(WrittenResponse { data, extensions })
}
